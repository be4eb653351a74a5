"""What is predicted of the study's numbers, nothing fitted: counts after one step along an average of estimates.

An average of K estimates is the gradient and a Gaussian matrix of ‖E‖_F²/d = d ‖G‖_F² / K beside it. Such noise is what
a crowd of items of vanishing weight would add (`SpectralLaw.solve`), and so it enters the fixed point of the counts.
"""

import math

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, ndtri
from scipy.stats.qmc import Sobol
from torch import Tensor

from amemlib.equivalents.fixed_point import GAUSS_HERMITE, binned, solve_fixed_point, typical_scale
from amemlib.problem import Problem

_CROWD = 1e6
_LOG_STEP = 0.05
_BIN_WIDTH = 0.02
_HEAD, _LOG2_DRAWS, _NODES = 8, 7, 40
_SCORES = np.linspace(-5, 5, 26)


def slowdown(p: Float[Tensor, " N"], dim: int) -> float:
    """tr H/h of the memory at W = 0, leading terms: d Σp² / ((1 + d/N) (Σp³ (1 + 1/d) + Σp²/d))."""
    second, third = float((p**2).sum()), float((p**3).sum())
    return dim * second / ((1 + dim / len(p)) * (third * (1 + 1 / dim) + second / dim))


def polar_count(problem: Problem, n_estimates: float) -> float:
    """Expected items of one polar step along K estimates, K = inf for the gradient itself:

    Σ_i E_g Φ(√d φ(p_i) + g)^{N−1},   φ(q) = (2/π) ∫ q M² / (1 + q² M²) ds,   s M + y(M) + d ‖G‖² M²/K = 1.
    """
    values, counts = binned(problem.frequencies, _BIN_WIDTH)
    d, weights, sizes = problem.dim, values, counts
    if not math.isinf(n_estimates):
        noise = d * (counts @ values**2) / n_estimates
        crowd = _CROWD * max(d, counts.sum())
        weights, sizes = np.r_[values, math.sqrt(noise * d / crowd)], np.r_[counts, crowd]
    scale = typical_scale(weights, sizes, d)
    s = np.exp(np.arange(math.log(1e-3 * scale), math.log(1e3 * max(values[0], scale)), _LOG_STEP))
    x = values[:, None] * solve_fixed_point(s, weights, sizes, d)
    slope = x**2 / (1 + x**2) / values[:, None]
    # flat below the grid, falling as 1/s² above it
    signal = 2 / math.pi * (_LOG_STEP * slope @ s + slope[:, 0] * s[0] + slope[:, -1] * s[-1])
    g, gauss = GAUSS_HERMITE
    wins = (counts.sum() - 1) * log_ndtr(math.sqrt(d) * signal[:, None] + g)
    return float(counts @ (np.exp(wins) @ gauss)) / math.sqrt(2 * math.pi)


def sgd_count(problem: Problem, n_estimates: float) -> float:
    """The same of a step along the estimate itself: `sgd_recovery_probabilities` with d ‖G‖²/K beside its c.

    The overlaps g_j of the leading items are points of a fixed sequence, all others are integrated out, and items of
    like weight share a number.
    """
    values, counts = binned(problem.frequencies, _BIN_WIDTH)
    d, noise = problem.dim, problem.dim * (counts @ values**2) / n_estimates
    head, size = values[:_HEAD], min(_HEAD, len(values))
    overlaps = ndtri(Sobol(size, rng=np.random.default_rng(0)).random_base2(_LOG2_DRAWS))
    pulls = (head * overlaps)[..., None]
    rest, number = values[size:], counts[size:]
    base = (number @ rest**2) / d + noise
    floor = 0.1 * math.sqrt(base)
    classes = np.floor(np.log(max(head[0], floor) / np.maximum(rest, floor)) / 0.2).astype(int)
    number, energy = (np.bincount(classes, x) for x in (number, number * rest**2))
    energy, number = energy[number > 0] / number[number > 0], number[number > 0]
    density = np.exp(-(_SCORES**2) / 2)
    # the head one by one, and beyond it a grid in log q
    grid = np.r_[head, np.geomspace(rest[0], rest[-1], _NODES)] if len(rest) else head
    chances = np.empty(len(grid))
    for i, q in enumerate(grid):
        pull = pulls[:, np.arange(size) != i]
        own = (pull**2).sum(1) / d + base
        score = math.sqrt(d) * q + np.sqrt(2.5 * q**2 + own) * _SCORES
        variance = np.maximum(q**2 + own[:, None] - pull**2 / d, 1e-12 * own[:, None])
        wins = log_ndtr((score[:, None] - pull) / np.sqrt(variance)).sum(1)
        for square, count in zip(energy, number, strict=True):
            wins += count * log_ndtr(score / np.sqrt(q**2 + own + square))
        chances[i] = (np.exp(wins) @ density).mean() / density.sum()
    logs = np.interp(-np.log(values), -np.log(grid), np.log(np.maximum(chances, 1e-300)))
    return float(counts @ np.exp(logs))
