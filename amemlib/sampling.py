"""All randomness, each draw from an explicit seed.

Streams come from numpy's PCG64, keyed by (seed, d, what is drawn): the same numbers on every device, the first N rows
of a larger draw are the smaller draw, and cells of a sweep over d are independent of each other. `device_stream` draws
other numbers of the same law where the host is too slow to feed a GPU.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count, check_function, check_instance, check_memory, check_real, shown
from amemlib.problem import Embeddings, Problem, check_embeddings, check_tensor

_ROWS = 4096
_STREAMS = {"outputs": 0, "inputs": 1, "minibatch": 2, "reduced outputs": 3, "reduced inputs": 4, "rotations": 5}

Stream = Callable[[int, int, str, Tensor], Callable[[int], Tensor]]
"""From seed, d, what is drawn and a tensor like the result to a function that gives the next n rows of N(0, 1)."""


def host_stream(seed: int, dim: int, name: str, like: Tensor) -> Callable[[int], Tensor]:
    """numpy's PCG64 on the host, in float64: the stream of every draw that names no other."""
    generator = _generator(seed, dim, name)
    return lambda n: torch.from_numpy(generator.standard_normal((n, dim)))


def device_stream(seed: int, dim: int, name: str, like: Tensor) -> Callable[[int], Tensor]:
    """torch's own generator on the device of the result: a hundred times as fast on a GPU, other numbers on each kind
    of device. Instances nest here as well."""
    key = np.random.SeedSequence([check_count("seed", seed, least=0), dim, _STREAMS[name]])
    generator = torch.Generator(like.device).manual_seed(int(key.generate_state(1, np.uint64)[0] >> 1))
    # always whole blocks: torch's streams are no prefixes of each other
    shape = {"dtype": like.dtype, "device": like.device}
    return lambda n: torch.randn(_ROWS, dim, generator=generator, **shape)[:n]


STREAMS = {"host": host_stream, "device": device_stream}
"""By the name that a config gives."""


def sample_embeddings(
    problem: Problem, seed: int, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
) -> Embeddings:
    """Draw u_i, v_i ~ N(0, I/d) independently (Section 3): U and V of shape (N, d), entries of variance 1/d.

    Instances nest: for one seed and d, a larger N begins with the rows of the smaller one. float32 is the rounding of
    the float64 draw of the same seed. Raises `ValueError` for a negative seed.
    """
    return sample_embedding_rows(problem, seed, slice(None), device, dtype)


def sample_embedding_rows(
    problem: Problem,
    seed: int,
    rows: slice,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    stream: Stream = host_stream,
) -> Embeddings:
    """`sample_embeddings(problem, seed)` restricted to some rows, without ever holding the others (`sharding`).

    rows: any slice of the N rows with a positive step. The stream is drawn from its start all the same.
    stream: where the numbers come from; with `device_stream` they are others, of the same law.
    """
    check_function("stream", stream)
    check_instance("problem", problem, Problem)
    check_instance("rows", rows, slice)
    if not isinstance(dtype, torch.dtype) or dtype not in (torch.float32, torch.float64):
        raise TypeError(f"dtype must be torch.float32 or torch.float64, got {shown(dtype)}")
    try:
        device = torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError, ValueError):
        raise ValueError(f"device must be a device of this machine, got {shown(device)}") from None
    if not len(range(*_row_indices(rows, problem.n_items))):
        raise ValueError(f"rows must hold at least one of the {problem.n_items} rows, got {rows!r}")
    n_rows = len(range(*_row_indices(rows, problem.n_items)))
    if device.type == "cpu":
        check_memory("problem", (n_rows, problem.dim), 2 * n_rows * problem.dim * dtype.itemsize)
    U, V = (torch.empty(n_rows, problem.dim, dtype=dtype, device=device) for _ in range(2))
    sides = ("outputs", U), ("inputs", V)
    if device.type == "cpu" or stream is not host_stream:
        for name, X in sides:
            _draw_gaussian_rows(problem, seed, name, rows, X, stream)
    else:
        # a GPU waits for its host: both streams at once, numpy lets go of the interpreter while it draws
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda side: _draw_gaussian_rows(problem, seed, side[0], rows, side[1], stream), sides))
    return Embeddings(U, V)


def sample_reduced_embeddings(problem: Problem, seed: int) -> Embeddings:
    """Embeddings of the same law as `sample_embeddings` up to a rotation of each side, in min(N, d) dimensions.

    Whatever depends on U and V only through UUᵀ and VVᵀ (the logits of one SGD step, Theorem 5) has exactly the same
    law as with `sample_embeddings`, at any d and a cost that depends on N alone. Each side is the lower-trapezoidal
    factor of a Wishart matrix (Bartlett's decomposition): N(0, 1) below the diagonal, χ with d, d−1, … degrees of
    freedom on it, all divided by √d. Returns float64 U and V of shape (N, min(N, d)).
    It is no stand-in where the two sides share a basis (a sign or an entrywise map of G).
    Raises `ValueError` for a negative seed, and for an N whose factors do not fit in memory.
    """
    check_instance("problem", problem, Problem)
    shape = (problem.n_items, min(problem.n_items, problem.dim))
    check_memory("problem", shape, 3 * 8 * math.prod(shape))
    return Embeddings(*(_bartlett_factor(problem, seed, name) for name in ("reduced outputs", "reduced inputs")))


def power_law_eigenvalues(dim: int, exponent: float) -> Float[Tensor, " d"]:
    """σ_a ∝ a^{−β} for a = 1 … d, of mean 1; β: `exponent`, any real number whose powers float64 holds.

    Raises `ValueError` or `TypeError` for another β, for d < 1, and for a d that does not fit in memory.
    """
    check_memory("dim", dim, 3 * 8 * check_count("dim", dim))
    sigma = torch.arange(1, dim + 1, dtype=torch.float64) ** -check_real("exponent", exponent)
    sigma = sigma / sigma.mean()
    if not torch.isfinite(sigma).all():
        raise ValueError(f"exponent must keep 1 … {dim}^-exponent within float64, got {exponent!r}")
    return sigma


def with_eigenvalues(emb: Embeddings, eigenvalues: Float[Tensor, " d"]) -> Embeddings:
    """Embeddings N(0, I/d) turned into N(0, diag(σ)/d) on both sides, in float64.

    eigenvalues: σ, finite and ≥ 0; one that rounding has made negative counts as 0. Raises `ValueError` or `TypeError`
    for anything else.
    """
    check_embeddings(emb)
    check_tensor("eigenvalues", eigenvalues, (emb.dim,))
    if eigenvalues.min() < -1e-6 * eigenvalues.max():
        raise ValueError(f"eigenvalues must be ≥ 0, got a least one of {eigenvalues.min().item()!r}")
    scale = eigenvalues.double().clamp(min=0).sqrt().to(emb.U.device)
    return Embeddings(emb.U.double() * scale, emb.V.double() * scale)


def sample_minibatch(problem: Problem, batch_size: int, seed: int) -> Float[Tensor, " N"]:
    """Empirical frequencies q_i = #{b : i_b = i} / B of B items drawn with replacement from p (Section 3).

    One multinomial draw of the counts, so its cost does not grow with B. Returns (N,) float64 on the CPU.
    Raises `ValueError` for B < 1.
    """
    check_instance("problem", problem, Problem)
    batch_size = check_count("batch_size", batch_size)
    counts = _generator(seed, problem.dim, "minibatch").multinomial(batch_size, problem.frequencies.numpy(force=True))
    return torch.from_numpy(counts / batch_size)


def sample_rotations(dim: int, n_rotations: int, seed: int) -> Float[Tensor, "n d d"]:
    """n independent orthogonal d × d matrices from the Haar measure, float64, by QR of Gaussian matrices.

    The signs of R's diagonal go into Q: without them Q depends on the QR routine and is not Haar-distributed.
    Raises `ValueError` for sizes < 1, a negative seed, and matrices that do not fit in memory.
    """
    shape = (check_count("n_rotations", n_rotations), check_count("dim", dim), dim)
    check_memory("dim and n_rotations", (dim, n_rotations), 3 * 8 * math.prod(map(int, shape)))
    Q, R = np.linalg.qr(_generator(seed, dim, "rotations").standard_normal(shape))
    return torch.from_numpy(Q * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :])


def _generator(seed: int, dim: int, stream: str) -> np.random.Generator:
    return np.random.default_rng([check_count("seed", seed, least=0), dim, _STREAMS[stream]])


def _draw_gaussian_rows(problem: Problem, seed: int, name: str, rows: slice, X: Tensor, stream: Stream) -> None:
    """Draw into X, wherever it lies, a block at a time."""
    draw = stream(seed, problem.dim, name, X)
    wanted = range(*_row_indices(rows, problem.n_items))
    filled = 0
    for start in range(0, problem.n_items, _ROWS):
        stop = min(start + _ROWS, problem.n_items)
        block = draw(stop - start) / math.sqrt(problem.dim)
        first = wanted[filled] if filled < len(wanted) else stop
        here = block[first - start : min(wanted.stop, stop) - start : wanted.step]
        X[filled : filled + len(here)] = here.to(X.dtype)
        filled += len(here)


def _row_indices(rows: slice, n_items: int) -> tuple[int, int, int]:
    try:
        start, stop, step = rows.indices(n_items)
    except (TypeError, ValueError):
        step = 0
    if step < 1:
        raise ValueError(f"rows must be a slice of whole numbers with a positive step, got {rows!r}")
    return start, stop, step


def _bartlett_factor(problem: Problem, seed: int, stream: str) -> Tensor:
    generator = _generator(seed, problem.dim, stream)
    rank = min(problem.n_items, problem.dim)
    L = torch.from_numpy(generator.standard_normal((problem.n_items, rank))).tril_(-1)
    L.diagonal().copy_(torch.from_numpy(np.sqrt(generator.chisquare(problem.dim - np.arange(rank)))))
    return L.div_(math.sqrt(problem.dim))
