"""All randomness, each draw from an explicit seed.

Streams come from numpy's PCG64, keyed by (seed, d, what is drawn): the same numbers on every device, the first N rows
of a larger draw are the smaller draw, and cells of a sweep over d are independent of each other.
"""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count, check_instance, check_real, shown
from amemlib.problem import Embeddings, Problem, check_embeddings, check_tensor

_ROWS = 4096
_STREAMS = {"outputs": 0, "inputs": 1, "minibatch": 2, "reduced outputs": 3, "reduced inputs": 4}


def sample_embeddings(
    problem: Problem, seed: int, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
) -> Embeddings:
    """Draw u_i, v_i ~ N(0, I/d) independently (Section 3): U and V of shape (N, d), entries of variance 1/d.

    Instances nest: for one seed and d, a larger N begins with the rows of the smaller one. float32 is the rounding of
    the float64 draw of the same seed. Raises `ValueError` for a negative seed.
    """
    check_instance("problem", problem, Problem)
    if dtype not in (torch.float32, torch.float64):
        raise TypeError(f"dtype must be torch.float32 or torch.float64, got {shown(dtype)}")
    shape = problem.n_items, problem.dim
    sides = {name: torch.empty(shape, dtype=dtype, device=device) for name in ("outputs", "inputs")}
    generators = {name: _generator(seed, problem.dim, name) for name in sides}

    def draw(name: str) -> None:
        # a block at a time: the float64 draw of a large problem need not fit beside its float32 rounding
        for rows in sides[name].split(_ROWS):
            block = generators[name].standard_normal(rows.shape) / math.sqrt(problem.dim)
            rows.copy_(torch.from_numpy(block).to(dtype))

    if sides["outputs"].device.type == "cpu":
        list(map(draw, sides))
    else:
        # a GPU waits for its host: both streams at once, numpy lets go of the interpreter while it draws
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(draw, sides))
    return Embeddings(sides["outputs"], sides["inputs"])


def sample_reduced_embeddings(problem: Problem, seed: int) -> Embeddings:
    """Embeddings of the same law as `sample_embeddings` up to a rotation of each side, in min(N, d) dimensions.

    Whatever depends on U and V only through UUᵀ and VVᵀ (the logits of one SGD step, Theorem 5) has exactly the same
    law as with `sample_embeddings`, at any d and a cost that depends on N alone. Each side is the lower-trapezoidal
    factor of a Wishart matrix (Bartlett's decomposition): N(0, 1) below the diagonal, χ with d, d−1, … degrees of
    freedom on it, all divided by √d. Returns float64 U and V of shape (N, min(N, d)).
    It is no stand-in where the two sides share a basis (a sign or an entrywise map of G).
    Raises `ValueError` for a negative seed.
    """
    check_instance("problem", problem, Problem)
    return Embeddings(*(_bartlett_factor(problem, seed, name) for name in ("reduced outputs", "reduced inputs")))


def power_law_eigenvalues(dim: int, exponent: float) -> Float[Tensor, " d"]:
    """σ_a ∝ a^{−β} for a = 1 … d, of mean 1; β: `exponent`, any real number."""
    sigma = torch.arange(1, check_count("dim", dim) + 1, dtype=torch.float64) ** -check_real("exponent", exponent)
    return sigma / sigma.mean()


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


def _generator(seed: int, dim: int, stream: str) -> np.random.Generator:
    return np.random.default_rng([check_count("seed", seed, least=0), dim, _STREAMS[stream]])


def _bartlett_factor(problem: Problem, seed: int, stream: str) -> Tensor:
    generator = _generator(seed, problem.dim, stream)
    rank = min(problem.n_items, problem.dim)
    L = torch.from_numpy(generator.standard_normal((problem.n_items, rank))).tril_(-1)
    L.diagonal().copy_(torch.from_numpy(np.sqrt(generator.chisquare(problem.dim - np.arange(rank)))))
    return L.div_(math.sqrt(problem.dim))
