"""What the predictions share: M(μ) = lim (1/d) tr μ (G Gᵀ + μ²)^{-1} for any frequencies, classes, quadrature, wins.

M solves μ M = 1 − (1/d) Σ_k q_k² M² / (1 + q_k² M²).
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr
from torch import Tensor

from amemlib.problem import check_frequencies

BIN_WIDTH = 0.01
LOG_STEP = 0.1
NOISE_CLASSES = 32
GAUSS_HERMITE = np.polynomial.hermite_e.hermegauss(24)
NORMAL_GRID = np.linspace(-9, 9, 361)
NORMAL_WEIGHTS = np.exp(-(NORMAL_GRID**2) / 2) / np.exp(-(NORMAL_GRID**2) / 2).sum()
"""E f(g) by equal steps, for functions of one normal variable that are too steep for a Gauss rule."""


def solve_fixed_point(mu: np.ndarray, values: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    """M(μ) for an array of μ > 0 by bisection on log M: μ M + y(M) − 1 is increasing in M."""
    high = -np.log(mu)
    low = high - 50
    for _ in range(48):
        middle = (low + high) / 2
        M = np.exp(middle)
        above = mu * M + occupation(M, values, counts, dim) > 1  # eq-sh-fixed
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
    values = np.sort(q.detach().cpu().double().numpy())[::-1]
    labels = np.full(len(values), np.inf)
    seen = values > 0
    labels[seen] = np.floor(-np.log(values[seen] / values[0]) / width)
    _, start, counts = np.unique(labels, return_index=True, return_counts=True)
    return np.add.reduceat(values, start) / counts, counts.astype(float)


def class_means(label: np.ndarray, counts: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(C,) items in every class that has some, and (…, C) the mean of `values` (…, K) over them.

    label: (K,) the class of every frequency. counts: (K,) its number of items.
    """
    number = np.bincount(label, counts)
    seen = number > 0
    total = np.array([np.bincount(label, counts * row)[seen] for row in values.reshape(-1, len(label))])
    return number[seen], total.reshape(*values.shape[:-1], -1) / number[seen]


def log_quadrature(bottom: float, top: float, step: float = LOG_STEP) -> tuple[np.ndarray, np.ndarray]:
    """Nodes s and weights of ∫₀^∞ ds for integrands that are smooth in log s and flat beyond the ends."""
    s = np.exp(np.arange(math.log(bottom), math.log(top), step))
    weights = s * step
    weights[[0, -1]] /= 2
    # beyond the ends the integral is s × the value there
    weights[[0, -1]] += s[[0, -1]]
    return s, weights


def quadratic(rows: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """(K,) rowᵀ kernel row for every row."""
    return ((rows @ kernel) * rows).sum(1)


def beating_all(score: np.ndarray, deviation: np.ndarray, number: np.ndarray) -> np.ndarray:
    """(K,) E_g Π_c Φ(score / deviation_c) over classes of rivals, the item itself left out.

    score: (K, 24) the own logit at the nodes of `GAUSS_HERMITE`. deviation: (K, C) of its difference from a rival's.
    number: (C,) items in each class; all factors are raised to the power 1 − 1/N, for an item is among its own class.
    """
    log_wins = sum(n * log_ndtr(score / sd[:, None]) for n, sd in zip(number, deviation.T, strict=True))
    return np.exp(log_wins * (1 - 1 / number.sum())) @ GAUSS_HERMITE[1] / math.sqrt(2 * math.pi)


def solve_leverages(log_values: np.ndarray, counts: np.ndarray, dim: int) -> float:
    """log τ with Σ_k counts_k x_k τ / (1 + x_k τ) = d for weights x (logarithms, decreasing) of more than d items."""
    excess = lambda log_tau: counts @ (1 / (1 + np.exp(-log_values - log_tau))) - dim
    # with all frequencies equal q the solution is q τ = d / (n − d), and it is monotone in every frequency
    middle = math.log(dim / (counts.sum() - dim))
    return brentq(excess, middle - log_values[0] - 1, middle - log_values[-1] + 1)
