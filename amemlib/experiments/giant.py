"""`giant`: one population step at an N that several ranks share, counted and predicted (Theorem 3 at scale)."""

from dataclasses import dataclass

from amemlib import runtime, sharding, theory
from amemlib.checks import check_alpha, check_count, check_dims, check_non_negative
from amemlib.equivalents import expected_capacity
from amemlib.experiments.base import Experiment, Grid, Results, capacity_verdicts, draws
from amemlib.problem import Problem
from amemlib.sampling import STREAMS
from amemlib.scaling import fit_exponent
from amemlib.spectral import polar

METHODS = {"polar": "muon", "sgd": "sgd"}
"""The maps that are counted, and whose exponents they have."""


@dataclass(frozen=True)
class GiantConfig:
    """Capacity of one population step of Muon and of SGD, rows sharded over the ranks that torchrun starts.

    alpha, dims, n_items, seeds, first_seed: as in `one-step`. lr_over_root_dim: η/√d of the Muon step whose loss is
    measured too; 0 leaves the loss out (it costs 2 N² d operations, the counts only a few N d × capacity).
    stream: what draws the embeddings, one of `sampling.STREAMS`; a host is too slow for a GPU here.
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (128, 256, 512)
    n_items: int = 262_144
    seeds: int = 1
    first_seed: int = 0
    lr_over_root_dim: float = 0.0
    stream: str = "host"

    def __post_init__(self):
        check_alpha(self.alpha)
        check_dims("dims", self.dims)
        check_count("n_items", self.n_items, least=max(self.dims))
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)
        check_non_negative("lr_over_root_dim", self.lr_over_root_dim)
        if self.stream not in STREAMS:
            raise ValueError(f"stream must be one of {', '.join(STREAMS)}, got {self.stream!r}")


def measure_giant_step(
    alpha: float, n_items: int, dim: int, lr_over_root_dim: float, stream: str, seed: int, device: str
) -> dict:
    """Recovered items after one population step of polar and SGD, and the loss of the former, by all ranks together."""
    problem = Problem.power_law(n_items, dim, alpha)
    shard = sharding.sample_shard(problem, seed, runtime.device(device), stream=STREAMS[stream])
    G = sharding.initial_gradient(shard)
    W = polar(G)
    found = {"polar": {"count": sharding.capacity(W, shard)}, "sgd": {"count": sharding.capacity(G, shard)}}
    if lr_over_root_dim:
        found["polar"]["loss"] = sharding.loss_and_gradient(lr_over_root_dim * dim**0.5 * W, shard)[0]
    return found


def giant_grids(config: GiantConfig) -> dict[str, Grid]:
    """One cell a draw, small d first."""
    return {"giant_step": Grid(measure_giant_step, {"dim": config.dims, "seed": draws(config)})}


def giant_summary(config: GiantConfig, results: Results) -> tuple[dict, dict]:
    """Slopes and counts beside the limits and the sharp counts; `loss` (nats) per d where it was measured."""
    problems = [Problem.power_law(config.n_items, dim, config.alpha) for dim in config.dims]
    measured: dict = {"slope": {}, "interval": {}, "counts": {}, "seed_counts": {}}
    predicted: dict = {"slope": {}, "counts": {}}
    for name, method in METHODS.items():
        counts = results.array("giant_step", name, "count")
        fit = fit_exponent(config.dims, counts, ceiling=float(config.n_items))
        measured["slope"][name], measured["interval"][name] = fit.slope, [fit.low, fit.high]
        measured["counts"][name], measured["seed_counts"][name] = counts.mean(1).tolist(), counts.tolist()
        predicted["slope"][name] = theory.recovery_exponent(method, config.alpha)
        predicted["counts"][name] = [expected_capacity(problem, name) for problem in problems]
    if config.lr_over_root_dim:
        measured["loss"] = {"polar": results.array("giant_step", "polar", "loss").mean(1).tolist()}
    return measured, predicted


def judge_giant(config: GiantConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """As `one-step`: counts against their sharp predictions, exponents against their limits."""
    return capacity_verdicts(config, measured, predicted, METHODS)


EXPERIMENT = Experiment(
    name="giant",
    purpose="one population step at an N shared by the ranks of torchrun: counts beside predictions (Theorem 3)",
    profiles={
        "smoke": GiantConfig(dims=(32, 64, 128), n_items=4096, lr_over_root_dim=2.0),
        "cpu": GiantConfig(),
        "gpu": GiantConfig(dims=(256, 512, 1024), n_items=8_388_608, stream="device"),
    },
    grids=giant_grids,
    summarise=giant_summary,
    judge=judge_giant,
    sharded=True,
)
