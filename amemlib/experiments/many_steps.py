"""`many-steps`: true iterates of Muon and gradient descent (Conjecture, Figures 4 and 5), and what lies beyond."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from amemlib import theory
from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.equivalents import expected_distinct_items
from amemlib.equivalents.thresholded import ManyStepEquivalent, thresholded_weights
from amemlib.experiments.base import (
    FRESH_SEEDS,
    Experiment,
    Grid,
    Results,
    count_error,
    draws,
    exponent_verdict,
    rival_step_exponents,
)
from amemlib.experiments.iterates import (
    measure_descent,
    measure_iterates,
    measure_literal_descent,
    measure_muon,
    predict_iterates,
)
from amemlib.problem import Problem
from amemlib.scaling import ExponentFit, fit_exponent
from amemlib.verdicts import consistency, refuse, verdict

LOW, HIGH, DROP = 0.05, 0.30, 0.15
"""The bars that the exponents of the first records were held to, and that their chapter shows: fitted exponents in
[κ_T − LOW, κ_T + HIGH], and no fall by more than DROP from one T to the next. They pass the laws of other α, so no
verdict rests on them any more."""
LOCAL_BAND = 0.1
"""How far a local exponent may lie from the closed recursion's, beyond its sampling error: five per cent of error in
either count of a step by a factor of two in d is 0.1."""
MEAN_FIELD_BAND, MEAN_FIELD_DIM = 0.15, 128
"""The closed recursion is held to 15 % of the mean counts from d = 128 on."""
FRESH_BATCH_BAND, FRESH_BATCH_STEPS, FRESH_BATCH_SIZES = 0.15, 4, 2
"""Minibatch Muon is held to the number of observed items, to 15 % and one item of luck, in its first four steps at the
two smallest B."""
SHARE, CEILING_BAND = (0.45, 0.7), 0.1
"""A memory run on to saturation holds this share of d²/(2 log N), at an exponent this near to 2."""
CAUGHT_UP, LAST = 0.9, 5
"""Gradient descent has caught up once its last counts, the mean of five, reach nine tenths of Muon's."""
SHORTEST = 2


@dataclass(frozen=True)
class ManyStepsConfig:
    """The true iterates W_1, …, W_T (Conjecture, Figures 4 and 5).

    alpha, dims, n_items, seeds, steps: the power law, the dimensions and N of the fits, draws, and T.
    lr_over_root_dim: η / √d, the same at every step. threshold_constant: θ of the thresholded iterates beside them.
    extra_seeds: draws of all that follows, 0 to leave it out.
    trend_dims, trend_items: larger dimensions, to see where the exponents go.
    small_items: N of the rest. scan_dim, rates: learning rates. race_dim, race_steps: Muon against gradient descent.
    batch_sizes, batch_steps: minibatches, at race_dim, without and with the largest of momenta.
    momentum_dims, momenta, momentum_seeds: momentum on the population loss, with draws of its own number.
    horizon_dims, horizon_steps, horizon_lr: on to saturation, with η / √d = horizon_lr.
    far_dims, far_items: where the closed recursion is solved and nothing is simulated.
    first_seed: where the seeds start.
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (48, 64, 96, 128, 192)
    n_items: int = 8192
    seeds: int = 2
    steps: int = 5
    lr_over_root_dim: float = 1.0
    threshold_constant: float = 0.5
    extra_seeds: int = 1
    trend_dims: tuple[int, ...] = (96, 192, 384)
    trend_items: int = 16_384
    small_items: int = 4096
    scan_dim: int = 128
    rates: tuple[float, ...] = (0.125, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0)
    race_dim: int = 128
    race_steps: int = 20
    batch_sizes: tuple[int, ...] = (16, 256, 1024, 4096, 16_384)
    batch_steps: int = 16
    momentum_dims: tuple[int, ...] = (48, 96, 192)
    momenta: tuple[float, ...] = (0.0, 0.5, 0.9)
    momentum_seeds: int = 4
    horizon_dims: tuple[int, ...] = (32, 48, 64, 96, 128)
    horizon_steps: int = 25
    horizon_lr: float = 0.7
    far_dims: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096)
    far_items: int = 2**20
    first_seed: int = 0

    def __post_init__(self):
        check_alpha(self.alpha, above=1.0)
        for name in ("dims", "trend_dims", "momentum_dims", "horizon_dims", "far_dims"):
            check_dims(name, getattr(self, name))
        for name in ("n_items", "trend_items", "small_items", "far_items"):
            check_count(name, getattr(self, name), least=2)
        for name in ("seeds", "scan_dim", "race_dim", "batch_steps", "momentum_seeds"):
            check_count(name, getattr(self, name))
        for name in ("steps", "race_steps", "horizon_steps"):
            check_count(name, getattr(self, name), least=SHORTEST)
        for name in ("extra_seeds", "first_seed"):
            check_count(name, getattr(self, name), least=0)
        for name in ("lr_over_root_dim", "threshold_constant", "horizon_lr"):
            check_positive(name, getattr(self, name))
        for rate in self.rates:
            check_positive("rates", rate)
        for size in self.batch_sizes:
            check_count("batch_sizes", size)
        last = theory.recovery_thresholds("muon", self.alpha, max(self.dims), self.steps, self.threshold_constant)[-1]
        if last >= self.n_items:
            raise ValueError(f"n_items must exceed the last threshold of the largest d, {last}, got {self.n_items}")
        if not all(0 <= beta < 1 for beta in self.momenta) or 0 not in self.momenta:
            raise ValueError(f"momenta must lie in [0, 1) and include 0, got {list(self.momenta)}")


def many_steps_grids(config: ManyStepsConfig) -> dict[str, Grid]:
    """The iterates and gradient descent for the fits; the rest only where `extra_seeds` asks for it."""
    fits = {"dim": config.dims, "seed": draws(config)}
    grids = {
        "iterates": Grid(measure_iterates, fits, threshold=config.threshold_constant),
        "descent": Grid(measure_descent, fits, steps=math.floor(2 * config.alpha)),
    }
    if not config.extra_seeds:
        return grids
    seed = {"seed": draws(config, config.extra_seeds)}
    small = {"n_items": config.small_items}
    race = small | {"dim": config.race_dim, "steps": config.race_steps}
    literal = race | {"steps": config.race_steps // 2, "constant": 1.0}
    batches = small | {"dim": config.race_dim, "steps": config.batch_steps}
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
    parts = [_fitted_iterates, _overlaps]
    if config.extra_seeds:
        parts += [_trend, _race, _batches, _momentum, _horizon]
    measured, predicted = {}, {}
    for part in parts:
        found, expected = part(config, results)
        measured, predicted = measured | found, predicted | expected
    return measured, predicted


def by_step(values) -> dict:
    """What an array has after T steps by the key "muon_T"; T is its last axis and starts from 1."""
    columns = np.moveaxis(np.asarray(values), -1, 0)
    return {f"muon_{step}": column.tolist() for step, column in enumerate(columns, start=1)}


def thresholded_counts(problem: Problem, constant: float, steps: int) -> list[float]:
    """Sharp counts of the thresholded iterates, polar map and one rate, after 1, …, `steps` steps."""
    removed = (0, *theory.recovery_thresholds("muon", problem.alpha, problem.dim, steps - 1, constant))
    weights = thresholded_weights(problem.frequencies, removed)
    equivalent = ManyStepEquivalent.solve(weights, problem.dim, [0.0] * steps)
    return (equivalent.recovery_probabilities() @ equivalent.counts).tolist()


def _fits(dims, counts, ceiling: float = math.inf) -> dict[str, ExponentFit]:
    return {name: fit_exponent(dims, column, ceiling) for name, column in by_step(counts).items()}


def _local_slopes(dims, counts) -> dict[str, list[float]]:
    return {name: list(fit.local_slopes) for name, fit in _fits(dims, counts).items()}


def _recursion(config: ManyStepsConfig, n_items: int, dims) -> dict[str, np.ndarray]:
    """The closed recursion at each of `dims`: its numbers by name, (dims, T)."""
    rows = [predict_iterates(config.alpha, n_items, dim, config.steps, config.lr_over_root_dim) for dim in dims]
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
        "doubts": {name: list(fit.doubts) for name, fit in fits.items()},
        "local_slopes": {name: list(fit.local_slopes) for name, fit in fits.items()},
        "counts": by_step(counts.mean(1)),
        "seed_counts": by_step(counts),
        "thresholded": by_step(thresholded.mean(1)),
        "thresholded_slope": {name: fit.slope for name, fit in planted.items()},
        "thresholded_interval": {name: [fit.low, fit.high] for name, fit in planted.items()},
        "profile": results.array("iterates", "profile").mean(1).tolist(),
        "descent": descent.mean(1).tolist(),
        "seed_descent": descent.tolist(),
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
        "large_margin": _large_margin(config.dims, config.n_items).tolist(),
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
        predicted[f"overlaps_{name}"] = overlaps.tolist()
        predicted[f"sd_{name}"] = by_step(config.lr_over_root_dim * np.array(norms))
    return {"overlaps": results.array("iterates", "overlaps").mean(1).tolist()}, predicted


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
    race = {name: results.array(f"race_{name}", "count").mean(0).tolist() for name in ("muon", "descent", "literal")}
    measured = {
        "scan_counts": results.array("scan", "count").mean(1).tolist(),
        "scan_head": results.array("scan", "head").mean(1).tolist(),
        "race": race,
        "literal_loss": results.array("race_literal", "loss").mean(0).tolist(),
    }
    return measured, {}


def _batches(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    problem = Problem.power_law(config.small_items, config.race_dim, config.alpha)
    steps = range(1, config.batch_steps + 1)
    measured = {
        "batches": results.array("batches", "count", momentum=0.0).mean(1).tolist(),
        "batches_momentum": results.array("batches", "count", momentum=max(config.momenta)).mean(1).tolist(),
    }
    predicted = {
        "observed": [[float(expected_distinct_items(problem, b * t)) for t in steps] for b in config.batch_sizes],
        "observed_power": [theory.observed_items(config.alpha, config.small_items, b) for b in config.batch_sizes],
    }
    return measured, predicted


def _momentum(config: ManyStepsConfig, results: Results) -> tuple[dict, dict]:
    counts = results.array("momentum", "count")
    fits = [_fits(config.momentum_dims, rows).values() for rows in counts]
    measured = {
        "momentum_counts": counts.mean(2).tolist(),
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
        "horizon": counts.tolist(),
        "horizon_share": (final / _large_margin(config.horizon_dims, config.small_items)).tolist(),
        "horizon_slope": fit_exponent(config.horizon_dims, final).slope,
        "horizon_final": final.tolist(),
        "horizon_steps": {
            name: ((counts >= share * final[:, None]).argmax(1) + 1).tolist()
            for name, share in (("half", 0.5), ("ninety", 0.9))
        },
    }
    half = [math.log(math.log(dim) / math.log(2)) / gap for dim in config.horizon_dims]
    return measured, {"horizon_steps": {"half": half}}


def judge_many_steps(config: ManyStepsConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """The Conjecture's exponents, the closed recursion, and the bounds; the extra parts where they were run."""
    counts = np.array(list(measured["seed_counts"].values()))
    bounds = np.minimum(predicted["limit"], predicted["large_margin"])
    fitted = config.seeds * len(config.dims)
    verdicts = {
        "exponents": _exponent_verdict(config, measured, predicted),
        "first_step": consistency((counts[0] > np.array(measured["seed_descent"])).all(), draws=fitted),
        "limit": consistency((counts.max((0, 2)) <= bounds).all(), draws=fitted),
        "mean_field": _mean_field_verdict(config, measured, predicted),
    }
    if not config.extra_seeds:
        return verdicts
    return verdicts | {
        "horizon": _horizon_verdict(config, measured),
        "trend": _trend_verdict(config, measured, predicted),
        "race": _race_verdict(config, measured),
        "batches": _batch_verdict(config, measured, predicted),
    }


def _exponent_verdict(config: ManyStepsConfig, measured: dict, predicted: dict) -> dict:
    """Sizes: counts and local exponents of `expected_trajectory`, which nothing fits. Limit: κ_T, by the intervals.

    A record without that prediction decides nothing.
    """
    if "trajectory" not in predicted:
        return verdict(None, None)
    slope, interval, limit, seed_counts, closed = (
        np.array(list(side.values()), dtype=float)
        for side in (
            measured["slope"],
            measured["interval"],
            predicted["slope"],
            measured["seed_counts"],
            predicted["trajectory"],
        )
    )
    local = _local_rule(config.dims, seed_counts)
    rivals = _local_rivals(config, config.dims, closed, np.array(list(predicted["thresholded"].values())))
    said = exponent_verdict(
        _near_counts(config.dims, seed_counts, closed) and local(_steps_between(config.dims, closed)),
        slope,
        interval,
        [fit_exponent(config.dims, row).slope for row in closed],
        limit,
        rival_step_exponents("muon", config.alpha, config.steps),
        config.seeds,
        LOCAL_BAND / 2,
    )
    return said | {"refused": list(dict.fromkeys(said["refused"] + refuse(local, rivals)))}


def _trend_verdict(config: ManyStepsConfig, measured: dict, predicted: dict) -> dict:
    """The local exponents at the larger dimensions against the closed recursion's there: a prediction for these sizes.

    A record without that prediction, or without the counts of every draw, decides nothing.
    """
    if "trend_trajectory" not in predicted or "trend_seed_counts" not in measured:
        return verdict(None, None)
    seed_counts, closed = (
        np.array(list(side.values()), dtype=float)
        for side in (measured["trend_seed_counts"], predicted["trend_trajectory"])
    )
    local = _local_rule(config.trend_dims, seed_counts)
    met = _near_counts(config.trend_dims, seed_counts, closed) and local(_steps_between(config.trend_dims, closed))
    rivals = _local_rivals(config, config.trend_dims, closed)
    return verdict(met, None, refuse(local, rivals), config.extra_seeds)


def _near_counts(dims, seed_counts: np.ndarray, closed: np.ndarray) -> bool:
    """Whether the mean counts (T, d, draws) are the predicted ones (T, d), to `MEAN_FIELD_BAND`, from a d on."""
    off = np.abs(seed_counts.mean(2) - closed) - 2 * count_error(seed_counts, closed, 2)
    return bool((off <= MEAN_FIELD_BAND * closed)[:, np.array(dims) >= MEAN_FIELD_DIM].all())


def _local_rule(dims, seed_counts: np.ndarray):
    """Whether local exponents (T, d − 1) are the measured ones, beyond `LOCAL_BAND` to as many standard errors as the
    farthest of so many goes once in twenty times."""
    mean = seed_counts.mean(2)
    share = count_error(seed_counts, mean, 2) / mean
    error = np.hypot(share[:, 1:], share[:, :-1]) / np.diff(np.log(dims))
    found, farthest = _steps_between(dims, mean), norm.ppf(1 - 0.025 / error.size)
    return lambda law: bool((np.abs(found - law) <= LOCAL_BAND + farthest * error).all())


def _local_rivals(config: ManyStepsConfig, dims, closed: np.ndarray, thresholded=None) -> dict[str, np.ndarray]:
    """Other laws of the local exponents: the recursion's own, as much steeper or flatter as a rival's limit is."""
    local = _steps_between(dims, closed)
    exponents = np.array([theory.recovery_exponent("muon", config.alpha, t) for t in range(1, len(local) + 1)])
    laws = rival_step_exponents("muon", config.alpha, len(local))
    rivals = {name: local + (np.array(law) - exponents)[:, None] for name, law in laws.items()}
    if thresholded is not None:
        rivals["the thresholded iterates"] = _steps_between(dims, thresholded)
    return rivals


def _steps_between(dims, counts: np.ndarray) -> np.ndarray:
    """Local exponents (T, d − 1) of counts (T, d), from one of `dims` to the next."""
    return np.diff(np.log(counts), axis=1) / np.diff(np.log(dims))


def _mean_field_verdict(config: ManyStepsConfig, measured: dict, predicted: dict) -> dict:
    """The recursion's counts at every T, from `MEAN_FIELD_DIM` on: a prediction for these sizes."""
    judged = np.array(config.dims) >= MEAN_FIELD_DIM
    if not judged.any():
        return verdict(None, None)
    counts, recursion, thresholded = (
        np.array(list(numbers.values()))
        for numbers in (measured["counts"], predicted["counts"], predicted["thresholded"])
    )

    def meets(law) -> bool:
        return bool((np.abs(counts / law - 1) <= MEAN_FIELD_BAND)[:, judged].all())

    rivals = {
        "the thresholded iterates": thresholded,
        "no growth": recursion[:1],
        "a full memory": np.array(predicted["large_margin"]),
    }
    met = meets(recursion)
    return verdict(met, met, refuse(meets, rivals), config.seeds)


def _horizon_verdict(config: ManyStepsConfig, measured: dict) -> dict:
    """Run on to saturation: `SHARE` of d²/(2 log N) at every d (sizes), at the exponent 2 (limit), below the bounds.

    The rivals are what other memories would hold at the end.
    """
    margin = _large_margin(config.horizon_dims, config.small_items)
    counting = [theory.counting_limit(dim, config.small_items) for dim in config.horizon_dims]
    below = bool((np.array(measured["horizon"]).max(1) <= np.minimum(counting, margin)).all())

    def holds(final) -> bool:
        share = np.array(final) / margin
        return bool(((share >= SHARE[0]) & (share <= SHARE[1])).all())

    def is_ceiling(slope: float) -> bool:
        return abs(slope - 2) <= CEILING_BAND

    rivals = {
        "an empty memory": 0 * margin,
        "one step": np.array(measured["horizon"])[:, 0],
        "an item a dimension": np.array(config.horizon_dims, dtype=float),
        "an item a parameter": np.array(config.horizon_dims, dtype=float) ** 2,
    }
    met = below and holds(np.array(measured["horizon_share"]) * margin)
    return verdict(met, met and is_ceiling(measured["horizon_slope"]), refuse(holds, rivals), config.extra_seeds)


def _race_verdict(config: ManyStepsConfig, measured: dict) -> dict:
    """Figure 5(a): Muon is ahead for ⌊2α⌋ steps, gradient descent catches up in the end, and Theorem 10's own schedule
    is unstable: its loss exceeds log N (None: it is no number any more)."""
    lag = math.floor(2 * config.alpha)
    muon, descent = (np.array(measured["race"][name], dtype=float) for name in ("muon", "descent"))
    knows_nothing = math.log(config.small_items)
    unstable = any(loss is None or loss > knows_nothing for loss in measured["literal_loss"])

    def is_race(pair) -> bool:
        first, second = pair
        ahead = (first[:lag] > 1.5 * second[:lag]).all()
        return bool(ahead and second[-LAST:].mean() >= CAUGHT_UP * first[-LAST:].mean())

    rivals = {
        "descent never catches up": (muon, np.minimum(descent, descent[lag - 1])),
        "descent is ahead": (descent, muon),
        "no difference": (muon, muon),
        "Muon keeps its lead": (muon, muon * descent[0] / muon[0]),
    }
    return verdict(None, is_race((muon, descent)) and unstable, refuse(is_race, rivals), config.extra_seeds)


def _batch_verdict(config: ManyStepsConfig, measured: dict, predicted: dict) -> dict:
    """As many items as were seen: in the first steps (sizes), in all of them (limit)."""
    counts, seen = (np.array(rows[:FRESH_BATCH_SIZES]) for rows in (measured["batches"], predicted["observed"]))
    samples = np.outer(config.batch_sizes[:FRESH_BATCH_SIZES], np.arange(1, config.batch_steps + 1))

    def tracks(law, steps: int | None = None) -> bool:
        law = np.broadcast_to(np.array(law, dtype=float), counts.shape)
        error = np.sqrt(law / config.extra_seeds) / 2
        return bool((np.abs(counts - law) <= FRESH_BATCH_BAND * law + 1 + 2 * error)[:, :steps].all())

    rivals = {
        "what one batch shows": seen[:, :1],
        "every sample": samples,
        "batches without limit": np.array(measured["batches"][-1]),
        "half of what is seen": seen / 2,
    }
    first = lambda law: tracks(law, FRESH_BATCH_STEPS)  # noqa: E731
    return verdict(first(seen), tracks(seen), refuse(first, rivals), config.extra_seeds)


EXPERIMENT = Experiment(
    name="many-steps",
    purpose="the true iterates of Muon and gradient descent over many steps (Conjecture, Figures 4 and 5)",
    profiles={
        "smoke": ManyStepsConfig(
            dims=(24, 48),
            n_items=1024,
            seeds=2,
            steps=3,
            extra_seeds=1,
            trend_dims=(24, 48, 64),
            trend_items=1024,
            small_items=512,
            scan_dim=32,
            rates=(0.25, 1.0, 4.0),
            race_dim=24,
            race_steps=6,
            batch_sizes=(8, 64),
            batch_steps=4,
            momentum_dims=(24, 48),
            momenta=(0.0, 0.9),
            momentum_seeds=2,
            horizon_dims=(16, 24),
            horizon_steps=8,
            far_dims=(64, 128),
            far_items=4096,
        ),
        "cpu": ManyStepsConfig(),
        # the fits alone, two minutes for each α; then what stands beside them
        "confirm": ManyStepsConfig(seeds=16, extra_seeds=0, first_seed=4250),
        "confirm-extra": ManyStepsConfig(seeds=4, extra_seeds=8, momentum_seeds=8, first_seed=4300),
        "confirm-large": ManyStepsConfig(
            dims=(96, 192, 384, 768),
            n_items=32_768,
            seeds=4,
            threshold_constant=0.3,
            extra_seeds=0,
            first_seed=4350,
        ),
        "gpu": ManyStepsConfig(
            dims=(128, 181, 256, 362, 512, 724, 1024),
            n_items=131_072,
            lr_over_root_dim=1.5,
            trend_dims=(512, 1024, 2048),
            trend_items=131_072,
            extra_seeds=1,
            small_items=32_768,
            scan_dim=512,
            race_dim=512,
            race_steps=30,
            batch_sizes=(64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576),
            batch_steps=32,
            momentum_dims=(128, 256, 512),
            horizon_dims=(64, 128, 256, 512),
            horizon_steps=100,
        ),
    },
    grids=many_steps_grids,
    summarise=many_steps_summary,
    judge=judge_many_steps,
    unseen_from=FRESH_SEEDS,
)
