"""`hierarchy`: layers that learn a quadratic feature first need as many samples as it has numbers, a kernel the square.

A study of Wang, Nichani and Lee, arXiv:2311.13774, and on Fu, Wang, Nichani and Lee, arXiv:2411.17201.

Claim: layerwise gradient descent on a three-layer network learns g(p(x)), p of degree k and g of degree q, in Õ(d^k)
samples where kernels need Θ̃(d^(kq)); with several quadratic features it finds their span and learns the target, or
another link, in Õ(d⁴) samples where kernels need Θ(d^(2p)) (abstracts).

Caveats: errors, and samples for the span, are held to their law from d = 24 on: below, a feature of d eigenvalues ±1 is
not yet normal. Of joint passes and transfer only growths and orders are judged. The laws of the kernel and of a finite
d were seen to hold on the first record. The kernel's samples are held to 5 %, harmonics as independent features leaving
out one over the root of their number, 294 to 1287. Errors at a finite d are held to 0.03 as those of large d: a
quadratic in place of the best function and a normal rest cost up to 0.016, by simulation on seeds 0 to 3.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.companions.hierarchy import expected, measure
from amembook.companions.hierarchy.features import even_count, quadratic_count
from amembook.run.base import (
    AscendingPositives,
    Chance,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Results,
    SteepAlpha,
    draws,
    each,
    first_reached,
    slope,
    some_of,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, SIZES, SMALL, equivalence, exponents, numbers, order
from amembook.run.studies import headline
from amembook.run.study import by_part, claims_by_part, law, means, of_part
from amemlib.checks import check_count, check_dims
from amemlib.scaling import fit_exponent

PARTS = ("first", "harmonics", "fresh")
"""All of the first record; the kernel beside the law of its harmonics; two layers beside their law at a finite d."""
ALONE = ("layers", "span", "pairs")
"""What the first record left undecided, each in a record of its own with more draws."""
LAYERS = ("layerwise", "joint")
LARGE = 24  # from which d on errors, and samples for the span, are held to their law


def _check_even(name: str, value: int) -> None:
    if value % 2:
        raise ValueError(f"{name} must hold even dimensions, got {value!r}")


ManyDims = Annotated[Dims, partial(check_dims, least=4)]
EvenDims = Annotated[ManyDims, each(_check_even)]
OneEven = Annotated[tuple[int, ...], partial(check_dims, count=1, least=4), each(_check_even)]


@dataclass(frozen=True)
class HierarchyConfig(Config):
    """Sizes. D = d(d + 1)/2 is the number of quadratic features."""

    parts: Annotated[tuple[str, ...], some_of(*PARTS, *ALONE)] = PARTS  # what a record measures
    dims: EvenDims = (8, 12, 16, 24, 32)  # d of one feature
    ratios: AscendingPositives = (1.2, 1.6, 2.2, 3.2, 4.5, 6.5, 9.0)  # samples over D
    level: Chance = 0.3  # the error that counts as learnt
    kernel_dims: EvenDims = (6, 8, 10, 12)
    # samples over the number of even polynomials of degree 4
    kernel_ratios: AscendingPositives = (0.5, 0.65, 0.8, 0.95, 1.1, 1.3, 1.6)
    kernel_level: Chance = 0.2
    span_dims: EvenDims = (12, 16, 24, 32)  # d of two features
    span_ratios: AscendingPositives = (2.0, 3.0, 4.2, 6.0, 8.5, 12.0, 20.0)  # samples over D
    transfer_dims: EvenDims = (12, 16, 20)
    transfer_ratio: Positive = 100.0
    new_labels: Annotated[int, partial(check_count, least=4)] = 600  # of another link
    memory_dims: ManyDims = (16, 24, 36, 54)  # of the memory whose keys are pairs
    alpha: SteepAlpha = 1.5
    harmonic_dims: EvenDims = (8, 10, 12)  # of the kernel, and samples over the polynomials, beside its law
    harmonic_ratios: AscendingPositives = (0.65, 0.8, 0.95, 1.1, 1.3)
    fresh_dims: OneEven = (8, 12, 16)  # of layers with fresh samples
    fresh_ratios: AscendingPositives = (1.6, 2.2, 4.5, 9.0)  # samples of the first over D
    seeds: Count = 24
    first_seed: Natural = 0


def grids(config: HierarchyConfig) -> dict[str, Grid]:
    """Errors of layers, joint passes and kernel by dimension; the span of two features; transfer; pairs as keys of the
    memory. Kernel and layers beside laws of a finite dimension."""
    seeds = {"seed": draws(config)}
    harmonics = {"dim": config.harmonic_dims} | seeds
    every = {
        "first": {
            "layers": Grid(measure.measure_layers, {"dim": config.dims} | seeds),
            "kernel": Grid(measure.measure_kernel, {"dim": config.kernel_dims} | seeds),
            "span": Grid(measure.measure_span, {"dim": config.span_dims} | seeds),
            "transfer": Grid(measure.measure_transfer, {"dim": config.transfer_dims} | seeds),
            "memory": Grid(measure.measure_memory, {"dim": config.memory_dims} | seeds),
        },
        "harmonics": {
            "harmonics": Grid(measure.measure_kernel, harmonics, **of_part(config, "harmonic", kernel_ratios="ratios"))
        },
        "fresh": {"fresh": Grid(measure.measure_fresh, {"fresh_dim": config.fresh_dims} | seeds)},
        "layers": {"two": Grid(measure.measure_two, {"dim": config.dims} | seeds)},
    }
    every |= {"span": {"span": every["first"]["span"]}, "pairs": {"memory": every["first"]["memory"]}}
    return {name: grid for part in config.parts for name, grid in every[part].items()}


def summarise(config, results: Results) -> tuple[dict, dict]:
    """layerwise, joint, kernel, span: mean errors or overlaps by dimension and ratio, samples at the level, exponents.

    transfer, memory: means and standard errors. harmonics: the kernel's samples at the level over the polynomials, by
    dimension and draw; predicted: the law, without a finite d's share of the square, and with order 2 for nothing.
    fresh: errors by dimension, ratio and draw; predicted: the laws at that d and at a large one.
    """
    summaries = {"first": _first, "harmonics": _harmonics, "fresh": _fresh}
    return by_part(config, results, summaries | {"layers": _layers, "span": _span, "pairs": _pairs})


def _harmonics(config, results: Results) -> tuple[dict, dict]:
    level, errors = config.kernel_level, results.array("harmonics", "error")
    needed = [[crossing(config.harmonic_ratios, row, level, -1) for row in rows] for rows in errors]
    others = {"law": {}, "normal": {"square": 1.0}, "free": {"free": (2,)}}
    laws = {
        name: [expected.kernel_ratio(level, d, **other) for d in config.harmonic_dims] for name, other in others.items()
    }
    return {"harmonics": np.array(needed)}, {"harmonics": laws}


def _fresh(config, results: Results) -> tuple[dict, dict]:
    own = [[expected.layerwise_error(one, d) for one in config.fresh_ratios] for d in config.fresh_dims]
    large = [[expected.layerwise_error(one) for one in config.fresh_ratios] for _ in config.fresh_dims]
    return {"fresh": results.array("fresh", "error").swapaxes(1, 2)}, {"fresh": {"law": own, "large": large}}


def _first(config, results: Results) -> tuple[dict, dict]:
    count, even = _counts(config.dims), np.array([even_count(d) for d in config.kernel_dims])
    curves = {name: (results.array("layers", name), config.ratios, config.level, count, -1) for name in LAYERS}
    curves |= {"kernel": (results.array("kernel", "error"), config.kernel_ratios, config.kernel_level, even, -1)}
    curves |= {"span": _span_curve(config, results)}
    measured, items = _fits(curves), _items(config, results)
    spans = [[expected.span_overlap(r, c) for r in config.span_ratios] for c in _counts(config.span_dims).tolist()]
    layerwise = [expected.layerwise_error(ratio) for ratio in config.ratios]
    ratio = {"layerwise": expected.layerwise_ratio(config.level)}
    ratio["span"] = [crossing(config.span_ratios, law, 0.5, 1) for law in spans]
    predicted = {"curve": {"layerwise": layerwise, "span": spans}, "ratio": ratio}
    predicted |= {"slope": dict.fromkeys(curves, 1.0), "gain": 1.0}
    measured |= means({f"transfer_{key}": results.array("transfer", key) for key in ("features", "kernel", "overlap")})
    return measured | items, predicted


def _layers(config, results: Results) -> tuple[dict, dict]:
    curve = results.array("two", "error"), config.ratios, config.level, _counts(config.dims), -1
    laws = {"curve": {"layerwise": [expected.layerwise_error(ratio) for ratio in config.ratios]}}
    return _fits({"layerwise": curve}), laws | {"ratio": {"layerwise": expected.layerwise_ratio(config.level)}}


def _span(config, results: Results) -> tuple[dict, dict]:
    """The law of the first record had few draws of labels; here a draw's labels grow as the measured samples do."""
    rows = [expected.span_curves(config.span_ratios, count) for count in _counts(config.span_dims).tolist()]
    ratio = [np.mean([crossing(config.span_ratios, row, 0.5, 1) for row in own]) for own in rows]
    laws = {"curve": {"span": [own.mean(0) for own in rows]}, "ratio": {"span": ratio}}
    return _fits({"span": _span_curve(config, results)}), laws


def _pairs(config, results: Results) -> tuple[dict, dict]:
    return _items(config, results), {"gain": 1.0}


def _counts(dims) -> np.ndarray:
    return np.array([quadratic_count(d) for d in dims])


def _span_curve(config, results: Results) -> tuple:
    return results.array("span", "overlap"), config.span_ratios, 0.5, _counts(config.span_dims), 1


def _fits(curves: dict) -> dict:
    """Mean curves, samples at the level over the size, and their exponents, of (curve, ratios, level, size, sign)."""
    measured = {part: {} for part in ("curve", "curve_error", "ratio", "ratio_error", "slope", "interval")}
    for name, (curve, ratios, level, size, sign) in curves.items():
        needed = np.array([[crossing(ratios, row, level, sign) for row in rows] for rows in curve])
        samples = needed * size[:, None]
        fit = fit_exponent(size, samples) if np.isfinite(samples).all() else None
        of_fit = {"slope": fit.slope, "interval": [fit.low, fit.high]} if fit else {}
        of_fit = {"slope": math.nan, "interval": [math.nan, math.nan]} | of_fit
        for part, values in (means({"curve": curve, "ratio": needed}) | of_fit).items():
            measured[part][name] = values
    return measured


def _items(config, results: Results) -> dict:
    """Items of the memories by kind and dimension, with errors, and the exponent of Muon's gain."""
    kinds = [f"{key}_{step}" for key in ("pairs", "alone") for step in ("polar", "sgd")]
    items = {kind: results.array("memory", kind).astype(float) for kind in kinds}
    measured = {"items": {name: counts.mean(1) for name, counts in items.items()}}
    measured["items_error"] = {name: standard_error(counts) for name, counts in items.items()}
    fit = fit_exponent(config.memory_dims, items["pairs_polar"] / items["pairs_sgd"].mean(1, keepdims=True))
    return measured | {"gain": fit.slope, "gain_interval": [fit.low, fit.high]}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """layers: errors on their law, samples as D. joint: fewer samples than layers on the same samples. kernel: samples
    as the number of even polynomials of degree 4. span: samples on their law and as D. transfer: features that were
    learnt beat a kernel from scratch. pairs: as independent keys, and Muon's gain goes as d. harmonics: the kernel's
    samples on the law of its harmonics. fresh-d: errors of two layers on their law at that d.
    """
    claims = {"first": _judge_first, "harmonics": _judge_harmonics, "fresh": _judge_fresh}
    claims |= {"layers": _judge_layers, "span": _judge_span, "pairs": _judge_pairs}
    return claims_by_part(config, measured, predicted, claims)


def _judge_harmonics(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    laws = predicted["harmonics"]
    rivals = {"a sample a polynomial": 1.0, "p as if normal": laws["normal"], "order 2 for nothing": laws["free"]}
    own = {f"d = {d}": rows for d, rows in zip(config.harmonic_dims, measured["harmonics"], strict=True)}
    yield "harmonics", law("kernel's samples over polynomials,", own, law=laws["law"], band=SMALL, rivals=rivals)


def _judge_fresh(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    laws = predicted["fresh"]
    for i, d in enumerate(config.fresh_dims):
        own = {f"d, n/D = {d}, {ratio:g}": measured["fresh"][i][k] for k, ratio in enumerate(config.fresh_ratios)}
        held_to = {"band": SIZES, "scale": DIFFERENCE, "rivals": {"that of large d": laws["large"][i]}}
        yield f"fresh-{d}", law("error at", own, law=laws["law"][i], **held_to)


POWERS = {"D^(5/4)": 1.25, "√D ∝ d": 0.5, "D^(3/2) ∝ d³": 1.5}


def _judge_first(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    for own in (_judge_layers, _judge_kernel, _judge_span, _judge_pairs, _judge_joint, _judge_transfer):
        yield from own(config, measured, predicted)


def _fit(measured: dict, name: str) -> tuple:
    return measured["slope"][name], measured["interval"][name]


def _large(dims) -> np.ndarray:
    return np.array(dims) >= LARGE


def _judge_layers(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    large = _large(config.dims)
    beside = {"law": predicted["curve"]["layerwise"], "band": SIZES, "scale": DIFFERENCE}
    beside |= {"at": [f"{d}, {one:g}" for d in np.array(config.dims)[large] for one in config.ratios]}
    errors, scatter = (measured[key]["layerwise"][large] for key in ("curve", "curve_error"))
    layers = numbers("error at d, n/D =", errors, scatter, config.seeds, **beside)
    layers += exponents("exponent of D", *_fit(measured, "layerwise"), None, 1, POWERS, config.seeds)
    yield "layers", equivalence(layers)


def _judge_joint(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    large, ratio, spread = _large(config.dims), measured["ratio"], measured["ratio_error"]
    over = ratio["layerwise"][large] / ratio["joint"][large]
    relative = np.hypot(*(spread[name][large] / ratio[name][large] for name in LAYERS))
    held_to = {"limit": 1, "at": np.array(config.dims)[large]}
    error, draws = relative * over, config.seeds
    yield "joint", order(numbers("layers' samples over joint ones at d =", over, error, draws, **held_to))


def _judge_kernel(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    in_count = lambda power: power * slope([even_count(d) for d in config.kernel_dims], config.kernel_dims)
    rivals = {"D": in_count(2), "d³": in_count(3), "the count^(5/4)": 1.25}
    fit = _fit(measured, "kernel")
    yield "kernel", equivalence(exponents("exponent of the count", *fit, None, 1, rivals, config.seeds))


def _judge_span(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    large, draws = _large(config.span_dims), config.seeds
    law = np.array(predicted["ratio"]["span"])[large]
    held_to = {"law": law, "band": SMALL, "at": np.array(config.span_dims)[large]}
    ratio, spread = (measured[key]["span"][large] for key in ("ratio", "ratio_error"))
    span = numbers("n/D of the span at d =", ratio, spread, draws, **held_to)
    span += exponents("exponent of D", *_fit(measured, "span"), None, 1, POWERS, draws)
    yield "span", equivalence(span)


def _judge_transfer(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    better = measured["transfer_kernel"] - measured["transfer_features"]
    error = np.hypot(measured["transfer_kernel_error"], measured["transfer_features_error"])
    held_to = {"limit": 0, "scale": DIFFERENCE, "at": config.transfer_dims}
    name = "the kernel's error less that on features at d ="
    yield "transfer", order(numbers(name, better, error, config.seeds, **held_to))


def _judge_pairs(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    pairs, alone = (measured["items"][f"{key}_polar"] for key in ("pairs", "alone"))
    error = np.hypot(*(measured["items_error"][f"{key}_polar"] for key in ("pairs", "alone"))) / alone
    held_to = {"law": 1, "band": SMALL, "at": config.memory_dims}
    same = numbers("items with pairs over independent ones at d =", pairs / alone, error, config.seeds, **held_to)
    rivals = {"d^(3/4)": 0.75, "d^(1/2)": 0.5, "d^γ, the input's dimension": float(measure.GAMMA)}
    gain = (measured["gain"], measured["gain_interval"])
    same += exponents("exponent of Muon's gain", *gain, None, predicted["gain"], rivals, config.seeds)
    yield "pairs", equivalence(same)


def crossing(ratios, values, level: float, sign: int) -> float:
    """The first ratio at which values, linear in its logarithm between points, fall (−1) or rise (1) to the level."""
    x = np.log(ratios)
    return math.exp(first_reached(x, sign * np.asarray(values, dtype=float), sign * level, start=x[0]))


EXPERIMENT = Experiment(
    name="hierarchy",
    purpose=headline(__doc__),
    profiles={
        "smoke": HierarchyConfig(
            dims=(4, 6), ratios=(1.0, 2.0, 12.0), kernel_dims=(4, 6), kernel_ratios=(0.6, 1.5), span_dims=(4, 6),
            span_ratios=(2.0, 20.0), transfer_dims=(4, 6), transfer_ratio=20.0, new_labels=60, memory_dims=(8, 12),
            harmonic_dims=(4, 6), harmonic_ratios=(0.6, 1.6), fresh_dims=(4, 6), fresh_ratios=(2.0, 4.0), seeds=2,
        ),
        "cpu": HierarchyConfig(),
        # the two laws that came after the first record
        "harmonics": HierarchyConfig(parts=("harmonics",), seeds=72, first_seed=66_100),
        "fresh": HierarchyConfig(parts=("fresh",), seeds=160, first_seed=66_200),
        # what these left undecided: d = 8; items at 16 and 24 dimensions; the span, beside a law of enough labels
        "small": HierarchyConfig(parts=("fresh",), fresh_dims=(8,), seeds=400, first_seed=70_000),
        "layers": HierarchyConfig(parts=("layers",), seeds=300, first_seed=70_000),
        "pairs": HierarchyConfig(parts=("pairs",), seeds=240, first_seed=70_000),
        # the same where 240 draws did not decide; at 54 dimensions they did, and most of their time went there
        "pairs-many": HierarchyConfig(parts=("pairs",), memory_dims=(16, 24, 36), seeds=800, first_seed=75_200),
        "span": HierarchyConfig(parts=("span",), seeds=60, first_seed=70_000),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5750,
    added={
        "parts": PARTS[:1], "harmonic_dims": (8, 10, 12), "harmonic_ratios": (0.65, 0.8, 0.95, 1.1, 1.3),
        "fresh_dims": (8, 12, 16), "fresh_ratios": (1.6, 2.2, 4.5, 9.0),
    },
)  # fmt: skip
