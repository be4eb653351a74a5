"""The arithmetic that exact answers rest on, whatever mode the caller has set: autocast, product precision, scale."""

import functools
import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

_ROUNDING = {"ieee": 0.0, "tf32": 2.0**-11, "bf16": 2.0**-8}
_LEGACY = {"highest": "ieee", "high": "tf32", "medium": "bf16"}
_COARSEST = max(_ROUNDING.values())
_SETTINGS = ("cuda.matmul", "mkldnn.matmul", "mkldnn", "")


def without_autocast(function: Callable) -> Callable:
    """The function with torch.autocast off inside: autocast rounds float32 products to 8 bits and says nothing.

    float64 is never touched by it; so the functions that compute in float64 alone do not need this.
    """

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")):
            return function(*args, **kwargs)
        with torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
            return function(*args, **kwargs)

    return wrapped


def product_rounding() -> float:
    """What a float32 matrix product may round its inputs to, relative: 0, 2⁻¹¹ (TF32) or 2⁻⁸ (bfloat16).

    The coarsest of torch's old setting (`torch.set_float32_matmul_precision`) and of its new ones
    (`torch.backends.….fp32_precision`), for all devices. Where both were used the old one raises when it is read, and
    what cannot be read counts as the coarsest.
    """
    try:
        roundings = [_ROUNDING[_LEGACY[torch.get_float32_matmul_precision()]]]
    except (RuntimeError, KeyError):
        return _COARSEST
    for path in _SETTINGS:
        setting = torch.backends
        for name in path.split(".") if path else ():
            setting = getattr(setting, name, None)
        try:
            value = getattr(setting, "fp32_precision", "none")
        except RuntimeError:
            return _COARSEST
        # "none": whatever the setting above it says; the old setting writes its own value through to these
        roundings.append(0.0 if value == "none" else _ROUNDING.get(value, _COARSEST))
    return max(roundings)


def single_norms(X: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Euclidean length of every row as float32 sums it, in a third of the time of `problem.row_norms`; float64."""
    return torch.linalg.vector_norm(X, dim=1).double()


def put_in_columns(X: Float[Tensor, "n m"], columns: Int[Tensor, " n"], value: float) -> Float[Tensor, "n m"]:
    """X itself with `value` in one column of each row, in none where there is no such column.

    Not by a mask of the rows: how many it holds is what a GPU would have to tell its host first.
    """
    inside = (columns >= 0) & (columns < X.shape[1])
    place = torch.where(inside, columns, 0)[:, None]
    return X.scatter_(1, place, torch.where(inside[:, None], value, X.gather(1, place)))


def largest_entry(X: Tensor) -> Tensor:
    """max |X|, float64 without dimensions; many times faster than `torch.linalg.vector_norm(X, inf)`."""
    low, high = torch.aminmax(X)
    return torch.maximum(-low, high).double()


def unit_scale(X: Tensor, dim: tuple[int, ...] | None = None) -> Tensor:
    """The power of two that brings the largest |entry| of X near 1 (below 4, and normal), 1 where X is 0; float64.

    Multiplying by it is exact, so that squares and products of X neither overflow nor vanish.
    dim: one scale for every slice over these dimensions, which are kept; None for one of all.
    """
    largest = largest_entry(X) if dim is None else torch.linalg.vector_norm(X, math.inf, dim, keepdim=True).double()
    # not torch.ldexp: it forms 2^exponent in float32 in some releases, and overflows. The scale itself stays normal,
    # for a processor may be set to flush subnormal numbers to 0
    bounded = largest.clamp(torch.finfo(torch.float64).tiny, 2.0**1021)
    return torch.where(largest > 0, torch.frexp(bounded).mantissa / bounded, 1.0)
