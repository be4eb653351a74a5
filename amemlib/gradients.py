"""The cross-entropy of the linear memory and its negative gradient −∇L: closed form, streamed, never an N × N matrix.

Logits are z_ij = u_jᵀ W v_i (input i, candidate output j). Every sum over items is accumulated in float64: the
gradient's small singular values are 10⁻⁶ of the largest, and a float32 sum loses the smallest of them.
"""

import math
from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.arithmetic import largest_entry, product_rounding, put_in_columns, without_autocast
from amemlib.checks import check_count, check_positive
from amemlib.problem import Embeddings, check_embeddings, check_frequencies, check_tensor, row_norms

_ROWS = 8192
_CACHED_TILE, _LARGE_TILE = (512, 1024), (8192, 8192)
_LOG2_E = math.log2(math.e)
_LARGEST_LOGIT = 1e290


def initial_gradient(emb: Embeddings, q: Float[Tensor, " N"]) -> Float[Tensor, "d d"]:
    """−∇L at W = 0 for frequencies q, population (q = p) or minibatch (Eq. (2)):

        G₀ = Σ_i q_i (u_i − ū) v_iᵀ,   ū = (1/N) Σ_j u_j.

    Returns (d, d) float64, rows on the output side, columns on the input side. Cost 2·n·d² for n items with q_i > 0.
    Raises `ValueError` or `TypeError` for frequencies that are none or of the wrong length.
    """
    check_embeddings(emb)
    mean_output = torch.zeros(emb.dim, dtype=torch.float64, device=emb.U.device)
    for rows in emb.U.split(_ROWS):
        mean_output += rows.double().sum(0)
    return _weighted_outer(emb, q, mean_output / emb.n_items)


def thresholded_gradient(emb: Embeddings, q: Float[Tensor, " N"], n_recovered: int) -> Float[Tensor, "d d"]:
    """G = Σ_{i > M} q_i u_i v_iᵀ with M = `n_recovered`: the gradient of Eq. (7), uncentred, its first M items removed.

    M = 0 is the uncentred gradient at W = 0. Returns (d, d) float64. Items are counted in the order of their rows.
    It removes the *prefix*, not the set of items that some W recovers.
    """
    check_embeddings(emb)
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
    check_embeddings(emb)
    check_frequencies("q", q, emb.n_items)
    seen = int((q > 0).sum())
    return min(emb.dim, seen - 1 if seen == emb.n_items else seen)


@without_autocast
@torch.no_grad()
def loss_and_gradient(
    W: Float[Tensor, "d d"], emb: Embeddings, q: Float[Tensor, " N"]
) -> tuple[float, Float[Tensor, "d d"]]:
    """L(W) in nats and −∇L(W) at any W, in one pass over the logits (Eqs. (1) and (2)):

        −∇L(W) = Σ_i q_i (u_i − Σ_j p̂_W(j | i) u_j) v_iᵀ.

    Streamed over blocks of logits, memory O(N d); only inputs with q_i > 0 are visited, 4 n N d operations for n of
    them. An item's own term is left out of its sums, u_i − Σ_j p̂_j u_j = (l u_i − Σ_{j≠i} e_j u_j) / (l + e_i) with
    l = Σ_{j≠i} e_j, so that what is left of a learned item does not cancel. From float32 embeddings the relative
    error of both grows in proportion to the logits, which float32 knows to 2⁻²⁴ of the largest: it is below 10⁻⁶ while
    logits are below 7 nats and below 10⁻⁵ up to 69 nats, from where on all is float64. float64 embeddings leave
    rounding error only, at about twice the time on a CPU. Returns (float, (d, d) float64).
    Raises `ValueError` or `TypeError` for a W that is not a finite (d, d) matrix or frequencies of the wrong length.
    """
    _check_memory("W", W, emb)
    check_frequencies("q", q, emb.n_items)
    q = q.to(emb.U.device, torch.float64)
    G = torch.zeros(emb.dim, emb.dim, dtype=torch.float64, device=emb.U.device)
    total = torch.zeros((), dtype=torch.float64, device=emb.U.device)
    for items, Z, own, largest in _own_logits(W, emb, q.nonzero()[:, 0]):
        outputs = torch.zeros_like(Z)
        rivals, own = _rival_sums(Z, own, largest, items, emb.U, outputs)
        # where logits are so large that rounding alone puts the own one far below the shift, all terms vanish
        total_weight = (rivals + own.exp2()).clamp(min=torch.finfo(torch.float64).tiny)
        residual = (emb.U[items].double() * rivals[:, None] - outputs) / total_weight[:, None]
        G += (q[items, None] * residual).T @ emb.V[items].double()
        total += q[items] @ _item_loss(rivals, own)
    return float(total), G


def gradient(W: Float[Tensor, "d d"], emb: Embeddings, q: Float[Tensor, " N"]) -> Float[Tensor, "d d"]:
    """−∇L(W) alone, as `loss_and_gradient` gives it; at W = 0 `initial_gradient` is the short way to the same."""
    return loss_and_gradient(W, emb, q)[1]


def loss(W: Float[Tensor, "d d"], emb: Embeddings, q: Float[Tensor, " N"]) -> float:
    """Cross-entropy L(W) = −Σ_i q_i log p̂_W(i | i) in nats, p̂_W(j | i) = softmax_j u_jᵀ W v_i (Eq. (1))."""
    check_embeddings(emb)
    check_frequencies("q", q, emb.n_items)
    return float(q.to(emb.U.device, torch.float64) @ item_losses(W, emb))


@without_autocast
@torch.no_grad()
def item_losses(W: Float[Tensor, "d d"], emb: Embeddings) -> Float[Tensor, " N"]:
    """−log p̂_W(i | i) for every item, in nats: (N,) float64. No weights: `loss` is their q-weighted sum.

    An item's own logit is left out of the sum over its rivals, so the loss of a learned item, which can be 10⁻³⁰,
    keeps its relative precision: −log p̂ = log(1 + Σ_{j≠i} e^{z_ij − z_ii}).
    """
    _check_memory("W", W, emb)
    losses = torch.empty(emb.n_items, dtype=torch.float64, device=emb.U.device)
    for items, Z, own, largest in _own_logits(W, emb, torch.arange(emb.n_items, device=emb.U.device)):
        losses[items] = _item_loss(*_rival_sums(Z, own, largest, items, emb.U))
    return losses


@without_autocast
@torch.no_grad()
def item_losses_along(
    direction: Float[Tensor, "d d"], emb: Embeddings, learning_rates: Iterable[float]
) -> Float[Tensor, "K N"]:
    """−log p̂_W(i | i) in nats at W = η · `direction` for K learning rates η > 0, from one pass over the logits.

    For one step from W = 0 a scan over η: row k is `item_losses(learning_rates[k] * direction, emb)`, and q @ row is
    convex in η. In float64 throughout. Returns (K, N) float64; raises `ValueError` for an η that is not > 0 and finite.
    """
    _check_memory("direction", direction, emb)
    rates = [check_positive("learning_rates", lr) for lr in learning_rates]
    losses = torch.empty(len(rates), emb.n_items, dtype=torch.float64, device=emb.U.device)
    for items, Z, own, _ in _own_logits(direction, emb, torch.arange(emb.n_items, device=emb.U.device)):
        excess = (Z @ emb.U.double().T - own[:, None]) / _LOG2_E
        excess[torch.arange(len(items)), items] = -math.inf
        for row, lr in zip(losses, rates, strict=True):
            row[items] = torch.nn.functional.softplus(torch.logsumexp(lr * excess, 1), threshold=700)
    return losses


def _own_logits(W: Tensor, emb: Embeddings, items: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor, float]]:
    """Blocks of items with z = log₂e W v (b, d), the own logits uᵀz (b,) and max ‖u‖ ‖z‖, which bounds all logits.

    Powers of two instead of e, because exp2 is the faster function; in float64.
    """
    W = W.detach().to(emb.U.device, torch.float64) * _LOG2_E
    longest = row_norms(emb.U).max()
    for block in items.split(_tile(emb.U.device)[0]):
        Z = emb.V[block].double() @ W.T
        yield block, Z, (Z * emb.U[block].double()).sum(1), _check_logits(longest * row_norms(Z).max())


@torch.no_grad()
def _rival_sums(
    Z: Tensor, own: Tensor, largest: float, items: Tensor, U: Tensor, outputs: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """l_i = Σ_{j≠i} 2^(z_ij − s_i) and z_ii − s_i for a shift s, (b,) float64; Σ_{j≠i} 2^(z_ij − s_i) u_j to outputs.

    items: the rows of U that are the own ones.
    While the logits cannot overflow there is no shift and no pass to find one; while float32 resolves them and its
    products are not rounded to fewer digits still, the embeddings' own precision is enough. torch's attention kernel
    computes Σ_j p̂_j u_j in one call, but its sums hold the own item: from float32 its u_i − Σ_j p̂_j u_j is wrong by
    10⁻⁵ to 10⁻⁴ where items are learned.
    """
    precision = U.dtype if largest < 100 and _single_suffices(largest, U) else torch.float64
    Z = Z.to(precision)
    shift = _largest_logits(Z, U) if largest > 900 else None
    rivals = torch.zeros(len(Z), dtype=torch.float64, device=Z.device)
    sums = None if outputs is None else torch.zeros_like(Z)
    tile = Z.new_empty(len(Z), _tile(Z.device)[1])
    for start, block in _column_blocks(U, precision):
        E = torch.mm(Z, block.T, out=tile[:, : len(block)])
        if shift is not None:
            E -= shift[:, None]
        E.exp2_()
        put_in_columns(E, items - start, 0.0)
        rivals += E.sum(1)
        if sums is not None:
            sums.addmm_(E, block)
    if outputs is not None and sums is not None:
        outputs += sums
    return rivals, own if shift is None else own - shift


def _single_suffices(largest: float, U: Tensor) -> bool:
    """Whether float32 products are float32 products, and hold N terms of up to 2^largest ‖u‖ and logits over ‖u‖."""
    entry = largest_entry(U).item()
    return product_rounding() == 0 and 2.0**-60 < entry and largest + math.log2(len(U) * entry) < 126


def _largest_logits(Z: Tensor, U: Tensor) -> Tensor:
    largest = torch.full((len(Z),), -math.inf, dtype=Z.dtype, device=Z.device)
    for _, block in _column_blocks(U, Z.dtype):
        largest = torch.maximum(largest, (Z @ block.T).amax(1))
    return largest


def _tile(device: torch.device) -> tuple[int, int]:
    """Rows and columns of a block of logits: as many as a CPU's cache holds, or enough to fill a GPU."""
    return _CACHED_TILE if device.type == "cpu" else _LARGE_TILE


def _column_blocks(U: Tensor, precision: torch.dtype) -> Iterator[tuple[int, Tensor]]:
    width = _tile(U.device)[1]
    for start in range(0, len(U), width):
        yield start, U[start : start + width].to(precision)


def _item_loss(rivals: Tensor, own: Tensor) -> Tensor:
    """log(1 + l 2^(−own)) in nats, exact where it is tiny and where it is huge."""
    return torch.nn.functional.softplus((torch.log2(rivals) - own) / _LOG2_E, threshold=700)


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


def _check_memory(name: str, W: Tensor, emb: Embeddings) -> None:
    check_embeddings(emb)
    check_tensor(name, W, (emb.dim, emb.dim))


def _check_logits(largest: Tensor) -> float:
    if not largest < _LARGEST_LOGIT:
        raise ValueError(f"W and emb must bound the logits by {_LARGEST_LOGIT:g}, got {float(largest):.3g}")
    return float(largest)
