"""The paper in plain torch: no checks, no blocks, an N × N matrix of logits.

What the rest of the library does, slowly; the tests hold its kernels to this.
Rows of U and V are u_i and v_i: input i gives output j the logit (V Wᵀ Uᵀ)_ij.
All in float64. Equations are numbered as in arXiv:2603.26554v1.
"""

import numpy as np
import torch


def frequencies(n_items, alpha):
    """p_i = i^{−α} / ζ_N(α), (N,)."""
    weights = torch.arange(1, n_items + 1, dtype=torch.float64) ** -alpha
    return weights / weights.sum()


def embeddings(n_items, dim, seed):
    """u_i, v_i ~ N(0, I/d), (N, d) each: the draws of `sample_embeddings`."""
    generators = [np.random.default_rng([seed, dim, side]) for side in (0, 1)]
    U, V = (rng.standard_normal((n_items, dim)) for rng in generators)
    return torch.from_numpy(U / dim**0.5), torch.from_numpy(V / dim**0.5)


def loss(W, U, V, p):
    """L(W) = −Σ_i p_i log p̂_W(i | i) in nats, Eq. (1)."""
    log_probabilities = (V @ W.T @ U.T).log_softmax(1)
    return -p @ log_probabilities.diagonal()


def gradient(W, U, V, p):
    """−∇L(W) = Σ_i p_i (u_i − Σ_j p̂_W(j | i) u_j) v_iᵀ, (d, d), Eq. (2)."""
    probabilities = (V @ W.T @ U.T).softmax(1)
    return (p[:, None] * (U - probabilities @ U)).T @ V


def polar(G):
    """P Qᵀ of G = P S Qᵀ; directions with singular value 0 are dropped."""
    P, s, Qh = torch.linalg.svd(G)
    kept = s > len(s) * torch.finfo(s.dtype).eps * s[0]
    return (P * kept) @ Qh


def recovered(W, U, V):
    """(N,) whether u_iᵀ W v_i > u_jᵀ W v_i for every j ≠ i, Eq. (4)."""
    logits = V @ W.T @ U.T
    own = logits.diagonal().clone()
    return own > logits.fill_diagonal_(-torch.inf).amax(1)


def muon_iterates(U, V, p, lr, steps):
    """W_1, …, W_T from W_0 = 0 by Muon without momentum, Eq. (3) at λ = 0."""
    W = torch.zeros(U.shape[1], U.shape[1], dtype=U.dtype)
    for _ in range(steps):
        W = W + lr * polar(gradient(W, U, V, p))
        yield W
