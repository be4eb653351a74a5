"""Attention whose positions are states: every position has phases, scores compare them, and a layer may move them.

Position i starts as e_{if} = exp(i θ_f i), one phase a plane f; planes with θ_f = 0 compare content alone. With q and k
complex functions of content, the score of i for j is Re Σ_f q_f(h_i) e_{if} conj(k_f(h_j) e_{jf}), rotary embeddings as
long as e stays as it is. A layer moves it by its own attention, e_i ← β e_i + γ Σ_j a_ij e_j. Two layers of one head,
no MLP, not causal; planes are kept as pairs of real columns.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor

from amembook.networks.attention import normalise

STARTS = {"fixed": (1.0, 0.0), "zero": (1.0, 0.0), "hop": (0.0, 1.0)}
"""β and γ at the start, by name; "fixed" ones stay."""


def angles(content_planes: int, rotary_planes: int, top: float, ratio: float) -> Float[Tensor, " F"]:
    """0 for content, then from `top` down to top/ratio, evenly in logarithms."""
    rotary = top * ratio ** (-np.arange(rotary_planes) / max(1, rotary_planes - 1))
    return torch.from_numpy(np.concatenate([np.zeros(content_planes), rotary])).float()


def phases(theta: Float[Tensor, " F"], length: int) -> Float[Tensor, "L G"]:
    """The states of positions 0, 1, …, as pairs of real columns, G = 2 F."""
    angle = torch.arange(length).to(theta)[:, None] * theta
    return torch.stack([angle.cos(), angle.sin()], -1).flatten(-2)


def turned(x: Float[Tensor, "*r G"], e: Float[Tensor, "*s G"]) -> Float[Tensor, "*t G"]:
    """The product of complex numbers, plane by plane."""
    return torch.view_as_real(_complex(x) * _complex(e)).flatten(-2)


def moved(
    e: Float[Tensor, "*r L G"], attention: Float[Tensor, "*s L L"], move: Float[Tensor, "2"]
) -> Float[Tensor, "*t L G"]:
    """β e + γ (attention e)."""
    return move[0] * e + move[1] * (attention @ e)


def hop_factors(kernel: Float[Tensor, " K"], theta: Float[Tensor, " F"]) -> Complex[Tensor, " F"]:
    """â(θ) = Σ_δ a(δ) e^{−iθδ}: what a hop with a_ij = a(i − j), δ = 0, 1, …, multiplies every plane with."""
    return (
        torch.polar(torch.ones_like(theta), -theta * torch.arange(len(kernel)).to(theta)[:, None])
        .mul(kernel[:, None])
        .sum(0)
    )


def start(
    n_symbols: int,
    n_offsets: int,
    dim: int,
    theta: Float[Tensor, " F"],
    match: float,
    move: Sequence[float],
    generator: np.random.Generator,
) -> dict[str, Tensor]:
    """Gaussian weights, float32. match: 0, or the size of an orthonormal map that layer 1 has for queries and for keys
    on its content planes, with no other score there: it then looks for its own symbol."""
    draw = lambda *shape: torch.from_numpy(generator.standard_normal(shape)).float()
    G = 2 * len(theta)
    weights = {"symbol": draw(n_symbols, dim), "offset": draw(n_offsets, dim)}
    weights["readout"] = draw(n_symbols, dim) / math.sqrt(dim)
    for layer in "12":
        for name, rows in (("query", G), ("key", G), ("value", dim), ("output", dim)):
            weights[name + layer] = draw(rows, dim) / math.sqrt(dim)
        for name in ("asked", "kept"):
            weights[name + layer] = draw(G)
    if match:
        content = 2 * int((theta == 0).sum())
        same = torch.zeros(G, dim)
        same[:content] = match * torch.linalg.qr(draw(dim, content))[0].T
        weights |= {"query1": same, "key1": same.clone(), "asked1": torch.zeros(G), "kept1": torch.zeros(G)}
    return weights | {"move": torch.tensor(move)}


def forward(
    weights: dict[str, Tensor], content: Float[Tensor, "B L d"], e: Float[Tensor, "L G"]
) -> tuple[Float[Tensor, "B M"], Float[Tensor, "B L L"], Float[Tensor, "B 1 L"]]:
    """Logits at the last position; attention of layer 1, and of layer 2 there."""
    x = normalise(content)
    first = _attention(weights, "1", x, x, e, e)
    h = content + (first @ (x @ weights["value1"].T)) @ weights["output1"].T
    e = moved(e, first, weights["move"])
    x = normalise(h)
    second = _attention(weights, "2", x[:, -1:], x, e[:, -1:], e)
    out = h[:, -1] + (second @ x)[:, 0] @ weights["value2"].T @ weights["output2"].T
    return normalise(out) @ weights["readout"].T, first, second


def contents(
    weights: dict[str, Tensor], symbols: Int[Tensor, "B T"], asked: Int[Tensor, " B"], offsets: Int[Tensor, " B"]
) -> Float[Tensor, "B L d"]:
    """The symbols and, last, the question: a symbol plus an offset."""
    question = weights["symbol"][asked] + weights["offset"][offsets]
    return torch.cat([weights["symbol"][symbols], question[:, None]], 1)


def _attention(weights, layer: str, rows: Tensor, x: Tensor, e_rows: Tensor, e: Tensor) -> Tensor:
    queries = turned(rows @ weights["query" + layer].T + weights["asked" + layer], e_rows)
    keys = turned(x @ weights["key" + layer].T + weights["kept" + layer], e)
    return (queries @ keys.mT / math.sqrt(e.shape[-1] / 2)).softmax(-1)


def _complex(x: Tensor) -> Tensor:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
