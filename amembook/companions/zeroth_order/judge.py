"""Measured numbers beside predicted ones, and the verdicts."""

import math
from collections.abc import Iterator

import numpy as np

from amembook.companions.zeroth_order import expected
from amembook.run.base import Results, slope
from amembook.run.claims import check, count_band, count_error, equivalence, exponents, numbers
from amembook.run.study import by_part, claims_by_part, means
from amemlib import theory
from amemlib.problem import Problem
from amemlib.scaling import first_crossing, fit_exponent

PARTS = ("quadratic", "rank", "gain", "passes", "whole")
FEWEST = 4.0  # from what expected count on a mean count is held to it
_RESAMPLES = 200


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Of the parts that were measured: slowdowns of quadratics and their exponents; tr H/h and gains by d; counts by K,
    the K at which half of what the gradient stores is stored, and its exponent, by map and α; counts over all K."""
    summaries = (_quadratic, _rank, _gain, _passes, _whole)
    return by_part(config, results, dict(zip(PARTS, summaries, strict=True)))


def _quadratic(config, results: Results) -> tuple[dict, dict]:
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
        measured["quadratic"][name] = ratio
        measured["quadratic_exponent"][name] = fit_exponent(getattr(config, name), ratio).slope
        predicted["quadratic"][name] = rows["start"]
    return measured, predicted


def _rank(config, results: Results) -> tuple[dict, dict]:
    ratio = results.array("rank", "ratio")
    fit = fit_exponent(config.rank_dims, ratio)
    p = Problem.power_law(config.rank_items, 1, config.alpha).frequencies
    law = {"rank": [expected.slowdown(p, dim) for dim in config.rank_dims]}
    return means({"rank": ratio}) | {"rank_exponent": fit.slope, "rank_interval": [fit.low, fit.high]}, law


def _gain(config, results: Results) -> tuple[dict, dict]:
    return means({key: results.array("gain", key) for key in ("gain", "gradient", "slowdown", "level")}), {}


def _passes(config, results: Results) -> tuple[dict, dict]:
    laws = {f"{alpha:g}": ("polar", alpha, config.dims, expected.polar_count) for alpha in config.alphas}
    laws["sgd"] = "sgd", config.alpha, config.sgd_dims, expected.sgd_count
    rows = ("counts", "counts_error", "estimates", "half", "exponent", "interval")
    measured, predicted = ({name: {} for name in rows} for _ in range(2))
    for name, (measure, alpha, dims, count) in laws.items():
        labels = dims if name == "sgd" else [f"{name}/{dim}" for dim in dims]
        _tell(measured, predicted, results, measure, labels, name, alpha, dims, config.n_items, count)
    predicted["limit"] = {f"{alpha:g}": 2 * alpha + 1 for alpha in config.alphas} | {"sgd": 1.0}
    return measured, predicted


def _whole(config, results: Results) -> tuple[dict, dict]:
    grid, measured, predicted = results.grids["whole"], {}, {}
    problem = Problem.power_law(config.n_items, config.dims[-1], config.alpha)
    measured["whole"], predicted["whole"] = {"estimates": grid.fixed["estimates"]}, {}
    for name, count in (("sgd", expected.sgd_count), ("polar", expected.polar_count)):
        counts = results.array("whole", "counts", map_name=name)
        measured["whole"][name] = counts.mean(0)
        predicted["whole"][name] = [count(problem, K) for K in grid.fixed["estimates"]]
        measured["whole"][f"{name}_error"] = count_error(counts, np.array(predicted["whole"][name]), 0)
        measured["whole"][f"{name}_full"] = results.array("whole", "full", map_name=name).mean()
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

    def halves(of, ends) -> list[float]:
        return [_half(K, row, end) for K, row, end in zip(estimates, of, ends, strict=True)]

    generator, slopes = np.random.default_rng(0), []
    for _ in range(_RESAMPLES):
        # draws of different d are independent
        drawn = generator.integers(counts.shape[1], size=counts.shape[:2])
        again = np.take_along_axis(counts, drawn[..., None], 1).mean(1), np.take_along_axis(full, drawn, 1).mean(1)
        slopes.append(slope(dims, halves(*again)))
    half, sharp = halves(counts.mean(1), full.mean(1)), halves(law, whole)
    measured["counts"][name], predicted["counts"][name] = counts.mean(1), law
    measured["counts_error"][name] = count_error(counts, np.array(law))
    measured["estimates"][name] = estimates
    measured["half"][name], predicted["half"][name] = half, sharp
    measured["exponent"][name], predicted["exponent"][name] = slope(dims, half), slope(dims, sharp)
    known = np.isfinite(slopes)
    interval = np.quantile(np.array(slopes)[known], [0.025, 0.975]) if known.mean() > 0.9 else [math.nan] * 2
    measured["interval"][name] = interval


def _half(estimates, counts, full: float) -> float:
    """The K at which a count is half of the full one; NaN off the grid."""
    try:
        return first_crossing(estimates, np.maximum(counts, 1e-3), full / 2)
    except ValueError:
        return math.nan


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Of the parts that were measured. quadratic: the slowdown grows faster with the copies of an eigenvalue than with
    the number of parameters, by an exact recursion: nothing is random. rank: on the memory tr H/h is its leading terms,
    and goes as d. gain: a step gains what it would on a quadratic. muon: K goes as d^(2α + 1). sgd: K goes as d.
    counts: at every K both maps store what is expected.
    """
    claims = (_judge_quadratic, _judge_rank, _judge_gain, _judge_passes, _judge_whole)
    return claims_by_part(config, measured, predicted, dict(zip(PARTS, claims, strict=True)))


def _judge_quadratic(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    exponent = measured["quadratic_exponent"]
    less = exponent["parameters"] - exponent["copies"]
    yield "quadratic", check(less, name="exponent in the parameters less that in the copies")


def _judge_rank(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    dims, draws = config.rank_dims, config.seeds
    held_to = {"law": predicted["rank"], "band": count_band(dims), "at": dims}
    rank = numbers("tr H/h at d =", measured["rank"], measured["rank_error"], draws, **held_to)
    fit = measured["rank_exponent"], measured["rank_interval"]
    powers = {"√d": 0.5, "d^(5/4)": 1.25, "d²": 2.0}
    law = slope(dims, predicted["rank"])
    yield "rank", equivalence(rank + exponents("exponent of d", *fit, law, 1, powers, draws))


def _judge_gain(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    gain, at = measured["gain"], [f"{d}, {level:g}" for d in config.gain_dims for level in config.levels]
    parameters = np.array(config.gain_dims)[:, None] ** 2
    slow = measured["slowdown"]
    rivals = {"slowdown by the parameters": slow / (parameters + 2), "no slowdown": slow}
    held_to = {"law": 1, "band": count_band(config.gain_dims)[:, None], "at": at, "rivals": rivals}
    name = "gain over a quadratic's at d, loss ="
    yield "gain", equivalence(numbers(name, gain, measured["gain_error"], config.seeds, **held_to))


def _counted(config, name: str, counts, error, law, at, draws: int, rivals: dict) -> list[dict]:
    enough = law >= FEWEST
    held_to = {"law": law[enough], "band": count_band(config.dims[0]), "at": np.array(at)[enough.ravel()]}
    held_to |= {"rivals": {key: own[enough] for key, own in rivals.items()}}
    return numbers(name, counts[enough], error[enough], draws, **held_to)


def _judge_passes(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    def passes(name: str, dims, limit: float, rivals: dict, draws: int) -> list[dict]:
        at = [f"{name}, {d}, {K:.2g}" for d, row in zip(dims, measured["estimates"][name], strict=True) for K in row]
        counts = measured["counts"][name], measured["counts_error"][name], predicted["counts"][name]
        judged = _counted(config, "items at law, d, K =", *counts, at, draws, {})
        fit = measured["exponent"][name], measured["interval"][name]
        return judged + exponents(f"exponent of d, {name}", *fit, predicted["exponent"][name], limit, rivals, draws)

    muon = []
    for alpha in config.alphas:
        limit = 2 * alpha + 1
        rivals = {"d, as SGD": 1.0, "d^(2α + 3/4)": limit - 0.25, "d^(2α)": 2 * alpha, "d^(2α + 2)": limit + 1}
        muon += passes(f"{alpha:g}", config.dims, limit, rivals, config.seeds)
    yield "muon", equivalence(muon)
    rivals = {"d^(3/4)": 0.75, "d²": 2.0, "d^(2α + 1), as Muon": 2 * config.alpha + 1}
    yield "sgd", equivalence(passes("sgd", config.sgd_dims, 1.0, rivals, config.sgd_seeds))


def _judge_whole(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    whole, law, judged = measured["whole"], predicted["whole"], []
    at = [f"{K:.2g}" for K in whole["estimates"]]
    noise = {"sgd": {"as Muon": law["polar"]}, "polar": {"as SGD": law["sgd"]}}
    noise["polar"]["noise as of K²"] = np.r_[law["polar"][::2], np.full(len(law["polar"]) // 2, law["polar"][-1])]
    for name, rivals in noise.items():
        counts = whole[name], whole[f"{name}_error"], law[name]
        judged += _counted(config, f"items by {name} at K =", *counts, at, config.seeds, rivals)
    yield "counts", equivalence(judged)
