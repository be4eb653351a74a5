"""Gradient descent of one head of linear attention on facts: the network, and its exact reduction to six numbers.

A fact is (subject s, relation r) ↦ answer; relation r has D answers of its own, and each is right for S/D subjects. On
one-hot tokens the logits are

    z(s, r) = k_s V_s + k_r V_r,

V (RD, S + R) the value matrix and k_t the attention that the last token pays to token t, both learnt.
"""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from amemlib.checks import check_count
from amemlib.spectral import identity, spectral_map

_CUT = 1e-9


def balanced_facts(n_subjects: int, n_relations: int, n_answers: int, seed: int) -> Int[Tensor, "S R"]:
    """Answers of all facts; relation r's are r D … r D + D − 1, each right for S/D subjects. `ValueError` if D ∤ S."""
    check_count("n_answers", n_answers, least=2)
    if n_subjects % n_answers:
        raise ValueError(f"n_subjects must be a multiple of n_answers, got {n_subjects} and {n_answers}")
    generator = np.random.default_rng([seed, n_subjects, n_relations, n_answers])
    offsets = np.tile(np.repeat(np.arange(n_answers), n_subjects // n_answers), (n_relations, 1))
    offsets = generator.permuted(offsets, axis=1)
    return torch.from_numpy((offsets + n_answers * np.arange(n_relations)[:, None]).T.copy())


def descend(
    facts: Int[Tensor, "S R"], n_answers: int, start: float, lr: float, attention_lr: float, step_map=identity
) -> Iterator[tuple[float, float, float]]:
    """Loss, P(answer among the relation's) and P(right answer), means over facts, at V = 0, k = `start` and after
    every step of V ← V + lr f(−∇_V L), k ← k − attention_lr ∇_k L, without end. step_map: f."""
    S, R = facts.shape
    n, M = S * R, R * n_answers
    subjects, relations = torch.arange(S).repeat_interleave(R), torch.arange(R).repeat(S)
    tokens = torch.zeros(n, S + R, dtype=torch.float64)
    tokens[torch.arange(n), subjects] = tokens[torch.arange(n), S + relations] = 1
    answers = facts.flatten()
    own = torch.arange(M) // n_answers == relations[:, None]
    V, k = torch.zeros(M, S + R, dtype=torch.float64), torch.full((S + R,), start, dtype=torch.float64)
    while True:
        p = (tokens @ (V * k).T).softmax(1)
        right = p[torch.arange(n), answers]
        yield -right.log().mean().item(), (p * own).sum(1).mean().item(), right.mean().item()
        p[torch.arange(n), answers] -= 1
        G = -(p.T @ tokens) / n
        V, k = V + lr * step_map(G * k), k + attention_lr * (V * G).sum(0)


def reduced(
    n_subjects: int, n_relations: int, n_answers: int, start: float, lr: float, attention_lr: float
) -> Iterator[tuple[float, float, float]]:
    """The same curve under gradient descent from six numbers, exact for balanced facts (the chapter's proposition).

    A relation's column of V is u on its answers and w elsewhere; a subject's is y on its R right answers, v elsewhere.
    """
    S, R, D = n_subjects, n_relations, n_answers
    M, n = R * D, S * R
    u = w = y = v = 0.0
    k_r = k_s = start
    counts = np.array([1, D - 1, R - 1, M - D - R + 1])
    while True:
        # logits of the right answer, the relation's others, the subject's others, and all the rest
        z = np.array([k_r * u + k_s * y, k_r * u + k_s * v, k_r * w + k_s * y, k_r * w + k_s * v])
        p = np.exp(z - z.max())
        p /= counts @ p
        yield float(-np.log(p[0])), float(p[0] + (D - 1) * p[1]), float(p[0])
        g_u = S / D * (1 - p[0] - (D - 1) * p[1]) / n
        g_w = -S / D * (p[2] + (D - 1) * p[3]) / n
        g_y = (1 - p[0] - (R - 1) * p[2]) / n
        g_v = -(p[1] + (R - 1) * p[3]) / n
        grow_r = D * u * g_u + (M - D) * w * g_w
        grow_s = R * y * g_y + (M - R) * v * g_v
        u, w, y, v = u + lr * k_r * g_u, w + lr * k_r * g_w, y + lr * k_s * g_y, v + lr * k_s * g_v
        k_r, k_s = k_r + attention_lr * grow_r, k_s + attention_lr * grow_s


def level(G: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """The polar factor of G on what is above rounding: balanced facts make some directions exactly null."""
    return spectral_map(G, lambda s: (s > _CUT * s[0]).to(s))


def pace_curve(
    facts: Int[Tensor, "S R"], n_answers: int, lr: float, n_steps: int
) -> Float[np.ndarray, "steps quantities"]:
    """The curve of steps of constant pace at k = 1: after t steps the relation's answers are lr t / √D above the
    others, the right one lr t ‖B‖_* / (S R (1 − 1/D)) above its rivals; B: `subject_part`."""
    S, R = facts.shape
    D, t = n_answers, lr * np.arange(n_steps)
    nuclear = torch.linalg.matrix_norm(subject_part(facts, n_answers), "nuc").item()
    x, y = np.exp(-t / np.sqrt(D)), np.exp(-t * nuclear / (S * R * (1 - 1 / D)))
    right = 1 / (1 + (D - 1) * y + (R - 1) * x + (R * D - D - R + 1) * x * y)
    return np.stack([-np.log(right), right * (1 + (D - 1) * y), right], 1)


def subject_part(facts: Int[Tensor, "S R"], n_answers: int) -> Float[Tensor, "M S"]:
    """B, with B_as = 1{a is right for s in its relation} − 1/D: the first gradient's subject columns, times S R."""
    S, R = facts.shape
    B = torch.full((R * n_answers, S), -1 / n_answers, dtype=torch.float64)
    B[facts.T, torch.arange(S)] += 1
    return B


def stage_times(curve: np.ndarray, level: float = 0.9) -> tuple[float, float]:
    """First steps at which the relation's answers, and the right answer, have the probability `level`; NaN if never."""
    reached = (curve[:, 1:] >= level).T
    relation, answer = (float(np.argmax(r)) if r.any() else float("nan") for r in reached)
    return relation, answer


def time_ratio(n_subjects: int, n_relations: int, n_answers: int) -> float:
    """Time of the facts over that of the relations as the initial attention goes to 0 (ours):
    S/√(R D) √((1 − 1/R)/(1 − 1/D)), the inverse ratio of the two rates."""
    S, R, D = n_subjects, n_relations, n_answers
    return S / np.sqrt(R * D) * np.sqrt((1 - 1 / R) / (1 - 1 / D))
