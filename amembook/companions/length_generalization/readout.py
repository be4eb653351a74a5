"""A small network on one number, and its training by Adam or with Muon for its one matrix.

Weights are stacks, (S, …) for S networks: a hidden layer of H from the number z, a second one of H, an answer.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.networks.adam import adam
from amemlib.spectral import newton_schulz

_MATRIX, _MOMENTUM = 2, 0.9
PHASES = (0.0, np.pi / 2)
"""Two waves a draw: an error that is quadratic in the wave has the same mean over these two as over all phases."""


def start(networks: int, width: int, generator: np.random.Generator) -> list[Tensor]:
    """Gaussian weights that keep the variance, float32; the kinks of the first layer lie on both sides of [−1, 1]."""
    draw = lambda *shape: torch.from_numpy(generator.standard_normal(shape)).float()
    first = draw(networks, 1, width)
    kinks = torch.from_numpy(generator.uniform(-1, 1, (networks, 1, width))).float()
    second, third = draw(networks, width, width) * (2 / width) ** 0.5, draw(networks, width, 1) / width**0.5
    return [first, kinks, second, torch.zeros(networks, 1, width), third, torch.zeros(networks, 1, 1)]


def answer(weights: list[Tensor], z: Float[Tensor, "S n"]) -> Float[Tensor, "S n"]:
    """The networks' answers at z, each at its own."""
    hidden = (z[..., None] @ weights[0] + weights[1]).relu()
    hidden = (hidden @ weights[2] + weights[3]).relu()
    return (hidden @ weights[4] + weights[5])[..., 0]


def waves(frequency: float, copies: int, generator: np.random.Generator) -> Callable[[Tensor], Tensor]:
    """z ↦ sin(ωz + φ) for φ = a drawn one plus `PHASES`; z has their rows `copies` times over."""
    phases = torch.from_numpy(np.tile(generator.uniform(0, 2 * np.pi) + np.array(PHASES), copies))[:, None]
    return lambda z: torch.sin(frequency * z + phases.to(z))


def train(
    weights: list[Tensor], loss: Callable[[list[Tensor]], Tensor], optimizer: str, steps: int, lr: float,
    muon_lr: float,
) -> list[Tensor]:  # fmt: skip
    """The weights after `steps` steps, the last three tenths of them at a tenth of the rates.

    optimizer: "adam"; or "muon", which takes for the matrix of the second layer the shipped five quintic steps on a
    momentum of 0.9, at the rate muon_lr.
    """
    gradients = lambda _, weights: torch.autograd.grad(loss(weights), weights)
    for share, part in ((0.7, 1.0), (0.3, 0.1)):
        count = max(1, round(share * steps))
        if optimizer == "adam":
            path = adam(weights, gradients, part * lr)
        else:
            path = _muon(weights, gradients, part * muon_lr, part * lr)
        (weights,) = islice(path, count - 1, count)
    return weights


def _muon(weights: list[Tensor], gradients: Callable, lr: float, vectors_lr: float) -> Iterator[list[Tensor]]:
    """As `adam.adam`, with steps of Muon for the matrix."""
    matrix, momentum = weights[_MATRIX], torch.zeros_like(weights[_MATRIX])

    def others(step: int, vectors: list[Tensor]) -> list[Tensor]:
        nonlocal matrix, momentum
        whole = [*vectors[:_MATRIX], matrix.requires_grad_(), *vectors[_MATRIX:]]
        slopes = list(gradients(step, whole))
        momentum = _MOMENTUM * momentum + slopes.pop(_MATRIX)
        matrix = matrix.detach() - lr * newton_schulz(momentum, coefficients="muon").to(matrix)
        return slopes

    for vectors in adam(weights[:_MATRIX] + weights[_MATRIX + 1 :], others, vectors_lr):
        yield [*vectors[:_MATRIX], matrix, *vectors[_MATRIX:]]
