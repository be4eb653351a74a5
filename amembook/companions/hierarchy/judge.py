"""Measured numbers beside predicted ones, and the verdicts."""

import math

import numpy as np

from amembook.companions.hierarchy import expected
from amembook.companions.hierarchy.features import even_count, quadratic_count
from amembook.companions.hierarchy.measure import GAMMA
from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, SIZES, SMALL, equivalence, exponents, numbers, order
from amemlib.scaling import fit_exponent

LARGE, SPAN_LARGE = 12, 24
"""From which d on errors, and samples for the span, are held to their law: below, a feature of d eigenvalues ±1 is not
yet normal."""
HALVES = 2
"""How many times as many samples the measured layers need, for which each has a half: the law's δ is n/2D in place of
n/D. Joint passes use every sample twice."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """layers, joint, kernel, span: mean errors or overlaps by dimension and ratio, samples at the level, exponents.

    transfer, many, memory: means and standard errors.
    """
    parts = ("curve", "curve_error", "ratio", "ratio_error", "slope", "interval")
    measured = {part: {} for part in parts}
    law = [expected.layerwise_error(ratio) for ratio in config.ratios]
    predicted = {
        "curve": {"layerwise": [law] * len(config.dims)},
        "ratio": {"layerwise": [expected.layerwise_ratio(config.level)] * len(config.dims)},
        "slope": dict.fromkeys(("layerwise", "joint", "kernel", "raw", "clipped"), 1.0),
    }
    counts = {name: np.array([quadratic_count(d) for d in dims]) for name, dims in _dims(config).items()}
    even = np.array([even_count(d) for d in config.kernel_dims])
    curves = {
        "layerwise": (results.array("layerwise", "error"), config.ratios, config.level, counts["layerwise"], -1),
        "joint": (results.array("joint", "error"), config.joint_ratios, config.level, counts["joint"], -1),
        "kernel": (results.array("kernel", "error"), config.kernel_ratios, config.kernel_level, even, -1),
        "raw": (results.array("span", "raw"), config.span_ratios, 0.5, counts["span"], 1),
        "clipped": (results.array("span", "clipped"), config.span_ratios, 0.5, counts["span"], 1),
    }
    for name, (found, ratios, level, size, sign) in curves.items():
        needed = np.array([[crossing(ratios, row, level, sign) for row in rows] for rows in found])
        samples = needed * size[:, None]
        fit = fit_exponent(size, samples) if np.isfinite(samples).all() else None
        numbers = (
            found.mean(1),
            standard_error(found),
            needed.mean(1),
            standard_error(needed),
            fit.slope if fit else math.nan,
            [fit.low, fit.high] if fit else [math.nan, math.nan],
        )
        for part, values in zip(parts, numbers, strict=True):
            measured[part][name] = values
    clips = {"raw": math.inf, "clipped": config.clip}
    for name, clip in clips.items():
        laws = [[expected.span_overlap(r, c, clip) for r in config.span_ratios] for c in counts["span"].tolist()]
        predicted["curve"][name] = laws
        predicted["ratio"][name] = [crossing(config.span_ratios, law, 0.5, 1) for law in laws]
    for key in ("features", "kernel", "overlap"):
        found = results.array("transfer", key)
        measured[f"transfer_{key}"] = found.mean(1)
        measured[f"transfer_{key}_error"] = standard_error(found)
    many = results.array("many", "counts").astype(float)
    measured["many"], measured["many_error"] = many.mean(1), standard_error(many)
    predicted["naive"] = [expected.naive_count(r, config.many_features, config.beta) for r in config.many_ratios]
    predicted["crosstalk"] = [
        [expected.crosstalk_count(r, d, config.many_features, config.beta) for r in config.many_ratios]
        for d in config.many_dims
    ]
    items = {}
    for key in ("pairs", "alone"):
        for step in ("polar", "sgd"):
            items[f"{key}_{step}"] = results.array("memory", f"{key}_{step}").astype(float)
    measured["items"] = {name: found.mean(1) for name, found in items.items()}
    measured["items_error"] = {name: standard_error(found) for name, found in items.items()}
    gain = items["pairs_polar"] / items["pairs_sgd"].mean(1, keepdims=True)
    fit = fit_exponent(config.memory_dims, gain)
    measured["gain"] = fit.slope
    measured["gain_interval"] = [fit.low, fit.high]
    predicted["gain"] = 1.0
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """layers: errors on their law, samples as D. joint: fewer samples than layers without a split. kernel: samples as
    the number of even polynomials of degree 4. span: samples on their law and as D; clip: fewer if labels are cut.
    transfer: features that were learnt beat a kernel from scratch. naive, crosstalk: counts of many, and how they grow.
    pairs: as independent keys, and Muon's gain goes as d.
    """
    draws, held, large = config.seeds, np.array(config.dims) >= LARGE, np.array(config.span_dims) >= SPAN_LARGE
    at = lambda dims, ratios: [f"{d}, {ratio:g}" for d in dims for ratio in ratios]
    curve, error = (measured[key]["layerwise"][held] for key in ("curve", "curve_error"))
    layers = numbers(
        "error at d, n/D =",
        curve,
        error,
        draws,
        law=predicted["curve"]["layerwise"][0],
        band=SIZES,
        scale=DIFFERENCE,
        at=at(np.array(config.dims)[held], config.ratios),
    )
    powers = {"D^(5/4)": 1.25, "√D ∝ d": 0.5, "D^(3/2) ∝ d³": 1.5}
    fit = lambda name: (measured["slope"][name], measured["interval"][name])
    layers += exponents("exponent of D", *fit("layerwise"), None, 1, powers, draws)

    ratio, spread = (measured[key] for key in ("ratio", "ratio_error"))
    joint, error = _quotient(ratio, spread, "layerwise", "joint", held)
    fewer = numbers(
        "layers' samples without a split over joint ones at d =",
        joint / HALVES,
        error / HALVES,
        draws,
        limit=1,
        at=np.array(config.dims)[held],
    )

    dims, count = np.array(config.kernel_dims, dtype=float), np.log([even_count(d) for d in config.kernel_dims])
    in_count = lambda power: power * slope(np.exp(count), dims)
    rivals = {"D": in_count(2), "d³": in_count(3), "the count^(5/4)": 1.25}
    kernel = exponents("exponent of the count", *fit("kernel"), None, 1, rivals, draws)

    span = []
    for name in ("raw", "clipped"):
        law = np.array(predicted["ratio"][name])[large]
        span += numbers(
            f"n/D, {name}, at d =",
            ratio[name][large],
            spread[name][large],
            draws,
            law=law,
            band=SMALL,
            at=np.array(config.span_dims)[large],
        )
        span += exponents(f"exponent of D, {name}", *fit(name), None, 1, powers, draws)
    cut, error = _quotient(ratio, spread, "raw", "clipped", large)
    clip = numbers(
        "raw labels' samples over cut ones' at d =", cut, error, draws, limit=1, at=np.array(config.span_dims)[large]
    )

    kernels, features = (measured[f"transfer_{key}"] for key in ("kernel", "features"))
    error = np.hypot(measured["transfer_kernel_error"], measured["transfer_features_error"])
    transfer = numbers(
        "the kernel's error less that on features at d =",
        kernels - features,
        error,
        draws,
        limit=0,
        scale=DIFFERENCE,
        at=config.transfer_dims,
    )

    many, error = (measured[key] for key in ("many", "many_error"))
    naive = np.broadcast_to(predicted["naive"], many.shape)
    given = {"draws": draws, "band": SMALL, "at": at(config.many_dims, config.many_ratios)}
    counts = {
        "naive": numbers(
            "features at d, n/D =", many, error, law=naive, rivals={"crosstalk": predicted["crosstalk"]}, **given
        ),
        "crosstalk": numbers(
            "features at d, n/D =", many, error, law=predicted["crosstalk"], rivals={"naive": naive}, **given
        ),
    }

    pairs, alone = (measured["items"][f"{key}_polar"] for key in ("pairs", "alone"))
    errors = (measured["items_error"][f"{key}_polar"] for key in ("pairs", "alone"))
    same = numbers(
        "items with pairs over independent ones at d =",
        pairs / alone,
        np.hypot(*errors) / alone,
        draws,
        law=1,
        band=SMALL,
        at=config.memory_dims,
    )
    low, high = measured["gain_interval"]
    rivals = {"d^(3/4)": 0.75, "d^(1/2)": 0.5, "d^γ, the input's dimension": float(GAMMA)}
    same += numbers(
        "exponent of Muon's gain",
        measured["gain"],
        draws=draws,
        limit=predicted["gain"],
        band=EXPONENT,
        scale=DIFFERENCE,
        low=low,
        high=high,
        rivals=rivals,
    )
    verdicts = {"layers": layers, "kernel": kernel, "span": span, **counts, "pairs": same}
    orders = {"joint": fewer, "clip": clip, "transfer": transfer}
    return {name: equivalence(judged) for name, judged in verdicts.items()} | {
        name: order(judged) for name, judged in orders.items()
    }


def _quotient(values: dict, errors: dict, over: str, under: str, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One row of means over another, and its standard error."""
    above, below = (values[name][where] for name in (over, under))
    relative = np.hypot(errors[over][where] / above, errors[under][where] / below)
    return above / below, relative * above / below


def _dims(config) -> dict[str, tuple[int, ...]]:
    return {"layerwise": config.dims, "joint": config.dims, "span": config.span_dims}


def crossing(ratios, values, level: float, sign: int) -> float:
    """The first ratio at which values, linear in its logarithm between points, fall (−1) or rise (1) to the level."""
    x, y = np.log(ratios), sign * (np.asarray(values, dtype=float) - level)
    reached = np.flatnonzero(y >= 0)
    if not len(reached):
        return math.nan
    k = reached[0]
    if k == 0:
        return float(ratios[0])
    return float(np.exp(x[k - 1] - y[k - 1] * (x[k] - x[k - 1]) / (y[k] - y[k - 1])))
