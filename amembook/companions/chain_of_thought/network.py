"""A one-layer transformer with linear attention that writes its chain of thought into its own prompt.

Tokens have 2d + 2 entries: (x_j, y_j, 0, 0) for an example, (0, 0, w_i, 1) for a thought. With Z the matrix of all
tokens and z the last one, the layer gives f(Z) = z + V Z Zᵀ W z / n, and the next thought is its third block.
"""

from collections.abc import Callable
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.companions.chain_of_thought.prompts import Prompts, sample_prompts, teacher_path
from amembook.networks.adam import adam

Matrix = Float[Tensor, "D D"]
_PHASES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""What the learning rate is multiplied with, as many steps each: Adam leaves weights as far off as its rate is large.
"""


def draw_weights(dim: int, scale: float, generator: np.random.Generator) -> tuple[Matrix, Matrix]:
    """V and W with independent entries N(0, scale²/D), D = 2d + 2: no block is set by hand."""
    size = 2 * dim + 2
    V, W = (torch.from_numpy(generator.standard_normal((size, size))) * (scale / size**0.5) for _ in range(2))
    return V, W


def next_thoughts(V: Matrix, W: Matrix, prompts: Prompts, path: Float[Tensor, "B k d"]) -> Float[Tensor, "B k d"]:
    """What the layer writes after each thought w_0, …, w_{k−1}, having read the examples and the thoughts so far.

    Z Zᵀ has two blocks: Σ (x_j, y_j)(x_j, y_j)ᵀ of the examples and Σ (w_i, 1)(w_i, 1)ᵀ of the thoughts.
    """
    d, b = path.shape[-1], prompts.answers
    thoughts = torch.cat([path, torch.ones_like(path[..., :1])], -1)
    x, y, own = (thoughts @ W[:, d + 1 :].mT).split([d, 1, d + 1], -1)
    read_x = x @ prompts.S + y * b[:, None]
    read_y = x @ b[:, :, None] + y * (b * prompts.w).sum(1)[:, None, None]
    read_own = (own @ thoughts.mT).tril() @ thoughts / prompts.n_examples
    return path + torch.cat([read_x, read_y, read_own], -1) @ V[d + 1 : 2 * d + 1].mT


def think(V: Matrix, W: Matrix, prompts: Prompts, steps: int) -> Float[Tensor, "B {steps+1} d"]:
    """The network's own chain from w_0 = 0: every thought is read back as it was written."""
    path = torch.zeros_like(prompts.w)[:, None]
    for _ in range(steps):
        path = torch.cat([path, next_thoughts(V, W, prompts, path)[:, -1:]], 1)
    return path


def relative_errors(prompts: Prompts, path: Float[Tensor, "B k d"]) -> Float[Tensor, " k"]:
    """Σ‖w_i − w‖² / Σ‖w‖² over the prompts, thought by thought."""
    return (path - prompts.w[:, None]).square().sum((0, 2)) / prompts.w.square().sum()


def thinking_loss(rate: float, thoughts: int) -> Callable[[Matrix, Matrix, Prompts], Tensor]:
    """½ E Σ_i ‖f(Z_i) − w_{i+1}‖²: the network continues the teacher's chain, one thought at a time."""

    def loss(V: Matrix, W: Matrix, prompts: Prompts) -> Tensor:
        path = teacher_path(prompts, rate, thoughts)
        return (next_thoughts(V, W, prompts, path[:, :-1]) - path[:, 1:]).square().sum((1, 2)).mean() / 2

    return loss


def answer_loss(V: Matrix, W: Matrix, prompts: Prompts) -> Tensor:
    """½ E ‖f(Z) − w‖²: without a chain of thought, the answer at once."""
    answer = next_thoughts(V, W, prompts, torch.zeros_like(prompts.w)[:, None])[:, 0]
    return (answer - prompts.w).square().sum(1).mean() / 2


def train(
    loss: Callable[[Matrix, Matrix, Prompts], Tensor], dim: int, n_examples: int, steps: int, batch_size: int,
    lr: float, scale: float, generator: np.random.Generator,
) -> tuple[Matrix, Matrix]:  # fmt: skip
    """V and W after Adam on fresh prompts, from random weights, at a rate that falls by thousand."""
    weights = list(draw_weights(dim, scale, generator))

    def gradients(_: int, weights: list[Tensor]) -> list[Tensor]:
        value = loss(*weights, sample_prompts(batch_size, n_examples, dim, generator))
        return list(torch.autograd.grad(value, weights))

    for phase in _PHASES:
        (weights,) = islice(adam(weights, gradients, lr * phase), steps // len(_PHASES) - 1, steps // len(_PHASES))
    return weights[0], weights[1]


def construction(V: Matrix, W: Matrix) -> dict:
    """How far trained weights are from gradient descent written down by hand, V₃₁ W₁₃ = −η I.

    rate: −tr V₃₁W₁₃ / d. deviation: ‖V₃₁W₁₃ + rate·I‖_F / (rate √d). others: the share of the energy, among the
    entries that V₃₁, W₁₃ and W₂₄ share a row block with, that lies outside these three.
    """
    d = (len(V) - 2) // 2
    written, read = V[d + 1 : 2 * d + 1], W[: d + 1, d + 1 :]
    product = written[:, :d] @ read[:d, :d]
    rate = -product.diagonal().mean()
    kept = written[:, :d].square().sum() + read[:d, :d].square().sum() + read[d, d].square()
    total = written.square().sum() + read.square().sum()
    off = torch.linalg.matrix_norm(product + rate * torch.eye(d, dtype=V.dtype))
    return {"rate": rate.item(), "deviation": (off / (rate.abs() * d**0.5)).item(), "others": (1 - kept / total).item()}
