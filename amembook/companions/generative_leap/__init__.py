"""`generative-leap`: how many samples find a subspace, by the order of the first Hermite tensor that labels leave.

A study of Damian, Lee and Bruna, arXiv:2506.05500.

Claim: for Gaussian multi-index models a sample complexity of n = Θ(d^(1 ∨ k*/2)), k* the generative leap exponent, is
necessary in the class of low-degree polynomials, and sufficient by a sequential procedure based on a spectral
U-statistic over Hermite tensors (abstract).

Caveats: of two passes no law is known. For matrices n is in proportion to d, and then noise in a bin is not Gaussian,
so their samples are held to no law. Raw labels have no signal, but their noise is larger along the direction than
elsewhere: of He₃(z) by E[He₃² z²]/E[He₃²] = 7, an overlap of 0.09 at d = 64 whatever n is. SGD must keep 0.85 of its
items.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.companions.generative_leap import expected
from amembook.companions.generative_leap.measure import CONTROLS, measure_control, measure_memory, measure_samples
from amembook.companions.generative_leap.tensors import TASKS
from amembook.run.base import (
    AscendingPositives,
    Chance,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Results,
    Several,
    SteepAlpha,
    draws,
    first_reached,
    slope,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, EXPONENT, count_band, equivalence, exponents, numbers, order
from amembook.run.studies import headline
from amemlib.checks import check_count, check_dims
from amemlib.scaling import fit_exponent

PAIRS = {
    "sign, order 3": "sign, order 2",
    "bump, order 4": "bump, order 2",
    "leap, two passes": "leap, one pass",
    "cubic, order 1": "cubic, raw labels",
    "quartic, order 2": "quartic, raw labels",
}
"""Controls by name: the statistic of the right order and what is to have a smaller overlap on the same samples."""
UNTOUCHED = 0.85  # the share of its items that SGD must keep
MISSING = {
    "cubic": {"d^(5/4)": 1.25, "d^(3/2), of the raw label": 1.5},
    "quartic": {"d^(5/4)": 1.25, "d^(3/2)": 1.5},
    "leap": {"d^(5/4)": 1.25, "d^(3/2), without a leap": 1.5},
    "sign": {"d^(5/4)": 1.25, "d": 1.0, "d², of one pass": 2.0},
    "bump": {"d^(7/4)": 1.75, "d^(3/2)": 1.5, "d³, of one pass": 3.0},
}
"""Rival exponents: d^(k/2) of the information exponent, d^(k − 1) of one pass over the samples, and near ones."""

TaskDims = Annotated[Dims, partial(check_dims, least=8)]


@dataclass(frozen=True)
class LeapConfig(Config):
    """Sizes of the tasks and of the memory with noisy keys."""

    low_dims: TaskDims = (64, 128, 256, 384)  # for the tasks that need n ∝ d
    sign_dims: TaskDims = (40, 64, 96, 144)  # for k* = 3
    bump_dims: TaskDims = (64, 96, 144, 192, 256)  # for k* = 4
    bins: Several = 8  # of the labels
    level: Chance = 0.5  # the overlap, less that of chance, that counts as found
    control_dim: Annotated[int, partial(check_count, least=8)] = 64  # where statistics of the wrong order must fail
    control_samples: Annotated[int, partial(check_count, least=100)] = 20_000
    alpha: SteepAlpha = 1.5  # of the memory
    memory_dims: TaskDims = (48, 96, 192)
    noises: AscendingPositives = (3.0, 6.0)  # σ
    ratios: AscendingPositives = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # B/(σ² d^α)
    share: Chance = 0.7  # of the items without noise, at which batches are compared
    seeds: Count = 16
    first_seed: Natural = 0

    def dims(self, task: str) -> tuple[int, ...]:
        """The dimensions of a task."""
        return {"sign": self.sign_dims, "bump": self.bump_dims}.get(task, self.low_dims)


def grids(config: LeapConfig) -> dict[str, Grid]:
    """Samples by task and dimension, each task a grid; statistics of the wrong order; the memory by noise."""
    seeds = {"seed": draws(config)}
    samples = {
        task: Grid(measure_samples, {"dim": config.dims(task)} | seeds, task=task)
        for task in ("cubic", "quartic", "leap", "sign", "bump")
    }
    return samples | {
        "controls": Grid(measure_control, {"control": tuple(CONTROLS)} | seeds),
        "memory": Grid(measure_memory, {"dim": config.memory_dims, "noise": config.noises} | seeds),
    }


def summarise(config, results: Results) -> tuple[dict, dict]:
    """samples, by task: mean n by dimension, its standard error, their exponent and its interval; the law, but of two
    passes. controls: mean overlaps. memory: items by noise, dimension and ratio, shares, and exponents of batches."""
    measured = {key: {} for key in ("samples", "errors", "slope", "interval", "controls")}
    predicted = {"samples": {}, "slope": {}, "limit": {}}
    for task in TASKS:
        dims, needed = config.dims(task), results.array(task, "samples").astype(float)
        measured["samples"][task], measured["errors"][task] = needed.mean(1), standard_error(needed)
        fit = fit_exponent(dims, needed) if np.isfinite(needed).all() else None
        measured["slope"][task] = fit.slope if fit else math.nan
        measured["interval"][task] = [fit.low, fit.high] if fit else [math.nan] * 2
        predicted["limit"][task] = max(1.0, TASKS[task].order / 2)
        if task != "leap":
            law = [expected.samples(task, d, config.bins, config.level) for d in dims]
            predicted["samples"][task], predicted["slope"][task] = law, fit_exponent(dims, law).slope
    overlaps = results.array("controls", "overlap")
    measured["controls"] = dict(zip(CONTROLS, overlaps.mean(1), strict=True))
    measured["control_errors"] = dict(zip(CONTROLS, standard_error(overlaps), strict=True))

    items = {name: results.array("memory", name).astype(float) for name in ("polar", "polar_clean", "sgd", "sgd_clean")}
    measured["items"] = {name: counts.mean(2) for name, counts in items.items()}
    share = lambda name: items[name].sum(2) / items[f"{name}_clean"].sum(2)
    measured["share"] = {name: share(name) for name in ("polar", "sgd")}
    pair, draws = (items["polar"], items["polar_clean"]), items["polar"].shape[2]
    every = _exponents(config, *pair)
    # delete-one estimates: their spread about the mean is that of the whole sample, over √(draws − 1) each
    left_out = [[np.delete(counts, k, 2) for counts in pair] for k in range(draws)] if draws > 1 else [pair]
    without = np.array([_exponents(config, *rest) for rest in left_out])
    error = np.sqrt((draws - 1) * without.var(0))
    for key, value, one in zip(("batch", "noise"), every, error, strict=True):
        measured[f"{key}_exponent"], measured[f"{key}_interval"] = value, [value - 2 * one, value + 2 * one]
    predicted["batch_exponent"], predicted["noise_exponent"] = config.alpha, 2.0
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """By task: n grows as d^(1 ∨ k*/2), and is the law's at these d where there is one. controls: the statistic of the
    right order has a larger overlap than what must fail, on the same samples. memory: the batch at which Muon keeps its
    share of the items goes as σ² d^α, and SGD keeps its items at every batch.
    """
    verdicts, draws = {}, config.seeds
    for task, rivals in MISSING.items():
        judged, law, dims = [], None, config.dims(task)
        if TASKS[task].order != 2 and task != "leap":
            law = predicted["slope"][task]
            held_to = {"law": predicted["samples"][task], "band": count_band(dims), "at": dims}
            judged = numbers("samples at d =", measured["samples"][task], measured["errors"][task], draws, **held_to)
        fit = measured["slope"][task], measured["interval"][task]
        judged += exponents("exponent", *fit, law, predicted["limit"][task], rivals, draws)
        verdicts[task] = equivalence(judged)

    overlap, error = measured["controls"], measured["control_errors"]
    controls = []
    for right, wrong in PAIRS.items():
        spread = math.hypot(error[right], error[wrong])
        name, more = f"overlap of {right} less {wrong}", overlap[right] - overlap[wrong]
        controls += numbers(name, more, spread, draws, limit=0, scale=DIFFERENCE)
    verdicts["controls"] = order(controls)

    limit = predicted["batch_exponent"], predicted["noise_exponent"]
    keys = ("batch", "noise")
    fits, (low, high) = (
        [measured[f"{k}_exponent"] for k in keys],
        np.transpose([measured[f"{k}_interval"] for k in keys]),
    )
    rivals = {"σ^(7/4) d^α": (limit[0], 1.75), "σ² d^(α + 1/4)": (limit[0] + 0.25, 2.0), "σ d^α": (limit[0], 1.0)}
    held_to = {"draws": draws, "limit": limit, "band": EXPONENT, "scale": DIFFERENCE, "low": low, "high": high}
    held_to |= {"at": ("dimension", "noise"), "rivals": rivals}
    memory = numbers("exponent of the", fits, **held_to)
    kept = measured["share"]["sgd"][..., np.array(config.ratios) >= 1].min()
    memory += numbers("least share of SGD's items", kept, limit=1, band=1 - UNTOUCHED, scale=DIFFERENCE, guard=True)
    return verdicts | {"memory": equivalence(memory)}


def _exponents(config, noisy: np.ndarray, clean: np.ndarray) -> tuple[float, float]:
    """Exponents in d and in σ of the batch at which the share of items kept is the config's, from items by dimension,
    noise, draw and ratio."""
    share = noisy.sum(2) / clean.sum(2)
    log_ratio = np.array([[first_reached(np.log(config.ratios), row, config.share) for row in rows] for rows in share])
    log_batch = log_ratio + 2 * np.log(config.noises) + config.alpha * np.log(config.memory_dims)[:, None]
    return slope(config.memory_dims, np.exp(log_batch.mean(1))), slope(config.noises, np.exp(log_batch.mean(0)))


EXPERIMENT = Experiment(
    name="generative-leap",
    purpose=headline(__doc__),
    profiles={
        "smoke": LeapConfig(
            low_dims=(8, 10), sign_dims=(8, 10), bump_dims=(8, 10), control_dim=8, control_samples=200,
            memory_dims=(8, 10), ratios=(0.5, 4.0), level=0.3, seeds=1,
        ),
        "cpu": LeapConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5450,
)  # fmt: skip
