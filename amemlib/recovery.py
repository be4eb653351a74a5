"""Which items a memory W recovers (Eq. (4)), decided exactly and without an N × N matrix.

Item i is recovered if its own logit u_iᵀ W v_i exceeds u_jᵀ W v_i for every j ≠ i; a tie is not recovered. One better
rival settles an item, and most items of a memory beyond its capacity meet one among the first hundred: so the
rivals come in growing blocks and beaten items leave. The scan costs about 2 N d (recovered + 100) operations.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from amemlib.arithmetic import product_rounding, put_in_columns, single_norms, unit_scale, without_autocast
from amemlib.checks import shown
from amemlib.problem import Embeddings, check_embeddings, check_frequencies, check_tensor

_FIRST_BLOCK = 64
_PAIR_ELEMENTS = 2**22
_LARGE = 2.0**10


@dataclass(frozen=True)
class Tiling:
    """How much of a scan is done at once: numbers of a block of inputs, rivals of a block, scores of a tile."""

    inputs: int
    rivals: int
    scores: int

    def rows(self, dim: int) -> int:
        """Inputs of a block."""
        return max(2**14, self.inputs // dim)


CACHED_TILES, LARGE_TILES = Tiling(0, 2**12, 2**21), Tiling(2**27, 2**16, 2**26)
"""What a CPU's cache holds; what fills a GPU, and lets it wait for its host a few dozen times in all."""


@without_autocast
def recovered(W: Float[Tensor, "d d"], emb: Embeddings) -> Bool[Tensor, " N"]:
    """Mask of the recovered items: u_iᵀ W v_i > max_{j≠i} u_jᵀ W v_i (Eq. (4)). (N,) bool on the device of `emb`.

    Exact: float32 products screen the rivals, and whatever lies inside their rigorous rounding bound is decided
    again in float64, where equal rows of U give equal logits and hence a tie. What float64 cannot decide it cannot
    either: a margin below d 2⁻⁵² of ‖u‖ ‖W‖ ‖v‖ may fall on either side, and entries of W, U or V below 10⁻³⁰⁰ of their
    largest count as 0. Competitors are taken in row order, which is fastest when rows are sorted by frequency and right
    in any order. The same in every mode of torch: under autocast, and with any precision of matrix products.
    Raises `ValueError` or `TypeError` for a W that is not a finite (d, d) matrix on the device of `emb`.
    """
    return torch.cat(list(_masks(W, emb)))


def recovered_by_sgd(
    output_gram: Float[Tensor, "N N"], input_gram: Float[Tensor, "N N"], q: Float[Tensor, " N"]
) -> Bool[Tensor, " N"]:
    """Mask of the items that one SGD step from W = 0 recovers, from the Gram matrices UUᵀ and VVᵀ alone (Theorem 5).

    The logits z_ij = Σ_k q_k ⟨v_i, v_k⟩ ⟨u_k − ū, u_j⟩ need only the items that q has seen: 2 N² n operations for n of
    them, once the Gram matrices of a draw are there. Same answer as `recovered(initial_gradient(emb, q), emb)`, up to
    rounding of exact ties. Dense: for a few thousand items. q: (N,) frequencies, population or minibatch.
    """
    check_tensor("output_gram", output_gram, ("N", "N"))
    check_tensor("input_gram", input_gram, tuple(output_gram.shape))
    check_frequencies("q", q, len(output_gram))
    output_gram, input_gram, q = (X.double() for X in (output_gram, input_gram, q))
    seen = q.nonzero()[:, 0]
    logits = (input_gram[:, seen] * q[seen]) @ (output_gram[seen] - output_gram.mean(0))
    own = logits.diagonal().clone()
    logits.fill_diagonal_(-math.inf)
    return own > logits.amax(1)


def capacity(W: Float[Tensor, "d d"], emb: Embeddings) -> int:
    """Number of recovered items, in any position (Section 3). A W that knows nothing still gets about one by luck."""
    return int(recovered(W, emb).sum())


def longest_prefix(mask: Bool[Tensor, " N"]) -> int:
    """Largest M such that items 1…M are all recovered: stricter than the count, and noisier. A mask is bool."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.ndim != 1:
        got = f"{mask.dtype} of shape {tuple(mask.shape)}" if isinstance(mask, Tensor) else shown(mask)
        raise TypeError(f"mask must be a bool tensor of shape (N,), got {got}")
    return int(mask.long().cumprod(0).sum())


def margins(W: Float[Tensor, "d d"], emb: Embeddings) -> Float[Tensor, " N"]:
    """u_iᵀ W v_i − max_{j≠i} u_jᵀ W v_i for every item, (N,) float64; positive where the item is recovered.

    The whole scan, 2 N² d operations: for looking inside. `recovered` answers the yes/no question far sooner, and
    sees exact ties, which rounding may turn into a margin of 10⁻¹⁶ here.
    """
    _check_memory(W, emb)
    U, V, W = emb.U.double(), emb.V, W.double()
    result = torch.empty(emb.n_items, dtype=torch.float64, device=emb.U.device)
    n_rows = max(1, _PAIR_ELEMENTS // (4 * emb.n_items))
    for start in range(0, emb.n_items, n_rows):
        stop = min(start + n_rows, emb.n_items)
        logits = V[start:stop].double() @ W.T @ U.T
        own = logits.diagonal(start).clone()
        logits.diagonal(start).fill_(-math.inf)
        result[start:stop] = own - logits.amax(1)
    return result


def _check_memory(W: Tensor, emb: Embeddings) -> None:
    check_embeddings(emb)
    if isinstance(W, Tensor) and W.device != emb.U.device:
        raise ValueError(f"W must lie on the device of the embeddings, {emb.U.device}, got {W.device}")
    check_tensor("W", W, (emb.dim, emb.dim))


def _masks(W: Tensor, emb: Embeddings) -> Iterator[Tensor]:
    """The mask of `recovered`, a block of items after the other."""
    _check_memory(W, emb)
    tiling = CACHED_TILES if emb.U.device.type == "cpu" else LARGE_TILES
    W, U, V = (_rescaled(X) for X in (W.double(), emb.U, emb.V))
    W32, U32 = W.float(), U.float()
    # ẑ = fl₃₂(W v) and any product with it: |fl(u·ẑ) − uᵀ W v| ≤ ρ ‖u‖ (‖ẑ‖ + ‖W‖ ‖v‖) + underflow, where ρ = (d + 4) ε
    # covers d roundings in any order and the conversion to float32, ε = 2⁻²⁴, plus twice what the matrix product rounds
    # its inputs to where torch may do that. Two such errors meet in a margin; 1.02 covers the rounding of the bound
    # itself and terms of second order. Entries are at most _LARGE, so underflow is below d² 2⁻¹⁰⁴, denormals or not
    rounding = (emb.dim + 4) * 2.0**-24 + 2 * product_rounding()
    slope, norm = 2 * 1.02 * rounding * single_norms(U32).max(), torch.linalg.matrix_norm(W)
    for items in torch.arange(len(V), device=W.device).split(tiling.rows(emb.dim)):
        V32 = V[items].float()
        Z32 = V32 @ W32.T
        own = (U32[items] * Z32).sum(1).double()
        band = slope * (single_norms(Z32) + norm * single_norms(V32)) + emb.dim**2 * 2.0**-100
        low, high = _outwards(own - band, own + band)
        scan = _Scan(W=W, U=U, V=V, U32=U32, Z32=Z32, items=items, low=low, high=high, tiling=tiling)
        yield scan.mask()


@dataclass(frozen=True, eq=False)
class _Scan:
    """A block of items against all rivals. A float32 score of `high` or above surely beats, one up to `low` does not.

    W, U, V: the memory and the embeddings, rescaled. U32: float32 U. items: (b,) their rows. Z32: (b, d) float32 W v.
    """

    W: Tensor
    U: Tensor
    V: Tensor
    U32: Tensor
    Z32: Tensor
    items: Tensor
    low: Tensor
    high: Tensor
    tiling: Tiling

    def mask(self) -> Tensor:
        """(b,) which items no rival beats. The host is waited for once a block of rivals, not once a tile."""
        alive, Z, items = torch.arange(len(self.items), device=self.items.device), self.Z32, self.items
        column, width = 0, _FIRST_BLOCK
        while column < len(self.U) and len(alive):
            block = slice(column, min(column + width, len(self.U)))
            tiles = zip(*(X.split(max(1, self.tiling.scores // width)) for X in (Z, items)), strict=True)
            best = torch.cat([self._scores(*tile, block).amax(1) for tile in tiles])
            wins = best < self.high[alive]
            doubtful = (wins & (best > self.low[alive])).nonzero()[:, 0]
            if len(doubtful):
                wins[doubtful] = self._survive(alive[doubtful], block)
            kept = wins.nonzero()[:, 0]
            if len(kept) < len(alive):
                alive, Z, items = alive[kept], Z[kept], items[kept]
            column, width = block.stop, min(2 * width, self.tiling.rivals)
        mask = torch.zeros(len(self.items), dtype=torch.bool, device=self.items.device)
        mask[alive] = True
        return mask

    def _scores(self, Z: Tensor, items: Tensor, block: slice) -> Tensor:
        """What some inputs score with a block of rivals, −∞ with their own item."""
        return put_in_columns(Z @ self.U32[block].T, items - block.start, -math.inf)

    def _survive(self, rows: Tensor, block: slice) -> Tensor:
        """Whether rows of Z survive a block of rivals: float64 decides what lies inside the rounding bound."""
        survives = [
            self._decided(part, self._scores(self.Z32[part], self.items[part], block), block.start)
            for part in rows.split(max(1, self.tiling.scores // (block.stop - block.start)))
        ]
        return torch.cat(survives)

    def _decided(self, rows: Tensor, scores: Tensor, first: int) -> Tensor:
        """Decide in float64 what float32 leaves open; True where no rival wins or ties."""
        items = self.items[rows]
        Z = self.V[items].double() @ self.W.T
        own = _paired_scores(self.U[items], Z)
        survives = _paired_scores(self.U[scores.argmax(1) + first], Z) < own
        inside = ((scores > self.low[rows, None]) & survives[:, None]).nonzero()
        for pairs in inside.split(max(1, _PAIR_ELEMENTS // Z.shape[1])):
            row = pairs[:, 0]
            loses = _paired_scores(self.U[pairs[:, 1] + first], Z[row]) >= own[row]
            survives[row[loses]] = False
        return survives


def _rescaled(X: Tensor) -> Tensor:
    """X, or where float32 might overflow or vanish X times the power of two, exact, that brings it into [−1, 1]."""
    largest = torch.linalg.vector_norm(X, math.inf).double()
    if not 0 < largest or 1 / _LARGE < largest < _LARGE:
        return X
    return X.double() * unit_scale(X)


def _paired_scores(U: Tensor, Z: Tensor) -> Tensor:
    # a GEMM may sum two equal rows in different orders; a row-wise sum does not, and a tie must stay a tie
    return (U.double() * Z).sum(1)


def _outwards(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """The bounds in float32, each rounded away from the other."""
    infinity = torch.tensor(math.inf, device=low.device)
    return torch.nextafter(low.float(), -infinity), torch.nextafter(high.float(), infinity)
