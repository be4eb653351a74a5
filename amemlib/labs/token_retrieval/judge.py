"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.token_retrieval import expected
from amemlib.labs.token_retrieval.measure import MAPS
from amemlib.verdicts import refuse, verdict

SAMPLES_BAND = 0.25
"""How far a sample size may lie from its law, relative and beyond two standard errors: the law counts variances to
leading order in 1/d, and near the capacity an error of 5 % in them moves the sample size by a fifth."""
EXPONENT_BAND = 0.1
"""How far the exponent of L may lie from 1: a fifth of the way to the nearest rival."""
SPREAD = math.log(1.3)
"""How far the ratio of a sample size to a law may lie from its geometric mean over all sizes, as a logarithm."""
ONE_HOT_BAND = 0.1
"""How far the sample size with one-hot vectors may lie from its exact law, relative and beyond two standard errors:
samples come whole for every label, one in ten here, and tokens share their labels' draws."""
MARGIN_BAND = 0.1
"""How far the mark's weight may lie from its mean, per sample of a label: crosstalk of 256 tokens in 256 dimensions."""
FOUND, LOST = 0.95, 0.5
"""Shares of sequences whose place attention finds that count as found and as not."""
GAIN_BAND = 0.08
"""How far a gain may lie from its limit: counts are whole numbers, and V is 256."""
EASIER, RATIO_BAND = 0.9, 0.15
"""Below what ratio of sample sizes a Muon step counts as needing fewer; how far a ratio may lie from a rival law."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By case: `samples[map]` and `one_hot["sgd"]`; by samples of a label: `attention[quantity]` and `gain["polar"]`;
    with their errors. predicted: the same where it can be, and `laws[name]`, what each law says of every case.
    """
    sizes = list(results.grids["samples"].axes["case"].values())
    measured = {"cases": [[size[key] for key in ("n_tokens", "dim", "length")] for size in sizes]}
    counts = {name: results.array("samples", name) for name in MAPS}
    ratios = counts["polar"] / counts["sgd"]
    measured["ratio"], measured["ratio_error"] = _means(ratios), _standard_errors(ratios)
    pairs = list(results.grids["one-hot"].axes["size"].values())
    place = [pairs.index({key: size[key] for key in ("n_tokens", "length")}) for size in sizes]
    one_hot = results.array("one-hot", "count")[place]
    read = {key: results.array("attention", key) for key in ("hits", "weight")}
    gain = results.array("gain", "gain")
    told = {"samples": counts, "one_hot": {"sgd": one_hot}, "attention": read, "gain": {"polar": gain}}
    for key, draws in told.items():
        measured[key] = {name: _means(found) for name, found in draws.items()}
        measured[f"{key}_error"] = {name: _standard_errors(found) for name, found in draws.items()}

    V, d, L = np.transpose(measured["cases"]).astype(float)
    needed = [expected.samples_needed(*map(int, case), config.level) for case in measured["cases"]]
    single = [expected.one_hot_needed(int(v), int(length), config.level) for v, length in zip(V, L, strict=True)]
    leading = 2 * np.log(V) * (L - 1)
    noise = np.sqrt((config.length - 1) / np.array(config.gain_per_label))
    predicted = {
        "laws": {
            "ours": needed,
            "orthogonal vectors": single,
            "L (1 + V/d), one factor": (leading * (1 + V / d)).tolist(),
            "L + (V/d)², a sum": (L + (V / d) ** 2).tolist(),
            "L d": (L * d).tolist(),
            "without crosstalk": (leading * (1 + V / d) * (1 + 2 * V / d)).tolist(),
        },
        "samples": {"sgd": needed},
        "one_hot": {"sgd": single},
        "attention": {"weight": [(1 - 1 / config.length) * (n - 1) for n in config.per_label]},
        "noise": noise.tolist(),
        "gain": {"polar": [expected.polar_gain(r) for r in noise]},
    }
    with np.errstate(invalid="ignore"):
        at = np.sqrt(V * (L - 1) / np.array(measured["samples"]["sgd"]))
    predicted["one_hot_ratio"] = [1 / expected.polar_gain(r) if np.isfinite(r) else math.nan for r in at]
    along = [k for k, case in enumerate(measured["cases"]) if case[:2] == [config.n_tokens, config.dim]]
    for told, counts in ((measured, measured["samples"]["sgd"]), (predicted, needed)):
        slope = np.polyfit(np.log(L[along] - 1), np.log(np.array(counts)[along]), 1)[0]
        told["length_exponent"] = {"sgd": float(slope)}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """samples: the sample size is the law's, and grows as L. multiplicative: over all sizes it is proportional to the
    law and to no rival. orthogonal: with one-hot vectors it is the exact one, and smaller everywhere.
    attention: the mark's weight is the law's, and the place is found from two samples of a label on.
    gain: on one-hot vectors a polar step changes signal over noise as predicted; one answer to both questions.
    muon: with random vectors a polar step needs fewer samples than the gradient at all sizes; no law is known.
    """
    found, error = _numbers(measured["samples"]["sgd"]), _errors(measured["samples_error"]["sgd"])
    laws = {name: _numbers(law) for name, law in predicted["laws"].items()}
    near = bool((np.abs(found - laws["ours"]) <= SAMPLES_BAND * laws["ours"] + 2 * error).all())
    is_exponent = lambda value: bool(abs(measured["length_exponent"]["sgd"] - value) <= EXPONENT_BAND)  # noqa: E731
    rivals = {"any length": 0.0, "√L": 0.5, "L²": 2.0}
    verdicts = {"samples": verdict(near, is_exponent(1.0), refuse(is_exponent, rivals))}

    def is_proportional(law) -> bool:
        ratio = np.log(found / law)
        return bool((np.abs(ratio - ratio.mean()) <= SPREAD).all())

    ours = is_proportional(laws["ours"])
    others = {name: law for name, law in laws.items() if name != "ours"}
    verdicts["multiplicative"] = verdict(ours, ours, refuse(is_proportional, others))

    single, error = _numbers(measured["one_hot"]["sgd"]), _errors(measured["one_hot_error"]["sgd"])
    V, _, L = np.transpose(measured["cases"]).astype(float)
    is_single = lambda law: bool((np.abs(single - law) <= ONE_HOT_BAND * law + 2 * error).all())  # noqa: E731
    rivals = {
        "V log V, every label seen": V * np.log(V),
        "2 L log V": 2 * L * np.log(V),
        "random vectors": laws["ours"],
    }
    easier = bool((single < found).all())
    verdicts["orthogonal"] = verdict(
        is_single(_numbers(predicted["one_hot"]["sgd"])), easier, refuse(is_single, rivals) if easier else ()
    )

    counts = np.array(config.per_label)
    weight, error = (_numbers(measured["attention"]["weight"]), _errors(measured["attention_error"]["weight"]))
    is_weight = (np.abs(weight - _numbers(predicted["attention"]["weight"])) <= MARGIN_BAND * counts + 2 * error).all()
    hits = _numbers(measured["attention"]["hits"])

    def are_found(least) -> bool:
        return bool((np.where(counts >= least, hits >= FOUND, hits <= LOST)).all())

    rivals = {"one sample is enough": 1, "three": 3, "as many as values need": np.inf}
    verdicts["attention"] = verdict(is_weight, are_found(2), refuse(are_found, rivals))

    gain, error = _numbers(measured["gain"]["polar"]), _errors(measured["gain_error"]["polar"])
    is_gain = lambda law: bool((np.abs(gain / law - 1) <= GAIN_BAND + 2 * error / gain).all())  # noqa: E731
    rivals = {"none": 1.0, "half the noise": 2.0, "(8/3π)²": (8 / (3 * np.pi)) ** 2}
    expected_gain = is_gain(_numbers(predicted["gain"]["polar"]))
    verdicts["gain"] = verdict(expected_gain, expected_gain, refuse(is_gain, rivals))

    ratio = _numbers(measured["ratio"])
    is_ratio = lambda law: bool((np.abs(ratio / law - 1) <= RATIO_BAND).all())  # noqa: E731
    rivals = {"as many": 1.0, "as with one-hot vectors": _numbers(predicted["one_hot_ratio"])}
    verdicts["muon"] = verdict(None, bool((ratio <= EASIER).all()), refuse(is_ratio, rivals))
    return verdicts


def _means(draws: np.ndarray) -> list:
    return draws.mean(1).tolist()


def _standard_errors(draws: np.ndarray) -> list:
    return standard_error(draws).tolist()


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)


def _errors(values) -> np.ndarray:
    """Standard errors, 0 where a single draw has none."""
    return np.nan_to_num(_numbers(values))
