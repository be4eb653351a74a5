"""Measured numbers beside predicted ones, and the verdicts."""

import math

import numpy as np

from amembook.companions.generative_leap import expected
from amembook.companions.generative_leap.measure import CONTROLS
from amembook.companions.generative_leap.tensors import TASKS
from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, count_band, equivalence, exponents, numbers, order
from amemlib.scaling import fit_exponent

PAIRS = {
    "sign, order 3": "sign, order 2",
    "bump, order 4": "bump, order 2",
    "leap, two passes": "leap, one pass",
    "cubic, order 1": "cubic, raw labels",
    "quartic, order 2": "quartic, raw labels",
}
"""Controls by name: the statistic of the right order and what is to have a smaller overlap on the same samples. Raw
labels have no signal, but their noise is larger along the direction than elsewhere: of He₃(z) by
E[He₃² z²]/E[He₃²] = 7, an overlap of 0.09 at d = 64 whatever n is."""
UNTOUCHED = 0.85
"""The share of its items that SGD must keep."""
MISSING = {
    "cubic": {"d^(5/4)": 1.25, "d^(3/2), of the raw label": 1.5},
    "quartic": {"d^(5/4)": 1.25, "d^(3/2)": 1.5},
    "leap": {"d^(5/4)": 1.25, "d^(3/2), without a leap": 1.5},
    "sign": {"d^(5/4)": 1.25, "d": 1.0, "d², of one pass": 2.0},
    "bump": {"d^(7/4)": 1.75, "d^(3/2)": 1.5, "d³, of one pass": 3.0},
}
"""Rival exponents: d^(k/2) of the information exponent, d^(k − 1) of one pass over the samples, and near ones."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """samples, by task: mean n by dimension, its standard error, their exponent and its interval; the law, but of two
    passes. controls: mean overlaps. memory: items by noise, dimension and ratio, shares, and exponents of batches."""
    measured = {key: {} for key in ("samples", "errors", "slope", "interval", "controls")}
    predicted = {"samples": {}, "slope": {}, "limit": {}}
    for task in TASKS:
        dims, found = config.dims(task), results.array(task, "samples").astype(float)
        measured["samples"][task], measured["errors"][task] = found.mean(1), standard_error(found)
        fit = fit_exponent(dims, found) if np.isfinite(found).all() else None
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
    every = _exponents(config, items["polar"], items["polar_clean"])
    draws = items["polar"].shape[2]
    # delete-one estimates: their spread about the mean is that of the whole sample, over √(draws − 1) each
    without = np.array(
        [_exponents(config, *(np.delete(items[name], k, 2) for name in ("polar", "polar_clean"))) for k in range(draws)]
        if draws > 1
        else [every]
    )
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
        # for matrices n is in proportion to d, and then noise in a bin is not Gaussian
        if TASKS[task].order != 2 and task != "leap":
            law = predicted["slope"][task]
            given = {"law": predicted["samples"][task], "band": count_band(dims), "at": dims}
            judged = numbers("samples at d =", measured["samples"][task], measured["errors"][task], draws, **given)
        fit = measured["slope"][task], measured["interval"][task]
        judged += exponents("exponent", *fit, law, predicted["limit"][task], rivals, draws)
        verdicts[task] = equivalence(judged)

    overlap, error = measured["controls"], measured["control_errors"]
    controls = []
    for right, wrong in PAIRS.items():
        spread = math.hypot(error[right], error[wrong])
        given = {"limit": 0, "scale": DIFFERENCE}
        controls += numbers(f"overlap of {right} less {wrong}", overlap[right] - overlap[wrong], spread, draws, **given)
    verdicts["controls"] = order(controls)

    limit = predicted["batch_exponent"], predicted["noise_exponent"]
    found, low, high = np.transpose(
        [[measured[f"{key}_exponent"], *measured[f"{key}_interval"]] for key in ("batch", "noise")]
    )
    rivals = {"σ^(7/4) d^α": (limit[0], 1.75), "σ² d^(α + 1/4)": (limit[0] + 0.25, 2.0), "σ d^α": (limit[0], 1.0)}
    given = {"draws": draws, "limit": limit, "band": EXPONENT, "scale": DIFFERENCE, "low": low, "high": high}
    given |= {"at": ("dimension", "noise"), "rivals": rivals}
    memory = numbers("exponent of the", found, **given)
    kept = measured["share"]["sgd"][..., np.array(config.ratios) >= 1].min()
    memory += numbers("least share of SGD's items", kept, limit=1, band=1 - UNTOUCHED, scale=DIFFERENCE, guard=True)
    return verdicts | {"memory": equivalence(memory)}


def _exponents(config, noisy: np.ndarray, clean: np.ndarray) -> tuple[float, float]:
    """Exponents in d and in σ of the batch at which the share of items kept is the config's, from items by dimension,
    noise, draw and ratio."""
    share = noisy.sum(2) / clean.sum(2)
    log_batch = np.array(
        [
            [
                _crossing(np.log(config.ratios), row, config.share) + 2 * np.log(noise) + config.alpha * np.log(dim)
                for noise, row in zip(config.noises, rows, strict=True)
            ]
            for dim, rows in zip(config.memory_dims, share, strict=True)
        ]
    )
    return slope(config.memory_dims, np.exp(log_batch.mean(1))), slope(config.noises, np.exp(log_batch.mean(0)))


def _crossing(x: np.ndarray, y: np.ndarray, level: float) -> float:
    """The first x at which y, linear between its points, reaches the level; NaN where it does not."""
    reached = np.flatnonzero(y >= level)
    if not len(reached) or reached[0] == 0:
        return math.nan
    k = reached[0]
    return float(x[k - 1] + (x[k] - x[k - 1]) * (level - y[k - 1]) / (y[k] - y[k - 1]))
