"""The steps of the study `whitening`: matrices made of a gradient, its inputs and its outputs; their items and loss."""

import math
from types import SimpleNamespace

import torch
from torch import Tensor

from amembook.paper.whitening.expected import SIBLINGS, expected_of_a_batch
from amembook.run import runtime
from amemlib import theory
from amemlib.equivalents import SpectralLaw, best_map
from amemlib.gradients import initial_gradient, item_losses_along
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity, recovered
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar, spectral_map
from amemlib.whitening import balanced_sum, kfac, matched_filter, second_moment, siblings, whiten

FLOOR = 0.6
"""What the second term of a mix has of the Frobenius norm of the first."""
STEPS = (
    "sgd", "polar", "best", "newton", "newton_muon", "kfac", "polar_kfac", "kfac_polar", "siblings", "siblings_half",
    "siblings_polar", "polar_matched", "matched", "matched_polar", "mixed",
)  # fmt: skip
"""newton is G Σ_v⁻¹ and newton_muon its polar factor; polar_… is a step's polar factor, …_polar a step + 0.6 of the
polar map; siblings_half has the power −½ of Σ GᵀG, as Shampoo's right factor alone; mixed is W* + 0.6 newton."""
DAMPED = ("kfac", "matched")
COMMONEST = 8


def measure_steps(config: SimpleNamespace, dim: int, n_items: int, seed: int, device: str) -> dict:
    """For every step and every α the recovered items, on one draw."""
    embs = family(n_items, dim, seed, device)
    steps = [one_gradient_steps(alpha, embs) for alpha in config.alphas]
    return {"counts": {name: [capacity(of[name], embs[0]) for of in steps] for name in STEPS}}


def measure_losses(config: SimpleNamespace, seed: int, device: str) -> dict:
    """For every step and every α the loss, in nats, at each rate times √d, steps at the Frobenius norm √d."""
    n_items, dim = config.loss_items, config.loss_dim
    embs = family(n_items, dim, seed, device)
    scales = [rate * math.sqrt(dim) for rate in config.rates]
    losses = {name: [] for name in STEPS}
    for alpha in config.alphas:
        p = Problem.power_law(n_items, dim, alpha).frequencies.to(embs[0].U.device)
        for name, W in one_gradient_steps(alpha, embs).items():
            losses[name].append((item_losses_along(balanced_sum([W], [1]), embs[0], scales) @ p).tolist())
    return {"losses": losses}


def measure_damping(config: SimpleNamespace, seed: int, device: str) -> dict:
    """Recovered items of K-FAC and of W* by damping, of K-FAC with Σ_u about 0, and of W* by way of float32."""
    problem_at = lambda alpha: Problem.power_law(config.damped_items, config.damped_dim, alpha)
    emb = sample_embeddings(problem_at(1.5), seed, runtime.device(device))
    items = {name: [] for name in (*DAMPED, "uncentred", "centred", "single")}
    for alpha in config.alphas:
        p = problem_at(alpha).frequencies
        G, squares = initial_gradient(emb, p), second_moment(emb.V, p**2)
        inputs, about_zero = second_moment(emb.V, p), second_moment(emb.U, p)
        items["kfac"].append([capacity(kfac(emb, p, damping), emb) for damping in config.dampings])
        items["matched"].append([capacity(whiten(G, right=squares, damping=x), emb) for x in config.dampings])
        for name, W in (("uncentred", whiten(G, about_zero, inputs)), ("centred", kfac(emb, p))):
            items[name].append(int(recovered(W, emb)[:COMMONEST].sum()))
        single = torch.linalg.solve(squares.float(), G.T.float()).T
        items["single"].append(capacity(single, emb))
    return items


def measure_batches(config: SimpleNamespace, seed: int, device: str) -> dict:
    """Recovered items of K-FAC, W* and the polar map on a batch, with the counts predicted for its frequencies."""
    problem_at = lambda alpha: Problem.power_law(config.damped_items, config.damped_dim, alpha)
    emb = sample_embeddings(problem_at(1.5), seed, runtime.device(device))
    steps = {"polar": lambda emb, q: polar(initial_gradient(emb, q)), "kfac": kfac, "matched": matched_filter}
    items = {name: [] for name in (*steps, "law_kfac", "law_matched")}
    for alpha in config.alphas:
        problem = problem_at(alpha)
        drawn = [sample_minibatch(problem, size, seed) for size in config.batch_sizes]
        for name, step in steps.items():
            items[name].append([capacity(step(emb, q), emb) for q in drawn])
        for name in DAMPED:
            items[f"law_{name}"].append([expected_of_a_batch(problem, name, q) for q in drawn])
    return items


def family(n_items: int, dim: int, seed: int, device: str) -> list[Embeddings]:
    """Embeddings with the same inputs and outputs of their own, one for each sibling."""
    blocks = SIBLINGS // 2 + 1
    emb = sample_embeddings(Problem.power_law(n_items * blocks, dim, 1.5), seed, runtime.device(device))
    inputs, *more = emb.V.split(n_items)
    return [Embeddings(U, inputs) for U in (*emb.U.split(n_items), *more)][:SIBLINGS]


def one_gradient_steps(alpha: float, embs: list[Embeddings]) -> dict[str, Tensor]:
    """W of the first matrix of a family by step, after one population step from W = 0."""
    emb = embs[0]
    p = Problem.power_law(emb.n_items, emb.dim, alpha).frequencies
    gradients = [initial_gradient(one, p) for one in embs]
    G, matched, both = gradients[0], matched_filter(emb, p), kfac(emb, p)
    newton, muon = whiten(G, right=second_moment(emb.V, p)), polar(G)
    law = SpectralLaw.power_law(alpha, theory.bulk_scale(emb.n_items, emb.dim, alpha))
    of_siblings = siblings(gradients)[0]
    s, Q = torch.linalg.eigh(sum(one.T @ one for one in gradients))
    with_floor = lambda W, floor: balanced_sum([W, floor], [1, FLOOR])
    return {
        "sgd": G,
        "polar": muon,
        "best": spectral_map(G, best_map(law)),
        "newton": newton,
        "newton_muon": polar(newton),
        "kfac": both,
        "polar_kfac": polar(both),
        "kfac_polar": with_floor(both, muon),
        "siblings": of_siblings,
        "siblings_half": G @ (Q * s.rsqrt()) @ Q.T,
        "siblings_polar": with_floor(of_siblings, muon),
        "polar_matched": polar(matched),
        "matched": matched,
        "matched_polar": with_floor(matched, muon),
        "mixed": with_floor(matched, newton),
    }
