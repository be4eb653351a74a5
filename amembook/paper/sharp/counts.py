"""The counts of the experiment `sharp`, apart from its predictions: a better prediction asks for no new count."""

import torch

from amembook.run import runtime
from amemlib import theory
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.optim import newton_step
from amemlib.problem import Problem
from amemlib.recovery import capacity, recovered_by_sgd
from amemlib.sampling import sample_embeddings, sample_minibatch, sample_reduced_embeddings
from amemlib.spectral import polar, smoothed_sign_scalars, spectral_maps


def measure_population(
    n_items: int, dim: int, alpha: float, lam_over_t0: list[float], seed: int, device: str
) -> dict[str, list[int]]:
    """Recovered items after one population step on one draw: h_λ for every λ (0 is the polar map), and Newton."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    t0 = theory.bulk_scale(n_items, dim, alpha)
    maps = [smoothed_sign_scalars(ratio * t0)[0] if ratio else torch.ones_like for ratio in lam_over_t0]
    memories = spectral_maps(G, maps, gradient_rank(emb, problem.frequencies))
    return {
        "smoothed_sign": [capacity(W, emb) for W in memories],
        "newton": [capacity(newton_step(emb, problem.frequencies), emb)],
    }


def measure_batches(
    n_items: int, dim: int, alpha: float, batch_sizes: list[int], seed: int, device: str
) -> dict[str, list[int]]:
    """Recovered items after one step of polar and of Newton on a minibatch of every size, on one draw."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    batches = [sample_minibatch(problem, batch_size, seed) for batch_size in batch_sizes]
    return {
        "polar": [capacity(polar(initial_gradient(emb, q), gradient_rank(emb, q)), emb) for q in batches],
        "newton": [capacity(newton_step(emb, q), emb) for q in batches],
    }


def measure_sgd(n_items: int, dim: int, alphas: list[float], seed: int) -> dict[str, list[int]]:
    """Recovered items after one population SGD step for every α on one draw, exact at any d by the Gram matrices."""
    problems = [Problem.power_law(n_items, dim, alpha) for alpha in alphas]
    emb = sample_reduced_embeddings(problems[0], seed)
    grams = emb.U @ emb.U.T, emb.V @ emb.V.T
    return {"sgd": [int(recovered_by_sgd(*grams, problem.frequencies).sum()) for problem in problems]}
