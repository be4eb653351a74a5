"""What a softmax over many random logits is on average."""

import math

import numpy as np

from amemlib.checks import check_count, check_non_negative
from amemlib.equivalents.fixed_point import NORMAL_GRID, NORMAL_WEIGHTS

_LOG_GRID = 0.05
_STEP = 1e-3
LARGEST_SD = 50.0
"""Logits of a larger standard deviation in nats leave float64 on the way."""


def expected_log_partition(sd: float, n_rivals: int) -> float:
    """F(σ) = E log X in nats, X = Σ_{j ≤ n} e^{σ g_j} with n independent standard normals g_j, σ = `sd` ≥ 0.

    `sd` is at most 50. The free energy of n random energies, also where a few terms carry the sum (σ² > 2 log n):
    ∫ (exp(−e^y) − E exp(−e^y X)) dy, and the second term is the n-th power of an integral over one normal variable.
    """
    return _log_partition(_check_sd(sd), check_count("n_rivals", n_rivals))


def _log_partition(sd: float, n_rivals: int) -> float:
    y = np.arange(-math.log(n_rivals) - 9 * sd - sd**2 - 40, 10, _LOG_GRID)
    misses = -np.expm1(-np.exp(np.minimum(y[:, None] + sd * NORMAL_GRID, 50))) @ NORMAL_WEIGHTS
    transform = np.exp(n_rivals * np.log1p(-np.minimum(misses, 1 - 1e-16)))
    return float(_LOG_GRID * (np.exp(-np.exp(y)) - transform).sum())


def mean_tilt(sd: float, n_rivals: int) -> float:
    """F′(σ)/σ = 1 − Y, in [0, 1]: how far the softmax's mean rival follows W v, E Σ_j π_j u_j = (1 − Y) W v / d.

    Y = E Σ_j π_j² is the participation: by Gaussian integration by parts F′(σ) = E Σ π_j g_j = σ (1 − Y). It is 1
    where all rivals share the softmax (σ² ≪ log n) and falls like √(2 log n) / σ where one has it.
    """
    sd, n_rivals = _check_sd(sd), check_count("n_rivals", n_rivals)
    if sd < 10 * _STEP:
        return 1.0
    above, below = (_log_partition(sd * (1 + sign * _STEP), n_rivals) for sign in (1, -1))
    return (above - below) / (2 * _STEP * sd**2)


def _check_sd(sd: float) -> float:
    sd = check_non_negative("sd", sd)
    if sd > LARGEST_SD:
        raise ValueError(f"sd must be at most {LARGEST_SD:g} nats, got {sd!r}")
    return sd
