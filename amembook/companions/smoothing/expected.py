"""When a share of the neurons arrives, with nothing fitted: the chain's own jumps, on a grid.

Ours; the chapter `single-index` derives it.
"""

import math
from collections.abc import Callable

import numpy as np

_CELLS, _JUMP, _GROWTH, _LONGEST = 80, 0.03, 1.03, 1e9
_RADIAL, _PANEL = 3, 10
_ENDS = (0.0, 0.74196378, 3**0.5, 2.33441422, 7.0)
"""Where signs change: the roots of h_4 and of its derivative; between them Gauss and Legendre's nodes."""


def generator(label: Callable, slope: Callable, dim: int, rate: float, cells: int = _CELLS) -> np.ndarray:
    """L with p(t) = exp(tL) p(0) for the law p of |m| on cells of [0, 1]; a step of the chain is one unit of time.

    Moves of at most 0.03 act by their mean and variance, as a diffusion with the rates of Scharfetter and Gummel;
    larger ones, of rare samples, jump where they jump. The square length of what is neither along w nor along θ is
    taken by Wilson and Hilferty's law.
    """
    x, v = np.polynomial.legendre.leggauss(_PANEL)
    ends = np.array(_ENDS)
    half = (ends[:-1, None] + np.diff(ends)[:, None] * (x + 1) / 2).ravel()
    weights = (np.diff(ends)[:, None] * v).ravel() * np.exp(-(half**2) / 2)
    x, v = np.polynomial.hermite_e.hermegauss(_RADIAL)
    k = dim - 2
    rest = k * (1 - 2 / (9 * k) + x * math.sqrt(2 / (9 * k))) ** 3
    # a sample and its opposite move a neuron alike: the positive q are enough
    weights = weights[:, None, None] * np.concatenate([weights[::-1], weights])[None, :, None] * v
    weights /= weights.sum()
    q, s = half[:, None, None], np.concatenate([-half[::-1], half])[None, :, None]
    squared = s**2 + rest
    g = slope(q, squared)
    edges, middle = _cells(cells)
    L, drift, spread = np.zeros((cells, cells)), np.empty(cells), np.empty(cells)
    for i, m in enumerate(middle):
        across = math.sqrt(1 - m * m) * s
        step = rate * g * label(m * q + across)
        moved = (m + step * across) / np.sqrt(1 + step**2 * squared)
        move = moved - m
        far = np.abs(move) > _JUMP
        near = np.where(far, 0, move)
        drift[i], spread[i] = (weights * near).sum(), (weights * near**2).sum() / 2
        if far.any():
            landed = np.searchsorted(edges[1:-1], np.abs(moved[far]))
            L[:, i] = np.bincount(landed, weights[far], cells)
    drift, spread = ((a[1:] + a[:-1]) / 2 for a in (drift, spread))
    apart, width = np.diff(middle), np.diff(edges)
    peclet = np.clip(drift * apart / spread, -300, 300)
    inner = np.arange(cells - 1)
    L[inner + 1, inner] += spread / (apart * width[:-1]) * _bernoulli(-peclet)
    L[inner, inner + 1] += spread / (apart * width[1:]) * _bernoulli(peclet)
    np.fill_diagonal(L, 0)
    return L - np.diag(L.sum(0))


def samples_needed(
    label: Callable,
    slope: Callable,
    dim: int,
    rate: float,
    level: float,
    share: float,
    cells: int = _CELLS,
    growth: float = _GROWTH,
) -> float:
    """Samples after which a share of the neurons has |m| above `level`; NaN where it never has.

    Implicit steps that lengthen the time by `growth`. At the start |m| has the density (1 − m²)^{(d−3)/2}. With 80
    cells and 3 % it is early, by up to 2 % on the smoothed loss at d = 768 and 4 % for signs at 4096, which was found
    after the records.
    """
    L = generator(label, slope, dim, rate, cells)
    edges, middle = _cells(cells)
    p = np.diff(edges) * (1 - middle**2) ** ((dim - 3) / 2)
    p /= p.sum()
    t, dt, before, rest = 0.0, dim / 8, 0.0, 0
    while t < _LONGEST and rest < 60:
        p = np.linalg.solve(np.eye(cells) - dt * L, p)
        t, above = t + dt, p[middle > level].sum()
        if above >= share:
            return t - dt * (above - share) / (above - before)
        rest = rest + 1 if above > share / 2 and above - before < 1e-5 else 0
        before, dt = above, max(dt, t * (growth - 1))
    return math.nan


def late_share(label: Callable, slope: Callable, dim: int, rate: float, level: float, horizon: float) -> float:
    """The share of the neurons with |m| above `level`, mean over the second half of `horizon` samples."""
    edges, middle = _cells(_CELLS)
    p = np.diff(edges) * (1 - middle**2) ** ((dim - 3) / 2)
    p, shares = p / p.sum(), []
    step = np.linalg.inv(np.eye(_CELLS) - horizon / 200 * generator(label, slope, dim, rate))
    for look in range(200):
        p = step @ p
        if look >= 100:
            shares.append(p[middle > level].sum())
    return float(np.mean(shares))


def largest_rate(rates: np.ndarray, shares: np.ndarray, share: float) -> float:
    """The rate beyond which fewer than `share` arrive, linear in its logarithm between two; NaN at an end of them."""
    above = np.flatnonzero(np.asarray(shares) >= share)
    if not len(above) or (k := above[-1]) + 1 == len(rates):
        return math.nan
    part = (shares[k] - share) / (shares[k] - shares[k + 1])
    return float(rates[k] * (rates[k + 1] / rates[k]) ** part)


def _cells(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges and middles of the cells, which are finest at zero, where neurons begin."""
    edges = np.linspace(0, 1, count + 1) ** 1.5
    return edges, (edges[1:] + edges[:-1]) / 2


def _bernoulli(x: np.ndarray) -> np.ndarray:
    """x/(eˣ − 1)."""
    small = np.abs(x) < 1e-6
    return np.where(small, 1 - x / 2, x / np.expm1(np.where(small, 1, x)))
