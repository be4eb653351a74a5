"""What the study expects: the share that a spectrum lets a schedule keep, and how a momentum's spectrum flattens."""

import math

import numpy as np
import torch

from amembook.run.base import profile_bins
from amemlib.equivalents import SpectralLaw, expected_capacity
from amemlib.problem import Problem
from amemlib.spectral import SCHEDULES

_CURVE = np.geomspace(1e-3, 100, 16)


def slope(schedule: str) -> float:
    """Λ, the product of the a of a schedule of `spectral.SCHEDULES`."""
    return math.prod(a for a, _, _ in SCHEDULES[schedule])


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
