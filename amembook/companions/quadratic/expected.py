"""What the Riccati equation says of a start with nearly orthogonal columns: one logistic curve a direction, and floors.

All of it is derived in the chapter `emergence`; nothing is fitted.
"""

import numpy as np
from scipy.special import zeta


def coefficients(alpha: float, rank: int) -> np.ndarray:
    """λ_j ∝ j^{−α}, Σ λ_j² = 1."""
    lam = np.arange(1.0, rank + 1) ** -alpha
    return lam / np.linalg.norm(lam)


def start_mass(dim: int, width: int, init: float) -> float:
    """m s²/d: the mean of every diagonal entry of WᵀW at the start."""
    return width * init**2 / dim


def captured(lam: np.ndarray, mass: float, at) -> np.ndarray:
    """a_j(t) = λ_j/(1 + (λ_j/a_j(0) − 1) e^{−4λ_j t}), (times, r)."""
    return lam / (1 + (lam / mass - 1) * np.exp(-4 * lam * np.asarray(at, dtype=float)[:, None]))


def learning_times(lam: np.ndarray, mass: float) -> np.ndarray:
    """T_j = log(λ_j/a_j(0) − 1)/(4λ_j), where a_j is half of λ_j."""
    return np.log(lam / mass - 1) / (4 * lam)


def loss(lam: np.ndarray, mass: float, at) -> np.ndarray:
    """½ Σ_j (λ_j − a_j(t))²."""
    return ((lam - captured(lam, mass, at)) ** 2).sum(1) / 2


def floor(lam: np.ndarray, width: int) -> float:
    """½ Σ_{j>m} λ_j²: the best that a matrix of rank m can do (Eckart and Young)."""
    return float((lam[width:] ** 2).sum() / 2)


def loss_tail(alpha: float, rank: int) -> float:
    """What a power law of infinitely many directions adds: ½ Σ_{j>r} j^{−2α}/Σ_{j≤r} j^{−2α}."""
    return float(zeta(2 * alpha, rank + 1) / (np.arange(1.0, rank + 1) ** (-2 * alpha)).sum() / 2)


def loss_exponent(alpha: float | np.ndarray) -> float | np.ndarray:
    """(1 − 2α)/α, of the loss in time, up to logarithms."""
    return (1 - 2 * alpha) / alpha


def largest_share(masses: np.ndarray, draws: int = 2000) -> float:
    """E max_j a_j g_j²/Σ_j a_j: a neuron's largest squared overlap, weighted by mass, if W = O A^{1/2}, O random."""
    g = np.random.default_rng(0).standard_normal((draws, len(masses)))
    return float((masses * g**2).max(1).mean() / masses.sum())
