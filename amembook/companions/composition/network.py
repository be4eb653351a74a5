"""The attention-only network of the study: its layers, the weights that solve the task, and its training.

Layer 1 reads values at scores A (places, places). Layer l ≥ 2 reads what the layer before wrote at all places, with
scores B_l[i, v, place'] averaged over what the layer before wrote at its own place (i, j), a distribution over v. Every
layer writes a distribution over the N things, so the loss of the h-hop, h = 2^(l−1), is −log of what layer l writes.
"""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from amembook.companions.composition.permutations import hops, sample_permutations, values
from amembook.networks.adam import adam
from amemlib.spectral import spectral_map

REGIMES = ("mixture", "curriculum", "k only")
LEARNT = 0.95
"""The share of right answers, on a batch, that counts as having learnt a hop."""
_FLOOR, _DONE, _MOMENTUM = 1e-9, 0.99, 0.9


def depth(k: int) -> int:
    """log₂ k + 1 layers; `ValueError` unless k is a power of two."""
    if k < 2 or k & (k - 1):
        raise ValueError(f"k must be a power of two and at least 2, got {k}")
    return k.bit_length()


def forward(weights: list[Tensor], read: Float[Tensor, "n P N"]) -> list[Float[Tensor, "n P N"]]:
    """What each layer writes at every place."""
    n, P, N = read.shape
    written = [weights[0].softmax(-1) @ read]
    for B in weights[1:]:
        scores = torch.einsum("sijv,ivp->sijp", written[-1].view(n, -1, N, N), B).reshape(n, P, P)
        written.append(scores.softmax(-1) @ written[-1])
    return written


def hand_built(pi: Int[np.ndarray, "k N"], sharpness: float = 40.0) -> list[Tensor]:
    """Weights that solve the task: place (i, j) looks at (i, π_i(j)), then from layer to layer at the place
    (i + 2^(l−2), what was written), and copies what stands there."""
    k, N = pi.shape
    A = torch.zeros(k * N, k * N)
    A[torch.arange(k * N), torch.from_numpy((np.arange(k)[:, None] * N + pi).ravel())] = sharpness
    weights = [A]
    for layer in range(2, depth(k) + 1):
        B = torch.zeros(k, N, k * N)
        for i in range(k):
            B[i, torch.arange(N), (i + 2 ** (layer - 2)) % k * N + torch.arange(N)] = sharpness
        weights.append(B)
    return weights


def batch(pi: Int[np.ndarray, "k N"], n: int, generator: np.random.Generator) -> tuple[Tensor, list[Tensor]]:
    """Values of n samples, and the labels of the 1-, 2-, 4-, …, k-hop from every place."""
    k, N = pi.shape
    sigma = sample_permutations(n, k, N, generator)
    labels = [torch.from_numpy(hops(sigma, pi, 2**layer)).reshape(n, k * N, 1) for layer in range(depth(k))]
    return torch.from_numpy(values(sigma)).float(), labels


def accuracies(written: list[Tensor], labels: list[Tensor]) -> list[float]:
    """By hop, the share of places whose largest entry is the label."""
    return [(w.argmax(2, keepdim=True) == y).double().mean().item() for w, y in zip(written, labels, strict=True)]


def train(
    pi: Int[np.ndarray, "k N"], regime: str, optimizer: str, steps: int, n_samples: int, lr: float, spread: float,
    seed: int,
) -> list[list[float]]:  # fmt: skip
    """Accuracies by step and hop, on fresh samples at each step; ends once all hops are at 0.99.

    regime: the sum of all hops' losses; one hop after the other, each until it is at 0.99; the k-hop alone.
    optimizer: "adam", or "muon", polar factors of a momentum of 0.9, for every layer as a (places, places) matrix.
    """
    k, N = pi.shape
    generator = np.random.default_rng([seed, k, N, REGIMES.index(regime)])
    shapes = [(k * N, k * N)] + [(k, N, k * N)] * (depth(k) - 1)
    weights = [torch.from_numpy(spread * generator.standard_normal(shape)).float() for shape in shapes]
    history, stages = [], [0]

    def gradients(_: int, weights: list[Tensor]) -> tuple[Tensor, ...]:
        read, labels = batch(pi, n_samples, generator)
        written = forward(weights, read)
        history.append(accuracies(written, labels))
        while stages[0] < len(weights) - 1 and history[-1][stages[0]] >= _DONE:
            stages[0] += 1
        losses = [-(w.gather(2, y) + _FLOOR).log().mean() for w, y in zip(written, labels, strict=True)]
        loss = {"mixture": sum(losses), "curriculum": losses[stages[0]], "k only": losses[-1]}[regime]
        return torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)

    for _ in zip(range(steps), {"adam": adam, "muon": _muon}[optimizer](weights, gradients, lr), strict=False):
        if min(history[-1]) >= _DONE:
            break
    return history[:steps]


def _muon(weights: list[Tensor], gradients: Callable, lr: float) -> Iterator[list[Tensor]]:
    """As `adam.adam`, with steps of lr times the polar factor of Σ 0.9^s G_{t−s}."""
    momenta = [torch.zeros_like(W) for W in weights]
    for step in itertools.count(1):
        slopes = gradients(step, [W.requires_grad_() for W in weights])
        momenta = [_MOMENTUM * m + G for m, G in zip(momenta, slopes, strict=True)]
        weights = [W.detach() - lr * _polar(m) for W, m in zip(weights, momenta, strict=True)]
        yield weights


def _polar(G: Tensor) -> Tensor:
    # layers that this loss does not reach have no gradient, and nothing of theirs must become 1
    flat = G.reshape(-1, G.shape[-1]).double()
    return spectral_map(flat, lambda s: (s > 1e-6 * s.max().clamp(min=1e-30)).to(s)).to(G).reshape(G.shape)


def first_at(history: list[list[float]], hop: int) -> float:
    """The first step at which a hop was at `LEARNT`; NaN if it never was."""
    return float(next((step for step, shares in enumerate(history) if shares[hop] >= LEARNT), math.nan))
