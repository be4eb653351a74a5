"""What a cell of the study measures: items that a layer of experts recovers after one step, and one memory."""

from types import SimpleNamespace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from amembook.practice.experts import expected
from amembook.run import runtime
from amemlib.checks import check_choice, check_count
from amemlib.equivalents import expected_capacity
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar

ROUTINGS = ("random", "item")
"""Whether a token's experts are drawn anew, or are always those of its item."""


def choose_experts(n_rows: int, experts: int, top_k: int, generator: np.random.Generator) -> Int[np.ndarray, "n k"]:
    """k different experts for each of n rows, uniform."""
    if top_k == 1:
        return generator.integers(experts, size=(n_rows, 1))
    return np.argpartition(generator.random((n_rows, experts)), top_k - 1, axis=1)[:, :top_k]


def route(
    problem: Problem, batch_size: int, experts: int, top_k: int, routing: str, seed: int
) -> tuple[Float[Tensor, "E N"], Int[np.ndarray, "N k"]]:
    """How often each expert sees each item in a step of B tokens, over B; and the experts that each item is read from.

    "random": every token goes to k experts drawn anew, and so does the question about an item later. "item": the k
    experts of an item are fixed, and see all of its tokens.
    """
    check_choice("routing", routing, ROUTINGS)
    generator = np.random.default_rng([check_count("seed", seed, least=0), experts, top_k, ROUTINGS.index(routing)])
    read = choose_experts(problem.n_items, experts, top_k, generator)
    counts = (sample_minibatch(problem, batch_size, seed) * batch_size).round().long().numpy()
    items = np.repeat(np.arange(problem.n_items), counts)
    chosen = read[items] if routing == "item" else choose_experts(batch_size, experts, top_k, generator)
    seen = np.zeros((experts, problem.n_items))
    np.add.at(seen, (chosen, items[:, None]), 1)
    return torch.from_numpy(seen / batch_size), read


def step_of(emb: Embeddings, q: Float[Tensor, " N"]) -> dict[str, Float[Tensor, "d d"]]:
    """One step from W = 0 on weights q, with the polar map and with SGD; nothing where nothing was seen."""
    if not q.any():
        return dict.fromkeys(("polar", "sgd"), torch.zeros(emb.dim, emb.dim, dtype=torch.float64))
    G = initial_gradient(emb, q)
    return {"polar": polar(G, gradient_rank(emb, q)), "sgd": G}


def recovered_by_experts(
    steps: list[Float[Tensor, "d d"]], read: Int[np.ndarray, "N k"], emb: Embeddings
) -> Bool[Tensor, " N"]:
    """Which items the sum of the experts that each is read from recovers: u_iᵀ Σ_e W_e v_i above all rivals. Dense."""
    V, images = emb.V.double(), torch.zeros_like(emb.V, dtype=torch.float64)
    for expert, W in enumerate(steps):
        mine = torch.from_numpy(np.flatnonzero((read == expert).any(1)))
        images[mine] += V[mine] @ W.mT
    # half a unit in float32's last place is far below the margins that count
    logits = images.float() @ emb.U.mT
    own = logits.diagonal().clone()
    logits.fill_diagonal_(-torch.inf)
    return own > logits.amax(1)


def measure_experts(config: SimpleNamespace, layer: str, routing: str, seed: int, device: str) -> dict:
    """Items that a layer of experts recovers after one step, polar and SGD, and what the drawn tokens let expect."""
    (experts, top_k), B = expected.layer_of("layer", layer), config.batch_size
    problem = Problem.power_law(config.layer_items, config.layer_dim, config.alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    seen, read = route(problem, B, experts, top_k, routing, seed)
    steps = [step_of(emb, q) for q in seen]
    counts = {
        name: int(recovered_by_experts([step[name] for step in steps], read, emb).sum()) for name in ("polar", "sgd")
    }
    sharp = {name: expected.layer_count(problem, name, seen, read, routing) for name in counts}
    tokens = (seen.sum(1) * B).tolist()
    return {"counts": counts, "sharp": sharp, "busiest": max(tokens), "median": float(np.median(tokens))}


def measure_batch(config: SimpleNamespace, dim: int, batch_size: int, seed: int, device: str) -> dict:
    """Items that one memory recovers from a batch, polar and SGD, and what is expected of the drawn frequencies."""
    problem = Problem.power_law(config.n_items, dim, config.alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    q = sample_minibatch(problem, batch_size, seed)
    counts = {name: capacity(W, emb) for name, W in step_of(emb, q).items()}
    sharp = {name: expected_capacity(problem, name, frequencies=q) for name in counts}
    return {"counts": counts, "sharp": sharp, "distinct": int((q > 0).sum())}


def momentum_frequencies(
    problem: Problem, batch_size: int, momentum: float, steps: int, seed: int
) -> Float[Tensor, " N"]:
    """What a momentum holds after `steps` batches of an unchanging gradient: Σ_t β^t q_t (1 − β), newest first."""
    generator = np.random.default_rng([check_count("seed", seed, least=0), problem.dim, batch_size, 7])
    counts = generator.multinomial(batch_size, problem.frequencies.numpy(force=True), size=steps)
    weights = (1 - momentum) * momentum ** np.arange(steps)
    return torch.from_numpy(weights @ counts / batch_size)


def measure_momentum(
    config: SimpleNamespace, dim: int, batch_size: int, momentum: float, seed: int, device: str
) -> dict:
    """Items of a polar step on a warm momentum, W having stayed at 0, and what is expected of its weights."""
    problem = Problem.power_law(config.n_items, dim, config.alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    q = momentum_frequencies(problem, batch_size, momentum, config.warm_up, seed)
    return {
        "count": capacity(step_of(emb, q)["polar"], emb),
        "sharp": expected_capacity(problem, "polar", frequencies=q),
    }
