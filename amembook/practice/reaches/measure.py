"""What a cell measures: the spectrum of the momentum along one run."""

import math

import torch

from amembook.run import runtime
from amemlib.gradients import gradient
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import newton_schulz
from amemlib.training import diagnosis

_BATCHES = 10**6
SCHEDULE = "jordan"


def measure_reach(
    n_items: int,
    dim: int,
    alpha: float,
    batch_size: int,
    at: list[int],
    beta: float,
    rate: float,
    seed: int,
    device: str,
) -> dict:
    """reach, lifted, noise of `amemlib.diagnose` for the momentum after each of the steps `at`, from W = 0.

    M ← βM + (1 − β)G, W ← W + η NS₅(βM + (1 − β)G), the quintic five times in float64; η falls in a line from
    `rate` · √d to 0 at the last of `at`. batch_size: items of a fresh batch, 0 for all.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    W = torch.zeros(dim, dim, dtype=torch.float64, device=emb.U.device)
    M, q = W, problem.frequencies.to(W.device)
    rows = []
    for t in range(at[-1]):
        if batch_size:
            q = sample_minibatch(problem, batch_size, _BATCHES * (seed + 1) + t).to(W.device)
        G = gradient(W, emb, q)
        M = torch.lerp(G, M, beta)
        step = newton_schulz(torch.lerp(G, M, beta), coefficients=SCHEDULE)
        W = W + rate * math.sqrt(dim) * (1 - t / at[-1]) * step
        if t + 1 in at:
            row = diagnosis.diagnose(M, [SCHEDULE])
            rows.append([row.reach[SCHEDULE], row.lifted[SCHEDULE], row.noise, row.rank])
    return dict(zip(("reach", "lifted", "noise", "rank"), map(list, zip(*rows, strict=True)), strict=True))
