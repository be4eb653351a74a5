"""Recovery decisions through products whose entries are rounded: what tensor cores do, and what may be off by it."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from amemlib.arithmetic import without_autocast
from amemlib.checks import check_count
from amemlib.problem import Embeddings, check_embeddings, check_tensor, row_norms

FORMATS = {"float32": 23, "tf32": 10, "bfloat16": 7}
"""Bits of the significand that a number keeps on its way into a product, by format; all add in float32."""

_SCAN_ELEMENTS = 2**24


def round_significand(X: Float[Tensor, "n m"], bits: int) -> Float[Tensor, "n m"]:
    """float32 numbers rounded to nearest, ties to even, with `bits` bits after the leading one: 7 bfloat16, 10 TF32.

    The range is float32's. It is what a tensor core does to the entries of a product; it adds in float32.
    """
    check_count("bits", bits, most=23)
    if bits == 23:
        return X.float()
    pattern = X.float().contiguous().view(torch.int32)
    dropped = 23 - bits
    half = (1 << (dropped - 1)) - 1 + ((pattern >> dropped) & 1)
    return ((pattern + half) & -(1 << dropped)).view(torch.float32)


@without_autocast
def recovered_in_format(W: Float[Tensor, "d d"], emb: Embeddings, bits: int) -> Bool[Tensor, " N"]:
    """(N,) mask of a plain scan whose products see rounded entries: the item's own score is one of them.

    bits: after the leading one, 1 … 23. Raises as `recovered` does, and for other bits.
    """
    _check_memory(W, emb)
    W = W.double()
    U, Z = round_significand(emb.U, bits), round_significand(emb.V.double() @ W.T, bits)
    mask = torch.empty(emb.n_items, dtype=torch.bool, device=U.device)
    for rows in torch.arange(emb.n_items, device=U.device).split(max(1, _SCAN_ELEMENTS // emb.n_items)):
        scores = Z[rows] @ U.T
        own = scores[torch.arange(len(rows)), rows].clone()
        scores[torch.arange(len(rows)), rows] = -torch.inf
        mask[rows] = own > scores.amax(1)
    return mask


def undecided_in_format(W: Float[Tensor, "d d"], emb: Embeddings, bits: int, margin: Float[Tensor, " N"]) -> int:
    """Items whose exact margin lies inside (2ε + (d + 4) 2⁻²⁴) ‖u‖ ‖Wv‖, what products of the format may be off by."""
    _check_memory(W, emb)
    check_tensor("margin", margin, (emb.n_items,))
    check_count("bits", bits, most=23)
    unit = 2.0 ** -(bits + 1)
    rounding = (emb.dim + 4) * 2.0**-24 + (0 if bits == 23 else 2 * unit)
    bound = rounding * row_norms(emb.U).max() * row_norms(emb.V.double() @ W.double().T)
    return int((margin.abs() <= bound).sum())


def _check_memory(W: Tensor, emb: Embeddings) -> None:
    check_embeddings(emb)
    check_tensor("W", W, (emb.dim, emb.dim))
