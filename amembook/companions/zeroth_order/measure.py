"""What the study measures: steps on quadratics, gains on the memory, items stored through forward passes."""

import math

import numpy as np
import torch

from amembook.companions.zeroth_order import passes
from amembook.run.base import MAPS
from amemlib.gradients import initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings

_BLOCK, _NOISE = 50, 5305


def measure_quadratic(n_parameters: int, copies: int, decay: float, level: float) -> dict:
    """Steps to a level at the best constant rate, by the gradient and by one estimate a step.

    Eigenvalues i^(−decay), each `copies` times: so is tr H/h, and a gradient does not see it.
    """
    lam = np.repeat(np.arange(1, n_parameters // copies + 1) ** -decay, copies)
    factors = 2.0 ** np.arange(-3, 1.01, 0.125)
    curvature = (lam**3).sum() / (lam**2).sum()
    return {
        "gradient": passes.quadratic_steps(lam, 2 * factors / lam[0], level, math.inf),
        "estimate": passes.quadratic_steps(lam, 2 * factors / (lam.sum() + 2), level, 1),
        "start": passes.slowdown(float(lam.sum()), float(curvature)),
    }


def measure_rank(rank_items: int, dim: int, alpha: float, seed: int) -> dict:
    """tr H/h of the memory at W = 0."""
    problem = Problem.power_law(rank_items, dim, alpha)
    emb = sample_embeddings(problem, seed, dtype=torch.float64)
    at_zero = passes.curvatures(torch.zeros(dim, dim, dtype=torch.float64), emb, problem.frequencies)
    return {"ratio": at_zero["trace"] / at_zero["curvature"]}


def measure_gain(
    gain_items: int, dim: int, alpha: float, levels: list[float], directions: int, width: float, seed: int
) -> dict:
    """What one step along one estimate gains on the memory's loss, mean over directions, at the rate 1/(tr H + 2h),
    over |g|²/(2 (tr H + 2h)), which it would gain on a quadratic; where gradient descent has brought the loss to some
    shares of its start.

    gradient: the same of the best of some gradient steps, over |g|²/(2h). slowdown: tr H/h + 2.
    """
    problem = Problem.power_law(gain_items, dim, alpha)
    p, emb = problem.frequencies, sample_embeddings(problem, seed, dtype=torch.float64)
    loss = lambda W: passes.loss(W, emb, p)
    generator = torch.Generator().manual_seed(seed)
    W = torch.zeros(dim, dim, dtype=torch.float64)
    start = now = float(loss(W))
    gains = {"gain": [], "gradient": [], "slowdown": [], "level": []}
    for level in levels:
        for _ in range(_BLOCK):
            if now <= level * start:
                break
            at = passes.curvatures(W, emb, p)
            W = W + min(0.25 / at["curvature"], 4.0) * at["G"]
            now = float(loss(W))
        at = passes.curvatures(W, emb, p)
        G, trace, h = at["G"], at["trace"], at["curvature"]
        square, rate = float((G**2).sum()), 1 / (trace + 2 * h)
        z = torch.randn(directions, dim, dim, generator=generator, dtype=torch.float64)
        steps = torch.stack([rate * passes.estimate(loss, W, one[None], width) for one in z])
        drops = torch.cat([now - loss(W - block) for block in steps.split(_BLOCK)])
        best = max(float(now - loss(W + factor / h * G)) for factor in (0.25, 0.5, 1.0, 2.0, 4.0))
        gains["gain"].append(float(drops.mean()) / (square * rate / 2))
        gains["gradient"].append(best / (square / h / 2))
        gains["slowdown"].append(passes.slowdown(trace, h))
        gains["level"].append(now / start)
    return gains


def noise_stream(seed: int, dim: int, place: int) -> np.random.Generator:
    """The numbers of the noise beside the K in this place of its list; not those of the embeddings of (seed, dim)."""
    # without the last number the streams of places 0 and 1 are those of `sampling` for U and V
    return np.random.default_rng([seed, dim, place, _NOISE])


def measure_counts(
    n_items: int, dim: int, alpha: float, map_name: str, estimates: list[float], repeats: int, seed: int
) -> dict:
    """Items that one step from W = 0 stores along an average of K estimates of the gradient, mean over repeats, by K;
    full: along the gradient."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed)
    G, spectral_map = initial_gradient(emb, problem.frequencies), MAPS[map_name]
    counts = []
    for place, K in enumerate(estimates):
        generator = noise_stream(seed, dim, place)
        steps = (spectral_map(passes.sampled_estimate(G, K, generator)) for _ in range(repeats))
        counts.append(float(np.mean([capacity(W, emb) for W in steps])))
    return {"counts": counts, "full": capacity(spectral_map(G), emb)}
