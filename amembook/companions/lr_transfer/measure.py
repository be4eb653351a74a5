"""Regression on random combinations of features: risks and best learning rates, exactly, one draw at a time."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import chi2

_GRID = 240


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
    of_rate = lambda rate: float(risk(rate, values, parts, total, steps))
    bounds = grid[i - 1], grid[i + 1]
    least = minimize_scalar(of_rate, bounds=bounds, method="bounded", options={"xatol": 1e-12})
    return float(least.x), float(least.fun)


def measure_sketch(width: int, n_features: int, decay: float, steps: Sequence[int], sketches: int, seed: int) -> dict:
    """Regressions on `width` random combinations of features, S of entries N(0, 1/width), one after the other; by
    numbers of `steps` from 0, and for each of them:

    shift: |log η*/η*_∞|. gap: |L(η*) − L_∞(η*_∞)|. transfer: L_∞(η*) − L_∞(η*_∞), what the rate of this sketch costs
    where nothing is sketched. diverges: whether it is beyond the edge of stability there, η* λ_1 > 2.
    """
    lam = spectrum(decay, n_features)
    total, limits = lam.sum(), {count: best_rate(lam, lam, lam.sum(), count) for count in steps}
    table = {str(count): {name: [] for name in ("shift", "gap", "transfer", "diverges")} for count in steps}
    rng = np.random.default_rng([seed, width])
    for _ in range(sketches):
        S = rng.standard_normal((width, n_features)) / math.sqrt(width)
        values, Q = np.linalg.eigh((S * lam) @ S.T)
        # the target's coefficients are 1, so that its covariance with a feature is λ
        parts = (Q.T @ (S @ lam)) ** 2 / values
        for count, (limit, least) in limits.items():
            rate, loss = best_rate(values, parts, total, count)
            cost = float(risk(rate, lam, lam, total, count)) - least
            row = {"shift": abs(math.log(rate / limit)), "gap": abs(loss - least), "transfer": cost}
            for name, value in (row | {"diverges": bool(rate * lam[0] > 2)}).items():
                table[str(count)][name].append(value)
    return table


def measure_wide(width: int, n_features: int, decay: float, steps: Sequence[int], sketches: int, seed: int) -> dict:
    """The same for sketches wider than the features are many, by Bartlett's decomposition of SᵀS: the rows of one
    triangle, and quantiles of its diagonal, are those of every width, so that widths of one seed are compared on the
    same noise. By numbers of `steps` the gap and the cost, `transfer`, of every sketch."""
    if width < n_features:
        raise ValueError(f"width must be at least n_features {n_features}, got {width}")
    lam = spectrum(decay, n_features)
    total, limits = lam.sum(), {count: best_rate(lam, lam, lam.sum(), count) for count in steps}
    table = {str(count): {"gap": [], "transfer": []} for count in steps}
    rng, order = np.random.default_rng(seed), np.arange(n_features)
    for _ in range(sketches):
        R = np.tril(rng.standard_normal((n_features, n_features)), -1)
        R[order, order] = np.sqrt(chi2.ppf(rng.random(n_features), width - order))
        A = np.sqrt(lam / width)[:, None] * R
        values, Q = np.linalg.eigh(A @ A.T)
        parts = (Q.T @ np.sqrt(lam)) ** 2
        for count, (_, least) in limits.items():
            rate, loss = best_rate(values, parts, total, count)
            table[str(count)]["gap"].append(abs(loss - least))
            table[str(count)]["transfer"].append(float(risk(rate, lam, lam, total, count)) - least)
    return table
