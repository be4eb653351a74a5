"""`recall-capacity`: how many outputs the value matrix of a network holds where there are far more than dimensions."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.laws import mean_field_iterates
from amembook.networks.tasks import RecallTask
from amembook.paper.recall import between, half_width
from amembook.paper.recall.runs import COMPARED, measure_run
from amembook.run.base import Alpha, Config, Count, Experiment, Grid, Natural, Positives, Results, draws
from amembook.run.claims import DIFFERENCE, FRESH_SEEDS, numbers, order
from amemlib import theory
from amemlib.checks import check_dims
from amemlib.equivalents import expected_capacity
from amemlib.problem import Problem
from amemlib.scaling import fit_exponent

STANDS = 0.3
"""Attention of block 2 on the place to copy, at the end and on every seed, from which on the circuit counts as formed:
a matrix that is never asked has no capacity to judge."""
TRUE_STEPS, TRUE_RATE = 16, 0.5
"""How far Muon's true iterates are followed, and their step in units of √d. Longer runs hold somewhat more: at d = 32
and n = 1024 46 items by then and 58 after three times as many steps."""
LONG = 4.0
"""Length of the long unembeddings. What the network puts out is normalised to length √d: with unembeddings of a length
near 1, and fixed, logits reach about √d."""
VECTORS = ("trained", "fixed", "long")


@dataclass(frozen=True)
class CapacityConfig(Config):
    """In-context recall with n ≫ d, with vectors that are trained, with vectors that stay as they were drawn, and, for
    Muon alone, with such vectors and long unembeddings.

    What stands without a comment is as in `recall.RecallConfig`.
    """

    n_items: int = 1024
    length: int = 32
    pairs: int = 3
    alpha: Alpha = 1.5  # of triggers and outputs
    dims: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (32, 64)  # with trained vectors
    # with fixed vectors, of either length
    fixed_dims: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (32, 64, 128)
    batch_size: Count = 64
    steps: Count = 3000
    probe_every: Count = 250
    # constant, one for each d, from `recall-rates` at d = 32 and 64; a larger d has the rate of 64
    lr_muon: Positives = (0.005, 0.005)
    lr_adamw: Positives = (0.004, 0.002)
    lr_sgd: Positives = (0.08, 0.04)
    lr_muon_fixed: Positives = (0.01, 0.01, 0.01)
    lr_adamw_fixed: Positives = (0.002, 0.002, 0.002)
    lr_sgd_fixed: Positives = (0.08, 0.04, 0.04)
    seeds: Count = 2
    first_seed: Natural = 0

    def limits(self) -> None:
        RecallTask(self.n_items, self.length, self.pairs, self.alpha, self.alpha)
        if self.steps % self.probe_every:
            raise ValueError(f"steps must be a multiple of probe_every = {self.probe_every}, got {self.steps}")
        for vectors, dims in dims_of(self).items():
            for name in (rate_name(optimizer, vectors) for optimizer in optimizers_of(vectors)):
                rates = getattr(self, name)
                if len(rates) != len(dims):
                    raise ValueError(f"{name} must hold a rate for each of {list(dims)}, got {list(rates)}")


def rate_name(optimizer: str, vectors: str) -> str:
    """The field of the config with an optimizer's learning rates."""
    return f"lr_{optimizer}" if vectors == "trained" else f"lr_{optimizer}_fixed"


def dims_of(config: CapacityConfig) -> dict[str, tuple[int, ...]]:
    """The dimensions by what is done with the vectors."""
    return {"trained": config.dims, "fixed": config.fixed_dims, "long": config.fixed_dims}


def optimizers_of(vectors: str) -> tuple[str, ...]:
    """The optimizers that are run, by what is done with the vectors."""
    return ("muon",) if vectors == "long" else COMPARED


def predict_counts(n_items: int, dim: int, alpha: float) -> dict:
    """What a linear memory with n Gaussian pairs holds after a step of SGD, one of Muon, and `TRUE_STEPS` at most."""
    problem = Problem.power_law(n_items, dim, alpha)
    many = mean_field_iterates(problem, TRUE_RATE, TRUE_STEPS).counts
    return {
        "sgd": expected_capacity(problem, "sgd"),
        "one_step": expected_capacity(problem, "polar"),
        "many_steps": np.max(many),
    }


def capacity_grids(config: CapacityConfig) -> dict[str, Grid]:
    """Every optimizer, dimension and seed, by what is done with the vectors, and the linear memory's counts."""
    law = {"trigger_alpha": config.alpha, "output_alpha": config.alpha, "hidden": 0}
    grids = {}
    for vectors, dims in dims_of(config).items():
        suffix = "" if vectors == "trained" else "_fixed"
        runs = {
            (dim, name): {"dim": dim, "optimizer": name + suffix, "lr": lr}
            for name in optimizers_of(vectors)
            for dim, lr in zip(dims, getattr(config, rate_name(name, vectors)), strict=True)
        }
        length = LONG if vectors == "long" else 1.0
        grids[vectors] = Grid(measure_run, {"run": runs, "seed": draws(config)}, **law, unembedding_length=length)
    return grids | {"linear": Grid(predict_counts, {"dim": config.fixed_dims})}


def capacity_summary(config: CapacityConfig, results: Results) -> tuple[dict, dict]:
    """By what is done with the vectors and by optimizer; every entry a list over dimensions of lists over seeds.

    `counts`: outputs that W_V recalls at the end. `ood`, `match`: accuracy on the uniform law and attention of block 2
    on the place to copy, at the end. `curves`: the counts at every probed step of `probed`. A run that diverged has
    what its last probe before that saw; `diverged` has the step, or None. Predicted `counts`: by rule, a list over
    `fixed_dims`.
    """
    reads = {
        "counts": lambda run: round(run["recall"][-1] * config.n_items),
        "curves": lambda run: [round(share * config.n_items) for share in run["recall"]],
        "ood": lambda run: round(run["ood"][-1], 4),
        "match": lambda run: round(run["match"][-1], 4),
        "diverged": lambda run: run["diverged"],
    }
    runs = {}
    for vectors, dims in dims_of(config).items():
        names = optimizers_of(vectors)
        runs[vectors] = dict(zip(names, results.draws[vectors].reshape(len(names), len(dims), -1), strict=True))
    measured = {
        key: {
            vectors: {name: [[read(run) for run in row] for row in rows] for name, rows in by_name.items()}
            for vectors, by_name in runs.items()
        }
        for key, read in reads.items()
    }
    measured["probed"] = list(range(0, config.steps + 1, config.probe_every))
    rules = ("sgd", "one_step", "many_steps")
    return measured, {"counts": {rule: results.array("linear", rule) for rule in rules}}


def judge_capacity(config: CapacityConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Who holds more, by which exponent it grows with d, and what it is worth that the vectors learn. All are orders.

    trained, fixed: Muon's W_V recalls more outputs than each other optimizer's, at every d, paired by seed.
    exponent: with fixed vectors, over the d at which Muon's circuit stands, counts lie between what one Muon step and
    what many hold in the linear memory, and their exponent between one step's and the ceiling's.
    learnt_vectors: with trained vectors Muon's W_V holds more than with fixed ones, at every common d, circuits or not.
    long: so it does with fixed vectors and long unembeddings, at every d at which its circuit stands in both.
    A run that diverged counts with its last probe before that.
    """
    counts = measured["counts"]
    muon = {vectors: by_name["muon"] for vectors, by_name in counts.items()}
    common = [dim for dim in config.dims if dim in config.fixed_dims]
    at = [config.fixed_dims.index(dim) for dim in common]
    trained = muon["trained"][[config.dims.index(dim) for dim in common]]
    both = [k for k in standing(measured, "fixed") if k in standing(measured, "long")]
    dims = lambda places: [config.fixed_dims[k] for k in places]
    return {
        "trained": order(_lead(counts["trained"], config.dims)),
        "fixed": order(_lead(counts["fixed"], config.fixed_dims)),
        "exponent": _exponent(config, measured, predicted, muon["fixed"]),
        "learnt_vectors": order(_more("trained vectors over fixed ones", trained, muon["fixed"][at], common)),
        "long": order(_more("long over short", muon["long"][both], muon["fixed"][both], dims(both))),
    }


def _more(name: str, more: np.ndarray, less: np.ndarray, dims) -> list[dict]:
    """Logarithms of ratios of counts (d, seeds), paired by seed, which must be above 0."""
    made = []
    for dim, *pair in zip(dims, more, np.broadcast_to(less, more.shape), strict=True):
        held_to = {"limit": 0.0, "scale": DIFFERENCE, "draws": more.shape[1]}
        made += between(f"log of {name}, d = {dim}", log_ratio(*pair), **held_to)
    return made


def log_ratio(more: np.ndarray, less: np.ndarray) -> dict:
    """Mean and 95 % interval of the log of a ratio of counts, paired by seed; an empty memory counts as one item."""
    logs = np.log(np.maximum(more, 1) / np.maximum(less, 1))
    mean, half = logs.mean(), half_width(logs)
    return {"mean": mean, "low": mean - half, "high": mean + half}


def standing(measured: dict, vectors: str) -> list[int]:
    """Indices of the dimensions at which Muon's circuit stands at the end, on every seed."""
    return [k for k, row in enumerate(measured["match"][vectors]["muon"]) if min(row) >= STANDS]


def _lead(counts: dict[str, np.ndarray], dims) -> list[dict]:
    others = [name for name in COMPARED if name != "muon"]
    return [one for name in others for one in _more(f"Muon over {name}", counts["muon"], counts[name], dims)]


def _exponent(config: CapacityConfig, measured: dict, predicted: dict, counts: np.ndarray) -> dict:
    at = standing(measured, "fixed")
    if len(at) < 2:
        return order([])
    dims, laws = [config.fixed_dims[k] for k in at], predicted["counts"]
    fit = fit_exponent(dims, np.maximum(counts[at], 1))
    one, many = (laws[key][at, None] for key in ("one_step", "many_steps"))
    made = _more("Muon over one step", counts[at], one, dims)
    made += _more("many steps over Muon", many + 0 * counts[at], counts[at], dims)
    least, held_to = theory.recovery_exponent("muon", config.alpha), {"draws": config.seeds, "scale": DIFFERENCE}
    made += numbers("exponent", fit.slope, low=fit.low, high=fit.high, limit=least, **held_to)
    made += numbers("2 less the exponent", 2 - fit.slope, low=2 - fit.high, high=2 - fit.low, limit=0.0, **held_to)
    return order(made)


EXPERIMENT = Experiment(
    name="recall-capacity",
    purpose="in-context recall with far more outputs than dimensions, vectors trained or fixed",
    profiles={
        "smoke": CapacityConfig(
            n_items=48, length=20, pairs=2, dims=(32,), fixed_dims=(32, 48), batch_size=16, steps=60, probe_every=30,
            lr_muon=(0.005,), lr_adamw=(0.001,), lr_sgd=(0.04,),
            lr_muon_fixed=(0.01,) * 2, lr_adamw_fixed=(0.002,) * 2, lr_sgd_fixed=(0.04,) * 2,
        ),
        "cpu": CapacityConfig(),
        "confirm": CapacityConfig(seeds=5, first_seed=4620),
        "gpu": CapacityConfig(
            n_items=4096, dims=(64, 128), fixed_dims=(64, 128, 256), seeds=5, first_seed=25_000,
            lr_adamw=(0.002, 0.002), lr_sgd=(0.04, 0.04), lr_sgd_fixed=(0.04, 0.04, 0.04),
        ),
    },
    grids=capacity_grids,
    summarise=capacity_summary,
    judge=judge_capacity,
    unseen_from=FRESH_SEEDS,
)  # fmt: skip
