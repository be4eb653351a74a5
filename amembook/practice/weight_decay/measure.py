"""What a cell measures: the least loss under a bound on ‖W‖_op with its certificate, and a run with weight decay."""

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.networks.long_runs import BATCHES, MOST, best_of_ladder, dense_gradient
from amembook.networks.updates import Update, muon_shipped, muon_without_momentum
from amembook.run import runtime
from amemlib.gradients import loss
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar

_SHARE = 0.32
"""λη of the first of the steps that look for the bounded minimum."""


def decayed_run(
    update: Update,
    emb: Embeddings,
    problem: Problem,
    n_steps: int,
    batch_size: int,
    rate: float,
    decay: float,
    seed: int,
) -> Float[Tensor, "d d"]:
    """W ← (1 − ηλ) W + η S from W = 0, S = update's step, η from `rate` in a line to 0 and λ = `decay`.

    batch_size: items of a fresh batch, 0 for all.
    """
    W = torch.zeros(problem.dim, problem.dim, dtype=torch.float64, device=emb.U.device)
    state, q = {}, problem.frequencies.to(W.device)
    for t in range(n_steps):
        if batch_size:
            q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(W.device)
        state, step = update(state, dense_gradient(W, emb, q))
        eta = rate * (1 - t / n_steps)
        W = (1 - eta * decay) * W + eta * step
    return W


def frank_wolfe_gap(W: Float[Tensor, "d d"], G: Float[Tensor, "d d"], radius: float) -> float:
    """R ‖G‖_* − ⟨G, W⟩ for G = −∇L(W) and ‖W‖_op ≤ R: no less than L(W) less the least loss under that bound."""
    return float(radius * torch.linalg.matrix_norm(G, ord="nuc") - (G * W).sum())


def measure_bounded(
    dim: int, alpha: float, items_per_dim: int, radii: list[float], bounded_steps: int, seed: int, device: str
) -> dict:
    """By R: items, loss, gap and ‖W‖_op/R of Muon with decay 1/R on the population, without momentum; one, one_loss:
    items of the first step and loss of R times it."""
    problem = Problem.power_law(items_per_dim * dim, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    p = problem.frequencies.to(emb.U.device)
    first = polar(dense_gradient(torch.zeros(dim, dim, dtype=torch.float64, device=p.device), emb, p))
    found = {"one": capacity(first, emb)} | {key: [] for key in ("items", "loss", "gap", "norm", "one_loss")}
    for R in radii:
        W = decayed_run(muon_without_momentum, emb, problem, bounded_steps, 0, _SHARE * R, 1 / R, seed)
        found["items"].append(capacity(W, emb))
        found["loss"].append(loss(W, emb, problem.frequencies))
        found["gap"].append(frank_wolfe_gap(W, dense_gradient(W, emb, p), R))
        found["norm"].append(float(torch.linalg.matrix_norm(W, ord=2)) / R)
        found["one_loss"].append(loss(R * first, emb, problem.frequencies))
    return found


def measure_run(
    run_items: int,
    run_dim: int,
    alpha: float,
    run_steps: int,
    horizon: float,
    batch_size: int,
    radius: float,
    seed: int,
    device: str,
) -> dict:
    """loss: of Muon as torch ships it, exact polar factor, decay 1/`radius` (none for 0), at the best rate of a ladder
    of factors of two with ηλ ≤ 1; items, rate, norm (‖W‖_op λ) of that run. β = 1 − horizon/T."""
    problem = Problem.power_law(run_items, run_dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    decay = 1 / radius if radius else 0.0
    update = lambda state, G: muon_shipped(state, G, 1 - horizon / run_steps)
    found = {}

    def value(rate: float) -> float:
        if rate * decay > 1:
            return MOST
        found[rate] = decayed_run(update, emb, problem, run_steps, batch_size, rate, decay, seed)
        return min(loss(found[rate], emb, problem.frequencies), MOST)

    least, rate = best_of_ladder(value, 60 / run_steps)
    W = found[rate]
    norm = float(torch.linalg.matrix_norm(W, ord=2)) * decay
    return {"loss": least, "rate": rate, "items": capacity(W, emb), "norm": norm}
