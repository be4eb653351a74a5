"""What a cell measures: the best rate of one step by shape, by width and by batch, and of a run by width."""

import math
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.networks.long_runs import ladder, loss_after
from amembook.networks.updates import muon_shipped
from amembook.practice.step_sizes.expected import best_step, vertex
from amembook.run import runtime
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar

LOG_RATES = np.arange(0.0, 8.1, 0.5)
"""log₂ of the rates at which the loss of one step is computed, embeddings of length one."""
_ROWS = 512


def best_log_rate(
    W: Float[Tensor, "m n"], U: Float[Tensor, "N m"], V: Float[Tensor, "N n"], p: Float[Tensor, " N"]
) -> float:
    """log₂ of the rate η of `LOG_RATES` at which ηW has the least loss, by a parabola; NaN at an end of the grid."""
    images, losses = (V.double() @ W.mT).float(), np.zeros(len(LOG_RATES))
    for k in range(0, len(p), _ROWS):
        rows = slice(k, k + _ROWS)
        logits = images[rows] @ U.float().mT
        own = (images[rows] * U[rows].float()).sum(1)
        for n, rate in enumerate(2.0**LOG_RATES):
            losses[n] += float(p[rows] @ ((rate * logits).logsumexp(1) - rate * own).double())
    return vertex(LOG_RATES, losses)


def measure_shape(n_items: int, rows: int, columns: int, alpha: float, seed: int, device: str) -> dict:
    """log₂ of the best rate of a polar step of the population on m outputs and n inputs."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda dim: torch.randn(n_items, dim, generator=generator, dtype=torch.float64) / dim**0.5
    U, V = (draw(dim).to(runtime.device(device)) for dim in (rows, columns))
    p = Problem.power_law(n_items, 1, alpha).frequencies.to(U.device)
    return {"best": best_log_rate(polar((p[:, None] * (U - U.mean(0))).mT @ V), U, V, p)}


def measure_step(n_items: int, dim: int, alpha: float, batch_size: int, seed: int, device: str) -> dict:
    """best: log₂ of the best rate of a polar step on a batch, 0 for all items; law: what is predicted of its items."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    q = sample_minibatch(problem, batch_size, seed) if batch_size else problem.frequencies
    W = polar(initial_gradient(emb, q.to(emb.U.device)), gradient_rank(emb, q))
    best = best_log_rate(W, emb.U, emb.V, problem.frequencies.to(emb.U.device))
    return {"best": best, "law": best_step(problem, q)[0]}


def measure_run(
    n_items: int,
    run_dims: list[int],
    alpha: float,
    run_steps: int,
    horizon: float,
    run_batch: int,
    seed: int,
    device: str,
) -> dict:
    """Runs of Muon of every width on a batch a step, 1/(1 − β) = T/`horizon`, the rate falling in a line to 0.

    best: log₂ of the best rate by width, by a parabola of the logarithm of the loss over a ladder of factors of two.
    carried: nats over the least of the widest's ladder at the rate of the narrowest, not scaled, scaled as √d, as d.
    """
    update = partial(muon_shipped, beta=1 - horizon / run_steps)
    best = []
    for dim in run_dims:
        problem = Problem.power_law(n_items, dim, alpha)
        emb = sample_embeddings(problem, seed, runtime.device(device))
        run = lambda rate, emb=emb, problem=problem: loss_after(update, emb, problem, run_steps, run_batch, rate, seed)
        tried = ladder(run, 2.0 ** round(math.log2(128 / run_steps * math.sqrt(dim / 64))))
        rates = sorted(tried)
        best.append(vertex(np.log2(rates), np.log([tried[rate] for rate in rates])))
    ratio = run_dims[-1] / run_dims[0]
    carried = [run(2.0 ** best[0] * ratio**power) - min(tried.values()) for power in (0, 0.5, 1)]
    return {"best": best, "carried": carried}
