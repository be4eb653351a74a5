"""What a cell of the study measures on the memory: true iterates under one map, and the spectrum of their momentum."""

import math
from collections.abc import Callable, Sequence
from itertools import repeat

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.run import runtime
from amembook.run.base import profile_bins
from amemlib.gradients import item_losses
from amemlib.optim import trajectory
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import SCHEDULES, compose_quintics, singular_triples

EXACT, SHIPPED = "polar", "jordan"
"""The exact map, and the schedule of `spectral.SCHEDULES` that torch ships."""


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
    schedule: str,
    n_items: int,
    dim: int,
    alpha: float,
    momentum: float,
    lead: float,
    lr_over_root_dim: float,
    steps: int,
    probes: Sequence[int],
    seed: int,
    device: str,
) -> dict:
    """W_{t+1} = W_t + c√d f(M_t) on the population loss, at the `probes` up to `steps`.

    With A_t = β A_{t−1} + G_t the momentum is M_t = A_t + ν (G_t − (1 − β) A_t), ν = `lead`: 0 is the heavy ball, 1
    what torch.optim.Muon calls Nesterov's. count: items recovered. left: mean 1 − p̂_ii by bins of rank,
    `profile_bins`. loss: in nats.
    median, below: of the spectrum of M_{t−1}, which made W_t, `relative_median` and `share_below` for torch's Λ.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    f, slope = map_of(schedule), math.prod(a for a, _, _ in SCHEDULES[SHIPPED])
    spectra, before = [], [0.0]

    def orthogonalise(A: Tensor) -> Tensor:
        G = A - momentum * before[0]
        before[0] = A
        P, s, Qh = singular_triples(A + lead * (G - (1 - momentum) * A))
        spectra.append(s)
        return P * f(s / torch.linalg.vector_norm(s)) @ Qh

    frequencies = repeat(problem.frequencies, steps)
    iterates = trajectory(emb, frequencies, orthogonalise, lr_over_root_dim * math.sqrt(dim), momentum)
    rows = []
    for t, W in enumerate(iterates):
        if t in probes:
            losses, s = item_losses(W, emb).cpu(), spectra[-1]
            row = {"count": capacity(W, emb), "loss": float(problem.frequencies @ losses)}
            row |= {
                "left": [float(part.mean()) for part in (-torch.expm1(-losses)).tensor_split(profile_bins(n_items))]
            }
            rows.append(row | {"median": relative_median(s), "below": share_below(s, slope)})
    return {key: [row[key] for row in rows] for key in rows[0]}
