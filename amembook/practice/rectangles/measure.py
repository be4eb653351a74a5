"""What a cell of the study measures: recovered items and the best learning rate of steps on an m × n memory."""

import re
from types import SimpleNamespace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.run import runtime
from amemlib.problem import Problem
from amemlib.spectral import newton_schulz, polar

RATES = 2.0 ** np.arange(2.0, 8.1, 0.5)
"""Learning rates at which the loss of a step is computed, for embeddings of length one."""


def pair_of(name: str, text: str) -> tuple[int, int]:
    """(4, 2) of "4x2"; `ValueError` for what is no such pair."""
    pair = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})", text)
    if not pair:
        raise ValueError(f"{name} must hold pairs of whole numbers such as 4x2, got {text!r}")
    return int(pair[1]), int(pair[2])


def sample_sides(
    n_items: int, rows: int, columns: int, seed: int, device: str
) -> tuple[Float[Tensor, "N m"], Float[Tensor, "N n"]]:
    """Output and input embeddings of two dimensions, entries N(0, 1/m) and N(0, 1/n), float64."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda dim: torch.randn(n_items, dim, generator=generator, dtype=torch.float64) / dim**0.5
    U, V = draw(rows), draw(columns)
    return U.to(runtime.device(device)), V.to(runtime.device(device))


def first_gradient(U: Float[Tensor, "N m"], V: Float[Tensor, "N n"], p: Float[Tensor, " N"]) -> Float[Tensor, "m n"]:
    """−∇L at W = 0 for sides of two dimensions; `gradients.initial_gradient` is the square one."""
    return (p[:, None] * (U - U.mean(0))).mT @ V


def recovered_items(logits: Float[Tensor, "N N"]) -> int:
    """How many rows have their largest entry on the diagonal, dense: for a few thousand items."""
    rivals = logits.clone()
    rivals.fill_diagonal_(-torch.inf)
    return int((logits.diagonal() > rivals.amax(1)).sum())


def tiled_polar(G: Float[Tensor, "m n"], row_blocks: int, column_blocks: int) -> Float[Tensor, "m n"]:
    """The polar factor of every tile of G by itself, a × b tiles: heads, shards, tiles."""
    m, n = G.shape
    tiles = G.reshape(row_blocks, m // row_blocks, column_blocks, n // column_blocks).transpose(1, 2)
    return polar(tiles.contiguous()).transpose(1, 2).reshape(m, n)


def best_rate(logits: Float[Tensor, "N N"], p: Float[Tensor, " N"]) -> dict:
    """The learning rate of least loss over `RATES`, by a parabola through the three best points of log η."""
    own = logits.diagonal()
    losses = [float(p @ (torch.logsumexp(rate * logits, 1) - rate * own)) for rate in RATES]
    k = int(np.argmin(losses))
    at_edge, shift = k in (0, len(RATES) - 1), 0.0
    if not at_edge:
        left, least, right = losses[k - 1 : k + 2]
        shift = (left - right) / (2 * (left - 2 * least + right))
    return {"rate": float(RATES[k] * 2 ** (0.5 * shift)), "loss": losses[k], "at_edge": at_edge}


def drawn(
    config: SimpleNamespace, rows: int, columns: int, seed: int, device: str
) -> tuple[Float[Tensor, "N m"], Float[Tensor, "N n"], Float[Tensor, " N"]]:
    """Both sides of a draw, and the frequencies."""
    U, V = sample_sides(config.n_items, rows, columns, seed, device)
    return U, V, Problem.power_law(config.n_items, 1, config.alpha).frequencies.to(U.device)


def measure_shape(config: SimpleNamespace, shape: str, seed: int, device: str) -> dict:
    """Items of polar, of five steps as shipped and of SGD, and the best learning rate of polar, for one shape."""
    U, V, p = drawn(config, *pair_of("shape", shape), seed, device)
    G = first_gradient(U, V, p)
    maps = {"polar": polar(G), "jordan": newton_schulz(G, coefficients="jordan"), "sgd": G}
    logits = {name: V @ W.mT @ U.mT for name, W in maps.items()}
    counts = {name: recovered_items(Z) for name, Z in logits.items()}
    # the scan of rates is a sum of exponentials: float32 is enough
    return {"counts": counts} | best_rate(logits["polar"].float(), p.float())


def measure_tiles(config: SimpleNamespace, tiling: str, seed: int, device: str) -> dict:
    """Items of the polar factors of tiles of one matrix."""
    U, V, p = drawn(config, *pair_of("tiled", config.tiled), seed, device)
    W = tiled_polar(first_gradient(U, V, p), *pair_of("tiling", tiling))
    return {"count": recovered_items(V @ W.mT @ U.mT)}


def measure_fused(config: SimpleNamespace, scale: float, seed: int, device: str) -> dict:
    """Three square memories of the same inputs and other outputs, the first one's gradient times `scale`.

    fused, apart: items of the first from the polar factor of the stack, and of its own; other: of the second, fused.
    size: the first one's part of the step over the second one's, in the Frobenius norm.
    """
    dim = config.parts_dim
    U, V, p = drawn(config, 3 * dim, dim, seed, device)
    parts = U.split(dim, 1)
    G = [first_gradient(part, V, p) for part in parts]
    fused = polar(torch.cat([scale * G[0], *G[1:]])).split(dim)
    count = lambda W, part: recovered_items(V @ W.mT @ part.mT)
    return {
        "fused": count(fused[0], parts[0]),
        "apart": count(polar(G[0]), parts[0]),
        "other": count(fused[1], parts[1]),
        "size": (torch.linalg.norm(fused[0]) / torch.linalg.norm(fused[1])).item(),
    }


def measure_one_hot(config: SimpleNamespace, dim: int, seed: int, device: str) -> dict:
    """Items of a head, outputs one-hot, and of an embedding, inputs one-hot, with SGD, polar, equal rows and sign.

    equal: the vector of every token brought to one length, rows of a head, columns of an embedding. sign: Adam's first
    step.
    """
    X = sample_sides(config.n_items, dim, dim, seed, device)[0]
    p = Problem.power_law(config.n_items, 1, config.alpha).frequencies.to(X.device)
    eye = torch.eye(config.n_items, dtype=torch.float64, device=X.device)
    head, embedding = first_gradient(eye, X, p), first_gradient(X, eye, p)
    lengths = torch.linalg.vector_norm
    maps = {
        "sgd": lambda G, token: G,
        "polar": lambda G, token: polar(G),
        "equal": lambda G, token: G / lengths(G, dim=token, keepdim=True),
        "sign": lambda G, token: torch.sign(G),
    }
    return {
        "head": {name: recovered_items(X @ f(head, 1).mT) for name, f in maps.items()},
        "embedding": {name: recovered_items(f(embedding, 0).mT @ X.mT) for name, f in maps.items()},
    }
