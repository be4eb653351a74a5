"""Full-batch gradient descent on a single-index model, exactly in law, without the matrix of its data.

The n × d matrix X of Gaussian data is drawn as the descent asks for it. Let Q be an orthonormal basis of the directions
that were multiplied by X, A = XQ, and U one of the vectors that were multiplied by Xᵀ. For a new u = Uα + ρu′,

    QᵀXᵀu = Aᵀu,   |P_Q^⊥ Xᵀu| = ρχ,  χ² ~ χ²_{d−|Q|},

and the part outside Q is the next direction e, in which Xe = χu′ + P_{U,u′}^⊥ g with a fresh Gaussian g. So w is a
vector of as many numbers as there were steps, and d enters through the chi variables alone. The θ of the labels is the
first direction. The idea is Lu's Householder dice; this form of it is ours.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_SETTLED = 1e-5
"""Below what share of u its new part counts as rounding: single precision, which two sweeps keep orthogonal."""
_ONCE = 0.5
"""Above what share one sweep is enough: what it leaves is of the size of what it takes away, times the precision."""


class Descent(NamedTuple):
    """overlaps: |⟨w, θ⟩|/|w| after 0, 1, … steps. norms: |w|. basis: A = XQ, (n, steps + 2) at most; Q has θ first."""

    overlaps: np.ndarray
    norms: np.ndarray
    basis: np.ndarray


def descend(
    pull: Callable[[np.ndarray, np.ndarray], np.ndarray], move: Callable[[np.ndarray, np.ndarray], np.ndarray],
    n_samples: int, dim: int, steps: int, start: float, seed: int,
) -> Descent:  # fmt: skip
    """`steps` of w ← move(w, Xᵀu/n), u = pull(Xw, Xθ), from a random w of length `start`.

    The bases do not grow where the new part of u is rounding: the descent has come to rest, or Q is everything.
    """
    generator = np.random.default_rng([seed, dim])

    def column() -> np.ndarray:
        return generator.standard_normal(n_samples, dtype=np.float32)

    A, U = (np.empty((n_samples, min(steps + 2, dim)), dtype=np.float32, order="F") for _ in range(2))
    w = np.array([generator.standard_normal(), np.sqrt(generator.chisquare(dim - 1))], dtype=np.float32)
    w *= start / np.linalg.norm(w)
    A[:, 0], A[:, 1] = column(), column()
    k, s = 2, 0
    norms, overlaps = [start], [abs(w[0]) / start]
    for _ in range(steps):
        u = pull(A[:, :k] @ w, A[:, 0])
        G, size = A[:, :k].T @ u / n_samples, np.linalg.norm(u)
        fresh = u - U[:, :s] @ (U[:, :s].T @ u)
        if np.linalg.norm(fresh) < _ONCE * size:
            fresh -= U[:, :s] @ (U[:, :s].T @ fresh)
        rho = np.linalg.norm(fresh)
        if k < A.shape[1] and rho > _SETTLED * size:
            U[:, s], s = fresh / rho, s + 1
            chi, g = np.float32(np.sqrt(generator.chisquare(dim - k))), column()
            A[:, k] = g - U[:, :s] @ (U[:, :s].T @ g) + chi * U[:, s - 1]
            G, w, k = np.append(G, rho * chi / n_samples), np.append(w, np.float32(0)), k + 1
        w = move(w, G)
        norms.append(float(np.linalg.norm(w)))
        overlaps.append(float(abs(w[0]) / norms[-1]))
    return Descent(np.array(overlaps), np.array(norms), A[:, :k])
