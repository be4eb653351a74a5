"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.anytime_descent import steps
from amemlib.verdicts import consistency, refuse, verdict

FIRST_TIME = 16
"""From which stopping time on an exponent is fitted."""
EXPONENT_BAND = 0.04
"""How far the envelope's exponent may lie from its limit: it wobbles with the period of the blocks, a third of the way
to the exponent of constant steps."""
EXACT = 1e-6
"""Relative error of a worst case that is told in closed form."""
PROOF = 1e-5
"""What may lie between a certificate and the closed form, relative: the certificate's own gap is 10⁻⁸ of distance²."""
SUM_BAND = 0.05
"""How far a loss on the memory may lie from that of constant steps with the same sum, relative."""
FEWER, RATIO_BAND = 2.0, 0.3
"""By what factor Muon must need fewer steps than gradient descent at the best rate; how far it may lie from a rival."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By schedule: worst cases and envelopes at `times`, their exponents, silver's bounces. By case: certificates.
    By method on the memory: mean loss and items by number of steps, and steps to nine tenths of the items."""
    times = steps.checkpoints(2**config.levels)
    names = results.grids["family"].axes["schedule"]
    measured = {"times": times.tolist(), "worst": {}, "envelope": {}, "exponent": {}, "bounces": {}, "above": {}}
    predicted = {"envelope": {}, "exponent": {}, "limit": -steps.EXPONENT, "bounce": 1 / (2 * steps.SILVER**2)}
    # the last octave lacks what comes after it
    fitted = (times >= FIRST_TIME) & (times <= times[-1] // 4)
    for place, name in enumerate(names):
        for key in ("worst", "envelope", "bounces", "above"):
            measured[key][name] = results.array("family", key)[place].tolist()
        predicted["envelope"][name] = results.array("family", "law")[place].tolist()
        for told in (measured, predicted):
            logs = np.log(times[fitted]), np.log(np.array(told["envelope"][name])[fitted])
            told["exponent"][name] = float(np.polyfit(*logs, 1)[0]) if fitted.sum() > 1 else math.nan
    certificates = results.grids["certificate"].axes
    read = {key: results.array("certificate", key) for key in ("bound", "family", "multiplier", "eigenvalue", "flow")}
    measured["certified"], predicted["certified"] = (
        dict(zip(certificates["case"], read[key].tolist(), strict=True)) for key in ("bound", "family")
    )
    measured["least"] = float(min(read["multiplier"].min(), read["eigenvalue"].min()))
    measured["flow"] = float(read["flow"].max())
    measured["random"] = float(results.array("random", "above").max())

    draws = list(results.draws["memory"])
    for key in ("loss", "items", "needed"):
        found = {name: np.array([draw[key][name] for draw in draws], dtype=float) for name in draws[0][key]}
        measured[key] = {name: values.mean(0).tolist() for name, values in found.items()}
        measured[f"{key}_error"] = {name: standard_error(values, 0).tolist() for name, values in found.items()}
        if key == "loss":
            told = {name: values[:, -1] for name, values in found.items()}
    others = ("silver", "anytime")
    measured["same_sum"] = {name: (told[name] / told[f"same-{name}"]).tolist() for name in others}
    measured["same_number"] = {name: (told[name] / told["constant"]).tolist() for name in others}
    # steps to nine tenths, the best rate of each draw
    best = {}
    for label, own in (("sgd", "rate "), ("polar", "muon ")):
        needs = [[draw["needed"][name] for name in draw["needed"] if name.startswith(own)] for draw in draws]
        # a rate that is too slow has none
        least = np.where(np.isnan(needs), np.inf, needs).min(1)
        best[label] = np.where(np.isinf(least), np.nan, least)
    measured["best"] = {label: values.tolist() for label, values in best.items()}
    measured["ratio"] = (best["sgd"] / best["polar"]).tolist()
    measured["looseness"] = float(results.array("memory", "looseness").mean())
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """envelope: the joined blocks' envelope is the closed form, and its exponent the paper's second. certificate: no
    smooth convex function is worse, and no random function of one variable. plain: constant and dynamic steps fall as
    1/T, silver's bounces not at all. sums: on the memory a schedule does what constant steps of the same sum do.
    Silver's certificates are held to the family at its bounces: elsewhere its worst function need not be in it.
    muon: polar steps need fewer steps than gradient descent at its best rate; no law is known.
    """
    told = {name: (_numbers(measured["envelope"][name]), _numbers(law)) for name, law in predicted["envelope"].items()}
    closed = {name: bool((np.abs(found / law - 1) <= EXACT).all()) for name, (found, law) in told.items()}
    exponent = measured["exponent"]
    is_exponent = lambda value: bool(abs(exponent["anytime"] - value) <= EXPONENT_BAND)  # noqa: E731
    rivals = {
        "T⁻¹, constant steps": -1.0,
        "T^(−1.03), the first version": -1.03,
        "T^(−1.27), silver where the horizon is known": -math.log2(steps.SILVER),
        "T^(−1.334), the lower bound for all schedules": -1.334,
        "T⁰, silver's bounces": 0.0,
    }
    verdicts = {
        "envelope": verdict(closed["anytime"], is_exponent(predicted["limit"]), refuse(is_exponent, rivals)),
    }
    family = predicted["certified"]
    gaps = {name: _numbers(found) / _numbers(family[name]) - 1 for name, found in measured["certified"].items()}
    powers = 2 ** np.arange(math.floor(math.log2(config.certified)) + 1) - 1
    joined = np.concatenate([gaps["anytime"], gaps["one repeat"], gaps["silver"][powers]])
    proved = measured["least"] >= 0 and measured["flow"] <= EXACT and (np.abs(joined) <= PROOF).all()
    verdicts["certificate"] = consistency(proved and measured["random"] <= 1 + EXACT)

    bounces = _numbers(measured["bounces"]["silver"])
    is_bounce = lambda law: bool((np.abs(bounces / law - 1) <= EXACT).all())  # noqa: E731
    times = 2.0 ** np.arange(1, len(bounces) + 1)
    rivals = {"falls as 1/T": bounces[0] * times[0] / times, "of constant steps": 1 / (2 * (2 * times + 1))}
    plain = all(abs(exponent[name] + 1) <= EXPONENT_BAND for name in ("constant", "dynamic"))
    plain = plain and abs(exponent["silver"]) <= EXPONENT_BAND
    verdicts["plain"] = verdict(is_bounce(predicted["bounce"]), plain, refuse(is_bounce, rivals))

    sums, number = (
        np.concatenate([_numbers(values) for values in measured[key].values()]) for key in ("same_sum", "same_number")
    )
    is_same = lambda ratios: bool((np.abs(ratios - 1) <= SUM_BAND).all())  # noqa: E731
    counted = is_same(sums)
    verdicts["sums"] = verdict(counted, counted, refuse(is_same, {"the number of steps counts": number}))

    ratio = _numbers(measured["ratio"])
    is_ratio = lambda law: bool((np.abs(ratio / law - 1) <= RATIO_BAND).all())  # noqa: E731
    verdicts["muon"] = verdict(None, bool((ratio >= FEWER).all()), refuse(is_ratio, {"as many steps": 1.0}))
    return verdicts


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)
