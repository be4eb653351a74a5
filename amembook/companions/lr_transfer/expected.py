"""Best learning rates of one step, from laws that draw nothing; sketched regression, exactly, one draw at a time."""

import math

import numpy as np
from scipy.optimize import minimize_scalar

from amemlib.equivalents import SpectralEquivalent
from amemlib.problem import Problem

_GRID = 240


def muon_best(problem: Problem) -> tuple[float, float]:
    """log₂ c* and the least loss of W = c √d polar(G), by the library's law of the loss; nothing fitted."""
    law = SpectralEquivalent.solve(problem.frequencies, problem.dim)
    mass = law.values * law.counts

    def loss(log_rate: float) -> float:
        return float(mass @ law.expected_losses(2.0**log_rate * math.sqrt(problem.dim)))

    found = minimize_scalar(loss, bounds=(-3, 6), method="bounded")
    return float(found.x), float(found.fun)


def muon_losses(problem: Problem, log_rates: np.ndarray) -> np.ndarray:
    """The law's losses at c = 2^log_rates."""
    law = SpectralEquivalent.solve(problem.frequencies, problem.dim)
    mass = law.values * law.counts
    return np.array([mass @ law.expected_losses(2.0**one * math.sqrt(problem.dim)) for one in log_rates])


def vertex(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Abscissa and least value of the parabola through the smallest of y and its two neighbours.

    NaN where the smallest is at an end of the grid.
    """
    i = int(np.argmin(y))
    if i in (0, len(y) - 1):
        return math.nan, math.nan
    a, b, c = np.polyfit(x[i - 1 : i + 2], y[i - 1 : i + 2], 2)
    return float(-b / (2 * a)), float(c - b**2 / (4 * a))


def spectrum(decay: float, count: int) -> np.ndarray:
    """λ_j = j^{−decay}: both the variance of feature j and, times its squared coefficient, its part of the target."""
    return np.arange(1.0, count + 1) ** -decay


def risk(rate, values: np.ndarray, parts: np.ndarray, total: float, steps: int) -> np.ndarray | np.floating:
    """½ (Σ of the target − Σ parts (1 − (1 − ηλ)^{2T})): T steps of gradient descent from 0 at the rate η.

    values: eigenvalues λ of the features' covariance. parts: what each explains of the target of second moment `total`.
    """
    left = np.power(1 - np.multiply.outer(np.asarray(rate, dtype=float), values), 2 * steps)
    return (total - parts.sum() + left @ parts) / 2


def best_rate(values: np.ndarray, parts: np.ndarray, total: float, steps: int) -> tuple[float, float]:
    """The rate of least risk after `steps` steps, and that risk."""
    grid = np.geomspace(0.02, 2.2, _GRID) / values.max()
    i = int(np.clip(risk(grid, values, parts, total, steps).argmin(), 1, _GRID - 2))
    found = minimize_scalar(
        lambda rate: float(risk(rate, values, parts, total, steps)),
        bounds=(grid[i - 1], grid[i + 1]),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(found.x), float(found.fun)
