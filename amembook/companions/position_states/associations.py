"""Sums over the vectors that a block should copy, and what one polar step makes of them."""

import numpy as np
import torch

from amemlib import polar


def measure_polar(count: int, alpha: float, dim: int, seed: int) -> dict:
    """G = Σ_i p_i (Q a_i) a_iᵀ over random unit vectors a_i, weights p_i ∝ i^(−α), Q a random orthogonal matrix.

    off: largest entry of polar(G) − QP, P the projection on the span of the a_i. lost: vectors that polar(G) does not
    send nearest to their own Q a_i; sgd: those that G itself does.
    """
    rng = np.random.default_rng([seed, count])
    a = rng.standard_normal((count, dim))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    Q = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    p = np.arange(1.0, count + 1) ** -alpha
    G = Q @ (a.T * p / p.sum()) @ a
    P = np.linalg.pinv(a) @ a
    W = polar(torch.from_numpy(G), rank=min(count, dim)).numpy()
    found = lambda M: int(((a @ M.T @ Q @ a.T).argmax(1) == np.arange(count)).sum())
    return {"off": float(np.abs(W - Q @ P).max()), "lost": count - found(W), "sgd": found(G)}
