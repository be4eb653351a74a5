"""The arithmetic that exact answers rest on, whatever mode the caller has set: autocast, product precision, scale.

A room of its own, because the rounding of a product is the caller's setting of torch and no property of a problem.
"""

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from amemlib.checks import check_count

_ROUNDING = {"ieee": 0.0, "tf32": 2.0**-11, "bf16": 2.0**-8}
_LEGACY = {"highest": "ieee", "high": "tf32", "medium": "bf16"}
_ELEMENTS = 2**24
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
        found = [_ROUNDING[_LEGACY[torch.get_float32_matmul_precision()]]]
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
        found.append(0.0 if value == "none" else _ROUNDING.get(value, _COARSEST))
    return max(found)


def round_significand(X: Float[Tensor, "n m"], bits: int) -> Float[Tensor, "n m"]:
    """float32 numbers rounded to nearest, ties to even, with `bits` bits after the leading one: 7 bfloat16, 10 TF32.

    The range is float32's. It is what a tensor core does to the entries of a product; it adds in float32.
    """
    if not 0 < check_count("bits", bits) <= 23:
        raise ValueError(f"bits must be in [1, 23], got {bits}")
    if bits == 23:
        return X.float()
    pattern = X.float().contiguous().view(torch.int32)
    dropped = 23 - bits
    half = (1 << (dropped - 1)) - 1 + ((pattern >> dropped) & 1)
    return ((pattern + half) & -(1 << dropped)).view(torch.float32)


@dataclass(frozen=True)
class ProductFormat:
    """A format in which matrix products are formed: its entries are rounded first, the sums are float32.

    enter: (n, d) float32 ↦ the same rows with the format's entries. product: (n, d) and (m, d) such rows ↦ their (n, m)
    inner products, float32. addition: what each of the d + 4 roundings of a sum may be off by, relative to the sum of
    the absolute values of its terms.
    """

    enter: Callable[[Tensor], Tensor]
    product: Callable[[Tensor, Tensor], Tensor]
    addition: float


def _single_product(A: Tensor, B: Tensor) -> Tensor:
    return A @ B.T


def _bfloat16_product(A: Tensor, B: Tensor) -> Tensor:
    if A.is_cuda:
        # a bfloat16 result would round once more, and let cuBLAS add its parts in bfloat16
        return torch.mm(A, B.T, out_dtype=torch.float32)
    return A.float() @ B.float().T


def _tf32_product(A: Tensor, B: Tensor) -> Tensor:
    with _tf32_allowed():
        return A @ B.T


@contextmanager
def _tf32_allowed() -> Iterator[None]:
    """TF32 products in torch's setting for this one; on a CPU, whose entries are rounded already, nothing."""
    settings = torch.backends.cuda.matmul
    if not torch.cuda.is_available():
        yield
        return
    name, value = ("fp32_precision", "tf32") if hasattr(settings, "fp32_precision") else ("allow_tf32", True)
    before = getattr(settings, name)
    setattr(settings, name, value)
    try:
        yield
    finally:
        setattr(settings, name, before)


# Tensor cores align the terms of a sum to the largest one and cut them off there, several at a time: below 3 · 2⁻²⁴ of
# Σ|terms| for each of them (M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, PeerJ Comput. Sci. 7 (2021) e330)
_CUT_OFF = 2.0**-22
SINGLE = ProductFormat(Tensor.float, _single_product, 2.0**-24)
TF32 = ProductFormat(functools.partial(round_significand, bits=10), _tf32_product, _CUT_OFF)
BFLOAT16 = ProductFormat(Tensor.bfloat16, _bfloat16_product, _CUT_OFF)


def single_norms(X: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Euclidean length of every row as float32 sums it, in a third of the time of `problem.row_norms`; float64."""
    return torch.linalg.vector_norm(X, dim=1).double()


def product_error(
    A: Float[Tensor, "n d"],
    entered: Tensor,
    B: Float[Tensor, "m d"],
    B_entered: Tensor,
    form: ProductFormat,
) -> Float[Tensor, " m"]:
    """For every row b of B what its products with all rows of A may be off by in a format, from aᵀb. (m,) float64.

    A and B: float32. entered, B_entered: what the format makes of them, ã and b̃.
    |fl(ã·b̃) − a·b| ≤ ‖a − ã‖ ‖b‖ + ‖ã‖ ‖b − b̃‖ + (d + 4) `addition` ‖ã‖ ‖b̃‖, each norm at the row of A where it is
    largest; that of a − ã is several times below the format's worst case. No bound on underflow.
    """
    n_rows = max(1, _ELEMENTS // A.shape[1])
    pairs = list(zip(A.split(n_rows), entered.split(n_rows), strict=True))
    moved = torch.stack([single_norms(a - c.float()).max() for a, c in pairs]).max()
    longest = torch.stack([single_norms(c.float()).max() for _, c in pairs]).max()
    sums = (A.shape[1] + 4) * form.addition * single_norms(B_entered.float())
    # for the rounding of the norms
    return 1.02 * (moved * single_norms(B) + longest * (single_norms(B - B_entered.float()) + sums))


def fast_format(device: torch.device) -> ProductFormat:
    """The format of the device's fastest products: bfloat16 where tensor cores have it (A100 and later), else float32.

    By what the hardware can, not by a clock: on a GPU none of them was timed yet. On a CPU bfloat16 was, and is slower.
    """
    if device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0):
        return BFLOAT16
    return SINGLE


def three_pass_tf32(A: Float[Tensor, "n d"], B: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    """A Bᵀ for float32 from three TF32 products: x = x₁ + x₂ with 11 bits each; A₂ B₂ᵀ, 2⁻²² of it all, is left out.

    A third of a GPU's TF32 rate at nearly float32's accuracy. A CPU only emulates it, slower than one product. No
    device has timed it yet, nor said what its sums add to the error.
    """
    (A1, A2), (B1, B2) = _in_two(A), _in_two(B)
    return _tf32_product(A1, B2) + _tf32_product(A2, B1) + _tf32_product(A1, B1)


def _in_two(X: Tensor) -> tuple[Tensor, Tensor]:
    high = round_significand(X, 10)
    return high, round_significand(X - high, 10)


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
