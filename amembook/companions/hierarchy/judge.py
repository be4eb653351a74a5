"""Measured numbers beside predicted ones, and the verdicts."""

import math

import numpy as np

from amembook.companions.hierarchy import expected
from amembook.companions.hierarchy.features import even_count, quadratic_count
from amembook.companions.hierarchy.measure import GAMMA
from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import DIFFERENCE, SIZES, SMALL, equivalence, exponents, numbers, order
from amemlib.scaling import fit_exponent

LARGE = 24
"""From which d on errors, and samples for the span, are held to their law: below, a feature of d eigenvalues ±1 is not
yet normal."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """layerwise, joint, kernel, span: mean errors or overlaps by dimension and ratio, samples at the level, exponents.

    transfer, memory: means and standard errors.
    """
    parts = ("curve", "curve_error", "ratio", "ratio_error", "slope", "interval")
    measured = {part: {} for part in parts}
    count = {key: np.array([quadratic_count(d) for d in getattr(config, key)]) for key in ("dims", "span_dims")}
    even = np.array([even_count(d) for d in config.kernel_dims])
    curves = {"layerwise": (results.array("layers", "layerwise"), config.ratios, config.level, count["dims"], -1)}
    curves |= {"joint": (results.array("layers", "joint"), config.ratios, config.level, count["dims"], -1)}
    curves |= {"kernel": (results.array("kernel", "error"), config.kernel_ratios, config.kernel_level, even, -1)}
    curves |= {"span": (results.array("span", "overlap"), config.span_ratios, 0.5, count["span_dims"], 1)}
    for name, (found, ratios, level, size, sign) in curves.items():
        needed = np.array([[crossing(ratios, row, level, sign) for row in rows] for rows in found])
        samples = needed * size[:, None]
        fit = fit_exponent(size, samples) if np.isfinite(samples).all() else None
        told = (
            found.mean(1),
            standard_error(found),
            needed.mean(1),
            standard_error(needed),
            fit.slope if fit else math.nan,
            [fit.low, fit.high] if fit else [math.nan, math.nan],
        )
        for part, values in zip(parts, told, strict=True):
            measured[part][name] = values
    spans = [[expected.span_overlap(r, c) for r in config.span_ratios] for c in count["span_dims"].tolist()]
    predicted = {
        "curve": {"layerwise": [expected.layerwise_error(ratio) for ratio in config.ratios], "span": spans},
        "ratio": {
            "layerwise": expected.layerwise_ratio(config.level),
            "span": [crossing(config.span_ratios, law, 0.5, 1) for law in spans],
        },
        "slope": dict.fromkeys(curves, 1.0),
        "gain": 1.0,
    }
    for key in ("features", "kernel", "overlap"):
        found = results.array("transfer", key)
        measured[f"transfer_{key}"] = found.mean(1)
        measured[f"transfer_{key}_error"] = standard_error(found)
    kinds = [f"{key}_{step}" for key in ("pairs", "alone") for step in ("polar", "sgd")]
    items = {kind: results.array("memory", kind).astype(float) for kind in kinds}
    measured["items"] = {name: found.mean(1) for name, found in items.items()}
    measured["items_error"] = {name: standard_error(found) for name, found in items.items()}
    fit = fit_exponent(config.memory_dims, items["pairs_polar"] / items["pairs_sgd"].mean(1, keepdims=True))
    measured["gain"], measured["gain_interval"] = fit.slope, [fit.low, fit.high]
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """layers: errors on their law, samples as D. joint: fewer samples than layers on the same samples. kernel: samples
    as the number of even polynomials of degree 4. span: samples on their law and as D. transfer: features that were
    learnt beat a kernel from scratch. pairs: as independent keys, and Muon's gain goes as d.
    """
    draws = config.seeds
    held, large = (np.array(dims) >= LARGE for dims in (config.dims, config.span_dims))
    ratio, spread = measured["ratio"], measured["ratio_error"]
    powers = {"D^(5/4)": 1.25, "√D ∝ d": 0.5, "D^(3/2) ∝ d³": 1.5}
    fit = lambda name: (measured["slope"][name], measured["interval"][name])

    beside = {"law": predicted["curve"]["layerwise"], "band": SIZES, "scale": DIFFERENCE}
    beside |= {"at": [f"{d}, {ratio:g}" for d in np.array(config.dims)[held] for ratio in config.ratios]}
    layers = numbers(
        "error at d, n/D =",
        measured["curve"]["layerwise"][held],
        measured["curve_error"]["layerwise"][held],
        draws,
        **beside,
    )
    layers += exponents("exponent of D", *fit("layerwise"), None, 1, powers, draws)

    over = ratio["layerwise"][held] / ratio["joint"][held]
    relative = np.hypot(*(spread[name][held] / ratio[name][held] for name in ("layerwise", "joint")))
    fewer = numbers(
        "layers' samples over joint ones at d =", over, relative * over, draws, limit=1, at=np.array(config.dims)[held]
    )

    in_count = lambda power: power * slope([even_count(d) for d in config.kernel_dims], config.kernel_dims)
    rivals = {"D": in_count(2), "d³": in_count(3), "the count^(5/4)": 1.25}
    kernel = exponents("exponent of the count", *fit("kernel"), None, 1, rivals, draws)

    dims = np.array(config.span_dims)[large]
    given = {"law": np.array(predicted["ratio"]["span"])[large], "band": SMALL, "at": dims}
    span = numbers("n/D of the span at d =", ratio["span"][large], spread["span"][large], draws, **given)
    span += exponents("exponent of D", *fit("span"), None, 1, powers, draws)

    better = measured["transfer_kernel"] - measured["transfer_features"]
    error = np.hypot(measured["transfer_kernel_error"], measured["transfer_features_error"])
    given = {"limit": 0, "scale": DIFFERENCE, "at": config.transfer_dims}
    transfer = numbers("the kernel's error less that on features at d =", better, error, draws, **given)

    pairs, alone = (measured["items"][f"{key}_polar"] for key in ("pairs", "alone"))
    error = np.hypot(*(measured["items_error"][f"{key}_polar"] for key in ("pairs", "alone"))) / alone
    given = {"law": 1, "band": SMALL, "at": config.memory_dims}
    same = numbers("items with pairs over independent ones at d =", pairs / alone, error, draws, **given)
    rivals = {"d^(3/4)": 0.75, "d^(1/2)": 0.5, "d^γ, the input's dimension": float(GAMMA)}
    gain = (measured["gain"], measured["gain_interval"])
    same += exponents("exponent of Muon's gain", *gain, None, predicted["gain"], rivals, draws)

    laws = {"layers": layers, "kernel": kernel, "span": span, "pairs": same}
    orders = {"joint": fewer, "transfer": transfer}
    return {name: equivalence(judged) for name, judged in laws.items()} | {
        name: order(judged) for name, judged in orders.items()
    }


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
