"""M(μ) = lim (1/d) tr μ (G Gᵀ + μ²)^{-1} for any frequencies, from μ M = 1 − (1/d) Σ_k q_k² M² / (1 + q_k² M²)."""

import math

import numpy as np
from scipy.optimize import brentq
from torch import Tensor

from amemlib.problem import check_frequencies

BIN_WIDTH = 0.01
LOG_STEP = 0.1
NOISE_CLASSES = 32
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
    excess = lambda log_M: occupation(np.array([math.exp(log_M)]), values, counts, dim)[0] - 1
    return math.exp(-brentq(excess, low, high)) if excess(high) > 0 else float(values[-1])


def binned(q: Tensor, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Distinct frequencies in decreasing order and their counts; those within a factor 1 + `width` share their mean."""
    check_frequencies("q", q)
    q = np.sort(q.detach().cpu().double().numpy())[::-1]
    labels = np.full(len(q), np.inf)
    seen = q > 0
    labels[seen] = np.floor(-np.log(q[seen] / q[0]) / width)
    _, start, counts = np.unique(labels, return_index=True, return_counts=True)
    return np.add.reduceat(q, start) / counts, counts.astype(float)


def solve_leverages(log_values: np.ndarray, counts: np.ndarray, dim: int) -> float:
    """log τ with Σ_k counts_k x_k τ / (1 + x_k τ) = d for weights x (logarithms, decreasing) of more than d items."""
    excess = lambda log_tau: counts @ (1 / (1 + np.exp(-log_values - log_tau))) - dim
    # with all frequencies equal q the solution is q τ = d / (n − d), and it is monotone in every frequency
    middle = math.log(dim / (counts.sum() - dim))
    return brentq(excess, middle - log_values[0] - 1, middle - log_values[-1] + 1)
