"""Labels of few directions, and the spectral U-statistic over their Hermite tensors.

With T_b = Σ_{i in b} He_k(x_i) over the samples of a bin of labels, unfolded to d rows, the statistic is

    M = (1/n) Σ_b (T_b T_bᵀ − D_b)/n_b,   D_b = Σ_{i in b} He_k(x_i) He_k(x_i)ᵀ,

the terms of two different samples alone. For k = 4 the tensor is replaced by its partial trace, a d × d matrix.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_ROWS = 512


class Task(NamedTuple):
    """label: of (n, directions) standard normal z. order: k*, of the first Hermite tensor that the labels leave."""

    label: Callable[[np.ndarray], np.ndarray]
    directions: int
    order: int


def _cubic(z):
    return z[:, 0] ** 3 - 3 * z[:, 0]


def _quartic(z):
    return z[:, 0] ** 4 - 6 * z[:, 0] ** 2 + 3


def _leap(z):
    return z[:, 0] ** 2 - 1 + np.sign(z.prod(1))


def _sign(z):
    return np.sign(z.prod(1))


def _bump(z):
    return z[:, 0] ** 2 * np.exp(-(z[:, 0] ** 2))


TASKS = {
    "cubic": Task(_cubic, 1, 1),
    "quartic": Task(_quartic, 1, 2),
    "leap": Task(_leap, 3, 2),
    "sign": Task(_sign, 3, 3),
    "bump": Task(_bump, 1, 4),
}
"""He₃(z), He₄(z), z₁² − 1 + sign(z₁z₂z₃), sign(z₁z₂z₃), z² e^(−z²)."""


def bins_of(labels: np.ndarray, count: int) -> np.ndarray:
    """The bin of every label: the label itself where there are `count` values at most, else a quantile."""
    values = np.unique(labels[: 4 * count])
    if len(values) <= count and np.isin(labels, values).all():
        return np.searchsorted(values, labels)
    return np.searchsorted(np.quantile(labels, np.arange(1, count) / count), labels)


def hermite_sums(X: np.ndarray, order: int, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Σ_i w_i He_k(x_i), unfolded, and Σ_i w_i² He_k(x_i) He_k(x_i)ᵀ (d, d), for k = 1, 2, 3 and the trace of k = 4.

    With p = |x|² the latter are xxᵀ; (p − 2)xxᵀ + I; (p² − 6p + d + 6)xxᵀ + 2pI; and of the partial trace
    (p − d − 4)xxᵀ − (p − d − 2)I the square. Of k = 3 the columns are the pairs b ≤ c, times √2 where b < c.
    """
    n, d = X.shape
    w = np.ones(n, dtype=X.dtype) if weights is None else weights.astype(X.dtype)
    p, eye, square = (X * X).sum(1), np.eye(d, dtype=X.dtype), w * w

    def outer(factor: np.ndarray) -> np.ndarray:
        return X.T @ (X * factor[:, None])

    if order == 1:
        return (w @ X)[:, None], outer(square)
    if order == 2:
        return outer(w) - w.sum() * eye, outer(square * (p - 2)) + square.sum() * eye
    if order == 4:
        a, b = p - d - 4, p - d - 2
        return outer(w * a) - (w @ b) * eye, outer(square * (a * a * p - 2 * a * b)) + (square @ (b * b)) * eye
    first, second = np.triu_indices(d)
    T = np.zeros((d, len(first)), dtype=X.dtype)
    for i in range(0, n, _ROWS):
        Y = X[i : i + _ROWS]
        T += Y.T @ (Y[:, first] * Y[:, second] * w[i : i + _ROWS, None])
    mean, pairs = w @ X, np.arange(len(first))
    T[:, first == second] -= mean[:, None]
    T[first, pairs] -= mean[second]
    T[second, pairs] -= mean[first]
    T[:, first != second] *= np.float32(math.sqrt(2))
    return T, outer(square * (p * p - 6 * p + d + 6)) + 2 * (square @ p) * eye


def accumulate(sums: dict, X: np.ndarray, bins: np.ndarray, order: int) -> dict:
    """By bin, T_b, D_b and n_b of what `sums` holds and of more samples."""
    later = dict(sums)
    for b in np.unique(bins).tolist():
        rows = X[bins == b]
        known = sums.get(b, (0, 0, 0))
        later[b] = tuple(old + new for old, new in zip(known, (*hermite_sums(rows, order), len(rows)), strict=True))
    return later


def statistic(sums: dict) -> np.ndarray:
    """M, (d, d)."""
    return sum((T @ T.T - D) / n for T, D, n in sums.values()) / sum(n for *_, n in sums.values())


def top(M: np.ndarray, count: int) -> np.ndarray:
    """Eigenvectors of the `count` largest eigenvalues, (d, count)."""
    return np.linalg.eigh(M.astype(float))[1][:, -count:]


def one_pass(X: np.ndarray, bins: np.ndarray, order: int, count: int) -> np.ndarray:
    """The `count` directions that one statistic finds, (d, count)."""
    return top(statistic(accumulate({}, X, bins, order)), count)


def two_passes(X: np.ndarray, bins: np.ndarray) -> np.ndarray:
    """Three directions by two passes of order 2 over the same samples, (d, 3)."""
    return second_pass(one_pass(X, bins, 2, 1), X, bins)


def second_pass(v: np.ndarray, X: np.ndarray, bins: np.ndarray) -> np.ndarray:
    """The unit column v and two directions orthogonal to it, in bins of the label and of the half of ⟨x, v⟩. (d, 3)"""
    joint = 2 * bins + bins_of(X @ v[:, 0], 2)
    out = np.eye(len(v)) - v @ v.T
    return np.hstack([v, top(out @ statistic(accumulate({}, X, joint, 2)) @ out, 2)])


def overlap(V: np.ndarray, directions: int) -> float:
    """How much of the first `directions` coordinates the columns of V hold: 1 for all, 0 for as much as by chance."""
    chance = V.shape[1] / len(V)
    return float(((V[:directions] ** 2).sum() / directions - chance) / (1 - chance))
