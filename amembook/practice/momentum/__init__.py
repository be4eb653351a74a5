"""`momentum`: the best momentum of Muon on the memory by steps and batch, and what no momentum leaves.

A question of practice, ours; that noise is what an average before the polar factor is for is the thesis of
arXiv:2606.03899; see also arXiv:2304.13960.

Claim: an average of T/24 steps is near the best at any batch; without one the polar factor of noisy gradients stops at
a loss that more steps do not lower; batch over 1 − β does not tell the loss.

Caveats: one memory, N = 1024 and d = 64, up to 960 steps, the rate best of a ladder for every run. "Near the best" is
an excess loss within a quarter, of the β that were tried.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.networks.long_runs import BATCHES, best_of_ladder, dense_gradient
from amembook.run import runtime
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positive,
    Results,
    Several,
    Shares,
    SteepAlpha,
    draws,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, RATIO, numbers, order
from amembook.run.studies import headline
from amembook.run.study import above, fixed
from amemlib.gradients import loss
from amemlib.problem import Embeddings, Problem
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar

_MOST = 100.0
NEAR = 0.8
"""The best β's loss in excess over that of the rule is above this: the rule costs less than a quarter of the excess."""
AVERAGE = 1.5
"""Without an average the excess is more than this many times that of the rule."""
STANDS, FALLS = 0.75, 1.5
"""From the middle horizon to the longest the excess without an average keeps more than this share of itself, while that
of the rule falls by more than this factor."""
SAME_QUOTIENT = 1.3
"""Of two runs with the same batch over 1 − β one has more than this many times the other's excess."""
ARRIVED = 0.005
"""Nats over the least loss; on exact gradients every memory of at most T/20 steps ends nearer than that."""
SHORT = 20.0
LATE = 0.05
"""Nats; on exact gradients a memory of T/3 steps at the shortest horizon is further away than that."""
CONSTANT = 0.95


@dataclass(frozen=True)
class MomentumConfig(Config):
    """Muon on one memory, the rate tuned for every run, falling in a line to 0."""

    alpha: SteepAlpha = 1.5
    other_alpha: SteepAlpha = 1.25  # beside it, at all horizons but the longest
    n_items: Several = 1024
    dim: Several = 64
    steps: AscendingCounts = (60, 240, 960)
    batch_sizes: AscendingCounts = (16, 256)
    third_batch: Count = 64  # at the middle horizon
    betas: Shares = (0.0, 0.6, 0.8, 0.9, 0.95, 0.975, 0.99)
    horizon: Positive = 24.0  # of the rule 1/(1 − β) = T/horizon
    drift_batches: Several = 1000  # gradients at the minimum whose polar factors are averaged
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        for steps in self.steps:
            if not any(math.isclose(1 / (1 - beta), steps / self.horizon) for beta in self.betas):
                raise ValueError(f"betas must hold 1 − {self.horizon:g}/{steps}, got {self.betas}")


def runs(config: MomentumConfig) -> dict[str, dict]:
    """Every run but its draw: α, steps T, batch (0 for all items) and β with a memory of at most T/2 steps."""
    *short, last = config.steps
    middle = config.steps[len(config.steps) // 2]
    places = [(config.alpha, T, B) for T in config.steps for B in config.batch_sizes]
    places += [(config.other_alpha, T, B) for T in short for B in config.batch_sizes]
    places += [(config.alpha, middle, config.third_batch)] + [(config.alpha, T, 0) for T in short]
    return {
        f"{alpha:g} {T} {B} {beta:g}": {"alpha": alpha, "n_steps": T, "batch_size": B, "beta": beta}
        for alpha, T, B in places
        for beta in config.betas
        if 2 <= T * (1 - beta) * (1 + 1e-9)
    }


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
    config: SimpleNamespace, alpha: float, n_steps: int, batch_size: int, beta: float, seed: int, device: str
) -> dict:
    """loss: at the best rate of a ladder of factors of two, in nats; rate: that rate."""
    problem = Problem.power_law(config.n_items, config.dim, alpha)
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


def measure_minimum(config: SimpleNamespace, alpha: float, seed: int, device: str) -> dict:
    """least: the least loss; gradient: its norm there. drift: by batch size, ⟨A, B⟩/d of the means A and B of
    the polar factors of `drift_batches`/2 batch gradients each at that W: 0 in the mean if E polar(G) = 0, 1 at most.
    """
    problem = Problem.power_law(config.n_items, config.dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    W, least, gradient = least_loss(emb, problem)
    half, drift = config.drift_batches // 2, []
    for batch_size in config.batch_sizes:
        halves = torch.zeros(2, problem.dim, problem.dim, dtype=torch.float64, device=W.device)
        for t in range(config.drift_batches):
            q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(W.device)
            halves[t % 2] += polar(dense_gradient(W, emb, q)) / half
        drift.append(float((halves[0] * halves[1]).sum()) / problem.dim)
    return {"least": least, "gradient": gradient, "drift": drift}


def grids(config: MomentumConfig) -> dict[str, Grid]:
    """The runs, and the least loss of every memory with the mean polar factor there."""
    sizes, seeds = fixed(config, "alpha", "other_alpha", "steps", "third_batch", "betas"), {"seed": draws(config)}
    return {
        "runs": Grid(measure_run, {"run": runs(config)} | seeds, config=sizes),
        "minimum": Grid(measure_minimum, {"alpha": (config.alpha, config.other_alpha)} | seeds, config=sizes),
    }


def summarise(config: MomentumConfig, results: Results) -> tuple[dict, dict]:
    """By "α T batch" in words, a list over the β that ran there: betas, excess (nats over the least loss), its error,
    rate (geometric mean), draws (the excess of each). drift, least: by α in words; gradient: its largest norm at a
    least loss.

    predicted: rule, the β of the horizon by T in words.
    """
    alphas = {f"{alpha:g}": alpha for alpha in results.grids["minimum"].axes["alpha"]}
    read = lambda key: {word: results.array("minimum", key, alpha=alpha) for word, alpha in alphas.items()}
    least, drift = read("least"), read("drift")
    measured = {key: {} for key in ("betas", "excess", "excess_error", "rate", "draws")}
    for label, run in results.grids["runs"].axes["run"].items():
        excess = results.array("runs", "loss", run=label) - least[f"{run['alpha']:g}"]
        rate = np.exp(np.log(results.array("runs", "rate", run=label)).mean())
        values = run["beta"], excess.mean(), standard_error(excess, 0), rate, excess
        for key, value in zip(measured, values, strict=True):
            measured[key].setdefault(label.rpartition(" ")[0], []).append(value)
    measured |= {
        "drift": {word: values.mean(0) for word, values in drift.items()},
        "drift_error": {word: standard_error(values, 0) for word, values in drift.items()},
        "least": {word: values.mean() for word, values in least.items()},
        "gradient": results.array("minimum", "gradient").max(),
    }
    return measured, {"rule": {f"{steps}": 1 - config.horizon / steps for steps in config.steps}}


def judge(config: MomentumConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """rule: `NEAR` at every α, horizon and batch. average: `AVERAGE`. floor: `STANDS` and `FALLS`. drift: the mean
    polar factor at the least loss is not 0. constant: one β, 0.95, is behind the rule at every horizon but the longest.
    quotient: `SAME_QUOTIENT`, the smallest batch at β = 0.95 and the third at 0.8. exact: `ARRIVED` and `LATE`.
    """
    excess, betas = measured["draws"], measured["betas"]
    at = lambda place, beta: excess[place][int(np.abs(betas[place] - beta).argmin())]
    steps_of = lambda place: place.split(" ")[1]
    noisy = [place for place in excess if place.split(" ")[2] != "0"]
    rule = {place: at(place, predicted["rule"][steps_of(place)]) for place in excess}
    best = {place: values[int(values.mean(1).argmin())] for place, values in excess.items()}
    *short, last = (f"{steps}" for steps in config.steps)

    yield "rule", above("best over rule", {p: best[p] / rule[p] for p in noisy}, limit=NEAR, scale=RATIO)
    yield "average", above("none over rule", {p: at(p, 0) / rule[p] for p in noisy}, limit=AVERAGE, scale=RATIO)

    longest = lambda place: place.replace(f" {short[-1]} ", f" {last} ")
    ends = {place: longest(place) for place in noisy if steps_of(place) == short[-1] and longest(place) in excess}
    stands = {place: at(end, 0) / at(place, 0) for place, end in ends.items()}
    falls = {place: rule[place] / rule[end] for place, end in ends.items()}
    none = above("none, longest over middle", stands, limit=STANDS, scale=RATIO)["numbers"]
    yield "floor", order(none + above("rule, middle over longest", falls, limit=FALLS, scale=RATIO)["numbers"])

    mean, error = (np.concatenate([*measured[key].values()]) for key in ("drift", "drift_error"))
    labels = [f"α = {word}, batch {batch}" for word in measured["drift"] for batch in config.batch_sizes]
    yield "drift", order(numbers("drift", mean, error, config.seeds, limit=0, scale=DIFFERENCE, at=labels))

    early = {place: at(place, CONSTANT) / rule[place] for place in noisy if steps_of(place) in short}
    yield "constant", above("β = 0.95 over rule", early, limit=1, scale=RATIO)

    middle, small, third = config.steps[len(config.steps) // 2], config.batch_sizes[0], config.third_batch
    one, other = at(f"{config.alpha:g} {middle} {small}", CONSTANT), at(f"{config.alpha:g} {middle} {third}", 0.8)
    name, pair = "excess at the same quotient, batches", {f"{small} and {third}": one / other}
    yield "quotient", above(name, pair, limit=SAME_QUOTIENT, scale=RATIO)

    margins = {}
    for place in (place for place in excess if place not in noisy):
        for beta in betas[place]:
            if 1 / (1 - beta) <= int(steps_of(place)) / SHORT:
                margins[f"{place}, β = {beta:g}"] = ARRIVED - at(place, beta)
            elif steps_of(place) == short[0] and beta == CONSTANT:
                margins[f"{place}, β = {beta:g}"] = at(place, beta) - LATE
    yield "exact", above("nats inside the bound", margins)


TINY = {"n_items": 32, "dim": 8, "steps": (4, 8), "batch_sizes": (4, 16), "third_batch": 8, "betas": (0.0, 0.5)}
EXPERIMENT = Experiment(
    name="momentum",
    purpose=headline(__doc__),
    profiles={
        "smoke": MomentumConfig(horizon=4.0, drift_batches=8, seeds=2, **TINY),
        "cpu": MomentumConfig(),
        "confirm": MomentumConfig(first_seed=6210),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6210,
)
