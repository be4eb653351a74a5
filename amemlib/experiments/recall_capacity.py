"""`recall-capacity`: how many outputs the value matrix of a network holds where there are far more than dimensions."""

from dataclasses import dataclass

import numpy as np

from amemlib import theory
from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.equivalents import expected_capacity, expected_trajectory
from amemlib.experiments.base import FRESH_SEEDS, Experiment, Grid, Results, draws
from amemlib.experiments.recall import half_width
from amemlib.experiments.recall_runs import COMPARED, measure_run
from amemlib.problem import Problem
from amemlib.scaling import fit_exponent
from amemlib.tasks import RecallTask
from amemlib.verdicts import refuse, verdict

STANDS = 0.3
"""Attention of block 2 on the place to copy, at the end and on every seed, from which on the circuit counts as formed:
a matrix that is never asked has no capacity to judge."""
COUNT_BAND = 0.1
"""How far a mean count may lie outside what one step and many steps of the linear memory hold."""
TRUE_STEPS, TRUE_RATE = 16, 0.5
"""How far Muon's true iterates are followed, and their step in units of √d. Longer runs hold somewhat more: at d = 32
and n = 1024 46 items by then and 58 after three times as many steps."""
LONG = 4.0
"""Length of the long unembeddings. What the network puts out is normalised to length √d: with unembeddings of a length
near 1, and fixed, logits reach about √d."""
VECTORS = ("trained", "fixed", "long")


@dataclass(frozen=True)
class CapacityConfig:
    """In-context recall with n ≫ d, with vectors that are trained, with vectors that stay as they were drawn, and, for
    Muon alone, with such vectors and long unembeddings.

    n_items, length, pairs, alpha, batch_size, steps, probe_every: as in `recall.RecallConfig`; α is the exponent of
    triggers and outputs. dims, fixed_dims: d with trained and with fixed vectors, of either length.
    lr_muon, lr_adamw, lr_sgd and lr_…_fixed: constant learning rates, one for each d, from `recall-rates` at d = 32 and
    64; a larger d has that of 64.
    """

    n_items: int = 1024
    length: int = 32
    pairs: int = 3
    alpha: float = 1.5
    dims: tuple[int, ...] = (32, 64)
    fixed_dims: tuple[int, ...] = (32, 64, 128)
    batch_size: int = 64
    steps: int = 3000
    probe_every: int = 250
    lr_muon: tuple[float, ...] = (0.005, 0.005)
    lr_adamw: tuple[float, ...] = (0.004, 0.002)
    lr_sgd: tuple[float, ...] = (0.08, 0.04)
    lr_muon_fixed: tuple[float, ...] = (0.01, 0.01, 0.01)
    lr_adamw_fixed: tuple[float, ...] = (0.002, 0.002, 0.002)
    lr_sgd_fixed: tuple[float, ...] = (0.08, 0.04, 0.04)
    seeds: int = 2
    first_seed: int = 0

    def __post_init__(self):
        RecallTask(self.n_items, self.length, self.pairs, self.alpha, self.alpha)
        check_alpha(self.alpha)
        for name in ("dims", "fixed_dims"):
            check_dims(name, getattr(self, name), count=1, least=2)
        for name in ("batch_size", "steps", "probe_every", "seeds"):
            check_count(name, getattr(self, name))
        if self.steps % self.probe_every:
            raise ValueError(f"steps must be a multiple of probe_every = {self.probe_every}, got {self.steps}")
        for vectors, dims in dims_of(self).items():
            for optimizer in optimizers_of(vectors):
                name = rate_name(optimizer, vectors)
                rates = getattr(self, name)
                for rate in rates:
                    check_positive(name, rate)
                if len(rates) != len(dims):
                    raise ValueError(f"{name} must hold a rate for each of {list(dims)}, got {list(rates)}")
        check_count("first_seed", self.first_seed, least=0)


def rate_name(optimizer: str, vectors: str) -> str:
    """The field of the config with an optimizer's learning rates."""
    return f"lr_{optimizer}" if vectors == "trained" else f"lr_{optimizer}_fixed"


def dims_of(config: CapacityConfig) -> dict[str, tuple[int, ...]]:
    """The dimensions by what is done with the vectors."""
    return {"trained": config.dims, "fixed": config.fixed_dims, "long": config.fixed_dims}


def optimizers_of(vectors: str) -> tuple[str, ...]:
    """The optimizers that are run, by what is done with the vectors."""
    return ("muon",) if vectors == "long" else COMPARED


def predict_counts(n_items: int, alpha: float, dim: int) -> dict:
    """What a linear memory with n Gaussian pairs holds after a step of SGD, one of Muon, and `TRUE_STEPS` at most."""
    problem = Problem.power_law(n_items, dim, alpha)
    many = expected_trajectory(problem, TRUE_STEPS, TRUE_RATE)
    return {
        "sgd": expected_capacity(problem, "sgd"),
        "one_step": expected_capacity(problem, "polar"),
        "many_steps": float(np.max(many)),
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
    return measured, {"counts": {rule: results.array("linear", rule).tolist() for rule in rules}}


def judge_capacity(config: CapacityConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Who holds more, by which exponent it grows with d, and what it is worth that the vectors learn.

    trained, fixed: Muon's W_V recalls more outputs than each other optimizer's, at every d, by more than the 95 %
    interval of the ratio paired by seed (limit), in the mean (sizes). Rivals: another optimizer in Muon's place.
    exponent: with fixed vectors, over the d at which Muon's circuit stands. Sizes: mean counts between what one Muon
    step and what many hold in the linear memory, to `COUNT_BAND`. Limit: the exponent's 95 % interval over seeds meets
    [1 + 1/2α, 2], one step's and the ceiling's. Rivals: other exponents, those outside of the interval.
    learnt_vectors: with trained vectors Muon's W_V holds more than with fixed ones, at every common d, by more than the
    interval, circuits or not. Rivals: the fixed vectors' capacity, and `TRUE_STEPS` of the linear memory's, as bounds.
    long: so it does with fixed vectors and long unembeddings, at every d at which its circuit stands in both. Rivals:
    the short ones' capacity, and that of one step of the linear memory, as bounds.
    A run that diverged counts with its last probe before that.
    """
    counts = {
        vectors: {name: np.array(rows) for name, rows in measured["counts"][vectors].items()} for vectors in VECTORS
    }
    muon, laws = {vectors: by_name["muon"] for vectors, by_name in counts.items()}, predicted["counts"]
    common = [dim for dim in config.dims if dim in config.fixed_dims]
    at = [config.fixed_dims.index(dim) for dim in common]
    trained = muon["trained"][[config.dims.index(dim) for dim in common]]
    bounds = {
        "what fixed vectors hold": muon["fixed"][at],
        f"{TRUE_STEPS} steps of a linear memory": laws["many_steps"],
    }
    both = [k for k in standing(measured, "fixed") if k in standing(measured, "long")]
    short = {"what short unembeddings hold": muon["fixed"][both], "one step of a linear memory": laws["one_step"]}
    return {
        "trained": _lead(counts["trained"], config.seeds),
        "fixed": _lead(counts["fixed"], config.seeds),
        "exponent": _exponent(config, measured, predicted, muon["fixed"]),
        "learnt_vectors": _exceeds(trained, bounds, at, config.seeds),
        "long": _exceeds(muon["long"][both], short, both, config.seeds),
    }


def _exceeds(counts: np.ndarray, bounds: dict, at: list[int], seeds: int) -> dict:
    """Whether counts (dims, seeds) are above the first bound, and which of the bounds that refuses.

    A bound is counts of the same shape, or a law over all `fixed_dims`, of which `at` are judged.
    """
    if not at:
        return verdict(None, None)

    def above(bound) -> bool:
        rows = bound if np.ndim(bound) == 2 else np.array(bound)[at, None] + 0 * counts
        return all(log_ratio(*pair)["low"] > 0 for pair in zip(counts, rows, strict=True))

    return verdict(None, above(next(iter(bounds.values()))), refuse(lambda bound: not above(bound), bounds), seeds)


def log_ratio(more: np.ndarray, less: np.ndarray) -> dict:
    """Mean and 95 % interval of the log of a ratio of counts, paired by seed; an empty memory counts as one item."""
    logs = np.log(np.maximum(more, 1) / np.maximum(less, 1))
    mean, half = float(np.mean(logs)), half_width(list(logs))
    return {"mean": mean, "low": mean - half, "high": mean + half}


def standing(measured: dict, vectors: str) -> list[int]:
    """Indices of the dimensions at which Muon's circuit stands at the end, on every seed."""
    return [k for k, row in enumerate(measured["match"][vectors]["muon"]) if min(row) >= STANDS]


def _lead(counts: dict[str, np.ndarray], seeds: int) -> dict:
    def leads(leader: str, at_least: str) -> bool:
        others = [name for name in COMPARED if name != leader]
        return all(
            log_ratio(*rows)[at_least] > 0 for name in others for rows in zip(counts[leader], counts[name], strict=True)
        )

    rivals = {"AdamW ahead": "adamw", "SGD ahead": "sgd"}
    refused = refuse(lambda leader: leads(leader, "low"), rivals)
    return verdict(leads("muon", "mean"), leads("muon", "low"), refused, seeds)


def _exponent(config: CapacityConfig, measured: dict, predicted: dict, counts: np.ndarray) -> dict:
    at = standing(measured, "fixed")
    if len(at) < 2:
        return verdict(None, None)
    fit = fit_exponent([config.fixed_dims[k] for k in at], np.maximum(counts[at], 1))
    means, laws = counts.mean(1), predicted["counts"]
    sizes = all(
        (1 - COUNT_BAND) * laws["one_step"][k] <= means[k] <= (1 + COUNT_BAND) * laws["many_steps"][k] for k in at
    )
    rivals = {
        "SGD's one step": theory.recovery_exponent("sgd", config.alpha),
        "the rank of the matrix": 1.0,
        "as many at every d": 0.0,
        "d³": 3.0,
    }
    met = fit.low <= 2 and fit.high >= theory.recovery_exponent("muon", config.alpha)
    return verdict(sizes, met, refuse(lambda law: fit.low <= law <= fit.high, rivals), config.seeds)


EXPERIMENT = Experiment(
    name="recall-capacity",
    purpose="in-context recall with far more outputs than dimensions, vectors trained or fixed",
    profiles={
        "smoke": CapacityConfig(
            n_items=48, length=20, pairs=2, dims=(16,), fixed_dims=(16, 32), batch_size=16, steps=60, probe_every=30,
            lr_muon=(0.005,), lr_adamw=(0.001,), lr_sgd=(0.04,),
            lr_muon_fixed=(0.01,) * 2, lr_adamw_fixed=(0.002,) * 2, lr_sgd_fixed=(0.04,) * 2,
        ),
        "cpu": CapacityConfig(),
        "confirm": CapacityConfig(seeds=5, first_seed=4620),
        "gpu": CapacityConfig(
            n_items=4096, dims=(64, 128), fixed_dims=(64, 128, 256), seeds=5,
            lr_adamw=(0.002, 0.002), lr_sgd=(0.04, 0.04), lr_sgd_fixed=(0.04, 0.04, 0.04),
        ),
    },
    grids=capacity_grids,
    summarise=capacity_summary,
    judge=judge_capacity,
    unseen_from=FRESH_SEEDS,
)  # fmt: skip
