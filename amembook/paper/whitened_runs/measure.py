"""What a cell measures: runs of one method at the rates that are best on other draws."""

import math
from collections.abc import Callable
from functools import cache, partial

import torch

from amembook.networks import whitened
from amembook.networks.long_runs import BATCHES, MOST, batch_errors, best_half_octave, family
from amembook.run import runtime
from amemlib.gradients import loss
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_minibatch

METHODS = ("plain_sgd", *whitened.UPDATES)
"""plain_sgd is sgd, its steps as long as the averaged gradient; those of all others have one Frobenius norm."""
SIBLINGS = 3
_START, _PLAIN_START = 8.0, 32.0


def run(
    update: Callable,
    embs: list[Embeddings],
    problem: Problem,
    n_steps: int,
    batch_size: int,
    rate: float,
    seed: int,
    plain: bool = False,
) -> tuple[float, int]:
    """Loss in nats, at most 100, and items of the first of some matrices that read the same inputs, from W = 0.

    W ← W + η √d S/‖S‖_F with S = update's step, η from `rate` in a line to 0; `plain`: W ← W + η S. Every matrix sees
    the items of the same fresh batch and takes the same update.
    """
    dim, device = problem.dim, embs[0].U.device
    Ws = [torch.zeros(dim, dim, dtype=torch.float64, device=device) for _ in embs]
    states = [{} for _ in embs]
    for t in range(n_steps):
        q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(device)
        shown = [batch_errors(W, emb, q) for W, emb in zip(Ws, embs, strict=True)]
        gradients = [(weights[:, None] * errors).mT @ inputs for weights, errors, inputs in shown]
        shared = sum(G.mT @ G for G in gradients)
        for k, (G, seen) in enumerate(zip(gradients, shown, strict=True)):
            states[k], step = update(states[k], whitened.Pass(G, *seen, shared))
            length = 1.0 if plain else math.sqrt(dim) / torch.linalg.matrix_norm(step)
            Ws[k] = Ws[k] + rate * (1 - t / n_steps) * length * step
        if not torch.isfinite(Ws[0]).all():
            return MOST, 0
    return min(loss(Ws[0], embs[0], problem.frequencies), MOST), capacity(Ws[0], embs[0])


def measure_method(
    n_items: int,
    dim: int,
    alpha: float,
    n_steps: int,
    horizon: float,
    batch_size: int,
    method: str,
    tuning_seeds: int,
    seeds: int,
    first_seed: int,
    device: str,
) -> dict:
    """By what the rate is best for, "loss" or "items": rate, loss and items of every draw; tried: [rate, loss, items].

    The rate is the best of a ladder of factors √2, on the mean over `tuning_seeds` draws that come after the counted
    ones, both its neighbours tried and worse. β = max(0, 1 − horizon/T).
    """
    problem, plain = Problem.power_law(n_items, dim, alpha), method == "plain_sgd"
    update = partial(whitened.UPDATES["sgd" if plain else method], beta=max(0.0, 1 - horizon / n_steps))
    matrices = SIBLINGS if method == "siblings_polar" else 1
    start = _PLAIN_START if plain else _START
    of_seed = cache(lambda seed: family(n_items, dim, SIBLINGS, seed, runtime.device(device))[:matrices])

    @cache
    def at(rate: float, seed: int) -> tuple[float, int]:
        return run(update, of_seed(seed), problem, n_steps, batch_size, rate, seed, plain)

    tried = {}

    def tuned(k: int, what: int) -> float:
        if k not in tried:
            draws = [at(start * 2 ** (k / 2), first_seed + seeds + j) for j in range(tuning_seeds)]
            tried[k] = [sum(values) / tuning_seeds for values in zip(*draws, strict=True)]
        return tried[k][what]

    best = {
        "loss": best_half_octave(lambda k: tuned(k, 0)),
        "items": best_half_octave(lambda k: -tuned(k, 1)),
    }
    found = {"tried": [[start * 2 ** (k / 2), *tried[k]] for k in sorted(tried)]}
    for name, k in best.items():
        losses, items = zip(*(at(start * 2 ** (k / 2), first_seed + j) for j in range(seeds)), strict=True)
        found[name] = {"rate": start * 2 ** (k / 2), "loss": list(losses), "items": list(items)}
    return found
