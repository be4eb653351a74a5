"""Which items a memory W recovers (Eq. (4)), decided exactly and without an N × N matrix.

Item i is recovered if its own logit u_iᵀ W v_i exceeds u_jᵀ W v_i for every j ≠ i; a tie is not recovered. One better
competitor settles an item, and most items of a memory beyond its capacity meet one among the first hundred: so the
competitors come in growing blocks and beaten items leave. The scan costs about 2 N d (recovered + 100) operations.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from amemlib.problem import Embeddings, check_frequencies, check_square, row_norms

_ROWS = 8192
_FIRST_BLOCK, _LARGEST_BLOCK = 64, 4096
_PAIR_ELEMENTS = 2**22
_LARGE = 2.0**60
_INPUT_ROUNDING = {"highest": 0.0, "high": 2.0**-11, "medium": 2.0**-8}


def recovered(W: Float[Tensor, "d d"], emb: Embeddings) -> Bool[Tensor, " N"]:
    """Mask of the recovered items: u_iᵀ W v_i > max_{j≠i} u_jᵀ W v_i (Eq. (4)). (N,) bool on the device of `emb`.

    Exact: float32 products screen the competitors, and whatever lies inside their rigorous rounding bound is decided
    again in float64, where equal rows of U give equal logits and hence a tie. Competitors are taken in row order, which
    is fastest when rows are sorted by frequency and right in any order.
    Raises `ValueError` or `TypeError` for a W that is not a finite (d, d) matrix on the device of `emb`.
    """
    check_square("W", W, emb.dim)
    if W.device != emb.U.device:
        raise ValueError(f"W must lie on the device of the embeddings, {emb.U.device}, got {W.device}")
    W, U = W.double(), emb.U
    if not 1 / _LARGE < torch.linalg.vector_norm(U, math.inf) < _LARGE:
        # float32 scores of such rows would overflow or vanish
        U = _rescaled(U.double().reshape(1, -1)).reshape(U.shape)
    U32 = U.float()
    largest = row_norms(U).max().item()
    lost = 0.0 if U.dtype == torch.float32 else row_norms(U - U32.double()).max().item()
    mask = torch.empty(emb.n_items, dtype=torch.bool, device=emb.U.device)
    for start in range(0, emb.n_items, _ROWS):
        stop = min(start + _ROWS, emb.n_items)
        Z = emb.V[start:stop].double() @ W.T
        mask[start:stop] = _unbeaten(Z, start, U, U32, largest, lost)
    return mask


def recovered_by_sgd(
    output_gram: Float[Tensor, "N N"], input_gram: Float[Tensor, "N N"], q: Float[Tensor, " N"]
) -> Bool[Tensor, " N"]:
    """Mask of the items that one SGD step from W = 0 recovers, from the Gram matrices UUᵀ and VVᵀ alone (Theorem 5).

    The logits z_ij = Σ_k q_k ⟨v_i, v_k⟩ ⟨u_k − ū, u_j⟩ need only the items that q has seen: 2 N² n operations for n of
    them, once the Gram matrices of a draw are there. Same answer as `recovered(initial_gradient(emb, q), emb)`, up to
    rounding of exact ties. Dense: for a few thousand items. q: (N,) frequencies, population or minibatch.
    """
    check_frequencies("q", q, len(output_gram))
    seen = q.nonzero()[:, 0]
    logits = (input_gram[:, seen] * q[seen]) @ (output_gram[seen] - output_gram.mean(0))
    own = logits.diagonal().clone()
    logits.fill_diagonal_(-math.inf)
    return own > logits.amax(1)


def capacity(W: Float[Tensor, "d d"], emb: Embeddings) -> int:
    """Number of recovered items, in any position (Section 3). A W that knows nothing still gets about one by luck."""
    return int(recovered(W, emb).sum())


def longest_prefix(mask: Bool[Tensor, " N"]) -> int:
    """Largest M such that items 1…M are all recovered: stricter than the count, and noisier."""
    return int(mask.long().cumprod(0).sum())


def margins(W: Float[Tensor, "d d"], emb: Embeddings) -> Float[Tensor, " N"]:
    """u_iᵀ W v_i − max_{j≠i} u_jᵀ W v_i for every item, (N,) float64; positive where the item is recovered.

    The whole scan, 2 N² d operations: for looking inside. `recovered` answers the yes/no question far sooner, and
    sees exact ties, which rounding may turn into a margin of 10⁻¹⁶ here.
    """
    check_square("W", W, emb.dim)
    result = torch.empty(emb.n_items, dtype=torch.float64, device=emb.U.device)
    U = emb.U.double()
    n_rows = max(1, _PAIR_ELEMENTS // (4 * emb.n_items))
    for start in range(0, emb.n_items, n_rows):
        stop = min(start + n_rows, emb.n_items)
        logits = emb.V[start:stop].double() @ W.double().T @ U.T
        own = logits.diagonal(start).clone()
        logits.diagonal(start).fill_(-math.inf)
        result[start:stop] = own - logits.amax(1)
    return result


def _unbeaten(Z: Tensor, start: int, U: Tensor, U32: Tensor, largest: float, lost: float) -> Tensor:
    """Which rows z of Z (items `start`, `start` + 1, …) score higher, in float64, with their own u than any other."""
    n_rows, dim = Z.shape
    z_norm = row_norms(Z)
    if not (z_norm.max() < _LARGE and torch.where(z_norm > 0, z_norm, 1).min() > 1 / _LARGE):
        Z = _rescaled(Z)
        z_norm = row_norms(Z)
    Z32 = Z.float()
    own = _paired_scores(U[start : start + n_rows], Z)
    # |fl₃₂(u·z) − u·z| ≤ γ ‖u‖ ‖z‖ + ‖u‖ ‖z − z₃₂‖ + ‖u − u₃₂‖ ‖z‖ + underflow, γ = d ε / (1 − d ε) in any order,
    # ‖z − z₃₂‖ ≤ ε ‖z‖ with ε = 2⁻²⁴, and twice what the matrix product rounds its inputs to where torch may do that;
    # the factors 1.02 cover the rounding of the bound and the terms of second order
    rounding = (dim + 4) * 2.0**-24 + 2 * _INPUT_ROUNDING[torch.get_float32_matmul_precision()]
    bound = 1.02 * (largest * rounding + lost) * z_norm + dim * 2.0**-148
    low, high = _outwards(own - bound, own + bound)

    items = torch.arange(start, start + n_rows, device=Z.device)
    alive = items - start
    column, width = 0, _FIRST_BLOCK
    while column < len(U) and len(alive):
        block = slice(column, min(column + width, len(U)))
        scores = Z32[alive] @ U32[block].T
        mine = (items[alive] >= block.start) & (items[alive] < block.stop)
        scores[mine, items[alive][mine] - block.start] = -math.inf
        best = scores.amax(1)
        survives = best < high[alive]
        close = survives & (best > low[alive])
        if close.any():
            survives[close] = _survives_pairs(scores[close], block.start, alive[close], low, own, U, Z)
        alive = alive[survives]
        column, width = block.stop, min(2 * width, _LARGEST_BLOCK)
    result = torch.zeros(n_rows, dtype=torch.bool, device=Z.device)
    result[alive] = True
    return result


def _survives_pairs(scores: Tensor, first: int, rows: Tensor, low: Tensor, own: Tensor, U: Tensor, Z: Tensor) -> Tensor:
    """Decide in float64 what float32 leaves inside its rounding bound; True where no competitor wins or ties."""
    survives = _paired_scores(U[scores.argmax(1) + first], Z[rows]) < own[rows]
    inside = ((scores > low[rows, None]) & survives[:, None]).nonzero()
    for pairs in inside.split(max(1, _PAIR_ELEMENTS // Z.shape[1])):
        row = rows[pairs[:, 0]]
        loses = _paired_scores(U[pairs[:, 1] + first], Z[row]) >= own[row]
        survives[pairs[loses, 0]] = False
    return survives


def _rescaled(Z: Tensor) -> Tensor:
    """Each row times the power of two that brings its largest entry into [1/2, 1): exact, no float32 underflow."""
    largest = Z.abs().amax(1, keepdim=True).clamp(min=torch.finfo(Z.dtype).tiny)
    # not torch.ldexp: it forms 2^exponent in float32 in some releases, and overflows
    return Z * (torch.frexp(largest).mantissa / largest)


def _paired_scores(U: Tensor, Z: Tensor) -> Tensor:
    # a GEMM may sum two equal rows in different orders; a row-wise sum does not, and a tie must stay a tie
    return (U.double() * Z).sum(1)


def _outwards(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """The bounds in float32, each rounded away from the other."""
    infinity = torch.tensor(math.inf, device=low.device)
    return torch.nextafter(low.float(), -infinity), torch.nextafter(high.float(), infinity)
