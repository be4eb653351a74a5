"""What a softmax over many random logits is on average, and the gradient at any W without its N² logits."""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count, check_non_negative
from amemlib.equivalents.fixed_point import NORMAL_GRID, NORMAL_WEIGHTS
from amemlib.problem import Embeddings, check_embeddings, check_frequencies, check_tensor

_LOG_GRID = 0.05
_STEP = 1e-3
_ROWS = 8192
LARGEST_SD = 50.0
"""Logits of a larger standard deviation in nats leave float64 on the way."""


def expected_log_partition(sd: float, n_rivals: int) -> float:
    """F(σ) = E log X in nats, X = Σ_{j ≤ n} e^{σ g_j} with n independent standard normals g_j, σ = `sd` ≥ 0.

    `sd` is at most 50. The free energy of n random energies, also where a few terms carry the sum (σ² > 2 log n):
    ∫ (exp(−e^y) − E exp(−e^y X)) dy, and the second term is the n-th power of an integral over one normal variable.
    """
    return _log_partition(_check_sd(sd), check_count("n_rivals", n_rivals))


def _log_partition(sd: float, n_rivals: int) -> float:
    y = np.arange(-math.log(n_rivals) - 9 * sd - sd**2 - 40, 10, _LOG_GRID)
    misses = -np.expm1(-np.exp(np.minimum(y[:, None] + sd * NORMAL_GRID, 50))) @ NORMAL_WEIGHTS
    transform = np.exp(n_rivals * np.log1p(-np.minimum(misses, 1 - 1e-16)))
    return float(_LOG_GRID * (np.exp(-np.exp(y)) - transform).sum())


def mean_tilt(sd: float, n_rivals: int) -> float:
    """F′(σ)/σ = 1 − Y, in [0, 1]: how far the softmax's mean rival follows W v, E Σ_j π_j u_j = (1 − Y) W v / d.

    Y = E Σ_j π_j² is the participation: by Gaussian integration by parts F′(σ) = E Σ π_j g_j = σ (1 − Y). It is 1
    where all rivals share the softmax (σ² ≪ log n) and falls like √(2 log n) / σ where one has it.
    """
    sd, n_rivals = _check_sd(sd), check_count("n_rivals", n_rivals)
    if sd < 10 * _STEP:
        return 1.0
    above, below = (_log_partition(sd * (1 + sign * _STEP), n_rivals) for sign in (1, -1))
    return (above - below) / (2 * _STEP * sd**2)


def surrogate_gradient(W: Float[Tensor, "d d"], emb: Embeddings, q: Float[Tensor, " N"]) -> Float[Tensor, "d d"]:
    """−∇L(W) up to what the N² softmax fluctuates, at the cost of two products, 6 N d², (d, d) float64:

        Σ_i r_i (u_i − (1 − Y) W v_i / d) v_iᵀ,   r_i = q_i / (1 + exp(z_ii − F(σ))),   z_ii = u_iᵀ W v_i,

    with σ = ‖W‖_F / d, F = `expected_log_partition` and 1 − Y = `mean_tilt` of N − 1 rivals: every item has the mean
    free energy, and of its rivals' mean only the part along W v_i is kept. For embeddings with entries N(0, 1/d).
    """
    check_embeddings(emb)
    check_tensor("W", W, (emb.dim, emb.dim))
    check_frequencies("q", q, emb.n_items)
    W = W.double()
    sd = float(W.norm()) / emb.dim
    if sd > LARGEST_SD:
        raise ValueError(f"W must give logits of a standard deviation of at most {LARGEST_SD:g}, got {sd:.3g}")
    energy, tilt = expected_log_partition(sd, emb.n_items - 1), mean_tilt(sd, emb.n_items - 1)
    G = torch.zeros_like(W)
    for U, V, p in zip(emb.U.split(_ROWS), emb.V.split(_ROWS), q.to(W.device).double().split(_ROWS), strict=True):
        U, V = U.double(), V.double()
        images = V @ W.T
        residual = p * torch.sigmoid(energy - (images * U).sum(1))
        G += (residual[:, None] * (U - tilt / emb.dim * images)).T @ V
    return G


def _check_sd(sd: float) -> float:
    sd = check_non_negative("sd", sd)
    if sd > LARGEST_SD:
        raise ValueError(f"sd must be at most {LARGEST_SD:g} nats, got {sd!r}")
    return sd
