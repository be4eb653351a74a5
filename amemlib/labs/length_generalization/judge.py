"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.experiments.base import Results
from amemlib.labs.length_generalization import expected
from amemlib.labs.length_generalization.expected import sampled_points, whole_samples
from amemlib.verdicts import refuse, verdict

LEVEL = 0.1
"""The error at which a training length counts as just long enough: a fifth of what answering 0 costs."""
BETWEEN = 0.2
"""How far a median may lie outside the two laws that a read-out is expected between, relative: lines and cubics."""
DOTS_BAND, WORST_BAND = 0.25, 0.2
"""How far medians may lie from the law of straight lines where all lengths were seen, relative."""
SLOPE = 0.1
"""How far an exponent of the training length may lie from 1; of the error in the test length, from 0."""
FITTED = 2e-3
"""Up to what training error, or error at the training length, a network has fitted what it saw."""
SAME, JUDGED = 0.3, 0.05
"""How far the logarithm of two optimizers' ratio may lie from 0; from which expected error on it is judged."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Medians over draws, least and largest. `one`: by ω; `all`, `muon`: at the dense ω; `transformer`: by Δ, m and
    test length. predicted: the laws of lines and of cubics at the same places."""
    measured = {"one": {}, "needed": []}
    for frequency in config.frequencies:
        told = _told(results, "one", frequency=frequency)
        measured["one"][str(frequency)] = told
        measured["needed"].append(_crossing(whole_samples(frequency, config.ratios), told["error"]))
    for name in ("all", "muon"):
        measured[name] = _told(results, name)
    measured["curve"] = [results.draws["curve"][k] for k in range(2)]
    errors, leak = (results.array("transformer", key) for key in ("errors", "leak"))
    measured["transformer"] = {
        "error": np.median(errors, 1).tolist(),
        "least": errors.min(1).tolist(),
        "most": errors.max(1).tolist(),
        "leak": np.median(leak, 1).tolist(),
    }
    lasting = np.median(errors, 1)[..., -1]
    measured["needed_length"] = [
        period * _crossing(config.samples, row) for period, row in zip(config.periods, lasting, strict=True)
    ]
    measured["exponents"] = {
        "frequency": _slope(config.frequencies, measured["needed"]),
        "period": _slope(config.periods, measured["needed_length"]),
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
    """law: trained on one length, errors lie between those of straight lines and of cubics; one answer to both.
    threshold: the length at which the error is a tenth is the laws'; limit: proportional to ω.
    all: trained on all lengths, errors are those of straight lines between Farey fractions; one answer to both.
    worst: the worst error there is that of the widest gap, which all lengths leave as wide as the longest alone.
    transformer: at the longest test length errors lie between the laws; limit: the length needed is proportional to Δ.
    plateau: no error at N, and beyond 4N one that does not grow with the length.
    muon: Muon's errors are Adam's.
    """
    draws = config.seeds
    verdicts = {}

    def between(at) -> bool:
        """Medians between the laws, the law of lines taken at `at` times the samples."""
        for w in config.frequencies:
            told, law = measured["one"][str(w)], predicted["one"][str(w)]
            gaps = [2 * w / (at * m) for m in whole_samples(w, config.ratios)]
            low, high = law["cubics"], law["lines"]
            if at != 1:
                low, high = ([expected.spline_error(gap, order) for gap in gaps] for order in (4, 2))
            if not _inside(told["error"], low, high):
                return False
        return True

    fitted = all(bool((np.array(told["loss"]) <= FITTED).all()) for told in measured["one"].values())
    met = fitted and between(1)
    rivals = {"twice the samples": 2.0, "half the samples": 0.5, "a quarter more": 1.25, "a quarter fewer": 0.75}
    verdicts["law"] = verdict(met, met, refuse(between, rivals), draws)

    needed = np.array(measured["needed"], dtype=float) / np.array(config.frequencies)
    ends = predicted["threshold"]
    met = _inside(needed, ends["cubics"], ends["lines"], SLOPE)
    slopes = {name: math.nan if slope is None else slope for name, slope in measured["exponents"].items()}
    slope = lambda law: abs(slopes["frequency"] - law) <= SLOPE  # noqa: E731
    verdicts["threshold"] = verdict(met, slope(1), refuse(slope, {"free of ω": 0.0, "√ω": 0.5, "ω²": 2.0}), draws)

    w = config.dense_frequency
    tokens = whole_samples(w, config.ratios)
    told, law = measured["all"], predicted["all"]
    near = lambda key, band: lambda law: _close(told[key], law, band)  # noqa: E731
    longest = predicted["one"][str(w)]
    rivals = {"the longest alone": longest["lines"], "cubics through the longest": longest["cubics"]}
    rivals["as many in equal gaps"] = predicted["equal"]["error"]
    met = near("error", DOTS_BAND)(law["error"]) and bool((np.array(told["loss"]) <= FITTED).all())
    verdicts["all"] = verdict(met, met, refuse(near("error", DOTS_BAND), rivals), draws)
    met = near("worst", WORST_BAND)(law["worst"])
    mean = np.sqrt(2 * np.array(law["error"]))
    rivals = {"as many in equal gaps": predicted["equal"]["worst"], "as the mean": mean, "0": 0 * mean}
    verdicts["worst"] = verdict(met, met, refuse(near("worst", WORST_BAND), rivals), draws)

    lasting = np.array(measured["transformer"]["error"])
    last = [row[-1] for row in predicted["transformer"]["lines"]]
    met = all(_inside(row[:, -1], predicted["transformer"]["cubics"], last) for row in lasting)
    slope = lambda law: abs(slopes["period"] - law) <= SLOPE  # noqa: E731
    verdicts["transformer"] = verdict(met, slope(1), refuse(slope, {"free of Δ": 0.0, "√Δ": 0.5, "Δ²": 2.0}), draws)

    longer = np.array(config.longer, dtype=float)
    beyond = longer >= 4
    found = [_slope(longer[beyond], row[beyond]) for of_period in lasting for row in of_period]
    flat = lambda law: bool((np.abs(np.array(found) - law) <= SLOPE).all())  # noqa: E731
    met = flat(0.0) and bool((lasting[..., 0] <= FITTED).all())
    verdicts["plateau"] = verdict(met, met, refuse(flat, {"∝ √T": 0.5, "∝ T": 1.0}), draws)

    lines = np.array(predicted["one"][str(w)]["lines"])
    judged = lines >= JUDGED
    ratio = np.log(np.array(measured["muon"]["error"]) / measured["one"][str(w)]["error"])[judged]
    same = lambda law: bool((np.abs(ratio - np.array(law)) <= SAME).all())  # noqa: E731
    moved = lambda at: np.log([expected.spline_error(2 * w / (at * m), 2) for m in tokens] / lines)[judged]  # noqa: E731
    rivals = {"as with half more samples": moved(1.5), "as with a third fewer": moved(2 / 3)}
    verdicts["muon"] = verdict(same(0.0), same(0.0), refuse(same, rivals), draws)
    return verdicts


def _told(results: Results, name: str, **at) -> dict:
    told = {key: results.array(name, key, **at) for key in ("error", "worst", "loss")}
    medians = {key: np.median(values, 0).tolist() for key, values in told.items()}
    least, most = told["error"].min(0).tolist(), told["error"].max(0).tolist()
    return medians | {"least": least, "most": most, "lost": told["loss"].max().item()}


def _crossing(x, errors) -> float:
    """The x at which errors fall to `LEVEL` for good, logarithms between points; NaN where they do not."""
    x, y = np.log(np.array(x, dtype=float)), np.log(np.array(errors, dtype=float) / LEVEL)
    above = np.flatnonzero(y > 0)
    if len(above) == 0 or above[-1] == len(y) - 1:
        return math.nan
    k = above[-1]
    return float(np.exp(x[k] + (x[k + 1] - x[k]) * y[k] / (y[k] - y[k + 1])))


def _slope(x, y) -> float:
    return float(np.polyfit(np.log(np.array(x, dtype=float)), np.log(np.array(y, dtype=float)), 1)[0])


def _inside(found, one, other, band: float = BETWEEN) -> bool:
    """Whether all of `found` lie between the two, widened by the band."""
    found, one, other = (np.array(values, dtype=float) for values in (found, one, other))
    low, high = np.minimum(one, other), np.maximum(one, other)
    return bool(((1 - band) * low <= found).all() and (found <= (1 + band) * high).all())


def _close(found, law, band: float) -> bool:
    found, law = np.array(found, dtype=float), np.array(law, dtype=float)
    return bool((np.abs(found - law) <= band * law).all())
