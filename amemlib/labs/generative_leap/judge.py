"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.generative_leap import expected
from amemlib.labs.generative_leap.measure import CONTROLS
from amemlib.labs.generative_leap.tensors import TASKS
from amemlib.scaling import fit_exponent
from amemlib.verdicts import refuse, verdict

BANDS = {"cubic": (0.15, 0.12), "quartic": (0.15, 0.12), "leap": (0.15, 0.12), "sign": (0.3, 0.1), "bump": (0.3, 0.15)}
"""How far below and above its limit an exponent may lie: at these d the next term in n is seen, and it has d^1."""
SIZE_BAND = 0.2
"""How far n may lie from its law for these sizes, beyond two standard errors: the law takes noise as Gaussian, and n is
looked at in steps of 12 %."""
NOTHING, RAW, ONE_OF_THREE, SOMETHING = 0.08, 0.25, 0.36, 0.5
"""Mean overlaps: of a control of too low an order, of one with raw labels, of one that may find a direction of three,
and of one that must succeed. Raw labels have no signal, but their noise is larger along the direction than elsewhere:
of He₃(z) by E[He₃² z²]/E[He₃²] = 7, an overlap of 0.09 at d = 64 whatever n is."""
MEMORY_BAND, NOISE_BAND, UNTOUCHED = 0.25, 0.35, 0.85
"""How far the exponents of the batch in d and in σ may lie from α and 2; the share of its items that SGD must keep."""
MISSING = {
    "cubic": {"d^(3/2), of the raw label": 1.5, "d², of one pass": 2.0},
    "quartic": {"d^(3/2)": 1.5, "d², of the raw label": 2.0},
    "leap": {"d^(3/2), without a leap": 1.5, "d²": 2.0},
    "sign": {"d": 1.0, "d², of one pass": 2.0, "d³": 3.0},
    "bump": {"d": 1.0, "d^(3/2)": 1.5, "d³, of one pass": 3.0},
}
"""Rival exponents: d^(k/2) of the information exponent, d^(k − 1) of one pass over the samples, and others."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """samples, by task: mean n by dimension, its standard error, their exponent and its interval; the law, but of two
    passes. controls: mean overlaps. memory: items by noise, dimension and ratio, shares, and exponents of batches."""
    measured = {key: {} for key in ("samples", "errors", "slope", "interval", "controls")}
    predicted = {"samples": {}, "slope": {}, "limit": {}}
    for task in TASKS:
        dims, found = config.dims(task), results.array(task, "samples").astype(float)
        measured["samples"][task], measured["errors"][task] = found.mean(1).tolist(), standard_error(found).tolist()
        fit = fit_exponent(dims, found) if np.isfinite(found).all() else None
        measured["slope"][task] = fit.slope if fit else math.nan
        measured["interval"][task] = [fit.low, fit.high] if fit else [math.nan] * 2
        predicted["limit"][task] = max(1.0, TASKS[task].order / 2)
        if task != "leap":
            law = [expected.samples(task, d, config.bins, config.level) for d in dims]
            predicted["samples"][task], predicted["slope"][task] = law, fit_exponent(dims, law).slope
    overlaps = results.array("controls", "overlap")
    measured["controls"] = dict(zip(CONTROLS, overlaps.mean(1).tolist(), strict=True))
    measured["control_errors"] = dict(zip(CONTROLS, standard_error(overlaps).tolist(), strict=True))

    items = {name: results.array("memory", name).astype(float) for name in ("polar", "polar_clean", "sgd", "sgd_clean")}
    measured["items"] = {name: counts.mean(2).tolist() for name, counts in items.items()}
    share = lambda name: items[name].sum(2) / items[f"{name}_clean"].sum(2)  # noqa: E731
    measured["share"] = {name: share(name).tolist() for name in ("polar", "sgd")}
    every = _exponents(config, items["polar"], items["polar_clean"])
    draws = items["polar"].shape[2]
    # delete-one estimates: their spread about the mean is that of the whole sample, over √(draws − 1) each
    without = np.array([_exponents(config, *(np.delete(items[name], k, 2) for name in ("polar", "polar_clean")))
                        for k in range(draws)] if draws > 1 else [every])  # fmt: skip
    error = np.sqrt((draws - 1) * without.var(0))
    for key, value, one in zip(("batch", "noise"), every, error, strict=True):
        measured[f"{key}_exponent"] = float(value)
        measured[f"{key}_interval"] = [float(value - 2 * one), float(value + 2 * one)]
    predicted["batch_exponent"], predicted["noise_exponent"] = config.alpha, 2.0
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """By task: n grows as d^(1 ∨ k*/2), and is the law's at these d where there is one; other exponents lie outside.
    controls: what must fail fails, and the statistic of the right order succeeds on the same samples. memory: the batch
    at which Muon keeps its share of the items goes as σ² d^α, and SGD keeps its items at every batch.
    """
    verdicts = {}
    for task, (below, above) in BANDS.items():
        slope, interval = float(measured["slope"][task] or math.nan), measured["interval"][task]
        low, high = (math.nan if end is None else end for end in interval)
        met = predicted["limit"][task] - below <= slope <= predicted["limit"][task] + above

        def may(value, low=low, high=high, below=below, above=above) -> bool:
            return not (high < value - below or low > value + above)

        near = None
        # for matrices n is in proportion to d, and then noise in a bin is not Gaussian
        if TASKS[task].order != 2:
            found, error, law = (
                np.array(told[key][task], dtype=float)
                for told, key in ((measured, "samples"), (measured, "errors"), (predicted, "samples"))
            )
            near = bool((np.abs(found - law) <= SIZE_BAND * law + 2 * np.nan_to_num(error)).all())
        verdicts[task] = verdict(near, met, refuse(may, MISSING[task]))

    told = list(measured["controls"].items())
    nothing = all(value <= (RAW if "raw" in name else NOTHING) for name, value in told[:7])
    leap, found = told[7][1], all(value >= SOMETHING for _, value in told[8:])
    refused = ["lower orders suffice"] * nothing + ["one pass over a leap"] * (leap <= ONE_OF_THREE)
    verdicts["controls"] = verdict(None, nothing and found and leap <= ONE_OF_THREE, refused)

    def is_memory(exponents) -> bool:
        pairs = list(zip(("batch", "noise"), exponents, (MEMORY_BAND, NOISE_BAND), strict=True))
        # a record has None where an exponent is no number
        found = {
            key: math.nan if measured[f"{key}_exponent"] is None else measured[f"{key}_exponent"] for key, *_ in pairs
        }
        return all(abs(found[key] - value) <= band for key, value, band in pairs)

    law = (predicted["batch_exponent"], predicted["noise_exponent"])
    rivals = {"σ²d": (1.0, 2.0), "σ²d²": (2.0, 2.0), "σd^α": (law[0], 1.0), "any noise": (law[0], 0.0)}
    from_one = np.array(config.ratios) >= 1
    kept = bool((np.array(measured["share"]["sgd"])[..., from_one] >= UNTOUCHED).all())
    verdicts["memory"] = verdict(None, is_memory(law) and kept, refuse(is_memory, rivals))
    return verdicts


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
    slope = lambda x, y: float(np.polyfit(np.log(x), y, 1)[0]) if np.isfinite(y).all() else math.nan  # noqa: E731
    return slope(config.memory_dims, log_batch.mean(1)), slope(config.noises, log_batch.mean(0))


def _crossing(x: np.ndarray, y: np.ndarray, level: float) -> float:
    """The first x at which y, linear between its points, reaches the level; NaN where it does not."""
    reached = np.flatnonzero(y >= level)
    if not len(reached) or reached[0] == 0:
        return math.nan
    k = reached[0]
    return float(x[k - 1] + (x[k] - x[k - 1]) * (level - y[k - 1]) / (y[k] - y[k - 1]))
