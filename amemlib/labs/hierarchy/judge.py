"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.hierarchy import expected
from amemlib.labs.hierarchy.features import even_count, quadratic_count
from amemlib.labs.hierarchy.measure import GAMMA
from amemlib.scaling import fit_exponent
from amemlib.verdicts import refuse, verdict

LARGE = 12
"""From which d on errors are held to their law: below, a feature of d eigenvalues ±1 is not yet normal."""
ERROR_BAND, LAYER_SLOPE = 0.05, (0.15, 0.1)
"""How far an error may lie from its law beyond two standard errors; the exponent of n in D below and above 1."""
JOINT = 0.4
"""What joint passes may need at most of the samples that layers need."""
KERNEL = (0.7, 1.4)
"""Samples of the kernel over the number of even polynomials of degree 4."""
SPAN_BAND, SPAN_LARGE, SPAN_SLOPE, CLIPPED = 0.3, 24, (0.35, 0.15), 0.85
"""How far samples for the span may lie from their law for Gaussian z, from which d on; their exponent in D below and
above 1; the share of them that is enough where labels are cut."""
TRANSFER = 0.6
"""What the error on learnt features may be of the kernel's."""
MANY_BAND, GROWTH, SAME, GAIN = 0.2, 0.2, 0.12, 0.35
"""Relative distance of a count from its law, beyond one feature, for they come whole; of the exponent of the last
counts in d from the law's at these d; relative distance of items with pairs as keys from those with independent keys;
and of the exponent of Muon's gain from 1."""


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
        told = (
            found.mean(1).tolist(),
            standard_error(found).tolist(),
            needed.mean(1).tolist(),
            standard_error(needed).tolist(),
            fit.slope if fit else math.nan,
            [fit.low, fit.high] if fit else [math.nan, math.nan],
        )
        for part, values in zip(parts, told, strict=True):
            measured[part][name] = values
    clips = {"raw": math.inf, "clipped": config.clip}
    for name, clip in clips.items():
        laws = [[expected.span_overlap(r, c, clip) for r in config.span_ratios] for c in counts["span"].tolist()]
        predicted["curve"][name] = laws
        predicted["ratio"][name] = [crossing(config.span_ratios, law, 0.5, 1) for law in laws]
    for key in ("features", "kernel", "overlap"):
        found = results.array("transfer", key)
        measured[f"transfer_{key}"] = found.mean(1).tolist()
        measured[f"transfer_{key}_error"] = standard_error(found).tolist()
    many = results.array("many", "counts").astype(float)
    measured["many"], measured["many_error"] = many.mean(1).tolist(), standard_error(many).tolist()
    predicted["naive"] = [expected.naive_count(r, config.many_features, config.beta) for r in config.many_ratios]
    predicted["crosstalk"] = [
        [expected.crosstalk_count(r, d, config.many_features, config.beta) for r in config.many_ratios]
        for d in config.many_dims
    ]
    items = {}
    for key in ("pairs", "alone"):
        for step in ("polar", "sgd"):
            items[f"{key}_{step}"] = results.array("memory", f"{key}_{step}").astype(float)
    measured["items"] = {name: found.mean(1).tolist() for name, found in items.items()}
    measured["items_error"] = {name: standard_error(found).tolist() for name, found in items.items()}
    gain = items["pairs_polar"] / items["pairs_sgd"].mean(1, keepdims=True)
    fit = fit_exponent(config.memory_dims, gain)
    measured["gain"] = fit.slope
    measured["gain_interval"] = [fit.low, fit.high]
    predicted["gain"] = 1.0
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """layers: errors on their law, samples as D. joint: fewer by far. kernel: as many samples as there are even
    polynomials of degree 4. span: samples as D and on their law; clip: fewer if labels are cut. transfer: features that
    were learnt beat a kernel from scratch. naive, crosstalk: counts of many. pairs: as independent keys, and Muon's
    gain goes as d.
    """
    verdicts = {}
    held = np.array(config.dims) >= LARGE
    curve, error = (np.array(measured[key]["layerwise"], dtype=float)[held] for key in ("curve", "curve_error"))
    near = bool(
        (np.abs(curve - np.array(predicted["curve"]["layerwise"][0])) <= ERROR_BAND + 2 * np.nan_to_num(error)).all()
    )
    rivals = {"√D ∝ d": 0.5, "D^(3/2) ∝ d³": 1.5, "D² ∝ d⁴": 2.0}
    verdicts["layers"] = verdict(_judged(near, held), *_slope(measured, "layerwise", *LAYER_SLOPE, rivals))

    ratio = np.array(measured["ratio"]["joint"], dtype=float) / np.array(measured["ratio"]["layerwise"], dtype=float)
    ratio = ratio[held]
    refused = refuse(lambda share: not (ratio < 0.9 * share).all(), {"no better than layers": 1.0, "half": 0.5})
    verdicts["joint"] = verdict(None, _judged((ratio <= JOINT).all(), held), refused)

    kernel = np.array(measured["ratio"]["kernel"], dtype=float)
    dims = np.array(config.kernel_dims)
    even = np.array([even_count(d) for d in config.kernel_dims], dtype=float)

    def is_shape(shape) -> bool:
        over = kernel * even / shape
        # with the constant that suits a rival best
        return bool(over.max() / over.min() <= KERNEL[1] / KERNEL[0])

    met = bool((KERNEL[0] <= kernel).all() and (kernel <= KERNEL[1]).all())
    count = np.array([quadratic_count(d) for d in config.kernel_dims], dtype=float)
    verdicts["kernel"] = verdict(None, met, refuse(is_shape, {"D": count, "D³": count**3, "d": dims.astype(float)}))

    large = np.array(config.span_dims) >= SPAN_LARGE
    near = all(
        (
            np.abs(np.array(measured["ratio"][name], dtype=float) - np.array(predicted["ratio"][name], dtype=float))
            <= SPAN_BAND * np.array(predicted["ratio"][name], dtype=float)
            + 2 * np.nan_to_num(np.array(measured["ratio_error"][name], dtype=float))
        )[large].all()
        for name in ("raw", "clipped")
    )
    rivals = {"√D ∝ d": 0.5, "D² ∝ d⁴, the upper bound": 2.0}
    slopes = [_slope(measured, name, *SPAN_SLOPE, rivals) for name in ("raw", "clipped")]
    refused = [name for name in rivals if all(name in told for _, told in slopes)]
    verdicts["span"] = verdict(_judged(near, large), all(met for met, _ in slopes), refused)

    share = np.array(measured["ratio"]["clipped"], dtype=float) / np.array(measured["ratio"]["raw"], dtype=float)
    share = share[large]
    refused = ["as raw labels"] if (share < 0.95).all() else []
    verdicts["clip"] = verdict(None, _judged((share <= CLIPPED).all(), large), refused)

    errors = (np.array(measured[f"transfer_{key}"], dtype=float) for key in ("features", "kernel"))
    share = next(errors) / next(errors)
    refused = ["a kernel from scratch"] if (share < 0.9).all() else []
    verdicts["transfer"] = verdict(None, bool((share <= TRANSFER).all()), refused)

    many, error = (np.array(measured[key], dtype=float) for key in ("many", "many_error"))
    naive, disturbed = (np.array(predicted[key], dtype=float) for key in ("naive", "crosstalk"))

    def is_many(law) -> bool:
        return bool((np.abs(many - law) <= 1 + MANY_BAND * law + 2 * np.nan_to_num(error)).all())

    rivals = {"all of them": float(config.many_features), "one": 1.0}
    verdicts["naive"] = verdict(is_many(naive), is_many(naive), refuse(is_many, rivals))
    growth, law = (_growth(config.many_dims, counts[:, -1]) for counts in (many, disturbed))
    refused = refuse(is_many, {"naive": naive} | rivals)
    verdicts["crosstalk"] = verdict(is_many(disturbed), bool(abs(growth - law) <= GROWTH), refused)

    pairs, alone = (np.array(measured["items"][f"{key}_polar"], dtype=float) for key in ("pairs", "alone"))
    spread = np.hypot(*(np.array(measured["items_error"][f"{key}_polar"]) for key in ("pairs", "alone")))
    same = bool((np.abs(pairs / alone - 1) <= SAME + 2 * np.nan_to_num(spread / alone)).all())
    is_gain = lambda value: abs(measured["gain"] - value) <= GAIN  # noqa: E731
    rivals = {"no gain in d": 0.0, "d^(1/2)": 0.5, "d^γ, the input's dimension": float(GAMMA)}
    verdicts["pairs"] = verdict(same, bool(is_gain(predicted["gain"])), refuse(is_gain, rivals))
    return verdicts


def _growth(dims, counts: np.ndarray) -> float:
    """The exponent of counts in d."""
    return float(np.polyfit(np.log(dims), np.log(counts), 1)[0])


def _dims(config) -> dict[str, tuple[int, ...]]:
    return {"layerwise": config.dims, "joint": config.dims, "span": config.span_dims}


def _judged(met, sizes: np.ndarray) -> bool | None:
    """An answer, None where no size is large enough for the question."""
    return bool(met) if sizes.any() else None


def _slope(measured: dict, name: str, below: float, above: float, rivals: dict) -> tuple[bool, list[str]]:
    """Whether the exponent in D is 1, and the rivals that its whole interval refuses."""
    slope, (low, high) = measured["slope"][name], measured["interval"][name]
    if slope is None or math.isnan(slope):
        return False, []
    met = bool(1 - below <= slope <= 1 + above)
    return met, refuse(lambda value: not (high < value - below or low > value + above), rivals)


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
