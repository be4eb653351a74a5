"""`quieting`: a rule of one gradient and its inputs that stores more than the matched filter where items are few.

Ours, on the model of arXiv:2603.26554. With W* = G Σ⁻¹, Σ = Σ_k p_k² v_k v_kᵀ, the mean of item j's output given the
gradient and the inputs is m_j = p_j W* v_j, and its leverage ℓ_j = p_j² v_jᵀ Σ⁻¹ v_j. The rule is

    W_c = (1 + c d S / tr S)^{-1/2} W*,   S = Σ_j ℓ_j (1 − ℓ_j) m_j m_jᵀ,

which lowers the rivals of middle leverage. c is the one of `strengths` that recovers most on outputs drawn anew from
what gradient and inputs allow: nothing of the true outputs goes into it but through the gradient. W* itself is c = 0.

Claim: below N = d^{1+α/2}, where W* falls short of the limit of one gradient, quieting recovers more items; beyond it
gains less than one per cent.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.run.base import Config, Count, Counts, Experiment, Grid, Natural, Positives, Results, SteepAlphas, draws
from amembook.run.study import above
from amemlib import Embeddings, Problem, recovered, sample_embeddings

LITTLE = 0.01
"""What quieting may gain beyond N = d^{1+α/2}, where no rule exceeds W* in the limit."""


@dataclass(frozen=True)
class QuietingConfig(Config):
    """Memories of `dims`, `n_items` and `alphas`, one of each: below and beyond N = d^{1+α/2}."""

    dims: Counts = (256, 256, 128, 128, 128, 192, 128)
    n_items: Counts = (2048, 8192, 1024, 2048, 2048, 16_384, 8192)
    alphas: SteepAlphas = (1.5, 1.5, 1.5, 1.25, 2.0, 1.5, 1.25)
    strengths: Positives = (0.1, 0.2, 0.4, 0.8, 1.6)  # c
    outputs: Count = 2  # drawn anew to choose c
    seeds: Count = 64  # gains of half a per cent scatter by one
    first_seed: Natural = 0

    def limits(self) -> None:
        if not len(self.dims) == len(self.n_items) == len(self.alphas):
            sizes = [len(self.dims), len(self.n_items), len(self.alphas)]
            raise ValueError(f"dims, n_items and alphas must be of one length, got {sizes}")

    def places(self) -> list[str]:
        """The memories by name."""
        memories = zip(self.dims, self.n_items, self.alphas, strict=True)
        return [f"d = {dim}, N = {n_items}, α = {alpha:g}" for dim, n_items, alpha in memories]

    def few(self) -> list[bool]:
        """Whether a memory has fewer than d^{1+α/2} items."""
        memories = zip(self.dims, self.n_items, self.alphas, strict=True)
        return [n_items < dim ** (1 + alpha / 2) for dim, n_items, alpha in memories]


def quieted(
    W: Float[Tensor, "d d"], means: Float[Tensor, "N d"], leverage: Float[Tensor, " N"], strengths: tuple[float, ...]
) -> list[Float[Tensor, "d d"]]:
    """W* and then W_c for every c of `strengths`; means: (N, d) the m_j, leverage: (N,) the ℓ_j."""
    level, Q = torch.linalg.eigh(means.T @ ((leverage * (1 - leverage))[:, None] * means))
    turned = Q.T @ W
    return [W] + [(Q / (1 + c * level / level.mean()).sqrt()) @ turned for c in strengths]


def measure(dim: int, n_items: int, alpha: float, strengths: list[float], outputs: int, seed: int, device: str) -> dict:
    """matched, quieted: items of one draw that W* and W_c recover; strength: the c that was chosen."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, dtype=torch.float64)
    A = problem.frequencies[:, None] * emb.V
    inverse = torch.linalg.solve(A.T @ A, A.T)
    W = (inverse @ emb.U).T
    means = A @ W.T
    maps = quieted(W, means, (A * inverse.T).sum(1), tuple(strengths))

    generator, hits = torch.Generator().manual_seed(seed), np.zeros(len(maps))
    for _ in range(outputs):
        noise = torch.randn(A.shape, generator=generator, dtype=A.dtype)
        drawn = means + (noise - A @ (inverse @ noise)) / math.sqrt(dim)
        hits += [_count(X, replace(emb, U=drawn)) for X in maps]
    best = 1 + int(hits[1:].argmax())
    return {"matched": _count(W, emb), "quieted": _count(maps[best], emb), "strength": strengths[best - 1]}


def _count(W: Float[Tensor, "d d"], emb: Embeddings) -> int:
    return int(recovered(W, emb).sum())


def grids(config: QuietingConfig) -> dict[str, Grid]:
    """Every draw of every memory."""
    memories = zip(config.places(), config.dims, config.n_items, config.alphas, strict=True)
    rule = {"strengths": list(config.strengths), "outputs": config.outputs}
    return {
        place: Grid(measure, {"seed": draws(config)}, dim=dim, n_items=n_items, alpha=alpha, **rule)
        for place, dim, n_items, alpha in memories
    }


def summarise(config: QuietingConfig, results: Results) -> tuple[dict, dict]:
    """By memory: matched and quieted, items of every draw; gain, what the second has over the first, a share of the
    first's mean; strength, the mean of the chosen c. Nothing is predicted."""
    of = lambda key: {place: results.array(place, key).astype(float) for place in config.places()}
    matched, ahead = of("matched"), of("quieted")
    gain = {place: (ahead[place] - items) / items.mean() for place, items in matched.items()}
    strength = {place: values.mean() for place, values in of("strength").items()}
    return {"matched": matched, "quieted": ahead, "gain": gain, "strength": strength}, {}


def judge(config: QuietingConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """More items where they are few; less than `LITTLE` more where there are enough."""
    gain = measured["gain"]
    few = dict(zip(config.places(), config.few(), strict=True))
    yield "few", above("gain,", {place: gain[place] for place in gain if few[place]})
    yield "enough", above("room,", {place: LITTLE - np.asarray(gain[place]) for place in gain if not few[place]})


EXPERIMENT = Experiment(
    name="quieting",
    purpose="one gradient and its inputs: quieting rivals of middle leverage stores more than W* where items are few",
    profiles={
        "smoke": QuietingConfig(
            dims=(16, 16), n_items=(32, 256), alphas=(1.5, 1.5), strengths=(0.2, 0.8), outputs=1, seeds=4
        ),
        "cpu": QuietingConfig(),
        "confirm": QuietingConfig(first_seed=50_000),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=50_000,
)
