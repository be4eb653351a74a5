"""One head that looks at positions modulo Δ, and a read-out: what the string leaves of itself are the means of classes.

A string of T = Δt tokens x_j = ±1 has t tokens in each class j mod Δ, with a coin U(0, 1) of its own, so the number of
+1 in a class is uniform on 0…t. A token of class r gets the weight T^{a_r}; the mean that attention reads is a mean of
class means, and only they are drawn.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from amembook.companions.length_generalization import readout


def class_means(
    tokens: Int[np.ndarray, "S n"], period: int, generator: np.random.Generator
) -> Float[Tensor, "S n period"]:
    """Means of every class in strings with t tokens of each: 2k/t − 1, k uniform on 0…t."""
    counts = generator.integers(0, tokens[..., None] + 1, (*tokens.shape, period))
    return torch.from_numpy(2 * counts / tokens[..., None] - 1).float()


def shares(exponents: Float[Tensor, "S period"], lengths: Float[Tensor, "S n"]) -> Float[Tensor, "S n period"]:
    """The attention that classes get at length T: T^{a_r} / Σ T^{a_s}."""
    return (exponents[:, None] * lengths.log()[..., None]).softmax(-1)


def read(
    exponents: Float[Tensor, "S period"], means: Float[Tensor, "S n period"], tokens: Int[np.ndarray, "S n"]
) -> Float[Tensor, "S n"]:
    """What attention reads."""
    lengths = torch.from_numpy(tokens * exponents.shape[1]).float()
    return (shares(exponents, lengths) * means).sum(-1)


def train(
    target: Callable[[Tensor], Tensor], period: int, tokens: Sequence[int], width: int, steps: int, batch_size: int,
    lr: float, generator: np.random.Generator,
) -> list[Tensor]:  # fmt: skip
    """Weights of the read-outs, and last the exponents a, after Adam on fresh strings.

    tokens: of each class in the strings of each network, which all have one length.
    """
    batch = np.tile(np.array(tokens)[:, None], batch_size)

    def loss(weights: list[Tensor]) -> Tensor:
        means = class_means(batch, period, generator)
        answers = readout.answer(weights[:-1], read(weights[-1], means, batch))
        return (answers - target(means[..., 0])).square().mean(1).sum()

    weights = [*readout.start(len(tokens), width, generator), torch.zeros(len(tokens), period)]
    return readout.train(weights, loss, "adam", steps, lr, lr)


def errors(
    weights: list[Tensor],
    target: Callable[[Tensor], Tensor],
    tokens: Sequence[int],
    n_strings: int,
    generator: np.random.Generator,
) -> Float[Tensor, " S"]:
    """Mean squared errors on fresh strings with so many tokens of each class."""
    batch = np.tile(np.array(tokens)[:, None], n_strings)
    means = class_means(batch, weights[-1].shape[1], generator)
    return (readout.answer(weights[:-1], read(weights[-1], means, batch)) - target(means[..., 0])).square().mean(1)
