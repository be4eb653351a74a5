"""A closed recursion for Muon's true iterates: the sharp equation with the residuals it predicts. Not a theorem.

The residual weight of item i, q_i (1 − p̂_ii), takes the place of its frequency in every step after the first.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import log_ndtr

from amemlib.checks import check_count, check_instance, check_positive
from amemlib.equivalents.smoothed_sign import SpectralEquivalent
from amemlib.equivalents.thresholded import ManyStepEquivalent
from amemlib.problem import Problem

_CLASS_WIDTH = 0.1
_LEAST_WEIGHT = 1e-14
_LOG_GRID = 0.05
_LARGEST_SD = 50.0


@dataclass(frozen=True, eq=False)
class MeanFieldIterates:
    """What the recursion says of W_1, …, W_T, step after step.

    counts: (T,) expected number of recovered items. losses: (T,) population cross-entropy in nats.
    interaction_sd: (T,) standard deviation of a logit z_ij between items that are rare, ‖W_t‖_F / d.
    learnt: (T,) number of items with p̂_ii > 1/2, those that the next gradient has mostly lost.
    """

    counts: np.ndarray
    losses: np.ndarray
    interaction_sd: np.ndarray
    learnt: np.ndarray


def mean_field_iterates(problem: Problem, lr_over_root_dim: float, steps: int) -> MeanFieldIterates:
    """Muon on the population loss, polar map, η = `lr_over_root_dim` √d, as N scalar processes instead of a d × d one:

        z_i(t+1) = z_i(t) + η φ_t(r_i) + noise,
        r_i(t) = p_i / (1 + exp(z_i(t) − F_t)),   F_t = E log Σ_{j<N} e^{σ_t g_j},

    with φ_t the sharp signal of a gradient of weights r(t), noise of covariance η² overlap_st / d between steps, and
    σ_t² = (η²/d) Σ_{s,s'<t} overlap_ss'. An item is recovered if z_i beats N − 1 independent N(0, σ_t²).
    Nothing is fitted and no embedding is drawn; the noise of the N items is, from one fixed stream.
    It takes r(t) as independent of the embeddings and W_t as independent of what the next gradient adds. Neither is
    true: see the chapter "The true iterates" for how far it goes.
    """
    check_instance("problem", problem, Problem)
    check_count("steps", steps)
    c, dim, n_items = check_positive("lr_over_root_dim", lr_over_root_dim), problem.dim, problem.n_items
    p = problem.frequencies.numpy(force=True)
    draws = np.random.default_rng(0).standard_normal((steps, n_items))
    overlaps = np.eye(steps)
    z, residuals, rows = np.zeros(n_items), [p], []
    for t in range(steps):
        r = _quantised(residuals[t])
        for s in range(t):
            pair = torch.from_numpy(np.stack([_quantised(residuals[s]), r]))
            overlaps[s, t] = overlaps[t, s] = ManyStepEquivalent.solve(pair, dim, [0.0, 0.0]).overlaps[0, 1]
        known = overlaps[: t + 1, : t + 1] + 1e-9 * np.eye(t + 1)
        noise = np.linalg.cholesky(known)[t] @ draws[: t + 1]
        z = z + c * (math.sqrt(dim) * _signals(r, dim) + noise)
        sd = c * math.sqrt(overlaps[: t + 1, : t + 1].sum())
        if sd > _LARGEST_SD:
            least = f"logits of a standard deviation of at most {_LARGEST_SD:g}"
            raise ValueError(f"lr_over_root_dim must give {least}, got {lr_over_root_dim!r} and {sd:.3g}")
        log_rivals = _log_partition(sd, n_items - 1)
        residuals.append(p / (1 + np.exp(z - log_rivals)))
        recovered = np.exp((n_items - 1) * log_ndtr(z / sd)).sum()
        rows.append((recovered, p @ np.logaddexp(0, log_rivals - z), sd, (z > log_rivals).sum()))
    return MeanFieldIterates(*np.array(rows, dtype=float).T)


def _signals(r: np.ndarray, dim: int) -> np.ndarray:
    """φ(r) for every item, 0 where nothing is left."""
    seen = r > 0
    equivalent = SpectralEquivalent.solve(torch.from_numpy(r), dim)
    signals = np.zeros(len(r))
    signals[seen] = equivalent.signal_of(torch.from_numpy(r[seen]))
    return signals


def _quantised(r: np.ndarray) -> np.ndarray:
    """Weights on a logarithmic grid, so that a million items make a few hundred classes; tiny ones are 0."""
    largest = r.max()
    seen = r > _LEAST_WEIGHT * largest
    steps = np.round(np.log(np.where(seen, r, largest) / largest) / _CLASS_WIDTH)
    return np.where(seen, largest * np.exp(_CLASS_WIDTH * steps), 0.0)


def _log_partition(sd: float, n_rivals: int) -> float:
    """E log X, X = Σ_{j ≤ n} e^{σ g_j}, also where a few terms carry the sum: ∫ (exp(−e^y) − E exp(−e^y X)) dy."""
    g = np.linspace(-9, 9, 361)
    density = np.exp(-(g**2) / 2)
    density /= density.sum()
    y = np.arange(-math.log(n_rivals) - 9 * sd - sd**2 - 40, 10, _LOG_GRID)
    misses = -np.expm1(-np.exp(np.minimum(y[:, None] + sd * g, 50))) @ density
    transform = np.exp(n_rivals * np.log1p(-np.minimum(misses, 1 - 1e-16)))
    return float(_LOG_GRID * (np.exp(-np.exp(y)) - transform).sum())
