"""What a cell measures: gradient descent and polar steps on soft targets, every step as long as is best."""

import math
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize
from torch import Tensor

from amembook.practice.bigrams.text import SoftTargets, targets
from amembook.run import runtime
from amemlib.problem import Embeddings, Problem
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

MAPS = ("sgd", "polar")
_TRIALS = 60
_CLOSE = 0.01


def embeddings(soft: SoftTargets, dim: int, seed: int, device: str) -> Embeddings:
    """Gaussian embeddings of words as outputs and as contexts, float64."""
    problem = Problem.from_frequencies(soft.frequencies, dim)
    return sample_embeddings(problem, seed, runtime.device(device), torch.float64)


def direction(G: Float[Tensor, "d d"], name: str) -> Float[Tensor, "d d"]:
    """Where a map steps from −∇L = G: along G, brought to norm 1, or along its polar factor."""
    return polar(G) if name == "polar" else G / torch.linalg.norm(G)


def descend(soft: SoftTargets, emb: Embeddings, name: str) -> Iterator[float]:
    """The loss at W = 0 and after every step W += η D, η the one of least loss along D.

    The loss along D is convex; its minimum comes from Newton's method in η, kept in a bracket, from the last step's.
    """
    p, P = soft.frequencies.to(emb.U.device), soft.P.to(emb.U.device)
    logits, eta = torch.zeros_like(P), 1.0
    while True:
        log_sums = torch.logsumexp(logits, 0)
        yield (p @ (log_sums - (P * logits).sum(0))).item()
        G = (emb.U.mT @ ((P - torch.exp(logits - log_sums)) * p)) @ emb.V
        along = emb.U @ direction(G, name) @ emb.V.mT
        wanted = p @ (P * along).sum(0)
        low, high = 0.0, math.inf
        for _ in range(_TRIALS):
            weights = torch.softmax(logits + eta * along, 0) * along
            mean = weights.sum(0)
            slope = (p @ mean - wanted).item()
            curvature = (p @ ((weights * along).sum(0) - mean**2)).item()
            low, high = (eta, high) if slope < 0 else (low, eta)
            last, eta = eta, eta - slope / max(curvature, 1e-300)
            # a step of Newton's leaves the bracket where the partition sums are saturated
            if not low < eta < min(high, 4 * last):
                eta = 4 * last if high == math.inf else (low + high) / 2
            if abs(eta - last) < _CLOSE * last:
                break
        logits = logits + eta * along


def losses(soft: SoftTargets, emb: Embeddings, name: str, steps: int) -> list[float]:
    """The losses after 0, …, `steps` steps."""
    run = descend(soft, emb, name)
    return [next(run) for _ in range(steps + 1)]


def least_loss(soft: SoftTargets, emb: Embeddings) -> float:
    """min_W L by L-BFGS: finite where there are more words than the memory can tell apart, N > d²."""
    p, P = soft.frequencies, soft.P

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        logits = emb.U @ torch.from_numpy(flat).reshape(emb.dim, emb.dim) @ emb.V.mT
        log_sums = torch.logsumexp(logits, 0)
        G = (emb.U.mT @ ((torch.exp(logits - log_sums) - P) * p)) @ emb.V
        return (p @ (log_sums - (P * logits).sum(0))).item(), G.flatten().numpy()

    # scipy's, for torch's own takes a second to import
    limits = {"maxiter": 3000, "maxfun": 6000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-9}
    return float(minimize(loss, np.zeros(emb.dim**2), jac=True, method="L-BFGS-B", options=limits).fun)


def measure_first(config: SimpleNamespace, dim: int, target: str, seed: int, device: str) -> dict:
    """How much the best first step of each map takes off the loss, and the nuclear norm of the gradient at W = 0."""
    soft = targets(target, config.n_words)
    emb = embeddings(soft, dim, seed, device)
    drops = {name: math.log(config.n_words) - losses(soft, emb, name, 1)[1] for name in MAPS}
    G = emb.U.mT @ soft.centred.to(emb.U.device) @ emb.V
    return {"drop": drops, "nuclear": torch.linalg.svdvals(G).sum().item()}


def measure_run(config: SimpleNamespace, target: str, seed: int, device: str) -> dict:
    """Losses of both maps over many best steps, in float64, from the same embeddings."""
    soft = targets(target, config.n_words)
    emb = embeddings(soft, config.run_dim, seed, device)
    return {name: losses(soft, emb, name, config.run_steps) for name in MAPS}


def measure_late(config: SimpleNamespace, target: str, seed: int) -> dict:
    """After how many best steps each map is within each of `levels` of the least loss; `late_steps` if never."""
    soft, levels, most = targets(target, config.n_words), config.levels, config.late_steps
    emb = embeddings(soft, config.late_dim, seed, "cpu")
    least, result = least_loss(soft, emb), {}
    for name in MAPS:
        reached: list[int] = []
        for step, value in enumerate(descend(soft, emb, name)):
            while len(reached) < len(levels) and value / least - 1 <= levels[len(reached)]:
                reached.append(step)
            if len(reached) == len(levels) or step == most:
                break
        result[name] = reached + [most] * (len(levels) - len(reached))
    return {"steps": result, "least": least}
