"""Measured numbers beside predicted ones, and the verdicts."""

import math

import numpy as np

from amembook.companions.anytime_descent import steps
from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import EXPONENT, check, count_band, equivalence, numbers, order

FIRST_TIME = 16
"""From which stopping time on an exponent is fitted."""
EXACT = 1e-6
"""Relative error of a worst case that is told in closed form."""
PROOF = 1e-5
"""What may lie between a certificate and the closed form, relative: the certificate's own gap is 10⁻⁸ of distance²."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By schedule: worst cases and envelopes at `times`, their exponents, silver's bounces. By case: certificates.
    By method on the memory: mean loss and items by number of steps, and steps to nine tenths of the items."""
    times = steps.checkpoints(2**config.levels)
    names = results.grids["family"].axes["schedule"]
    measured = {"times": times, "worst": {}, "envelope": {}, "exponent": {}, "bounces": {}, "above": {}}
    predicted = {"envelope": {}, "exponent": {}, "limit": -steps.EXPONENT, "bounce": 1 / (2 * steps.SILVER**2)}
    # the last octave lacks what comes after it
    fitted = (times >= FIRST_TIME) & (times <= times[-1] // 4)
    for place, name in enumerate(names):
        for key in ("worst", "envelope", "bounces", "above"):
            measured[key][name] = results.array("family", key)[place]
        predicted["envelope"][name] = results.array("family", "law")[place]
        for part in (measured, predicted):
            part["exponent"][name] = slope(times[fitted], part["envelope"][name][fitted])
    certificates = results.grids["certificate"].axes
    read = {key: results.array("certificate", key) for key in ("bound", "family", "multiplier", "eigenvalue", "flow")}
    measured["certified"], predicted["certified"] = (
        dict(zip(certificates["case"], read[key], strict=True)) for key in ("bound", "family")
    )
    measured["least"] = min(read["multiplier"].min(), read["eigenvalue"].min())
    measured["flow"] = read["flow"].max()
    measured["random"] = results.array("random", "above").max()

    draws = list(results.draws["memory"])
    for key in ("loss", "items", "needed"):
        found = {name: np.array([draw[key][name] for draw in draws], dtype=float) for name in draws[0][key]}
        measured[key] = {name: values.mean(0) for name, values in found.items()}
        measured[f"{key}_error"] = {name: standard_error(values, 0) for name, values in found.items()}
        if key == "loss":
            last = {name: values[:, -1] for name, values in found.items()}
    others = ("silver", "anytime")
    measured["same_sum"] = {name: last[name] / last[f"same-{name}"] for name in others}
    measured["same_number"] = {name: last[name] / last["constant"] for name in others}
    # steps to nine tenths, the best rate of each draw
    best = {}
    for label, own in (("sgd", "rate "), ("polar", "muon ")):
        needs = [[draw["needed"][name] for name in draw["needed"] if name.startswith(own)] for draw in draws]
        # a rate that is too slow has none
        least = np.where(np.isnan(needs), np.inf, needs).min(1)
        best[label] = np.where(np.isinf(least), np.nan, least)
    measured["best"], measured["ratio"] = best, best["sgd"] / best["polar"]
    measured["looseness"] = results.array("memory", "looseness").mean()
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """envelope: the joined blocks' envelope is the closed form, whose exponent is the paper's second; nothing is
    random. certificate: no smooth convex function is worse, and no random function of one variable. plain: constant and
    dynamic steps fall as 1/T, silver's bounces not at all, in closed form too. sums: on the memory a schedule does what
    constant steps of the same sum do. muon: polar steps need fewer steps than gradient descent at its best rate; no law
    is known. Silver's certificates are held to the family at its bounces: elsewhere its worst function need not be in
    it.
    """
    exponent, draws = measured["exponent"], config.seeds
    closed = np.abs(measured["envelope"]["anytime"] / predicted["envelope"]["anytime"] - 1).max() / EXACT
    far = abs(exponent["anytime"] - predicted["limit"]) / EXPONENT
    verdicts = {"envelope": check(max(closed, far), 1, name="distance from closed form and exponent over their bounds")}

    family = predicted["certified"]
    gaps = {name: found / family[name] - 1 for name, found in measured["certified"].items()}
    powers = 2 ** np.arange(math.floor(math.log2(config.certified)) + 1) - 1
    joined = np.concatenate([gaps["anytime"], gaps["one repeat"], gaps["silver"][powers]])
    over = [measured["flow"] / EXACT, np.abs(joined).max() / PROOF, (measured["random"] - 1) / EXACT]
    verdicts["certificate"] = check(max(*over, 1 - measured["least"] / EXACT), 1, name="distances over their bounds")

    bounces = np.abs(measured["bounces"]["silver"] / predicted["bounce"] - 1).max() / EXACT
    far = [abs(exponent[name] - law) for name, law in (("constant", -1), ("dynamic", -1), ("silver", 0))]
    verdicts["plain"] = check(max(bounces, max(far) / EXPONENT), 1, name="distances over their bounds")

    sums, number = (np.array(list(measured[key].values())) for key in ("same_sum", "same_number"))
    rivals = {"the number of steps counts": sums.mean(1) / number.mean(1)}
    given = {"law": 1, "band": count_band(config.dim), "at": list(measured["same_sum"]), "rivals": rivals}
    verdicts["sums"] = equivalence(
        numbers("loss over that of constant steps of the same sum,", sums.mean(1), standard_error(sums), draws, **given)
    )
    ratio = measured["ratio"]
    verdicts["muon"] = order(
        numbers("steps of gradient descent over Muon's", ratio.mean(), standard_error(ratio, 0), draws, limit=1)
    )
    return verdicts
