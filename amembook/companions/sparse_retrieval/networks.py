"""Small networks that learn sparse retrieval from n labels: one head of attention, and one hidden layer.

Weights are stacks, (S, …) for S draws that share nothing: small networks do not fill a core. All are trained on their
whole sample, with Adam.
"""

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from amembook.networks.adam import adam


def attend(
    weights: Sequence[Tensor],
    tokens: Float[Tensor, "S n N d"],
    asked: Int[Tensor, "S n L"],
    codes: Float[Tensor, "S N m"],
) -> Float[Tensor, "S n L"]:
    """One head: Σ_j softmax_j(ω_tᵀ W ω_j) ⟨v, x_j⟩ for each asked t; weights W (S, m, m) and v (S, d, 1)."""
    W, v = weights
    scores = codes @ W @ codes.mT
    values = (tokens @ v[:, None])[..., 0]
    rows = torch.arange(len(codes))[:, None, None]
    return (scores[rows, asked].softmax(-1) * values[:, :, None]).sum(-1)


def feed_forward(
    weights: Sequence[Tensor],
    tokens: Float[Tensor, "S n N d"],
    asked: Int[Tensor, "S n L"],
    codes: Float[Tensor, "S N m"],
) -> Float[Tensor, "S n L"]:
    """One hidden layer of ReLU that reads all tokens and the code of the one asked position."""
    first, bias, second = weights
    query = codes[torch.arange(len(codes))[:, None], asked[..., 0]]
    inputs = torch.cat([tokens.flatten(2), query], -1)
    return (inputs @ first + bias).relu() @ second


def start_attention(draws: int, dim: int, code_dim: int, generator: np.random.Generator) -> list[Tensor]:
    """W = 0, so that attention starts uniform, and a small random v."""
    v = torch.from_numpy(generator.standard_normal((draws, dim, 1))) * (0.1 / dim**0.5)
    return [torch.zeros(draws, code_dim, code_dim, dtype=torch.float64), v]


def start_feed_forward(draws: int, inputs: int, width: int, generator: np.random.Generator) -> list[Tensor]:
    """Entries of variance two over the inputs, zero biases."""
    first = torch.from_numpy(generator.standard_normal((draws, inputs, width))) * (2 / inputs) ** 0.5
    second = torch.from_numpy(generator.standard_normal((draws, width, 1))) / width**0.5
    return [first, torch.zeros(draws, 1, width, dtype=torch.float64), second]


def sample_task(
    draws: int, n_sequences: int, labels: int, n_positions: int, dim: int, generator: np.random.Generator
) -> tuple[Float[Tensor, "S n N d"], Int[Tensor, "S n L"], Float[Tensor, "S n L"]]:
    """Tokens, asked positions and answers y = x_t[0], the first direction being u: `labels` = N asks every position."""
    tokens = torch.from_numpy(generator.standard_normal((draws, n_sequences, n_positions, dim)))
    if labels == n_positions:
        asked = torch.arange(n_positions).expand(draws, n_sequences, n_positions)
    else:
        asked = torch.from_numpy(generator.integers(n_positions, size=(draws, n_sequences, labels)))
    return tokens, asked, tokens[..., 0].gather(2, asked)


def train(
    network: Callable[..., Tensor], weights: list[Tensor], task: tuple, codes: Tensor, steps: int, lr: float
) -> list[Tensor]:
    """The weights after full-batch Adam on the squared loss, each draw's own."""
    tokens, asked, answers = task

    def gradients(_: int, weights: list[Tensor]) -> list[Tensor]:
        loss = (network(weights, tokens, asked, codes) - answers).square().mean((1, 2)).sum()
        return list(torch.autograd.grad(loss, weights))

    (weights,) = islice(adam(weights, gradients, lr), steps - 1, steps)
    return weights


def risks(network: Callable[..., Tensor], weights: list[Tensor], task: tuple, codes: Tensor) -> Float[Tensor, " S"]:
    """Mean squared error on a fresh sample, over that of the answer 0."""
    tokens, asked, answers = task
    return (network(weights, tokens, asked, codes) - answers).square().mean((1, 2)) / answers.square().mean((1, 2))
