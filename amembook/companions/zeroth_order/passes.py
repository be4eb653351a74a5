"""Gradients from forward passes, what a step along one gains, and the memory's curvature, which decides it."""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.problem import Embeddings

_LEAST = 1e-12


def estimate(loss: Callable[[Tensor], Tensor], W: Tensor, directions: Tensor, width: float) -> Tensor:
    """The average of [L(W + ε z) − L(W − ε z)]/2ε · z over some directions z, two forward passes each.

    loss: from a batch of parameters (K, …) to K numbers. directions: (K, …). width: ε. Returns what W is.
    """
    slope = (loss(W + width * directions) - loss(W - width * directions)) / (2 * width)
    return torch.tensordot(slope, directions, 1) / len(directions)


def sampled_estimate(G: Float[Tensor, "d d"], n_estimates: float, generator: np.random.Generator) -> Tensor:
    """A matrix in proportion to an average of K estimates of G, in law, at the cost of one (ours, exact as ε → 0):

        G + ‖G‖ N/√χ²_K,   N Gaussian, orthogonal to G.

    Its own factor χ²_K/K is left out: no step of a chosen length sees it. n_estimates: K, inf for G itself.
    """
    if math.isinf(n_estimates):
        return G
    noise = torch.from_numpy(generator.standard_normal(tuple(G.shape)))
    length = torch.linalg.norm(G)
    noise = noise - (noise * G).sum() / length**2 * G
    return G + length / math.sqrt(generator.chisquare(n_estimates)) * noise


def slowdown(trace: float, curvature: float, n_estimates: float = 1) -> float:
    """How many times less a step along K averaged estimates gains than a gradient step, each at its best rate:

        1 + (tr H/h + 1)/K,   h = gᵀHg/|g|²

    on a quadratic, exactly (ours, by Isserlis); tr H/h + 2 at K = 1.
    """
    return 1 + (trace / curvature + 1) / n_estimates


def loss(W: Float[Tensor, "*batch d d"], emb: Embeddings, p: Float[Tensor, " N"]) -> Float[Tensor, "*batch"]:
    """The memory's loss at a batch of W: dense, for a few hundred items."""
    Z = emb.V @ W.mT @ emb.U.T
    return (torch.logsumexp(Z, -1) - Z.diagonal(dim1=-2, dim2=-1)) @ p


def curvatures(W: Float[Tensor, "d d"], emb: Embeddings, p: Float[Tensor, " N"]) -> dict:
    """The gradient −∇L as `G`, `trace` = tr H and `curvature` = h along G, of the memory at W; dense.

    H = Σ_i p_i Cov_i(u) ⊗ v_i v_iᵀ with the covariance under the softmax of item i, so that
    tr H = Σ_i p_i |v_i|² tr Cov_i(u) and h ‖G‖² = Σ_i p_i Var_i(uᵀ G v_i).
    """
    U, V = emb.U, emb.V
    policy = (V @ W.mT @ U.T).softmax(-1)
    mean = policy @ U
    G = ((U - mean) * p[:, None]).mT @ V
    scatter = policy @ (U**2).sum(1) - (mean**2).sum(1)
    moved = V @ G.mT @ U.T
    variance = (policy * moved**2).sum(1) - (policy * moved).sum(1) ** 2
    curvature = p @ variance / (G**2).sum()
    return {"G": G, "trace": float(p @ (scatter * (V**2).sum(1))), "curvature": float(curvature)}


def quadratic_steps(eigenvalues: np.ndarray, rates: np.ndarray, level: float, estimates: float) -> float:
    """Fewest steps at a constant rate after which the mean loss of a quadratic is `level` of its start; exact.

    Second moments m_i along the eigenvectors, 1 at the start: m_i ← (1 − ηλ_i)² m_i + η²(λ_i² m_i + Σ_j λ_j² m_j)/K
    with K = `estimates` a step, inf for the gradient. Between two steps the loss is taken as geometric.
    rates: of which the best counts.
    """
    lam, best = eigenvalues, math.inf
    for eta in rates:
        m, now, t = np.ones(len(lam)), float(lam.sum()), 0
        end = level * now
        while t < best:
            m = (1 - eta * lam) ** 2 * m + eta**2 * (lam**2 * m + lam**2 @ m) / estimates
            last, now, t = now, float(lam @ m), t + 1
            if now <= end:
                best = min(best, t - 1 + math.log(last / end) / math.log(last / max(now, _LEAST * end)))
            if now > 2 * last:
                break
    return best
