"""`giant`: one population step at an N that several ranks share, counted and predicted (Theorem 3 at scale)."""

from dataclasses import dataclass

import numpy as np

from amemlib import runtime, sharding, theory
from amemlib.checks import check_alpha, check_count, check_dims, check_non_negative
from amemlib.equivalents import expected_capacity
from amemlib.experiments.base import Cell, Experiment, Summary, capacity_verdict
from amemlib.problem import Problem
from amemlib.scaling import fit_exponent
from amemlib.spectral import polar


@dataclass(frozen=True)
class GiantConfig:
    """Capacity of one population step of Muon and of SGD, rows sharded over the ranks that torchrun starts.

    alpha, dims, n_items, seeds, first_seed: as in `one-step`. lr_over_root_dim: η/√d of the Muon step whose loss is
    measured too; 0 leaves the loss out (it costs 2 N² d operations, the counts only a few N d × capacity).
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (128, 256, 512)
    n_items: int = 262_144
    seeds: int = 1
    first_seed: int = 0
    lr_over_root_dim: float = 0.0

    def __post_init__(self):
        check_alpha(self.alpha)
        check_dims("dims", self.dims)
        check_count("n_items", self.n_items, least=max(self.dims))
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)
        check_non_negative("lr_over_root_dim", self.lr_over_root_dim)


def measure_giant_step(alpha: float, n_items: int, dim: int, lr_over_root_dim: float, seed: int, device: str) -> dict:
    """Recovered items after one population step of polar and SGD, and the loss of the former, by all ranks together."""
    problem = Problem.power_law(n_items, dim, alpha)
    shard = sharding.sample_shard(problem, seed, runtime.device(device))
    G = sharding.initial_gradient(shard)
    W = polar(G)
    found = {"polar": {"count": sharding.capacity(W, shard)}, "sgd": {"count": sharding.capacity(G, shard)}}
    if lr_over_root_dim:
        found["polar"]["loss"] = sharding.loss_and_gradient(lr_over_root_dim * dim**0.5 * W, shard)[0]
    return found


def giant_cells(config: GiantConfig, device: str) -> list[Cell]:
    """One cell a draw, small d first."""
    common = {"alpha": config.alpha, "n_items": config.n_items, "lr_over_root_dim": config.lr_over_root_dim}
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    return [
        Cell(measure_giant_step, common | {"dim": dim, "seed": seed, "device": device})
        for dim in config.dims
        for seed in seeds
    ]


def giant_summary(config: GiantConfig, results: list[dict]) -> Summary:
    """Slopes and counts beside the limits and the sharp counts; `loss` (nats) per d where it was measured."""
    shape = (len(config.dims), config.seeds)
    problems = [Problem.power_law(config.n_items, dim, config.alpha) for dim in config.dims]
    measured: dict = {"slope": {}, "interval": {}, "counts": {}, "seed_counts": {}}
    predicted: dict = {"slope": {}, "counts": {}}
    verdicts = {}
    for name, method in (("polar", "muon"), ("sgd", "sgd")):
        counts = np.array([result[name]["count"] for result in results]).reshape(shape)
        fit = fit_exponent(config.dims, counts, ceiling=float(config.n_items))
        sharp = [expected_capacity(problem, name) for problem in problems]
        exponent = theory.recovery_exponent(method, config.alpha)
        measured["slope"][name], measured["interval"][name] = fit.slope, [fit.low, fit.high]
        measured["counts"][name], measured["seed_counts"][name] = counts.mean(1).tolist(), counts.tolist()
        predicted["slope"][name], predicted["counts"][name] = exponent, sharp
        verdicts[name] = capacity_verdict(config.dims, counts, sharp, fit.slope, exponent)
    if config.lr_over_root_dim:
        losses = np.array([result["polar"]["loss"] for result in results]).reshape(shape)
        measured["loss"] = {"polar": losses.mean(1).tolist()}
    return Summary(measured, predicted, verdicts)


GIANT = Experiment(
    name="giant",
    purpose="one population step at an N shared by the ranks of torchrun: counts beside predictions (Theorem 3)",
    profiles={
        "smoke": GiantConfig(dims=(32, 64, 128), n_items=4096, lr_over_root_dim=2.0),
        "cpu": GiantConfig(),
        "gpu": GiantConfig(dims=(256, 512, 1024), n_items=4_194_304, seeds=2),
    },
    cells=giant_cells,
    summarise=giant_summary,
    sharded=True,
)
