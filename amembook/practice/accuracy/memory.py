"""The memory: its true iterates under one map with the spectrum of their momentum, and what is expected of both.

The share of items that a spectrum lets a schedule keep follows from its reach, and the reach of the momentum from the
items that are not learnt yet.
"""

import math
from collections.abc import Callable
from itertools import repeat
from types import SimpleNamespace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.run import runtime
from amembook.run.base import profile_bins
from amemlib.equivalents import SpectralLaw, expected_capacity
from amemlib.gradients import item_losses
from amemlib.optim import trajectory
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import SCHEDULES, compose_quintics, singular_triples

EXACT, SHIPPED = "polar", "jordan"
"""The exact map, and the schedule of `spectral.SCHEDULES` that torch ships."""
SHIPPED_SLOPE = math.prod(a for a, _, _ in SCHEDULES[SHIPPED])
"""Λ of torch's schedule, the product of its a: times s_{d/2} / ‖M‖_F it is the reach."""
_CURVE = np.geomspace(1e-3, 100, 16)


def map_of(name: str) -> Callable[[Tensor], Tensor]:
    """What is done to singular values over the Frobenius norm: 1 for "polar", else a schedule's polynomial."""
    return torch.ones_like if name == EXACT else lambda s: compose_quintics(s, SCHEDULES[name])


def relative_median(s: Float[Tensor, " k"]) -> float:
    """s_{k/2} / ‖M‖_F of decreasing singular values: times Λ it is the reach."""
    return float(s[len(s) // 2] / torch.linalg.vector_norm(s))


def share_below(s: Float[Tensor, " k"], slope: float) -> float:
    """Share of the singular values below ‖M‖_F / Λ, those that a schedule leaves smaller than 1."""
    return float((s < torch.linalg.vector_norm(s) / slope).double().mean())


def measure_memory(
    config: SimpleNamespace,
    schedule: str,
    alpha: float,
    momentum: float,
    lead: float,
    lr_over_root_dim: float,
    steps: int,
    seed: int,
    device: str,
) -> dict:
    """W_{t+1} = W_t + c√d f(M_t) on the population loss, at the config's `probes` up to `steps`.

    With A_t = β A_{t−1} + G_t the momentum is M_t = A_t + ν (G_t − (1 − β) A_t), ν = `lead`: 0 is the heavy ball, 1
    what torch.optim.Muon calls Nesterov's. count: items recovered. left: mean 1 − p̂_ii by bins of rank,
    `profile_bins`. loss: in nats.
    median, below: of the spectrum of M_{t−1}, which made W_t, `relative_median` and `share_below` for torch's Λ.
    """
    problem = Problem.power_law(config.n_items, config.dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    f, spectra, before = map_of(schedule), [], [0.0]

    def orthogonalise(A: Tensor) -> Tensor:
        G = A - momentum * before[0]
        before[0] = A
        P, s, Qh = singular_triples(A + lead * (G - (1 - momentum) * A))
        spectra.append(s)
        return P * f(s / torch.linalg.vector_norm(s)) @ Qh

    frequencies = repeat(problem.frequencies, steps)
    iterates = trajectory(emb, frequencies, orthogonalise, lr_over_root_dim * math.sqrt(config.dim), momentum)
    rows = []
    for t, W in enumerate(iterates):
        if t in config.probes:
            losses, s = item_losses(W, emb).cpu(), spectra[-1]
            left = (-torch.expm1(-losses)).tensor_split(profile_bins(config.n_items))
            row = {"count": capacity(W, emb), "loss": float(problem.frequencies @ losses)}
            row |= {"left": [float(part.mean()) for part in left]}
            rows.append(row | {"median": relative_median(s), "below": share_below(s, SHIPPED_SLOPE)})
    return {key: [row[key] for row in rows] for key in rows[0]}


def share_curve(problem: Problem) -> tuple[list[float], list[float]]:
    """Reaches x, and the share of the polar factor's items that h_λ with λ = s_{d/2} / x recovers in one step."""
    law = SpectralLaw.solve(problem.frequencies, problem.dim)
    median, full = float(law.quantile(0.5)), expected_capacity(problem, "polar")
    return _CURVE.tolist(), [expected_capacity(problem, "smoothed_sign", lam=median / x) / full for x in _CURVE]


def share_at(reach, curve: tuple[list[float], list[float]]) -> np.ndarray:
    """ρ(x): the share at any reach, linear in log x between the points of `share_curve`."""
    return np.interp(np.log(np.asarray(reach, float)), np.log(curve[0]), curve[1])


def weights_remembered(frequencies: np.ndarray, steps, left, momentum: float, t: int) -> np.ndarray:
    """ρ_i = Σ_{s<t} β^{t−1−s} r_i(s), the weights in the momentum that makes W_t, r_i(s) = p_i (1 − p̂_ii) at W_s.

    steps, left: after which steps which mean 1 − p̂_ii was left in each bin of `profile_bins`; linear between them.
    """
    known = np.vstack([np.ones(len(left[0])), left])
    at = np.array([np.interp(np.arange(t), [0, *steps], column) for column in known.T])
    in_bin = momentum ** np.arange(t - 1.0, -1.0, -1.0) @ at.T
    sizes = np.diff([0, *profile_bins(len(frequencies)), len(frequencies)])
    return frequencies * np.repeat(in_bin, sizes)


def remembered_median(problem: Problem, steps, left, momentum: float, t: int) -> float:
    """s_{d/2} / ‖M‖_F of the momentum with the weights of `weights_remembered`, as if these were independent of the
    embeddings; what W pulls at learnt items is left out."""
    weights = torch.from_numpy(weights_remembered(problem.frequencies.numpy(), steps, left, momentum, t))
    return float(SpectralLaw.solve(weights, problem.dim).quantile(0.5) / weights.norm())
