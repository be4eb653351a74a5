"""What a cell measures: a run at its best rate, and the least loss of a memory."""

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.networks.long_runs import BATCHES, best_of_ladder, dense_gradient
from amembook.run import runtime
from amemlib.gradients import loss
from amemlib.problem import Embeddings, Problem
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar

_MOST = 100.0


def run_muon(
    emb: Embeddings, problem: Problem, n_steps: int, batch_size: int, beta: float, rate: float, seed: int
) -> float:
    """Loss over all items, in nats, after `n_steps` steps from W = 0; at most 100.

    M ← βM + (1 − β)G, W ← W + η polar(βM + (1 − β)G): torch.optim.Muon with Nesterov's average and the exact polar
    factor, without decay; η falls in a line from `rate` to 0. batch_size: items of a fresh batch, 0 for all.
    """
    W = torch.zeros(problem.dim, problem.dim, dtype=torch.float64, device=emb.U.device)
    M, q = W, problem.frequencies.to(W.device)
    for t in range(n_steps):
        if batch_size:
            q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(W.device)
        G = dense_gradient(W, emb, q)
        M = torch.lerp(G, M, beta)
        W = W + rate * (1 - t / n_steps) * polar(torch.lerp(G, M, beta))
    return min(loss(W, emb, problem.frequencies), _MOST)


def measure_run(
    n_items: int, dim: int, alpha: float, n_steps: int, batch_size: int, beta: float, seed: int, device: str
) -> dict:
    """loss: at the best rate of a ladder of factors of two, in nats; rate: that rate."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    run = lambda rate: run_muon(emb, problem, n_steps, batch_size, beta, rate, seed)
    value, rate = best_of_ladder(run, 128 / n_steps * (1 - beta) ** 0.25)
    return {"loss": value, "rate": rate}


def least_loss(emb: Embeddings, problem: Problem) -> tuple[Float[Tensor, "d d"], float, float]:
    """A W of the least cross-entropy over all items, that loss in nats, and the norm of its gradient: L-BFGS."""
    U, V, p = emb.U.double(), emb.V.double(), problem.frequencies.to(emb.U.device)
    W = torch.zeros(problem.dim, problem.dim, dtype=torch.float64, device=U.device, requires_grad=True)
    solver = torch.optim.LBFGS(
        [W], max_iter=1000, history_size=50, tolerance_grad=1e-7, tolerance_change=1e-12, line_search_fn="strong_wolfe"
    )

    def value() -> Tensor:
        solver.zero_grad()
        logits = V @ W.mT @ U.mT
        value = p @ (logits.logsumexp(1) - logits.diagonal())
        value.backward()
        return value

    solver.step(value)
    return W.detach(), value().item(), float(W.grad.norm())


def measure_minimum(
    n_items: int, dim: int, alpha: float, batch_sizes: list[int], drift_batches: int, seed: int, device: str
) -> dict:
    """least: the least loss; gradient: its norm there. drift: by batch size, ⟨A, B⟩/d of the means A and B of
    the polar factors of `drift_batches`/2 batch gradients each at that W: 0 in the mean if E polar(G) = 0, 1 at most.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    W, least, gradient = least_loss(emb, problem)
    drift = []
    for batch_size in batch_sizes:
        halves = torch.zeros(2, dim, dim, dtype=torch.float64, device=W.device)
        for t in range(drift_batches):
            q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(W.device)
            halves[t % 2] += polar(dense_gradient(W, emb, q)) / (drift_batches // 2)
        drift.append(float((halves[0] * halves[1]).sum()) / dim)
    return {"least": least, "gradient": gradient, "drift": drift}
