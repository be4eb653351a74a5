"""Many steps of a small dense memory: its gradient under a batch, and the best learning rate of a run."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.gradients import loss
from amemlib.problem import Embeddings, Problem
from amemlib.sampling import sample_embeddings, sample_minibatch

BATCHES = 10**6
"""Seeds of the batches of one draw: that of step t is BATCHES (seed + 1) + t."""
MOST = 100.0
"""Nats; no loss is told that is larger."""


def dense_gradient(W: Float[Tensor, "d d"], emb: Embeddings, q: Float[Tensor, " N"]) -> Float[Tensor, "d d"]:
    """−∇L(W) under q, the softmax in float32: `gradients.gradient` for small memories and few items seen."""
    seen, errors, inputs = batch_errors(W, emb, q)
    return (seen[:, None] * errors).mT @ inputs


def batch_errors(W: Float[Tensor, "d d"], emb: Embeddings, q: Float[Tensor, " N"]) -> tuple[Tensor, Tensor, Tensor]:
    """Of the n items seen under q: their q, (n,), the errors u_i − Σ_j π_j u_j and the inputs v_i, (n, d) float64."""
    seen = q.nonzero()[:, 0]
    left = torch.softmax((emb.V[seen] @ W.float().mT) @ emb.U.mT, 1) @ emb.U
    return q[seen], emb.U[seen].double() - left.double(), emb.V[seen].double()


def best_of_ladder(function: Callable[[float], float], start: float) -> tuple[float, float]:
    """The least value of a function of a rate on the ladder start · 2^k, and the rate: down the hill from the start.

    Ends where both neighbours are larger, so a second valley further off is not found.
    """
    values = ladder(function, start)
    best = min(values, key=values.get)
    return values[best], best


def ladder(function: Callable[[float], float], start: float) -> dict[float, float]:
    """What `best_of_ladder` tried: values by rate, both neighbours of the least one among them."""
    values = {0: function(start)}
    while True:
        best = min(values, key=values.get)
        missing = [k for k in (best + 1, best - 1) if k not in values]
        if not missing:
            return {start * 2.0**k: value for k, value in values.items()}
        values[missing[0]] = function(start * 2.0 ** missing[0])


def best_half_octave(function: Callable[[int], float]) -> int:
    """The k of the least value of a function of a rate start · 2^{k/2}: down the hill from 0, by octaves, then halves.

    Both neighbours of the one that it gives were tried and are no less.
    """
    values = {0: function(0)}
    for step in (2, 1):
        while True:
            best = min(values, key=values.get)
            missing = [k for k in (best + step, best - step) if k not in values]
            if not missing:
                break
            values[missing[0]] = function(missing[0])
    return best


def family(n_items: int, dim: int, matrices: int, seed: int, device: torch.device | str) -> list[Embeddings]:
    """Embeddings with the same inputs and outputs of their own, as many as there are matrices."""
    blocks = matrices // 2 + 1
    emb = sample_embeddings(Problem.power_law(n_items * blocks, dim, 1.5), seed, device)
    inputs, *more = emb.V.split(n_items)
    return [Embeddings(U, inputs) for U in (*emb.U.split(n_items), *more)][:matrices]


def loss_after(
    update: Callable, emb: Embeddings, problem: Problem, n_steps: int, batch_size: int, rate: float, seed: int
) -> float:
    """Loss over all items, in nats, after `n_steps` steps from W = 0; at most 100, which also stands for none.

    update: (state, G) ↦ (state, step), as in `networks.updates`; the rate falls in a line from `rate` to 0. batch_size:
    items of a fresh batch every step, 0 for all items.
    """
    W = torch.zeros(problem.dim, problem.dim, dtype=torch.float64, device=emb.U.device)
    state, q = {}, problem.frequencies.to(W.device)
    for t in range(n_steps):
        if batch_size:
            q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(W.device)
        state, step = update(state, dense_gradient(W, emb, q))
        W = W + rate * (1 - t / n_steps) * step
        if not torch.isfinite(W).all():
            return MOST
    return min(loss(W, emb, problem.frequencies), MOST)
