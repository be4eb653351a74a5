"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib import theory
from amemlib.experiments.base import Results, count_error, standard_error
from amemlib.labs.zeroth_order import expected
from amemlib.problem import Problem
from amemlib.scaling import first_crossing, fit_exponent
from amemlib.verdicts import refuse, verdict

FLAT = 0.05
"""How far from 0 the exponent of a slowdown in the number of parameters may lie: the trace of the eigenvalues that are
left out still grows by a tenth over these sizes."""
IN_COPIES, IN_DIM = 0.2, 0.15
"""How far the exponent of a slowdown in the copies of an eigenvalue, or in d, may lie from 1: the constant 2 bends the
first at few copies, and items that stand alone the second at small d."""
RANK_BAND = 0.25
"""How far tr H/h at W = 0 may lie from its leading terms, beyond two standard errors: at d = 8 the first item decides,
and the mean of a ratio is none of means."""
GAIN_LOW, GAIN_HIGH = 0.8, 1.25
"""Between which a step's gain over a quadratic's must lie: a softmax is none, and 400 directions know it to 7 %."""
BAND, FEWEST = 0.08, 4.0
"""How far a mean count may lie from its expectation, beyond two standard errors, where that is at least four: head
items differ from their mean at these d."""
BELOW, ABOVE = 0.4, 0.7
"""How far below or above its limit the exponent of K in d may lie: at these d the logarithm of the number of rivals
and the head's distance from the bulk are still felt."""
SLOPE_BAND = 0.15
"""How far it may lie from that of the expected counts, beyond its interval."""
_RESAMPLES = 200


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Slowdowns of quadratics and their exponents; tr H/h and gains by d; counts by K, the K at which half of what the
    gradient stores is stored, and its exponent, by map and α; counts over all K."""
    measured, predicted = {"quadratic": {}, "quadratic_exponent": {}}, {"quadratic": {}}
    cases = {
        "parameters": [f"{count}/{config.base_copies}" for count in config.parameters],
        "copies": [f"{config.base_parameters}/{count}" for count in config.copies],
    }
    known = list(results.grids["quadratic"].axes["case"])
    for name, labels in cases.items():
        at = [known.index(label) for label in labels]
        rows = {key: results.array("quadratic", key)[at] for key in ("estimate", "gradient", "start")}
        ratio = rows["estimate"] / rows["gradient"]
        measured["quadratic"][name] = ratio.tolist()
        measured["quadratic_exponent"][name] = fit_exponent(getattr(config, name), ratio).slope
        predicted["quadratic"][name] = rows["start"].tolist()

    ratio = results.array("rank", "ratio")
    measured["rank"], measured["rank_error"] = ratio.mean(1).tolist(), standard_error(ratio).tolist()
    fit = fit_exponent(config.rank_dims, ratio)
    measured["rank_exponent"], measured["rank_interval"] = fit.slope, [fit.low, fit.high]
    p = Problem.power_law(config.rank_items, 1, config.alpha).frequencies
    predicted["rank"] = [expected.slowdown(p, dim) for dim in config.rank_dims]
    for key in ("gain", "gradient", "slowdown", "level"):
        values = results.array("gain", key)
        measured[key], measured[f"{key}_error"] = values.mean(1).tolist(), standard_error(values).tolist()

    laws = {f"{alpha:g}": (alpha, config.dims, expected.polar_count) for alpha in config.alphas}
    rows = ("counts", "counts_error", "estimates", "half", "exponent", "interval")
    for told in (measured, predicted):
        told.update({name: {} for name in rows})
    for name, (alpha, dims, count) in laws.items():
        labels = [f"{name}/{dim}" for dim in dims]
        _tell(measured, predicted, results, "polar", labels, name, alpha, dims, config.n_items, count)
        predicted["limit"] = predicted.get("limit", {}) | {name: 2 * alpha + 1}
    _tell(measured, predicted, results, "sgd", config.sgd_dims, "sgd", config.alpha, config.sgd_dims, config.n_items,
          expected.sgd_count)  # fmt: skip
    predicted["limit"]["sgd"] = 1.0

    grid = results.grids["whole"]
    problem = Problem.power_law(config.n_items, config.dims[-1], config.alpha)
    measured["whole"], predicted["whole"] = {"estimates": grid.fixed["estimates"]}, {}
    for name, count in (("sgd", expected.sgd_count), ("polar", expected.polar_count)):
        counts = results.array("whole", "counts", map_name=name)
        measured["whole"][name] = counts.mean(0).tolist()
        predicted["whole"][name] = [count(problem, K) for K in grid.fixed["estimates"]]
        measured["whole"][f"{name}_error"] = count_error(counts, np.array(predicted["whole"][name]), 0).tolist()
        measured["whole"][f"{name}_full"] = float(results.array("whole", "full", map_name=name).mean())
    predicted["recovery_exponent"] = theory.recovery_exponent("muon", config.alpha)
    return measured, predicted


def _tell(measured, predicted, results, measure, labels, name, alpha, dims, n_items, count) -> None:
    """The counts of one law by d and K, the K of half the gradient's count, and the exponent of that in d."""
    full = np.array([results.array(measure, "full", case=label) for label in labels], dtype=float)
    counts = np.array([results.array(measure, "counts", case=label) for label in labels])
    estimates = [results.grids[measure].axes["case"][label]["estimates"] for label in labels]
    problems = [Problem.power_law(n_items, dim, alpha) for dim in dims]
    law = [[count(problem, K) for K in Ks] for problem, Ks in zip(problems, estimates, strict=True)]
    whole = [count(problem, math.inf) for problem in problems]

    def halves(of: np.ndarray, ends) -> list[float]:
        return [_half(K, row, end) for K, row, end in zip(estimates, of, ends, strict=True)]

    generator, slopes = np.random.default_rng(0), []
    for _ in range(_RESAMPLES):
        # draws of different d are independent
        drawn = generator.integers(counts.shape[1], size=counts.shape[:2])
        again = np.take_along_axis(counts, drawn[..., None], 1).mean(1), np.take_along_axis(full, drawn, 1).mean(1)
        slopes.append(_slope(dims, halves(*again)))
    half, sharp = halves(counts.mean(1), full.mean(1)), halves(np.array(law), whole)
    measured["counts"][name], predicted["counts"][name] = counts.mean(1).tolist(), law
    measured["counts_error"][name] = count_error(counts, np.array(law)).tolist()
    measured["estimates"][name] = estimates
    measured["half"][name], predicted["half"][name] = half, sharp
    measured["exponent"][name], predicted["exponent"][name] = _slope(dims, half), _slope(dims, sharp)
    known = np.isfinite(slopes)
    interval = np.quantile(np.array(slopes)[known], [0.025, 0.975]).tolist() if known.mean() > 0.9 else [math.nan] * 2
    measured["interval"][name] = interval


def _half(estimates, counts, full: float) -> float:
    """The K at which a count is half of the full one; NaN off the grid."""
    try:
        return first_crossing(estimates, np.maximum(counts, 1e-3), full / 2)
    except ValueError:
        return math.nan


def _slope(dims, values) -> float:
    return float(np.polyfit(np.log(dims), np.log(values), 1)[0]) if np.isfinite(values).all() else math.nan


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """quadratic: the slowdown goes by the copies of an eigenvalue and not by the number of parameters. rank: on the
    memory tr H/h is its leading terms, and goes as d, not as the d² parameters. gain: a step gains what it would on a
    quadratic. muon: K goes as d^(2α + 1). sgd: K goes as d. counts: at every K both maps store what is expected.
    """
    exponent = measured["quadratic_exponent"]
    goes = lambda flat, steep: bool(  # noqa: E731
        abs(exponent["parameters"] - flat) <= FLAT and abs(exponent["copies"] - steep) <= IN_COPIES
    )
    rivals = {"the number of parameters": (1.0, 0.0), "neither": (0.0, 0.0), "the root of the rank": (0.0, 0.5)}
    met = goes(0.0, 1.0)
    verdicts = {"quadratic": verdict(met, met, refuse(lambda law: goes(*law), rivals))}

    rank, error, law = (_numbers(x) for x in (measured["rank"], measured["rank_error"], predicted["rank"]))
    near = bool((np.abs(rank - law) <= RANK_BAND * law + 2 * error).all())
    is_dim = lambda value: abs(measured["rank_exponent"] - value) <= IN_DIM  # noqa: E731
    rivals = {"d², the parameters": 2.0, "√d": 0.5, "d^1.5": 1.5, "not at all": 0.0}
    verdicts["rank"] = verdict(near, is_dim(1.0), refuse(is_dim, rivals), config.seeds)

    gain, slow = _numbers(measured["gain"]), _numbers(measured["slowdown"])
    parameters = np.array(config.gain_dims)[:, None] ** 2
    is_gain = lambda ratio: bool(((gain / ratio >= GAIN_LOW) & (gain / ratio <= GAIN_HIGH)).all())  # noqa: E731
    rivals = {"slowdown by the parameters": slow / (parameters + 2), "no slowdown": slow, "no noise": 2.0}
    met = is_gain(1.0)
    verdicts["gain"] = verdict(met, met, refuse(is_gain, rivals), config.seeds)

    def near_counts(counts, error, law) -> bool:
        counts, error, law = (_numbers(x) for x in (counts, error, law))
        return bool((np.abs(counts - law) <= BAND * law + 2 * error)[law >= FEWEST].all())

    def as_expected(name: str) -> bool:
        half = np.diff(_numbers(measured["interval"][name]))[0] / 2
        gap = abs(_number(measured["exponent"][name]) - _number(predicted["exponent"][name]))
        counts = (told[name] for told in (measured["counts"], measured["counts_error"], predicted["counts"]))
        return near_counts(*counts) and bool(gap <= SLOPE_BAND + half)

    alphas = np.array(config.alphas)
    slopes = _numbers([measured["exponent"][f"{alpha:g}"] for alpha in alphas])
    is_slope = lambda law: bool(((slopes >= law - BELOW) & (slopes <= law + ABOVE)).all())  # noqa: E731
    rivals = {
        "d, as SGD": np.ones(len(alphas)),
        "d², the parameters": np.full(len(alphas), 2.0),
        "d^(2α)": 2 * alphas,
        "d^(2α + 2)": 2 * alphas + 2,
        "d⁴ whatever α": np.full(len(alphas), 4.0),
    }
    met = all(as_expected(f"{alpha:g}") for alpha in alphas)
    verdicts["muon"] = verdict(met, is_slope(2 * alphas + 1), refuse(is_slope, rivals), config.seeds)

    slope = _number(measured["exponent"]["sgd"])
    is_sgd = lambda law: bool(law - BELOW <= slope <= law + ABOVE)  # noqa: E731
    rivals = {"d², the parameters": 2.0, "d^(2α + 1), as Muon": 2 * config.alpha + 1, "not at all": 0.0}
    verdicts["sgd"] = verdict(as_expected("sgd"), is_sgd(1.0), refuse(is_sgd, rivals), config.sgd_seeds)

    whole = lambda law: all(  # noqa: E731
        near_counts(measured["whole"][name], measured["whole"][f"{name}_error"], law[name]) for name in ("sgd", "polar")
    )
    polar, sgd = predicted["whole"]["polar"], predicted["whole"]["sgd"]
    rivals = {
        "the maps do the same": {"polar": sgd, "sgd": sgd},
        "no noise": {"polar": [polar[-1]] * len(polar), "sgd": [sgd[-1]] * len(sgd)},
        "noise as of K²": {"polar": polar[::2] + polar[-1:] * (len(polar) // 2), "sgd": sgd},
    }
    met = whole(predicted["whole"])
    verdicts["counts"] = verdict(met, met, refuse(whole, rivals), config.seeds)
    return verdicts


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)


def _number(value) -> float:
    return math.nan if value is None else float(value)
