"""Items and losses of one step with every published map, and of row-balanced steps on a tall matrix."""

import math
from functools import cache
from types import SimpleNamespace

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.paper.zoo.maps import RANDOM, ROWS, Map, published_maps
from amembook.run import runtime
from amemlib.equivalents import SpectralLaw
from amemlib.gradients import initial_gradient, item_losses_along
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar, spectral_maps
from amemlib.whitening import balanced_sum

BALANCED = ("polar", "normuon", "aurora")


@cache
def maps_of(n_items: int, dim: int, alpha: float) -> dict[str, Map]:
    """The published maps for a power law."""
    problem = Problem.power_law(n_items, dim, alpha)
    return published_maps(problem, SpectralLaw.solve(problem.frequencies, dim))


def steps(G: Float[Tensor, "d d"], maps: dict[str, Map], seed: int) -> dict[str, Tensor]:
    """W = f(G) by name of the map, then random spectra and rows."""
    drawn = torch.Generator().manual_seed(seed)
    uniform = torch.rand(2, len(G), generator=drawn, dtype=torch.float64).to(G.device)
    spectra = {"random_half": uniform[0] + 0.5, "random_exponential": -torch.log(uniform[1])}
    functions = [*maps.values(), *((lambda s, x=spectra[name]: x) for name in RANDOM)]
    moves = dict(zip((*maps, *RANDOM), spectral_maps(G, functions), strict=True))
    order = G.abs().sum(1).argsort(descending=True)
    for name, share in ROWS.items():
        kept = order[: round(share * len(G))] if not name.endswith("random") else slice(round(share * len(G)))
        moves[name] = torch.zeros_like(G)
        moves[name][kept] = polar(G[kept])
    return moves


def measure_items(config: SimpleNamespace, dim: int, n_items: int, seed: int, device: str) -> dict:
    """Recovered items by map, [alpha]."""
    emb = sample_embeddings(Problem.power_law(n_items, dim, 1.5), seed, runtime.device(device))
    counts = {}
    for alpha in config.alphas:
        G = initial_gradient(emb, Problem.power_law(n_items, dim, alpha).frequencies)
        for name, W in steps(G, maps_of(n_items, dim, alpha), seed).items():
            counts.setdefault(name, []).append(capacity(W, emb))
    return {"counts": counts}


def measure_losses(config: SimpleNamespace, seed: int, device: str) -> dict:
    """Loss in nats by map, [alpha][rate], of steps at the Frobenius norm √d times the rate times √d."""
    n_items, dim = config.loss_items, config.loss_dim
    emb = sample_embeddings(Problem.power_law(n_items, dim, 1.5), seed, runtime.device(device))
    scales, losses = [rate * math.sqrt(dim) for rate in config.rates], {}
    for alpha in config.alphas:
        p = Problem.power_law(n_items, dim, alpha).frequencies.to(emb.U.device)
        for name, W in steps(initial_gradient(emb, p), maps_of(n_items, dim, alpha), seed).items():
            along = item_losses_along(balanced_sum([W], [1]), emb, scales)
            losses.setdefault(name, []).append((along @ p).tolist())
    return {"losses": losses}


def measure_tall(config: SimpleNamespace, seed: int, device: str) -> dict:
    """Recovered items on a memory with more outputs' dimensions than inputs': by balancing, [alpha]."""
    generator, n_items = torch.Generator().manual_seed(seed), config.tall_items
    draw = lambda dim: torch.randn(n_items, dim, generator=generator, dtype=torch.float64) / dim**0.5
    U, V = (draw(dim).to(runtime.device(device)) for dim in (config.tall_rows, config.tall_columns))
    counts = {}
    for alpha in config.alphas:
        p = Problem.power_law(n_items, 1, alpha).frequencies.to(U.device)
        G = (p[:, None] * (U - U.mean(0))).T @ V
        for name in BALANCED:
            logits = V @ balanced(G, name).T @ U.T
            own = logits.diagonal().clone()
            logits.fill_diagonal_(-torch.inf)
            counts.setdefault(name, []).append(int((own > logits.amax(1)).sum()))
    return {"counts": counts}


def balanced(G: Float[Tensor, "m n"], name: str) -> Float[Tensor, "m n"]:
    """The polar factor; with its rows at one length, as NorMuon's first step; or of G with rows scaled before it.

    aurora: D from 1/|G_i| in two passes, D ← D (n / m |O_i|²)^{1/2} between them, as its reference does by default.
    """
    lengths = lambda X: torch.linalg.vector_norm(X, dim=1, keepdim=True)
    if name == "polar" or (name == "aurora" and G.shape[0] == G.shape[1]):
        return polar(G)
    if name == "normuon":
        return polar(G) / lengths(polar(G))
    scale = 1 / lengths(G)
    scale = scale * (G.shape[1] / G.shape[0] / lengths(polar(scale * G)) ** 2) ** 0.5
    return polar(scale * G)
