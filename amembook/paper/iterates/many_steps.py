"""`many-steps`: the true iterates of Muon and gradient descent over many steps (Conjecture, Figures 4 and 5).

Caveats: at d = 48 to 192 exponents decide nothing about the Conjecture: they are held to the recursion's own over the
same d, to 0.02. Counts are judged from d = 128 on. A fresh batch shows what it shows to 10 %, in the first four steps.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from amembook.paper.iterates.measure import (
    measure_descent,
    measure_iterates,
    measure_literal_descent,
    measure_muon,
    predict_iterates,
)
from amembook.run.base import (
    Config,
    Count,
    Counts,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Results,
    Several,
    SteepAlpha,
    draws,
    some_of,
    standard_error,
)
from amembook.run.claims import (
    FRESH_SEEDS,
    SIZES,
    check,
    equivalence,
    exponents,
    family,
    numbers,
    order,
    rival_step_exponents,
)
from amembook.run.studies import headline
from amemlib import theory
from amemlib.equivalents import expected_distinct_items
from amemlib.equivalents.thresholded import ManyStepEquivalent, thresholded_weights
from amemlib.problem import Problem
from amemlib.scaling import ExponentFit, fit_exponent

LOW, HIGH, DROP = 0.05, 0.30, 0.15
"""The bars that the exponents of the first records were held to, and that their chapter shows: fitted exponents in
[κ_T − LOW, κ_T + HIGH], and no fall by more than DROP from one T to the next. They pass the laws of other α, so no
verdict rests on them any more."""
MEAN_FIELD_DIM = 128
"""From which d on the closed recursion's counts are judged: below, the head items differ too much from their mean."""
FRESH_BATCH_BAND, FRESH_BATCH_STEPS, FRESH_BATCH_SIZES = 0.1, 4, 2
"""Minibatch Muon is held to the number of observed items and one item of luck, as one step is, in its first four steps
at the two smallest B."""
PARTS = ("fits", "extra")
CAUGHT_UP, LAST = 0.9, 5
"""Gradient descent has caught up once its last counts, the mean of five, reach nine tenths of Muon's."""


def _check_momenta(name: str, values: tuple) -> None:
    if not all(0 <= beta < 1 for beta in values) or 0 not in values:
        raise ValueError(f"{name} must lie in [0, 1) and include 0, got {list(values)}")


@dataclass(frozen=True)
class ManyStepsConfig(Config):
    """The true iterates W_1, …, W_T (Conjecture, Figures 4 and 5)."""

    alpha: SteepAlpha = 1.5
    # the fits
    dims: Dims = (48, 64, 96, 128, 192)
    n_items: Several = 8192
    seeds: Count = 2
    steps: Several = 5  # T
    lr_over_root_dim: Positive = 1.0  # η / √d, the same at every step
    threshold_constant: Positive = 0.5  # θ of the thresholded iterates beside them
    extra_seeds: Natural = 1  # draws of all that follows, 0 to leave it out
    # larger dimensions, to see where the exponents go
    trend_dims: Dims = (96, 192, 384)
    trend_items: Several = 16_384
    small_items: Several = 4096  # N of all that follows but the last part
    # learning rates η / √d
    scan_dim: Count = 128
    rates: Positives = (0.125, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0)
    # Muon against gradient descent
    race_dim: Count = 128
    race_steps: Several = 20
    # minibatches at `race_dim`, without momentum and with the largest of `momenta`
    batch_sizes: Counts = (16, 256, 1024, 4096, 16_384)
    batch_steps: Count = 16
    # momentum on the population loss
    momentum_dims: Dims = (48, 96, 192)
    momenta: Annotated[tuple[float, ...], _check_momenta] = (0.0, 0.5, 0.9)
    momentum_seeds: Count = 4
    # on to saturation
    horizon_dims: Dims = (32, 48, 64, 96, 128)
    horizon_steps: Several = 25
    horizon_lr: Positive = 0.7  # η / √d
    # what a record measures: the fits and, with `extra_seeds`, all that follows; or minibatches without momentum alone
    parts: Annotated[tuple[str, ...], some_of(*PARTS, "batches")] = PARTS
    # where the closed recursion is solved and nothing is simulated
    far_dims: Dims = (128, 256, 512, 1024, 2048, 4096)
    far_items: Several = 2**20
    first_seed: Natural = 0

    def limits(self) -> None:
        last = theory.recovery_thresholds("muon", max(self.dims), self.alpha, self.steps, self.threshold_constant)[-1]
        if last >= self.n_items:
            raise ValueError(f"n_items must exceed the last threshold of the largest d, {last}, got {self.n_items}")


def many_steps_grids(config: ManyStepsConfig) -> dict[str, Grid]:
    """The iterates and gradient descent for the fits; the rest only where `extra_seeds` asks for it."""
    fits = {"dim": config.dims, "seed": draws(config)}
    seed = {"seed": draws(config, config.extra_seeds)}
    small = {"n_items": config.small_items}
    batches = small | {"dim": config.race_dim, "steps": config.batch_steps}
    if "fits" not in config.parts:
        sizes = {"batch_size": config.batch_sizes, "momentum": (0.0,)}
        return {"batches": Grid(measure_muon, sizes | seed, **batches)}
    grids = {
        "iterates": Grid(measure_iterates, fits, threshold=config.threshold_constant),
        "descent": Grid(measure_descent, fits, steps=math.floor(2 * config.alpha)),
    }
    if not config.extra_seeds:
        return grids
    race = small | {"dim": config.race_dim, "steps": config.race_steps}
    literal = race | {"steps": config.race_steps // 2, "constant": 1.0}
    horizon = small | {"steps": config.horizon_steps, "lr_over_root_dim": config.horizon_lr}
    plain = {"momentum": 0.0, "batch_size": 0}
    return grids | {
        "trend": Grid(measure_muon, {"dim": config.trend_dims} | seed, **plain, n_items=config.trend_items),
        "scan": Grid(measure_muon, {"lr_over_root_dim": config.rates} | seed, **plain, **small, dim=config.scan_dim),
        "race_muon": Grid(measure_muon, seed, **plain, **race),
        "race_descent": Grid(measure_descent, seed, **race),
        "race_literal": Grid(measure_literal_descent, seed, **literal),
        "batches": Grid(
            measure_muon, {"batch_size": config.batch_sizes, "momentum": (0.0, max(config.momenta))} | seed, **batches
        ),
        "momentum": Grid(
            measure_muon,
            {"momentum": config.momenta, "dim": config.momentum_dims, "seed": draws(config, config.momentum_seeds)},
            **small,
            batch_size=0,
        ),
        "horizon": Grid(measure_muon, {"dim": config.horizon_dims} | seed, **plain, **horizon),
        "far": Grid(predict_iterates, {"dim": config.far_dims}, n_items=config.far_items),
    }


def many_steps_summary(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    """Exponents for every T beside Theorem 9, and the extra parts. Keys "muon_T" are counts after T steps, by `dims`.

    measured.thresholded and predicted.thresholded: the same for the thresholded iterates and their sharp counts.
    predicted.counts: the closed recursion, predicted.ahead: one step ahead from the true residuals (at T = 1 the sharp
    count of one step). The other keys are the extra parts, lists ordered as the config's.
    """
    if "fits" not in config.parts:
        return _batches(config, results)
    parts = [_fitted_iterates, _overlaps]
    if config.extra_seeds:
        parts += [_trend, _race, _batches, _momentum, _horizon]
    measured, predicted = {}, {}
    for part in parts:
        of_part, law_of_part = part(config, results)
        measured, predicted = measured | of_part, predicted | law_of_part
    return measured, predicted


def by_step(values) -> dict:
    """What an array has after T steps by the key "muon_T"; T is its last axis and starts from 1."""
    columns = np.moveaxis(np.asarray(values), -1, 0)
    return {f"muon_{step}": column for step, column in enumerate(columns, start=1)}


def thresholded_counts(problem: Problem, constant: float, steps: int) -> np.ndarray:
    """Sharp counts of the thresholded iterates, polar map and one rate, after 1, …, `steps` steps."""
    removed = (0, *theory.recovery_thresholds("muon", problem.dim, problem.alpha, steps - 1, constant))
    weights = thresholded_weights(problem.frequencies, removed)
    equivalent = ManyStepEquivalent.solve(weights, problem.dim, [0.0] * steps)
    return equivalent.recovery_probabilities() @ equivalent.counts


def _fits(dims, counts, ceiling: float = math.inf) -> dict[str, ExponentFit]:
    return {name: fit_exponent(dims, column, ceiling) for name, column in by_step(counts).items()}


def _local_slopes(dims, counts) -> dict[str, tuple[float, ...]]:
    return {name: fit.local_slopes for name, fit in _fits(dims, counts).items()}


def _recursion(config: ManyStepsConfig, n_items: int, dims) -> dict[str, np.ndarray]:
    """The closed recursion at each of `dims`: its numbers by name, (dims, T)."""
    rows = [predict_iterates(n_items, dim, config.alpha, config.steps, config.lr_over_root_dim) for dim in dims]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _large_margin(dims, n_items: int) -> np.ndarray:
    """d² / (2 log N), the estimate of what a memory of large margins can hold."""
    return np.array(dims) ** 2 / (2 * math.log(n_items))


def _fitted_iterates(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    counts, thresholded = (results.array("iterates", key) for key in ("count", "thresholded"))
    descent = results.array("descent", "count")[..., -1]
    fits, planted = _fits(config.dims, counts, config.n_items), _fits(config.dims, thresholded)
    problems = [Problem.power_law(config.n_items, dim, config.alpha) for dim in config.dims]
    sharp = np.array([thresholded_counts(p, config.threshold_constant, config.steps) for p in problems])
    recursion = _recursion(config, config.n_items, config.dims)
    measured = {
        "slope": {name: fit.slope for name, fit in fits.items()},
        "interval": {name: [fit.low, fit.high] for name, fit in fits.items()},
        "doubts": {name: fit.doubts for name, fit in fits.items()},
        "local_slopes": {name: fit.local_slopes for name, fit in fits.items()},
        "counts": by_step(counts.mean(1)),
        "seed_counts": by_step(counts),
        "thresholded": by_step(thresholded.mean(1)),
        "thresholded_slope": {name: fit.slope for name, fit in planted.items()},
        "thresholded_interval": {name: [fit.low, fit.high] for name, fit in planted.items()},
        "profile": results.array("iterates", "profile").mean(1),
        "descent": descent.mean(1),
        "seed_descent": descent,
    }
    for key in ("head", "learnt", "loss", "interaction_sd"):
        measured[key] = by_step(results.array("iterates", key).mean(1))
    predicted = {
        "slope": by_step([theory.recovery_exponent("muon", config.alpha, t) for t in range(1, config.steps + 1)]),
        "sharp_slope": {name: fit.slope for name, fit in _fits(config.dims, recursion["counts"]).items()},
        "ahead": by_step(results.array("iterates", "ahead").mean(1)),
        "thresholded": by_step(sharp),
        "thresholded_slope": {name: fit.slope for name, fit in _fits(config.dims, sharp).items()},
        "limit": [theory.counting_limit(dim, config.n_items) for dim in config.dims],
        "large_margin": _large_margin(config.dims, config.n_items),
    }
    predicted |= {name: by_step(values) for name, values in recursion.items()}
    # what the records of the first recursion call `counts` is another law: the judge asks for this name
    return measured, predicted | {"trajectory": by_step(recursion["counts"])}


def _overlaps(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    """Overlaps of the updates, and what each prediction of them makes of the interactions' standard deviation."""
    predicted = {}
    for name in ("free", "pulled"):
        overlaps = results.array("iterates", f"overlaps_{name}").mean(1)
        norms = [[np.sqrt(rows[:t, :t].sum()) for t in range(1, config.steps + 1)] for rows in overlaps]
        predicted[f"overlaps_{name}"] = overlaps
        predicted[f"sd_{name}"] = by_step(config.lr_over_root_dim * np.array(norms))
    return {"overlaps": results.array("iterates", "overlaps").mean(1)}, predicted


def _trend(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    counts, far = results.array("trend", "count"), results.array("far", "counts")
    near = _recursion(config, config.trend_items, config.trend_dims)["counts"]
    measured = {
        "trend_counts": by_step(counts.mean(1)),
        "trend_seed_counts": by_step(counts),
        "trend_local_slopes": _local_slopes(config.trend_dims, counts),
    }
    predicted = {
        "trend_counts": by_step(near),
        "trend_local_slopes": _local_slopes(config.trend_dims, near),
        "far_counts": by_step(far),
        "far_local_slopes": _local_slopes(config.far_dims, far),
    }
    return measured, predicted | {"trend_trajectory": by_step(near)}


def _race(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    """Learning rates, and Muon against gradient descent with two rates."""
    measured = {
        "scan_counts": results.array("scan", "count").mean(1),
        "scan_head": results.array("scan", "head").mean(1),
        "race": {name: results.array(f"race_{name}", "count").mean(0) for name in ("muon", "descent", "literal")},
        "literal_loss": results.array("race_literal", "loss").mean(0),
    }
    return measured, {}


def _batches(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    problem = Problem.power_law(config.small_items, config.race_dim, config.alpha)
    steps = range(1, config.batch_steps + 1)
    counts = results.array("batches", "count", momentum=0.0)
    measured = {"batches": counts.mean(1), "seed_batches": counts}
    if "fits" in config.parts:
        measured["batches_momentum"] = results.array("batches", "count", momentum=max(config.momenta)).mean(1)
    predicted = {
        "observed": [[expected_distinct_items(problem, b * t) for t in steps] for b in config.batch_sizes],
        "observed_power": [theory.observed_items(config.small_items, config.alpha, b) for b in config.batch_sizes],
    }
    return measured, predicted


def _momentum(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    counts = results.array("momentum", "count")
    fits = [_fits(config.momentum_dims, rows).values() for rows in counts]
    measured = {
        "momentum_counts": counts.mean(2),
        "momentum_slope": [[fit.slope for fit in row] for row in fits],
        "momentum_interval": [[[fit.low, fit.high] for fit in row] for row in fits],
    }
    return measured, {}


def _horizon(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    counts = results.array("horizon", "count").mean(1)
    # saturation: the mean of the last five steps, which oscillate a little
    final = counts[:, -5:].mean(1)
    gap = -math.log(1 - 1 / (2 * config.alpha))
    measured = {
        "horizon": counts,
        "horizon_share": final / _large_margin(config.horizon_dims, config.small_items),
        "horizon_slope": fit_exponent(config.horizon_dims, final).slope,
        "horizon_final": final,
        "horizon_steps": {
            name: (counts >= share * final[:, None]).argmax(1) + 1 for name, share in (("half", 0.5), ("ninety", 0.9))
        },
    }
    half = [math.log(math.log(dim) / math.log(2)) / gap for dim in config.horizon_dims]
    return measured, {"horizon_steps": {"half": half}}


def judge_many_steps(config: ManyStepsConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """The Conjecture's exponents, the closed recursion, and the bounds; the extra parts where they were run."""
    if "fits" in config.parts:
        counts, fitted = _by_step(measured["seed_counts"]), config.seeds * len(config.dims)
        bounds = np.minimum(predicted["limit"], predicted["large_margin"])
        lead, most = (measured["seed_descent"] / counts[0]).max(), (counts.max((0, 2)) / bounds).max()
        yield "exponents", _iterates_verdict(config, measured, predicted, config.dims)
        yield "first_step", check(lead, math.nextafter(1, 0), fitted, "descent's ⌊2α⌋ steps over one of Muon")
        yield "limit", check(most, 1, fitted, "items over the counting limit")
        yield "mean_field", _mean_field_verdict(config, measured, predicted)
        if not config.extra_seeds:
            return
        yield "horizon", _horizon_verdict(config, measured)
        yield "trend", _iterates_verdict(config, measured, predicted, config.trend_dims, "trend_")
        yield "race", _race_verdict(config, measured)
    yield "batches", _batch_verdict(config, measured, predicted)


def _by_step(table: dict) -> np.ndarray:
    """What a record has by the keys of `by_step`, the steps first."""
    return np.array(list(table.values()))


def _iterates_verdict(config: ManyStepsConfig, measured: dict, predicted: dict, dims, part: str = "") -> dict:
    """Counts and exponents of `power_law_iterates`, which nothing fits, after every step, and the exponents' limits
    κ_T: a prediction for these sizes. part: "trend_" for the larger dimensions.

    A record without that prediction, or without the counts of every draw, decides nothing.
    """
    if f"{part}trajectory" not in predicted or f"{part}seed_counts" not in measured:
        return equivalence([])
    # (T, d, draws) and (T, d)
    counts, law = _by_step(measured[f"{part}seed_counts"]), _by_step(predicted[f"{part}trajectory"])
    at, judged, n_draws = (
        [f"T = {t}" for t in range(1, len(law) + 1)],
        np.array(dims) >= MEAN_FIELD_DIM,
        counts.shape[2],
    )
    made = []
    if judged.any():
        made += family("items", counts[:, judged], law=law[:, judged], band=SIZES, at=at)
    fits = [fit_exponent(dims, rows) for rows in counts]
    slopes, intervals = [fit.slope for fit in fits], [[fit.low, fit.high] for fit in fits]
    sharp, limits = np.array([fit_exponent(dims, row).slope for row in law]), _by_step(predicted["slope"])
    rivals = rival_step_exponents("muon", config.alpha, len(law))
    made += exponents("exponent", slopes, intervals, sharp, limits, rivals, n_draws, at=at, points=len(dims))
    return equivalence(made)


def _mean_field_verdict(config: ManyStepsConfig, measured: dict, predicted: dict) -> dict:
    """The recursion's counts at every T, from `MEAN_FIELD_DIM` on: a prediction for these sizes."""
    judged = np.array(config.dims) >= MEAN_FIELD_DIM
    if not judged.any():
        return equivalence([])
    counts = _by_step(measured["seed_counts"])
    law, thresholded = (_by_step(predicted[key]) for key in ("counts", "thresholded"))
    rivals = {"the thresholded iterates": thresholded[:, judged]}
    held_to = {"law": law[:, judged], "band": SIZES, "rivals": rivals, "at": [f"T = {t + 1}" for t in range(len(law))]}
    return equivalence(family("items", counts[:, judged], **held_to))


def _horizon_verdict(config: ManyStepsConfig, measured: dict) -> dict:
    """Run on to saturation: the exponent 2 of d²/(2 log N), by the scatter of the points about the fit."""
    fit = fit_exponent(config.horizon_dims, measured["horizon_final"])
    rivals = {"κ_T of the last fitted step": theory.recovery_exponent("muon", config.alpha, config.steps), "5/2": 2.5}
    interval = [fit.low, fit.high]
    return equivalence(exponents("exponent at the end", fit.slope, interval, None, 2.0, rivals, config.extra_seeds))


def _race_verdict(config: ManyStepsConfig, measured: dict) -> dict:
    """Figure 5(a): Muon is ahead for ⌊2α⌋ steps, gradient descent catches up in the end, and Theorem 10's own schedule
    is unstable: its loss exceeds log N, or is no number any more.
    """
    lag, n_draws = math.floor(2 * config.alpha), config.extra_seeds
    muon, descent = (measured["race"][name] for name in ("muon", "descent"))
    ratio = lambda a, b: a / b * np.sqrt(1 / a + 1 / b) / math.sqrt(n_draws)  # the error of two Poisson counts
    first, end = (muon[:lag], descent[:lag]), (descent[-LAST:].mean(), muon[-LAST:].mean())
    made = numbers(
        "Muon over descent, step", first[0] / first[1], ratio(*first), n_draws, limit=1.0, at=range(1, lag + 1)
    )
    made += numbers("descent over Muon at the end", end[0] / end[1], ratio(*end), n_draws, limit=CAUGHT_UP)
    loss = measured["literal_loss"]
    worst = loss.max() / math.log(config.small_items) if np.isfinite(loss).all() else 1e12
    return order(made + numbers("the literal schedule's largest loss over log N", worst, draws=n_draws, limit=1.0))


def _batch_verdict(config: ManyStepsConfig, measured: dict, predicted: dict) -> dict:
    """As many items as were seen, and one by luck: in the first steps; the limit, in all of them, is the last one's.

    From every draw, where a record has them: else the error of a total is the sum of those of its entries.
    """
    batches, seeds = config.batch_sizes[:FRESH_BATCH_SIZES], config.extra_seeds
    counts, seen = (rows[:FRESH_BATCH_SIZES] for rows in (measured["batches"], predicted["observed"]))
    samples = np.outer(batches, np.arange(1, config.batch_steps + 1))
    rivals = {"what one batch shows": seen[:, :1], "every sample": samples, "half of what is seen": seen / 2}
    sizes = {"band": FRESH_BATCH_BAND, "at": [f"B = {size}" for size in batches]}
    held_to = {"law": seen + 1, "rivals": rivals, "keep": np.arange(config.batch_steps) < FRESH_BATCH_STEPS} | sizes
    if "seed_batches" in measured:
        every = measured["seed_batches"][:FRESH_BATCH_SIZES]
        made, error = family("items seen", np.moveaxis(every, 1, -1), **held_to), standard_error(every)
    else:
        error = np.sqrt(seen / seeds)
        made = family("items seen", counts, error, seeds, **held_to)
    last = numbers("items seen at the last step,", counts[:, -1], error[:, -1], seeds, limit=seen[:, -1] + 1, **sizes)
    return equivalence(made + last)


EXPERIMENT = Experiment(
    name="many-steps",
    purpose=headline(__doc__),
    profiles={
        "smoke": ManyStepsConfig(
            dims=(32, 48), n_items=1024, seeds=2, steps=3, extra_seeds=1, trend_dims=(32, 48, 64), trend_items=1024,
            small_items=512, scan_dim=32, rates=(0.25, 1.0, 4.0), race_dim=24, race_steps=6, batch_sizes=(8, 64),
            batch_steps=4, momentum_dims=(24, 48), momenta=(0.0, 0.9), momentum_seeds=2, horizon_dims=(16, 24),
            horizon_steps=8, far_dims=(64, 128), far_items=4096,
        ),
        "cpu": ManyStepsConfig(),
        # the fits alone, two minutes for each α; then what stands beside them
        "confirm": ManyStepsConfig(seeds=16, extra_seeds=0, first_seed=4250),
        "confirm-extra": ManyStepsConfig(seeds=4, extra_seeds=8, momentum_seeds=8, first_seed=4300),
        "confirm-large": ManyStepsConfig(
            dims=(96, 192, 384, 768), n_items=32_768, seeds=4, threshold_constant=0.3, extra_seeds=0, first_seed=4350,
        ),
        "batches": ManyStepsConfig(extra_seeds=48, batch_sizes=(16, 256), parts=("batches",), first_seed=48_200),
        "gpu": ManyStepsConfig(
            dims=(128, 181, 256, 362, 512, 724, 1024), n_items=131_072, seeds=4, first_seed=21_500,
            lr_over_root_dim=1.5, trend_dims=(512, 1024, 2048), trend_items=131_072, extra_seeds=1, small_items=32_768,
            scan_dim=512, race_dim=512, race_steps=30,
            batch_sizes=(64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576), batch_steps=32,
            momentum_dims=(128, 256, 512), horizon_dims=(64, 128, 256, 512), horizon_steps=100,
        ),
    },
    grids=many_steps_grids,
    summarise=many_steps_summary,
    judge=judge_many_steps,
    unseen_from=FRESH_SEEDS,
    added={"parts": PARTS},
)  # fmt: skip
