"""Measured numbers beside predicted ones, and the verdicts."""

import math

import numpy as np

from amembook.companions.length_generalization import expected
from amembook.companions.length_generalization.expected import sampled_points, whole_samples
from amembook.run.base import Results, slope
from amembook.run.claims import DIFFERENCE, EXPONENT, NETWORK, equivalence, numbers, order

LEVEL = 0.1
"""The error at which a training length counts as just long enough: a fifth of what answering 0 costs."""
FITTED = 2e-3
"""Up to what training error, or error at the training length, a network has fitted what it saw."""
JUDGED = 0.05
"""From which expected error on the ratio of two optimizers' is judged."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Medians over draws, least and largest. `one`: by ω; `all`, `muon`: at the dense ω; `transformer`: by Δ, m and
    test length. predicted: the laws of lines and of cubics at the same places."""
    measured = {"one": {}, "needed": []}
    for frequency in config.frequencies:
        medians = _medians(results, "one", frequency=frequency)
        measured["one"][str(frequency)] = medians
        measured["needed"].append(_crossing(whole_samples(frequency, config.ratios), medians["error"]))
    for name in ("all", "muon"):
        measured[name] = _medians(results, name)
    measured["curve"] = [results.draws["curve"][k] for k in range(2)]
    errors, leak = (results.array("transformer", key) for key in ("errors", "leak"))
    measured["transformer"] = {
        "error": np.median(errors, 1),
        "least": errors.min(1),
        "most": errors.max(1),
        "leak": np.median(leak, 1),
    }
    lasting = np.median(errors, 1)[..., -1]
    measured["needed_length"] = [
        period * _crossing(config.samples, row) for period, row in zip(config.periods, lasting, strict=True)
    ]
    measured["exponents"] = {
        "frequency": slope(config.frequencies, measured["needed"]),
        "period": slope(config.periods, measured["needed_length"]),
    }

    w = config.dense_frequency
    dense = whole_samples(w, config.ratios)
    predicted = {"one": {}}
    for frequency in config.frequencies:
        gaps = [2 * frequency / m for m in whole_samples(frequency, config.ratios)]
        predicted["one"][str(frequency)] = {
            name: [expected.spline_error(gap, order) for gap in gaps] for name, order in (("lines", 2), ("cubics", 4))
        }
    predicted["all"] = {
        name: [law(w, sampled_points(m, True)) for m in dense]
        for name, law in (("error", expected.dots_error), ("worst", expected.dots_worst))
    }
    equal = [np.linspace(-1, 1, len(sampled_points(m, True))) for m in dense]
    predicted["equal"] = {
        name: [law(w, points) for points in equal]
        for name, law in (("error", expected.dots_error), ("worst", expected.dots_worst))
    }
    predicted["transformer"] = {
        "lines": [[expected.course(config.wave, m, factor) for factor in config.longer] for m in config.samples],
        "cubics": [expected.spline_error(2 * config.wave / m, 4) for m in config.samples],
    }
    predicted["threshold"] = {"lines": expected.threshold(LEVEL, 2), "cubics": expected.threshold(LEVEL, 4)}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """law: trained on one length, every draw's error lies between those of straight lines and of cubics, and the median
    draw fits what it saw. threshold: the length at which the error is a tenth is proportional to ω.
    all: trained on all lengths, errors are those of straight lines between Farey fractions.
    worst: the worst error there is that of the widest gap, which all lengths leave as wide as the longest alone; the
    record may lack its range. transformer: the length needed is proportional to Δ.
    plateau: beyond 4N the error does not grow with the length, as that of a median; the record keeps no error of that.
    muon: Muon's errors are Adam's. Medians have the range of all draws for their interval: five hold a median 94 times
    of 100.
    """
    draws, one = config.seeds, measured["one"]
    frequencies, periods = np.array(config.frequencies), np.array(config.periods)
    edges = {
        key: [_crossing(whole_samples(w, config.ratios), one[str(w)][key]) for w in config.frequencies]
        for key in ("least", "most")
    }
    lasting = {key: measured["transformer"][key][..., -1] for key in ("least", "most")}
    lengths = {
        key: [period * _crossing(config.samples, row) for period, row in zip(periods, rows, strict=True)]
        for key, rows in lasting.items()
    }
    fits = {
        "threshold": ("ω", "frequency", frequencies, measured["needed"], edges),
        "transformer": ("Δ", "period", periods, measured["needed_length"], lengths),
    }
    verdicts = {"law": order(_judge_law(config, one, predicted["one"]))}
    for key, (name, axis, x, needed, ends) in fits.items():
        spread = [np.abs(np.log(np.array(ends[end]) / needed)).max() for end in ("least", "most")]
        # the exponent if the ends of x were as far off as any x is, in opposite directions
        half = sum(spread) / math.log(x.max() / x.min())
        found = measured["exponents"][axis]
        rivals = {f"{name}^(3/4)": 0.75, f"√{name}": 0.5, f"{name}²": 2.0}
        beside = {"draws": draws, "limit": 1, "band": EXPONENT, "scale": DIFFERENCE, "low": found - half}
        beside |= {"high": found + half, "rivals": rivals}
        verdicts[key] = equivalence(numbers(f"exponent of {name}", found, **beside))

    dense, law, equal = measured["all"], predicted["all"], predicted["equal"]
    longest = predicted["one"][str(config.dense_frequency)]
    rivals = {"the longest alone": longest["lines"], "as many in equal gaps": equal["error"]}
    given = {"draws": draws, "band": NETWORK, "at": [f"{ratio:g}" for ratio in config.ratios]}
    judged = numbers(
        "error at m/ω =",
        dense["error"],
        law=law["error"],
        low=dense["least"],
        high=dense["most"],
        rivals=rivals,
        **given,
    )
    judged += numbers(
        "training error at m/ω =", dense["loss"], law=0, band=FITTED, scale=DIFFERENCE, guard=True, at=given["at"]
    )
    verdicts["all"] = equivalence(judged)
    rivals = {"as many in equal gaps": equal["worst"], "as the mean": np.sqrt(2 * law["error"])}
    given |= {"low": dense.get("worst_least", np.nan), "high": dense.get("worst_most", np.nan)}
    verdicts["worst"] = equivalence(
        numbers("worst error at m/ω =", dense["worst"], law=law["worst"], rivals=rivals, **given)
    )

    beyond = np.array(config.longer) >= 4
    longer, errors = np.array(config.longer)[beyond], measured["transformer"]["error"]
    growth = np.array([[slope(longer, row[beyond]) for row in of_period] for of_period in errors])
    at = [f"{period}, {m}" for period in config.periods for m in config.samples]
    given = {"limit": 0, "band": EXPONENT, "scale": DIFFERENCE, "at": at, "rivals": {"∝ T^(1/4)": 0.25, "∝ √T": 0.5}}
    verdicts["plateau"] = equivalence(numbers("exponent of the test length at Δ, m =", growth, np.nan, draws, **given))
    return verdicts | {"muon": equivalence(_judge_muon(config, measured, predicted))}


def _judge_law(config, measured: dict, predicted: dict) -> list[dict]:
    judged = []
    for w in config.frequencies:
        told, law, at = measured[str(w)], predicted[str(w)], whole_samples(w, config.ratios)
        low, high = np.minimum(law["lines"], law["cubics"]), np.maximum(law["lines"], law["cubics"])
        at = [f"{w}, {m}" for m in at]
        given = {"draws": config.seeds, "limit": 0, "scale": DIFFERENCE, "at": at}
        for name, law, ends in (
            ("over the smaller law", low, ("least", "most")),
            ("under the larger", high, ("most", "least")),
        ):
            sign = 1 if law is low else -1
            found, *interval = (sign * np.log(told[key] / law) for key in ("error", *ends))
            judged += numbers(f"log error {name} at ω, m =", found, low=interval[0], high=interval[1], **given)
        judged += numbers("training error left at ω, m =", FITTED - told["loss"], **given)
    return judged


def _judge_muon(config, measured: dict, predicted: dict) -> list[dict]:
    w = config.dense_frequency
    lines, tokens = predicted["one"][str(w)]["lines"], np.array(whole_samples(w, config.ratios))
    judged, muon, adam = lines >= JUDGED, measured["muon"], measured["one"][str(w)]
    law = adam["error"][judged]
    moved = lambda at: law * (np.array([expected.spline_error(2 * w / (at * m), 2) for m in tokens]) / lines)[judged]
    rivals = {"as with half more samples": moved(1.5), "as with a third fewer": moved(2 / 3)}
    # both are medians: their ratio at its least and at its largest
    over, under = (adam[key][judged] / law for key in ("most", "least"))
    given = {"draws": config.seeds, "law": law, "band": NETWORK, "low": muon["least"][judged] / over}
    given |= {"high": muon["most"][judged] / under, "at": tokens[judged], "rivals": rivals}
    return numbers("Muon's error at m =", muon["error"][judged], **given)


def _medians(results: Results, name: str, **at) -> dict:
    draws = {key: results.array(name, key, **at) for key in ("error", "worst", "loss")}
    ends = {"least": draws["error"].min(0), "most": draws["error"].max(0), "lost": draws["loss"].max()}
    ends |= {"worst_least": draws["worst"].min(0), "worst_most": draws["worst"].max(0)}
    return {key: np.median(values, 0) for key, values in draws.items()} | ends


def _crossing(x, errors) -> float:
    """The x at which errors fall to `LEVEL` for good, logarithms between points; NaN where they do not."""
    x, y = np.log(x), np.log(errors / LEVEL)
    above = np.flatnonzero(y > 0)
    if len(above) == 0 or above[-1] == len(y) - 1:
        return math.nan
    k = above[-1]
    return float(np.exp(x[k] + (x[k + 1] - x[k]) * y[k] / (y[k] - y[k + 1])))
