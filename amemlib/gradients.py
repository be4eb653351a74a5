"""The cross-entropy of the linear memory and its negative gradient −∇L: closed form, streamed, never an N × N matrix.

Logits are z_ij = u_jᵀ W v_i (input i, candidate output j). Every sum over items is accumulated in float64: the
gradient's small singular values are 10⁻⁶ of the largest, and a float32 sum loses the smallest of them.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.problem import Embeddings, check_frequencies, check_square
from amemlib.theory import check_count

_ROWS = 8192
_TILE = 2**22


def initial_gradient(emb: Embeddings, q: Float[Tensor, " N"]) -> Float[Tensor, "d d"]:
    """−∇L at W = 0 for frequencies q, population (q = p) or minibatch (Eq. (2)):

        G₀ = Σ_i q_i (u_i − ū) v_iᵀ,   ū = (1/N) Σ_j u_j.

    Returns (d, d) float64, rows on the output side, columns on the input side. Cost 2·n·d² for n items with q_i > 0.
    """
    mean_output = torch.zeros(emb.dim, dtype=torch.float64, device=emb.U.device)
    for rows in emb.U.split(_ROWS):
        mean_output += rows.double().sum(0)
    return _weighted_outer(emb, q, mean_output / emb.n_items)


def thresholded_gradient(emb: Embeddings, q: Float[Tensor, " N"], n_recovered: int) -> Float[Tensor, "d d"]:
    """G = Σ_{i > M} q_i u_i v_iᵀ with M = `n_recovered`: the gradient of Eq. (7), uncentred, its first M items removed.

    M = 0 is the uncentred gradient at W = 0. Returns (d, d) float64. Items are counted in the order of their rows.
    It removes the *prefix*, not the set of items that some W recovers.
    """
    n_recovered = check_count("n_recovered", n_recovered, least=0)
    if n_recovered > emb.n_items:
        raise ValueError(f"n_recovered must be at most N = {emb.n_items}, got {n_recovered}")
    check_frequencies("q", q, emb.n_items)
    kept = q.clone()
    kept[:n_recovered] = 0
    if not kept.any():
        return torch.zeros(emb.dim, emb.dim, dtype=torch.float64, device=emb.U.device)
    return _weighted_outer(emb, kept, torch.zeros(emb.dim, dtype=torch.float64, device=emb.U.device))


def gradient_rank(emb: Embeddings, q: Float[Tensor, " N"]) -> int:
    """Rank of `initial_gradient(emb, q)` for embeddings in general position: min(d, #{i : q_i > 0}).

    One fewer when all N ≤ d items are seen, because the centred outputs then sum to zero. Give it to `polar`.
    """
    check_frequencies("q", q, emb.n_items)
    seen = int((q > 0).sum())
    return min(emb.dim, seen - 1 if seen == emb.n_items else seen)


def loss(W: Float[Tensor, "d d"], emb: Embeddings, q: Float[Tensor, " N"]) -> float:
    """Cross-entropy L(W) = −Σ_i q_i log p̂_W(i | i) in nats, p̂_W(j | i) = softmax_j u_jᵀ W v_i (Eq. (1))."""
    return float((q.double() * item_losses(W, emb).cpu())[q > 0].sum())


def item_losses(W: Float[Tensor, "d d"], emb: Embeddings) -> Float[Tensor, " N"]:
    """−log p̂_W(i | i) for every item, in nats: (N,) float64. No weights: `loss` is their q-weighted sum.

    An item's own logit is left out of the sum over its rivals, so the loss of a learned item, which can be 10⁻³⁰,
    keeps its relative precision: −log p̂ = log(1 + Σ_{j≠i} e^{z_ij − z_ii}).
    """
    check_square("W", W, emb.dim)
    losses = torch.empty(emb.n_items, dtype=torch.float64, device=emb.U.device)
    n_rows = max(1, _TILE // emb.n_items)
    for start in range(0, emb.n_items, n_rows):
        stop = min(start + n_rows, emb.n_items)
        excess = _excess_logits(W, emb, start, stop)
        losses[start:stop] = torch.nn.functional.softplus(torch.logsumexp(excess, 1), threshold=50)
    return losses


def _excess_logits(W: Tensor, emb: Embeddings, start: int, stop: int) -> Tensor:
    """z_ij − z_ii for inputs start ≤ i < stop and all j, float64, −∞ at j = i."""
    Z = emb.V[start:stop].double() @ W.double().T
    own = (Z * emb.U[start:stop].double()).sum(1, keepdim=True)
    excess = Z @ emb.U.double().T - own
    excess[torch.arange(stop - start), torch.arange(start, stop)] = -math.inf
    return excess


def _weighted_outer(emb: Embeddings, q: Tensor, shift: Tensor) -> Tensor:
    """Σ_i q_i (u_i − shift) v_iᵀ in float64 over blocks of the items with q_i > 0."""
    check_frequencies("q", q, emb.n_items)
    seen = q.nonzero()[:, 0]
    everything = len(seen) == emb.n_items
    G = torch.zeros(emb.dim, emb.dim, dtype=torch.float64, device=emb.U.device)
    for block in seen.split(_ROWS):
        rows = slice(int(block[0]), int(block[-1]) + 1) if everything else block.to(emb.U.device)
        weighted = (emb.U[rows].double() - shift) * q[block].to(emb.U.device, torch.float64)[:, None]
        G += weighted.T @ emb.V[rows].double()
    return G
