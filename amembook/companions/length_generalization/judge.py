"""Measured numbers beside predicted ones, and the verdicts."""

import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import binom

from amembook.companions.length_generalization import expected
from amembook.companions.length_generalization.expected import sampled_points, whole_samples
from amembook.run.base import Results, slope
from amembook.run.claims import DIFFERENCE, EXPONENT, NETWORK, equivalence, numbers, order

PARTS = ("read-outs", "transformers")
LEVEL = 0.1  # the error at which a training length counts as just long enough
FITTED = 2e-3  # up to what training error, or error at the training length, a network has fitted what it saw
JUDGED = 0.05  # from which expected error on the ratio of two optimizers' is judged


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Medians over draws, least and largest. `one`: by ω; `all`, `muon`: at the dense ω; `transformer`: by Δ, m and
    test length. predicted: the laws of lines and of cubics at the same places. What a config does not measure is left
    out, as are exponents of a single size."""
    measured = {"one": {}, "needed": []}
    for frequency in config.frequencies:
        medians = _medians(results, "one", frequency=frequency)
        measured["one"][str(frequency)] = medians
        measured["needed"].append(_needed(config, frequency, medians["error"]))
    for name in ("all", "muon"):
        measured[name] = _medians(results, name)
    if config.dense_frequency in config.frequencies:
        of_muon = results.array("muon", "error") / results.array("one", "error", frequency=config.dense_frequency)
        measured["muon"] |= median_interval("ratio", of_muon)
    measured["curve"] = [results.draws["curve"][k] for k in range(2)]
    fits = {"frequency": (config.frequencies, "needed")}
    if "transformers" in config.parts:
        errors, leak = (results.array("transformer", key) for key in ("errors", "leak"))
        ends = {"least": errors.min(1), "most": errors.max(1), "leak": np.median(leak, 1)}
        measured["transformer"] = {"error": np.median(errors, 1)} | ends
        measured["needed_length"] = _lengths(config, np.median(errors, 1))
        fits["period"] = config.periods, "needed_length"
    fits = {axis: fit for axis, fit in fits.items() if len(fit[0]) > 1}
    if fits:
        measured["exponents"] = {axis: slope(x, measured[key]) for axis, (x, key) in fits.items()}

    predicted, w, cubics = {"one": {}}, config.dense_frequency, lambda gap: expected.spline_error(gap, 4)
    for frequency in config.frequencies:
        gaps = [2 * frequency / m for m in whole_samples(frequency, config.ratios)]
        lines = [expected.spline_error(gap, 2) for gap in gaps]
        predicted["one"][str(frequency)] = {"lines": lines, "cubics": list(map(cubics, gaps))}
    dense = [sampled_points(m, True) for m in whole_samples(w, config.ratios)]
    laws = {"error": expected.dots_error, "worst": expected.dots_worst}
    for name, places in {"all": dense, "equal": [np.linspace(-1, 1, len(points)) for points in dense]}.items():
        predicted[name] = {key: [law(w, points) for points in places] for key, law in laws.items()}
    if "transformers" in config.parts:
        lines = [[expected.course(config.wave, m, factor) for factor in config.longer] for m in config.samples]
        predicted["transformer"] = {"lines": lines, "cubics": [cubics(2 * config.wave / m) for m in config.samples]}
    predicted["threshold"] = {"lines": expected.threshold(LEVEL, 2), "cubics": expected.threshold(LEVEL, 4)}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """law: trained on one length, every draw's error lies between those of straight lines and of cubics, and the median
    draw fits what it saw. threshold: the length at which the error is a tenth is proportional to ω.
    all: trained on all lengths, errors are those of straight lines between Farey fractions.
    worst: the worst error there is that of the widest gap, which all lengths leave as wide as the longest alone.
    transformer: the length needed is proportional to Δ. plateau: beyond 4N the error does not grow with the length.
    muon: Muon's errors are Adam's, where a record has them on the same wave and from the same start.
    """
    one, ends = measured["one"], ("least", "most")
    yield "law", order(_judge_law(config, one, predicted["one"]))
    if len(config.frequencies) > 1:
        thresholds = {key: [_needed(config, w, one[str(w)][key]) for w in config.frequencies] for key in ends}
        keys = "frequency", "needed"
        yield "threshold", _judge_exponent(config, "ω", config.frequencies, measured, keys, thresholds)
    if "transformers" in config.parts:
        lengths = {key: _lengths(config, measured["transformer"][key]) for key in ends}
        keys = "period", "needed_length"
        yield "transformer", _judge_exponent(config, "Δ", config.periods, measured, keys, lengths)

    dense, law, equal = measured["all"], predicted["all"], predicted["equal"]
    beside = {"draws": config.seeds, "band": NETWORK, "at": [f"{ratio:g}" for ratio in config.ratios]}
    rivals = {"the longest alone": predicted["one"][str(config.dense_frequency)]["lines"]}
    rivals |= {"as many in equal gaps": equal["error"]}
    held_to = beside | {"law": law["error"], "rivals": rivals}
    held_to |= {"low": dense.get("error_low", dense["least"]), "high": dense.get("error_high", dense["most"])}
    judged = numbers("error at m/ω =", dense["error"], **held_to)
    fitted = {"law": 0, "band": FITTED, "scale": DIFFERENCE, "guard": True, "at": beside["at"]}
    yield "all", equivalence(judged + numbers("training error at m/ω =", dense["loss"], **fitted))
    rivals = {"as many in equal gaps": equal["worst"], "as the mean": np.sqrt(2 * law["error"])}
    held_to = beside | {"low": dense.get("worst_low", np.nan), "high": dense.get("worst_high", np.nan)}
    worst = numbers("worst error at m/ω =", dense["worst"], law=law["worst"], rivals=rivals, **held_to)
    yield "worst", equivalence(worst)
    if "transformers" in config.parts:
        yield "plateau", equivalence(_judge_plateau(config, measured))
    yield "muon", equivalence(_judge_muon(config, measured, predicted))


def _judge_plateau(config, measured: dict) -> list[dict]:
    beyond = np.array(config.longer) >= 4
    longer, errors = np.array(config.longer)[beyond], measured["transformer"]["error"]
    growth = np.array([[slope(longer, row[beyond]) for row in of_period] for of_period in errors])
    at = [f"{period}, {m}" for period in config.periods for m in config.samples]
    held_to = {"limit": 0, "band": EXPONENT, "scale": DIFFERENCE, "at": at, "rivals": {"∝ T^(1/4)": 0.25, "∝ √T": 0.5}}
    return numbers("exponent of the test length at Δ, m =", growth, np.nan, config.seeds, **held_to)


def _judge_exponent(config, name: str, x, measured: dict, keys: tuple[str, str], ends: dict) -> dict:
    exponent, needed = measured["exponents"][keys[0]], measured[keys[1]]
    # the exponent if the ends of x were as far off as any x is, in opposite directions
    half = sum(np.abs(np.log(np.array(row) / needed)).max() for row in ends.values()) / math.log(max(x) / min(x))
    rivals = {f"{name}^(3/4)": 0.75, f"√{name}": 0.5, f"{name}²": 2.0}
    held_to = {"draws": config.seeds, "limit": 1, "band": EXPONENT, "scale": DIFFERENCE, "rivals": rivals}
    return equivalence(numbers(f"exponent of {name}", exponent, low=exponent - half, high=exponent + half, **held_to))


def _judge_law(config, measured: dict, predicted: dict) -> list[dict]:
    judged = []
    for w in config.frequencies:
        one, laws = measured[str(w)], (predicted[str(w)]["lines"], predicted[str(w)]["cubics"])
        at = [f"{w}, {m}" for m in whole_samples(w, config.ratios)]
        held_to = {"draws": config.alone_seeds or config.seeds, "limit": 0, "scale": DIFFERENCE, "at": at}
        smaller = [np.log(one[key] / np.minimum(*laws)) for key in ("error", "least", "most")]
        larger = [-np.log(one[key] / np.maximum(*laws)) for key in ("error", "most", "least")]
        for name, (off, low, high) in {"over the smaller law": smaller, "under the larger": larger}.items():
            judged += numbers(f"log error {name} at ω, m =", off, low=low, high=high, **held_to)
        judged += numbers("training error left at ω, m =", FITTED - one["loss"], **held_to)
    return judged


def _judge_muon(config, measured: dict, predicted: dict) -> list[dict]:
    w = config.dense_frequency
    lines, tokens = predicted["one"][str(w)]["lines"], np.array(whole_samples(w, config.ratios))
    judged, muon, adam = lines >= JUDGED, measured["muon"], measured["one"][str(w)]
    law = adam["error"][judged]
    moved = lambda at: law * (np.array([expected.spline_error(2 * w / (at * m), 2) for m in tokens]) / lines)[judged]
    rivals = {"as with half more samples": moved(1.5), "as with a third fewer": moved(2 / 3)}
    if "ratio" in muon:
        rivals = {name: values / law for name, values in rivals.items()}
        held_to = {
            "draws": config.alone_seeds or config.seeds,
            "law": 1,
            "band": NETWORK,
            "at": tokens[judged],
            "rivals": rivals,
        }
        held_to |= {key: muon[f"ratio_{key}"][judged] for key in ("low", "high")}
        return numbers("Muon's error over Adam's at m =", muon["ratio"][judged], **held_to)
    # both are medians: their ratio at its least and at its largest
    over, under = (adam[key][judged] / law for key in ("most", "least"))
    held_to = {"draws": config.seeds, "law": law, "band": NETWORK, "low": muon["least"][judged] / over}
    held_to |= {"high": muon["most"][judged] / under, "at": tokens[judged], "rivals": rivals}
    return numbers("Muon's error at m =", muon["error"][judged], **held_to)


def _medians(results: Results, name: str, **at) -> dict:
    draws = {key: results.array(name, key, **at) for key in ("error", "worst", "loss")}
    ends = {"least": draws["error"].min(0), "most": draws["error"].max(0), "lost": draws["loss"].max()}
    ends |= median_interval("error", draws["error"]) | median_interval("worst", draws["worst"])
    return {key: np.median(values, 0) for key, values in draws.items()} | ends


def median_interval(name: str, values: np.ndarray) -> dict:
    """The median of draws along the first axis, and the two of them, as far from either end, that hold it 95 times of
    100; the first and the last where that many draws do not."""
    count = len(values)
    outside = 2 * binom.cdf(np.arange(count), count, 0.5)
    left_out = max(0, int((outside <= 0.05).sum()) - 1)
    values = np.sort(values, 0)
    return {name: np.median(values, 0), f"{name}_low": values[left_out], f"{name}_high": values[count - 1 - left_out]}


def _needed(config, frequency: int, errors) -> float:
    return _crossing(whole_samples(frequency, config.ratios), errors)


def _lengths(config, errors: np.ndarray) -> list[float]:
    """The training lengths that the longest strings need, by Δ."""
    return [
        period * _crossing(config.samples, row) for period, row in zip(config.periods, errors[..., -1], strict=True)
    ]


def _crossing(x, errors) -> float:
    """The x at which errors fall to `LEVEL` for good, logarithms between points; NaN where they do not."""
    x, y = np.log(x), np.log(errors / LEVEL)
    above = np.flatnonzero(y > 0)
    if len(above) == 0 or above[-1] == len(y) - 1:
        return math.nan
    k = above[-1]
    return float(np.exp(x[k] + (x[k + 1] - x[k]) * y[k] / (y[k] - y[k + 1])))
