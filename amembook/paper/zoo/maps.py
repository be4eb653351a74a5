"""The published maps of singular values, by name, and the random spectra and rows that are none."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from amemlib.equivalents import SpectralLaw
from amemlib.problem import Problem

Map = Callable[[Tensor], Tensor]

POWERS = (0.25, 0.1, -0.1, -0.25, -0.5)
"""DynMuon goes from 1/4 to −1/4 in a run; Soft-Muon has 1/10; Freon's best are negative."""
RANDOM = {"random_half": 1 / 12**0.5, "random_exponential": 1.0}
"""Random spectra and their coefficients of variation: uniform on [1/2, 3/2], as Newton–Schulz leaves them, and
exponential."""
ROWS = {"rows_half": 0.5, "rows_half_random": 0.5, "rows_quarter": 0.25}
"""The share of the rows that is orthogonalized, the others are 0: those of the largest sum of |G_ij|, as Dion2 takes
them, or the first ones, which chance has drawn."""
SOFT, CONTRA, SOFT_POLAR, TEMPERED = 0.8, 0.25, 0.2, 0.1 * 0.25 / 2**0.5
KAON_STEPS = 5


def published_maps(problem: Problem, law: SpectralLaw) -> dict[str, Map]:
    """Every map by name, on absolute singular values; rising ones are 1 at the largest, p₁.

    Norms are those of the population's spectrum: ‖G‖_F = ‖p‖, ‖G‖_op = p₁.
    """
    p, dim = problem.frequencies, problem.dim
    largest, frobenius, bulk = p[0].item(), p.norm().item(), float(law.quantile(0.5))
    relative = lambda s: (s / largest).clamp(max=1)
    maps = {"polar": torch.ones_like}
    for power in POWERS:
        maps[f"power_{power:g}"] = lambda s, b=power: relative(s) ** b if b > 0 else (s / bulk) ** b
    maps["soft"] = lambda s: SOFT * relative(s) ** 0.1 + 1 - SOFT
    maps["contra"] = lambda s: 1 + CONTRA * (1 - relative(s))
    # the raw direction at the energy of the polar factor: of Gram matrices, √d against p₁²
    share, gain = SOFT_POLAR, dim**0.25
    maps["soft_polar"] = lambda s: (1 - share + share * gain * relative(s)) / (1 - share + share * gain)
    # a step of ρ = 0.1 towards it at equal Frobenius norms, at right angles to the polar factor and cut to a quarter
    level = lambda s: 1 - TEMPERED + TEMPERED * math.sqrt(dim) * s / frobenius
    maps["tempered"] = lambda s: level(s.clamp(max=largest)) / level(largest)
    for share in (0.25, 0.5):
        cut = float(law.quantile(share))
        maps[f"clip_{share:g}"] = lambda s, cut=cut: (s / cut).clamp(max=1)
    maps["kaon"] = lambda s: kaon((s / frobenius).clamp(max=1))
    return maps


def kaon(x: Tensor, steps: int = KAON_STEPS) -> Tensor:
    """x ↦ 4.1 x (1 − x²)², `steps` times, over 1.175: chaotic where it is not small (Algorithm 2 of its paper)."""
    for _ in range(steps):
        x = 4.1 * x * (1 - x**2) ** 2
    return x / 1.175


NAMES = (
    "polar", *(f"power_{power:g}" for power in POWERS), "soft", "contra", "soft_polar", "tempered", "clip_0.25",
    "clip_0.5", "kaon",
)  # fmt: skip
"""The maps of `published_maps`, in its order."""
