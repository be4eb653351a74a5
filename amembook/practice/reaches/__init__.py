"""`reaches`: reach and lifted share of the memory's momentum by step and width, beside spectra of language models.

A question of practice, ours; singular values of momenta of language models by their number of parameters are those of
arXiv:2606.04058.

Claim: under training the median singular value of the memory's momentum falls with the width more slowly than d^−α, and
no more slowly than white noise's.

Caveats: d = 64 to 256 and one rate, Jordan's five steps in float64; momenta are judged from step 50 on. The exponents
of language models are in their number of parameters: d² at one depth, d³ with the depth in proportion.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import torch

from amembook.run import runtime
from amembook.run.base import (
    AscendingCounts,
    Chance,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Results,
    SteepAlphas,
    draws,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, numbers, order
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.gradients import gradient
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import newton_schulz
from amemlib.training import diagnosis

_BATCHES = 10**6
SCHEDULE = "jordan"
PUBLIC = {"most layers": 0.25, "the steepest late layer": 0.96}
"""arXiv:2606.04058: quantiles of the momentum's singular values fall as M^−e in M parameters, 77 M to 2.8 B."""
PARAMETERS = 2.0, 3.0
"""A network of one shape has M ∝ d^2 at one depth and M ∝ d^3 with the depth in proportion to the width."""
NOISE = 0.5
"""White noise: s_{d/2} / ‖M‖_F = 0.81 / √d."""
EARLIEST = 50
"""Steps from which on a momentum of 0.95 has forgotten W = 0 and is judged."""


@dataclass(frozen=True)
class ReachesConfig(Config):
    """Muon with five of Jordan's steps on the memory, Nesterov's average, the rate falling in a line to 0."""

    alphas: SteepAlphas = (1.5, 2.0)
    n_items: Count = 2048
    dims: Dims = (64, 128, 256)
    batch_size: Count = 1024
    at: AscendingCounts = (1, 10, 50, 200)  # steps after which the momentum is looked at; the last is the run's end
    population_at: AscendingCounts = (1, 10)  # the same on exact gradients
    beta: Chance = 0.95
    rate: Positive = 0.075  # times √d
    seeds: Count = 5
    first_seed: Natural = 0


def measure_reach(
    config: SimpleNamespace, alpha: float, dim: int, batch_size: int, at: list[int], seed: int, device: str
) -> dict:
    """reach, lifted, noise of `amemlib.diagnose` for the momentum after each of the steps `at`, from W = 0.

    M ← βM + (1 − β)G, W ← W + η NS₅(βM + (1 − β)G), the quintic five times in float64; η falls in a line from
    `rate` · √d to 0 at the last of `at`. batch_size: items of a fresh batch, 0 for all.
    """
    problem = Problem.power_law(config.n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    W = torch.zeros(dim, dim, dtype=torch.float64, device=emb.U.device)
    M, q = W, problem.frequencies.to(W.device)
    rows = []
    for t in range(at[-1]):
        if batch_size:
            q = sample_minibatch(problem, batch_size, _BATCHES * (seed + 1) + t).to(W.device)
        G = gradient(W, emb, q)
        M = torch.lerp(G, M, config.beta)
        step = newton_schulz(torch.lerp(G, M, config.beta), coefficients=SCHEDULE)
        W = W + config.rate * math.sqrt(dim) * (1 - t / at[-1]) * step
        if t + 1 in at:
            row = diagnosis.diagnose(M, [SCHEDULE])
            rows.append([row.reach[SCHEDULE], row.lifted[SCHEDULE], row.noise, row.rank])
    return dict(zip(("reach", "lifted", "noise", "rank"), map(list, zip(*rows, strict=True)), strict=True))


def grids(config: ReachesConfig) -> dict[str, Grid]:
    """Momenta of batches and of the population, by α, d and draw."""
    sizes = fixed(config, "alphas", "dims", "batch_size", "at", "population_at")
    axes = {"alpha": config.alphas, "dim": config.dims, "seed": draws(config)}
    return {
        "batches": Grid(measure_reach, axes, config=sizes, batch_size=config.batch_size, at=config.at),
        "population": Grid(measure_reach, axes, config=sizes, batch_size=0, at=config.population_at),
    }


def summarise(config: ReachesConfig, results: Results) -> tuple[dict, dict]:
    """batches, population: by field (α, d, step) means over the draws, `…_error` beside. exponent: (α, step) slope of
    log median against log d, its error and every draw's. predicted: public, exponents in d of `PUBLIC`."""
    measured = {}
    for name in ("batches", "population"):
        for key in ("reach", "lifted", "noise", "rank"):
            values = results.array(name, key).astype(float)
            measured[f"{name}_{key}"] = values.mean(2)
            measured[f"{name}_{key}_error"] = standard_error(values, 2)
        logs = np.log(results.array(name, "reach").astype(float))
        x = np.log(np.array(config.dims, float))
        x -= x.mean()
        slopes = np.einsum("d,ads...->as...", x, logs) / (x @ x)
        measured[f"{name}_exponent"] = slopes.mean(1)
        measured[f"{name}_exponent_error"] = standard_error(slopes)
    public = {layer: [-exponent * power for power in PARAMETERS] for layer, exponent in PUBLIC.items()}
    return measured, {"public": public}


def judge(config: ReachesConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """slower: with batches the median falls more slowly than d^−α at every step from `EARLIEST` on. noise: there it
    falls faster than white noise's."""
    late = [k for k, step in enumerate(config.at) if step >= EARLIEST]
    exponent, error = (measured[f"batches_exponent{end}"][:, late] for end in ("", "_error"))
    at = [f"α = {alpha:g}, step {config.at[k]}" for alpha in config.alphas for k in late]
    held_to = {"limit": 0, "scale": DIFFERENCE, "at": at}
    over = exponent + np.array(config.alphas)[:, None]
    yield "slower", order(numbers("exponent over −α", over, error, config.seeds, **held_to))
    yield "noise", order(numbers("exponent under −1/2", -NOISE - exponent, error, config.seeds, **held_to))


TINY = {"alphas": (1.5,), "n_items": 64, "dims": (8, 16), "batch_size": 64, "at": (1, 3), "population_at": (1, 2)}
EXPERIMENT = Experiment(
    name="reaches",
    purpose=headline(__doc__),
    profiles={
        "smoke": ReachesConfig(seeds=2, **TINY),
        "cpu": ReachesConfig(),
        "confirm": ReachesConfig(first_seed=6710),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6710,
)
