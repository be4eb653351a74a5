"""What a cell measures: one step of every optimizer, its logits where they are predicted, and many steps."""

import math
from types import SimpleNamespace

import torch
from torch import Tensor

from amembook.networks.long_runs import BATCHES, dense_gradient
from amembook.networks.updates import UPDATES, dion, soap_at_once
from amembook.run import runtime
from amemlib.gradients import gradient_rank, initial_gradient, loss
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar, singular_triples

WARM_STEPS = 4
"""Power iterations on one gradient after which Dion counts as warm."""


def measure_sign(config: SimpleNamespace, alpha: float, dim: int, seed: int, device: str) -> dict:
    """Items of sign(G) and of G; by octave of rank, the mean own logit of sign(G), and the root mean square of the
    logits between the rarer half of the inputs and the outputs of the octave."""
    emb, _, G = _drawn(config, alpha, dim, seed, device)
    W, half = G.sign(), config.n_items // 2
    U, V = emb.U.double(), emb.V.double()
    own = ((V @ W.mT) * U).sum(1)
    rivals = (V[half:] @ W.mT @ U[:half].mT).square().mean(0)
    octaves = octaves_of(config.n_items)
    return {
        "sign": capacity(W, emb),
        "sgd": capacity(G, emb),
        "signal": [own[ranks].mean().item() for ranks in octaves],
        "rivals": [rivals[ranks].mean().sqrt().item() for ranks in octaves],
    }


def measure_first(config: SimpleNamespace, dim: int, seed: int, device: str) -> dict:
    """Items of the first step of every optimizer, and its distance from what it should be.

    distance: the largest entry of the step minus polar(G), or minus sign(G) for `adam`, where |G| is above √ε times its
    largest entry. soap, which only looks in its first step, takes it at once; `soap in float32` does so in that format.
    """
    emb, _, G = _drawn(config, config.first_alpha, dim, seed, device)
    steps = {name: UPDATES[name]({}, G)[1] for name in config.optimizers if name != "soap"}
    if "soap" in config.optimizers:
        steps |= {"soap": soap_at_once(G), "soap in float32": soap_at_once(G.float(), 1e-8).double()}
    clear = G.abs() > 1e-4 * G.abs().max()
    aims = {name: polar(G) for name in steps} | {"adam": torch.where(clear, G.sign(), steps.get("adam", G))}
    return {
        "counts": {name: capacity(W, emb) for name, W in steps.items()},
        "distance": {name: (W - aims[name]).abs().max().item() for name, W in steps.items()},
    }


def measure_rank(config: SimpleNamespace, alpha: float, dim: int, seed: int, device: str) -> dict:
    """Items of the polar factor of the largest r singular values, and of Dion at rank r: its first step, and the step
    after `WARM_STEPS` power iterations on the same gradient. A list each, for r/d in `fractions`; polar: of all."""
    emb, q, G = _drawn(config, alpha, dim, seed, device)
    P, _, Qh = singular_triples(G)
    items = {"polar": capacity(polar(G, gradient_rank(emb, q)), emb), "low_rank": [], "dion": [], "warm": []}
    for fraction in config.fractions:
        rank = max(1, round(fraction * dim))
        state, first = dion({}, G, fraction)
        warm = first
        for _ in range(WARM_STEPS - 1):
            state, warm = dion({"M": torch.zeros_like(G), "Q": state["Q"]}, G, fraction)
        for name, W in (("low_rank", P[:, :rank] @ Qh[:rank]), ("dion", first), ("warm", warm)):
            items[name].append(capacity(W, emb))
    return items


def measure_run(
    config: SimpleNamespace, optimizer: str, rate: float, factor: float, batch_size: int, seed: int, device: str
) -> dict:
    """Cross-entropy over all items, in nats, and recovered items after `steps` steps from W = 0.

    The rate falls in a line from `rate` · `factor` to 0. batch_size: items of a fresh batch every step, 0 for the
    population. A loss beyond 100 nats, or none, counts as 100.
    """
    problem = Problem.power_law(config.run_items, config.run_dim, config.run_alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    update, state = UPDATES[optimizer], {}
    W = torch.zeros(problem.dim, problem.dim, dtype=torch.float64, device=emb.U.device)
    q = problem.frequencies.to(W.device)
    for t in range(config.steps):
        if batch_size:
            q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(W.device)
        state, step = update(state, dense_gradient(W, emb, q))
        W = W + rate * factor * (1 - t / config.steps) * step
        if not torch.isfinite(W).all():
            return {"loss": 100.0, "items": 0}
    return {"loss": min(loss(W, emb, problem.frequencies), 100.0), "items": capacity(W, emb)}


def octaves_of(n_items: int) -> list[slice]:
    """Ranks 1, 2–3, 4–7, … of the more frequent half of the items."""
    return [slice(2**k - 1, 2 ** (k + 1) - 1) for k in range(int(math.log2(n_items // 2 + 1)))]


def _drawn(
    config: SimpleNamespace, alpha: float, dim: int, seed: int, device: str
) -> tuple[Embeddings, Tensor, Tensor]:
    """A draw of the embeddings, the frequencies, and the first gradient."""
    problem = Problem.power_law(config.n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    return emb, problem.frequencies, initial_gradient(emb, problem.frequencies)
