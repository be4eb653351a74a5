"""A gated recurrent network that is asked before it reads, or after.

Asked before, it can wait for one position and keep one token: every label of a sequence about the same position. Asked
after, its state must hold all tokens: what labels about different positions of one sequence amount to.
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.companions.sparse_retrieval.codes import sample_codes
from amembook.networks.adam import adam


def read_through(weights: Sequence[Tensor], inputs: Float[Tensor, "S B T i"]) -> Float[Tensor, "S B"]:
    """A GRU over T inputs from the state 0, and a linear answer from its last state; weights are stacks of S."""
    gates_in, gates_own, gate_bias, new_in, new_own, new_bias, out = weights
    draws, count, length, _ = inputs.shape
    width = out.shape[1]
    state = torch.zeros(draws, count, width, dtype=inputs.dtype)
    flat = inputs.flatten(1, 2)
    gates = (flat @ gates_in + gate_bias).unflatten(1, (count, length))
    news = (flat @ new_in + new_bias).unflatten(1, (count, length))
    for step in range(length):
        keep, reset = (gates[:, :, step] + state @ gates_own).sigmoid().split(width, -1)
        new = (news[:, :, step] + (reset * state) @ new_own).tanh()
        state = keep * state + (1 - keep) * new
    return (state @ out)[..., 0]


def start(draws: int, inputs: int, width: int, generator: np.random.Generator) -> list[Tensor]:
    """Entries of variance one over the inputs, float32; the gates start by keeping."""
    shapes = [(inputs, 2 * width), (width, 2 * width), (1, 2 * width), (inputs, width), (width, width), (1, width)]
    weights = [
        torch.from_numpy(generator.standard_normal((draws, *shape)) * (shape[0] ** -0.5 if shape[0] > 1 else 0)).float()
        for shape in [*shapes, (width, 1)]
    ]
    weights[2][:, :, :width] = 1.0
    return weights


def sample_reading(
    n_sequences: int, codes: Float[Tensor, "S N m"], dim: int, before: bool, generator: np.random.Generator
) -> tuple[Float[Tensor, "S B T i"], Float[Tensor, "S B"]]:
    """N tokens (x_j, ω_j) and one question (0, ω_t, 1), first or last, float32; the answer is x_t[0]."""
    draws, n_positions, code_dim = codes.shape
    tokens = torch.from_numpy(generator.standard_normal((draws, n_sequences, n_positions, dim)))
    asked = torch.from_numpy(generator.integers(n_positions, size=(draws, n_sequences)))
    answers = tokens[..., 0].gather(2, asked[..., None])[..., 0]
    keys = codes[:, None].expand(draws, n_sequences, n_positions, code_dim)
    read = torch.cat([tokens, keys, torch.zeros_like(tokens[..., :1])], -1)
    question = torch.zeros(draws, n_sequences, 1, dim + code_dim + 1, dtype=torch.float64)
    question[..., 0, dim:-1] = codes[torch.arange(draws)[:, None], asked]
    question[..., -1] = 1
    parts = [question, read] if before else [read, question]
    return torch.cat(parts, 2).float(), answers.float()


def recurrent_risk(
    n_positions: int, dim: int, code_dim: int, width: int, steps: int, batch_size: int, lr: float, before: bool,
    generator: np.random.Generator,
) -> float:  # fmt: skip
    """The risk after `steps` fresh batches, rate lr and for the last quarter of them a tenth of it."""
    codes = sample_codes(n_positions, code_dim, generator)[None]
    draw = lambda count: sample_reading(count, codes, dim, before, generator)

    def gradients(_: int, weights: list[Tensor]) -> list[Tensor]:
        inputs, answers = draw(batch_size)
        return list(torch.autograd.grad((read_through(weights, inputs) - answers).square().mean(), weights))

    weights = start(1, dim + code_dim + 1, width, generator)
    for share, rate in ((0.75, lr), (0.25, lr / 10)):
        count = max(1, round(share * steps))
        (weights,) = islice(adam(weights, gradients, rate), count - 1, count)
    inputs, answers = draw(2000)
    return ((read_through(weights, inputs) - answers).square().mean() / answers.square().mean()).item()
