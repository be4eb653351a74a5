"""M(μ) = lim (1/d) tr μ (G Gᵀ + μ²)^{-1} for any frequencies, from μ M = 1 − (1/d) Σ_k q_k² M² / (1 + q_k² M²)."""

import math

import numpy as np
from scipy.optimize import brentq
from torch import Tensor

from amemlib.problem import check_frequencies

BIN_WIDTH = 0.01
LOG_STEP = 0.1
NOISE_CLASSES = 32
_SPAN = 1e-100
GAUSS_HERMITE = np.polynomial.hermite_e.hermegauss(24)


def solve_fixed_point(mu: np.ndarray, values: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    """M(μ) for an array of μ > 0 by bisection on log M: μ M + y(M) − 1 is increasing in M."""
    high = -np.log(mu)
    low = high - 50
    for _ in range(48):
        middle = (low + high) / 2
        M = np.exp(middle)
        above = mu * M + occupation(M, values, counts, dim) > 1
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.exp((low + high) / 2)


def occupation(M: np.ndarray, values: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    """y(M) = (1/d) Σ_k q_k² M² / (1 + q_k² M²)."""
    x2 = np.square(values[:, None] * M)
    return counts @ (x2 / (1 + x2)) / dim


def typical_scale(values: np.ndarray, counts: np.ndarray, dim: int) -> float:
    """The scale of the smallest singular values: 1/M where y(M) = 1, or the smallest frequency if rank < d."""
    if counts.sum() <= dim:
        return float(values[-1])
    # y(M) ≤ (1/d) Σ q² M², which is 1/4 at the lower end
    low, high = math.log(dim / (counts @ values**2)) / 2 - math.log(2), -math.log(values[-1]) + 20
    excess = lambda log_M: occupation(np.array([math.exp(log_M)]), values, counts, dim)[0] - 1  # noqa: E731
    return math.exp(-brentq(excess, low, high)) if excess(high) > 0 else float(values[-1])


def check_span(name: str, q: Tensor, n_items: int | None = None) -> None:
    """As `check_frequencies`, and raise `ValueError` where squares of positive ones, or of ratios, leave float64."""
    check_frequencies(name, q, n_items)
    largest, least = q.max().item(), q[q > 0].min().item()
    if not (_SPAN * largest <= least and _SPAN <= largest <= 1 / _SPAN):
        raise ValueError(f"{name} must lie in [1e-100, 1e100], 1e100 apart at most, got {least:.3g} … {largest:.3g}")


def binned(q: Tensor, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Distinct frequencies in decreasing order and their counts; those within a factor 1 + `width` share their mean.

    Raises `ValueError` where they are so far apart, or from 1, that squares of them leave float64.
    """
    check_span("q", q)
    q = np.sort(q.detach().cpu().double().numpy())[::-1]
    labels = np.full(len(q), np.inf)
    seen = q > 0
    labels[seen] = np.floor(-np.log(q[seen] / q[0]) / width)
    _, start, counts = np.unique(labels, return_index=True, return_counts=True)
    return np.add.reduceat(q, start) / counts, counts.astype(float)
