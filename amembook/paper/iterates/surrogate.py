"""The gradient at any W without its N² logits: what the closed recursion takes for the truth."""

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.laws.free_energy import LARGEST_SD, expected_log_partition, mean_tilt
from amemlib.problem import Embeddings, check_embeddings, check_frequencies, check_tensor

_ROWS = 8192


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
