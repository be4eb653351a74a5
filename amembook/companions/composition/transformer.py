"""An ordinary transformer on k-fold composition: pre-norm blocks of attention and MLP, one read-out a hop.

A place (i, j) enters as the sum of its own learnt vector and that of σ_i(j). Nothing is causal: every place reads all.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from amembook.companions.composition.network import depth
from amembook.companions.composition.permutations import hops, sample_permutations
from amembook.networks.adam import adam
from amembook.networks.attention import normalise

_DONE, _HEADS = 0.97, 4


def initial_weights(k: int, n_things: int, dim: int, layers: int, generator: np.random.Generator) -> dict[str, Tensor]:
    """Gaussian vectors and matrices with entries N(0, 1/columns), float32."""
    shapes = {"place": (k * n_things, dim), "value": (n_things, dim), "readout": (depth(k), n_things, dim)}
    for layer in range(layers):
        shapes |= {f"{name}{layer}": (dim, dim) for name in ("query", "key", "value", "output")}
        shapes |= {f"expand{layer}": (4 * dim, dim), f"contract{layer}": (dim, 4 * dim)}
    draw = lambda shape: torch.from_numpy(generator.standard_normal(shape) / math.sqrt(shape[-1])).float()
    return {name: draw(shape) for name, shape in shapes.items()}


def forward(weights: dict[str, Tensor], sigma: Int[Tensor, "n k N"], layers: int) -> Float[Tensor, "n h P N"]:
    """Logits of every hop at every place."""
    h = weights["place"] + weights["value"][sigma.flatten(1)]
    n, P, dim = h.shape
    for layer in range(layers):
        x = normalise(h)
        parts = (x @ weights[f"{name}{layer}"].T for name in ("query", "key", "value"))
        heads = (part.view(n, P, _HEADS, dim // _HEADS).transpose(1, 2) for part in parts)
        read = F.scaled_dot_product_attention(*heads).transpose(1, 2).reshape(n, P, dim)
        h = h + read @ weights[f"output{layer}"].T
        h = h + (normalise(h) @ weights[f"expand{layer}"].T).relu() @ weights[f"contract{layer}"].T
    return torch.einsum("npd,hcd->nhpc", normalise(h), weights["readout"])


def train(
    pi: Int[np.ndarray, "k N"], regime: str, steps: int, n_samples: int, dim: int, layers: int, lr: float, seed: int
) -> list[list[float]]:
    """Accuracies by step and hop with Adam on fresh samples; ends once all hops are at 0.97.

    regime: "mixture", the mean loss of all hops, or "k only", that of the last.
    """
    k, N = pi.shape
    generator = np.random.default_rng([seed, k, N, 15])
    start = initial_weights(k, N, dim, layers, generator)
    history = []

    def gradients(_: int, weights: list[Tensor]) -> tuple[Tensor, ...]:
        sigma = sample_permutations(n_samples, k, N, generator)
        labels = [torch.from_numpy(hops(sigma, pi, 2**hop)).flatten(1) for hop in range(depth(k))]
        targets = torch.stack(labels, 1)
        logits = forward(dict(zip(start, weights, strict=True)), torch.from_numpy(sigma), layers)
        history.append((logits.argmax(-1) == targets).double().mean((0, 2)).tolist())
        losses = F.cross_entropy(logits.flatten(0, 2), targets.flatten(), reduction="none").view_as(targets)
        losses = losses.mean((0, 2))
        return torch.autograd.grad(losses.mean() if regime == "mixture" else losses[-1], weights)

    for _ in zip(range(steps), adam(list(start.values()), gradients, lr), strict=False):
        if min(history[-1]) >= _DONE:
            break
    return history[:steps]
