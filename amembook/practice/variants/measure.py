"""What a cell measures: items of half the rows, of an iteration on the Gram matrix in three formats, and of a sign."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.run import runtime
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import SCHEDULES, polar

FORMATS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
ITERATIONS = ("standard", "gram", "gram, one restart")
RESTART = 2
"""Where Dao-AILab/gram-newton-schulz restarts by default."""
SCHEDULE = "polar_express"


def polar_of_rows(G: Float[Tensor, "m n"], rows: Tensor) -> Float[Tensor, "m n"]:
    """The polar factor of some rows of G, zero in all others: Dion2's step (arXiv:2512.16928)."""
    W = torch.zeros_like(G)
    W[rows] = polar(G[rows])
    return W


def measure_rows(n_items: int, dim: int, alpha: float, fraction: float, seed: int, device: str) -> dict:
    """Items of the polar factor of all rows, of the longest r, and of r at random; r/d is `fraction`.

    length: the mean square of the longest rows over that of all.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    count, lengths = max(1, round(fraction * dim)), G.square().sum(1)
    drawn = torch.randperm(dim, generator=torch.Generator().manual_seed(seed))[:count].to(G.device)
    top = lengths.topk(count).indices
    chosen = {"top": top, "random": drawn}
    found = {name: capacity(polar_of_rows(G, rows), emb) for name, rows in chosen.items()}
    return found | {"whole": capacity(polar(G), emb), "length": float(lengths[top].mean() / lengths.mean())}


def gram_newton_schulz(
    G: Float[Tensor, "m n"], schedule: Iterable[Sequence[float]], dtype: torch.dtype, restarts: Sequence[int] = ()
) -> Float[Tensor, "m n"]:
    """The quintic iteration on R = XXᵀ, m ≤ n: Q ← Q (a + Z) and R ← (a + Z)² R with Z = bR + cR², Q X at the end.

    In exact arithmetic it is `newton_schulz`. restarts: steps before which X ← Q X, R ← XXᵀ, Q ← 1. Products add up in
    float32, every stored matrix is rounded to `dtype`, as in Dao-AILab/gram-newton-schulz at 1cb3c15. Returns float64.
    """
    rounded = lambda X: X.to(dtype).float()
    X = rounded((G / torch.linalg.norm(G)).float())
    R, Q = rounded(X @ X.mT), None
    for k, (a, b, c) in enumerate(schedule):
        if k in restarts:
            X = rounded(Q @ X)
            R, Q = rounded(X @ X.mT), None
        Z = rounded(b * R + c * (R @ R))
        Q = rounded(Z + a * torch.eye(len(R), device=R.device)) if Q is None else rounded(a * Q + Q @ Z)
        RZ = rounded(a * R + R @ Z)
        R = rounded(a * RZ + Z @ RZ)
    return rounded(Q @ X).double()


def standard_newton_schulz(
    G: Float[Tensor, "m n"], schedule: Iterable[Sequence[float]], dtype: torch.dtype
) -> Float[Tensor, "m n"]:
    """The same on X itself, rounded in the same way."""
    rounded = lambda X: X.to(dtype).float()
    X = rounded((G / torch.linalg.norm(G)).float())
    for a, b, c in schedule:
        A = rounded(X @ X.mT)
        X = rounded(a * X + rounded(b * A + c * (A @ A)) @ X)
    return X.double()


def measure_gram(n_items: int, gram_dim: int, alpha: float, seed: int, device: str) -> dict:
    """counts[format][iteration]: items on a square memory; −1 where the step is not finite."""
    problem = Problem.power_law(n_items, gram_dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G, schedule = initial_gradient(emb, problem.frequencies), SCHEDULES[SCHEDULE]
    counts = {}
    for name, dtype in FORMATS.items():
        steps = {
            "standard": standard_newton_schulz(G, schedule, dtype),
            "gram": gram_newton_schulz(G, schedule, dtype),
            "gram, one restart": gram_newton_schulz(G, schedule, dtype, (RESTART,)),
        }
        counts[name] = {key: capacity(W, emb) if W.isfinite().all() else -1 for key, W in steps.items()}
    return {"counts": counts}


def measure_tokens(n_items: int, expert_dim: int, alpha: float, tokens: int, seed: int, device: str) -> dict:
    """Items of the polar factor and of the sign, Adam's first step, of a batch gradient; distinct: items seen."""
    problem = Problem.power_law(n_items, expert_dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    q = sample_minibatch(problem, tokens, seed).to(emb.U.device)
    G = initial_gradient(emb, q)
    steps = {"polar": polar(G, gradient_rank(emb, q)), "sign": G.sign(), "sgd": G}
    return {name: capacity(W, emb) for name, W in steps.items()} | {"distinct": int((q > 0).sum())}
