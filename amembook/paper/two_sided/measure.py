"""Whitened steps on a list of frequencies, and the losses of those that an optimizer can take."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from amembook import vocabularies
from amembook.run import runtime
from amemlib.equivalents import balanced_whitener
from amemlib.gradients import initial_gradient, item_losses_along
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar
from amemlib.whitening import balanced_sum, kfac, matched_filter, second_moment, whiten

STEPS = ("polar", "matched", "mixed", "kfac", "balanced")
LOSSES = ("polar", "mixed", "half", "half_floor")
"""half is G (Σ_r G_rᵀG_r)^{−½} of four matrices that read the same inputs, Shampoo's right factor shared among them;
half_floor is half + 0.6 Muon, each at the same Frobenius norm."""
FLOOR, SIBLINGS = 0.6, 4


def case_frequencies(case: str, n_items: int, flat_items: int) -> Float[Tensor, " N"]:
    """Frequencies by the name of the list: "power 1.5", "flat", "words en"."""
    kind, _, of = case.partition(" ")
    if kind == "power":
        return Problem.power_law(n_items, 1, float(of)).frequencies
    if kind == "flat":
        return torch.full((flat_items,), 1 / flat_items, dtype=torch.float64)
    return vocabularies.words(of, n_items).frequencies


def balanced_step(emb: Embeddings, q: Float[Tensor, " N"]) -> Float[Tensor, "d d"]:
    """Both sides whitened by the weights of `balanced_whitener`, outputs centred."""
    weights = torch.from_numpy(balanced_whitener(q, emb.dim).weights(q.cpu().numpy())).to(emb.U.device)
    mean = emb.U.mean(0, dtype=torch.float64)
    left, right = second_moment(emb.U, weights, mean), second_moment(emb.V, weights)
    return whiten(initial_gradient(emb, q), left, right)


def measure_items(case: str, dim: int, n_items: int, flat_items: int, seed: int, device: str) -> dict:
    """Recovered items by step on one draw."""
    problem = Problem.from_frequencies(case_frequencies(case, n_items, flat_items), dim)
    emb, q = sample_embeddings(problem, seed, runtime.device(device)), problem.frequencies
    G, matched = initial_gradient(emb, q), matched_filter(emb, q)
    newton = whiten(G, right=second_moment(emb.V, q))
    found = polar(G), matched, balanced_sum([matched, newton], [1, FLOOR]), kfac(emb, q), balanced_step(emb, q)
    return {name: capacity(W, emb) for name, W in zip(STEPS, found, strict=True)}


def measure_losses(
    loss_items: int, loss_dim: int, alphas: list[float], rates: list[float], seed: int, device: str
) -> dict:
    """Items, and loss in nats at each rate times √d of steps at the Frobenius norm √d, by step, [alpha]."""
    blocks = SIBLINGS // 2 + 1
    drawn = sample_embeddings(Problem.power_law(loss_items * blocks, loss_dim, 1.5), seed, runtime.device(device))
    inputs, *more = drawn.V.split(loss_items)
    embs = [Embeddings(U, inputs) for U in (*drawn.U.split(loss_items), *more)][:SIBLINGS]
    emb, scales = embs[0], [rate * math.sqrt(loss_dim) for rate in rates]
    found = {"items": {name: [] for name in LOSSES}, "losses": {name: [] for name in LOSSES}}
    for alpha in alphas:
        p = Problem.power_law(loss_items, loss_dim, alpha).frequencies.to(emb.U.device)
        gradients = [initial_gradient(one, p) for one in embs]
        G, matched = gradients[0], matched_filter(emb, p)
        newton, muon = whiten(G, right=second_moment(emb.V, p)), polar(G)
        s, Q = torch.linalg.eigh(sum(one.T @ one for one in gradients))
        half = G @ (Q * s.rsqrt()) @ Q.T
        mixed, floored = (balanced_sum(pair, [1, FLOOR]) for pair in ([matched, newton], [half, muon]))
        for name, W in zip(LOSSES, (muon, mixed, half, floored), strict=True):
            found["items"][name].append(capacity(W, emb))
            along = item_losses_along(balanced_sum([W], [1]), emb, scales)
            found["losses"][name].append((along @ p).tolist())
    return found
