"""Muon's recursion of "The true iterates" in its plainest form: every input has all its N − 1 rivals.

`amembook.laws.mean_field_iterates` does the same with the rivals of some inputs, one row for many rare items, and
momentum, batches and larger dimensions besides. Memory N² T.
"""

import math

import numpy as np
from scipy.ndimage import uniform_filter1d


def reference(
    p: np.ndarray, dim: int, c: float, steps: int, seed: int, lowered=True, finite=True, strong=True
) -> np.ndarray:
    """Recovered items and ‖W_t‖_F / d after 1, …, `steps` steps at η = c √d, of one solution, (2, steps).

    lowered, finite, strong: whether rivals are lowered in κ_i, outputs have their covariance at finite N/d, and learnt
    outputs are stronger rivals.
    """
    rng, n, root_d = np.random.default_rng(seed), len(p), math.sqrt(dim)
    U, V = rng.standard_normal((2, n, dim)) / root_d
    identity = np.eye(dim)
    covariance = lambda w: dim * (U * w[:, None]).T @ U if finite else identity
    W, left, kappa, sharing, w = np.zeros((dim, dim)), np.ones(n), np.ones(n), np.zeros(n), np.full(n, 1 / n)
    C, means, updates, draws, rows = covariance(w), np.zeros((n, dim)), [], [], []
    shuffled = rng.permutation(n)
    rivals, down, pi = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for _ in range(steps):
        # eq-it-surrogate with κ_i for 1 − Y and C_w for the identity
        r = p * left
        moment = (V * (r * kappa)[:, None]).T @ V / dim
        A, s, B = np.linalg.svd(((U - means) * r[:, None]).T @ V - covariance(w) @ W @ moment)
        W = W + c * root_d * A @ B
        # eq-it-lowered, by the integrals over μ of eq-it-signal
        mu = np.exp(np.arange(math.log(1e-3 * np.median(s)), math.log(300 * s[0]), 0.2))
        weights = 0.4 / math.pi * mu
        weights[0] *= 6
        D = mu / (s[:, None] ** 2 + mu**2)
        M = D.mean(0)
        signal = r * (M**2 / (1 + (1 + sharing[:, None]) * (r[:, None] * M) ** 2) @ weights)
        gaps = 1 / np.add.outer(s, s)
        keep = 1 - c * root_d * ((B @ moment * B).sum(1) @ (gaps.sum(1) - gaps.diagonal())) / dim**2
        down = keep * down + c * root_d * signal[:, None] * pi
        # rivals: Gaussian, with the covariance of the updates that their outputs see
        updates.append(A @ B)
        draws.append(rng.standard_normal((n, n)))
        overlaps = [[(X * (C @ Y)).sum() / dim for Y in updates] for X in updates]
        rivals += c * sum(f * g for f, g in zip(np.linalg.cholesky(overlaps)[-1], draws, strict=True))
        images = V @ W.T
        z, variance = (images * U).sum(1), (W * (C @ W)).sum() / dim**2
        norms = np.ones(n)
        if strong:
            order = np.argsort(z)
            norms[order] = uniform_filter1d((((U @ W) ** 2).sum(1) / (U**2).sum(1))[order], 33, mode="nearest")
            norms /= norms.mean()
        # an item is no rival of its own
        scale = (((images @ C) * images).sum(1) / dim - finite * z**2 / n) / variance
        logits = np.sqrt(np.outer(scale, norms)) * rivals - down
        np.fill_diagonal(logits, -np.inf)
        energy = np.logaddexp.reduce(logits, 1)
        pi = np.exp(logits - energy[:, None])
        rows.append(((z > logits.max(1)).sum(), np.linalg.norm(W) / dim))
        # what the next gradient sees
        level = np.clip(np.average(kappa, weights=r), 0, 1) ** 2 * variance / 2
        w = np.exp(level * (1 - 1 / norms)) / np.sqrt(norms)
        w /= w.sum()
        left, sharing = 1 / (1 + np.exp(z - energy)), (pi**2).sum(1)
        np.fill_diagonal(logits, 0)
        # eq-it-kappa
        kappa = (pi * logits).sum(1) / (scale * variance * (w @ norms)) if lowered else 1 - sharing
        means = (pi - (1 - np.eye(n)) / (n - 1)) @ U[shuffled]
        means -= ((means * images).sum(1) / (images**2).sum(1))[:, None] * images
    return np.array(rows).T
