"""`anytime-descent`: gradient descent accelerated by its stepsizes alone, at every stopping time; and on the memory.

A study of Zhang, Lee, Du and Chen, arXiv:2411.17668.

Claim: a stepsize schedule, predetermined without the stopping time, with which gradient descent converges as O(T^-1.03)
(first version) or O(T^-1.119) (second) on smooth convex functions at any stopping time T (abstract).

Caveats: an exponent is fitted from T = 16 on and without the last octave, which lacks what comes after it. A worst case
in closed form is met to 10⁻⁶, a certificate, whose own gap is 10⁻⁸ of distance², to 10⁻⁵. Silver's certificates are
held to the family at its bounces: elsewhere its worst function need not be in it. No law is known of Muon's steps.
"""

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.companions.anytime_descent import measure, steps
from amembook.run.base import (
    Alpha,
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Results,
    Several,
    draws,
    slope,
    some_of,
    standard_error,
)
from amembook.run.claims import EXPONENT, RATIO, check, count_band, equivalence, numbers
from amembook.run.studies import headline
from amembook.run.study import above, by_part, claims_by_part
from amemlib.checks import check_count

FIRST_TIME = 16  # from which stopping time on an exponent is fitted
EXACT = 1e-6  # relative error of a worst case in closed form
PROOF = 1e-5  # what may lie between a certificate and the closed form, relative

PARTS = ("worst", "memory")
"""Worst cases and certificates; runs on the memory."""


@dataclass(frozen=True)
class AnytimeConfig(Config):
    """Sizes of worst cases, certificates, random functions, and of the memory."""

    repeats: Positive = 5.0  # c, a silver block of length 2^k − 1 is joined ⌈c ρ^k⌉ times
    levels: Annotated[int, partial(check_count, least=3)] = 15  # worst cases up to T = 2^levels
    certified: Count = 11  # semidefinite certificates up to that T
    functions: Count = 400  # random ones of a draw
    random_levels: Annotated[int, partial(check_count, least=3)] = 9  # each up to T = 2^random_levels
    n_items: Several = 128
    dim: Count = 32
    alpha: Alpha = 1.5
    memory_levels: Annotated[int, partial(check_count, least=3)] = 8  # trained for 2^memory_levels − 1 steps
    factors: Counts = (1, 2, 4, 6, 8, 10, 12, 14)  # powers of two that multiply the memory's certified rate
    muon_rates: Positives = (0.25, 1.0, 2.0, 4.0, 8.0, 16.0)
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    seeds: Count = 5
    first_seed: Natural = 0


def grids(config: AnytimeConfig) -> dict[str, Grid]:
    """Of the parts: worst cases by schedule, certificates by schedule and T, random functions; the memory by seed."""
    seeds = {"seed": draws(config)}
    memory = {"memory": Grid(measure.measure_memory, seeds)}
    if "worst" not in config.parts:
        return memory
    names = {"schedule": steps.SCHEDULES}
    # c = 1 has bounces within a dozen steps, which c = 5 has not
    cases = {name: {"schedule": name} for name in ("silver", "anytime")}
    cases |= {"one repeat": {"schedule": "anytime", "repeats": 1.0}}
    worst = {
        "family": Grid(measure.measure_family, names),
        "certificate": Grid(measure.measure_certificate, {"case": cases, "n_steps": range(1, config.certified + 1)}),
        "random": Grid(measure.measure_random, seeds),
    }
    return worst | memory if "memory" in config.parts else worst


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By schedule: worst cases and envelopes at `times`, their exponents, silver's bounces. By case: certificates.
    By method on the memory: mean loss and items by number of steps, the items of every draw in the end,
    and steps to nine tenths of the items."""
    return by_part(config, results, {"worst": _read_worst, "memory": _read_memory})


def _read_worst(config, results: Results) -> tuple[dict, dict]:
    times = steps.checkpoints(2**config.levels)
    names = results.grids["family"].axes["schedule"]
    measured = {"times": times, "worst": {}, "envelope": {}, "exponent": {}, "bounces": {}, "above": {}}
    predicted = {"envelope": {}, "exponent": {}, "limit": -steps.EXPONENT, "bounce": 1 / (2 * steps.SILVER**2)}
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
    return measured, predicted


def _read_memory(config, results: Results) -> tuple[dict, dict]:
    measured, last = {}, {}
    draws = list(results.draws["memory"])
    for key in ("loss", "items", "needed"):
        runs = {name: np.array([draw[key][name] for draw in draws], dtype=float) for name in draws[0][key]}
        measured[key] = {name: values.mean(0) for name, values in runs.items()}
        measured[f"{key}_error"] = {name: standard_error(values, 0) for name, values in runs.items()}
        if key != "needed":
            last[key] = {name: values[:, -1] for name, values in runs.items()}
    others, loss = ("dynamic", "silver", "anytime"), last["loss"]
    measured["last_items"] = {name: last["items"][name] for name in steps.SCHEDULES}
    measured["same_sum"] = {name: loss[name] / loss[f"same-{name}"] for name in others}
    measured["same_number"] = {name: loss[name] / loss["constant"] for name in others}
    # steps to nine tenths, the best rate of each draw
    best = {}
    for label, own in (("sgd", "rate "), ("polar", "muon ")):
        needs = [[draw["needed"][name] for name in draw["needed"] if name.startswith(own)] for draw in draws]
        # a rate that is too slow has none
        least = np.where(np.isnan(needs), np.inf, needs).min(1)
        best[label] = np.where(np.isinf(least), np.nan, least)
    measured["best"], measured["ratio"] = best, best["sgd"] / best["polar"]
    measured["looseness"] = results.array("memory", "looseness").mean()
    return measured, {}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """envelope: the joined blocks' envelope is the closed form, whose exponent is the paper's second; nothing is
    random. certificate: no smooth convex function is worse, and no random function of one variable. plain: constant and
    dynamic steps fall as 1/T, silver's bounces not at all, in closed form too. sums: on the memory a schedule does what
    constant steps of the same sum do. ahead: silver has most items, then joined blocks, single steps joined and
    constant steps. muon: polar steps need fewer steps than gradient descent at its best rate.
    """
    return claims_by_part(config, measured, predicted, {"worst": _worst, "memory": _memory})


def _worst(config, measured: dict, predicted: dict) -> dict[str, dict]:
    exponent = measured["exponent"]
    closed = np.abs(measured["envelope"]["anytime"] / predicted["envelope"]["anytime"] - 1).max() / EXACT
    far = abs(exponent["anytime"] - predicted["limit"]) / EXPONENT
    verdicts = {"envelope": check(max(closed, far), 1, name="distance from closed form and exponent over their bounds")}

    family = predicted["certified"]
    gaps = {name: bound / family[name] - 1 for name, bound in measured["certified"].items()}
    powers = 2 ** np.arange(math.floor(math.log2(config.certified)) + 1) - 1
    joined = np.concatenate([gaps["anytime"], gaps["one repeat"], gaps["silver"][powers]])
    over = [measured["flow"] / EXACT, np.abs(joined).max() / PROOF, (measured["random"] - 1) / EXACT]
    verdicts["certificate"] = check(max(*over, 1 - measured["least"] / EXACT), 1, name="distances over their bounds")

    bounces = np.abs(measured["bounces"]["silver"] / predicted["bounce"] - 1).max() / EXACT
    far = [abs(exponent[name] - law) for name, law in (("constant", -1), ("dynamic", -1), ("silver", 0))]
    return verdicts | {"plain": check(max(bounces, max(far) / EXPONENT), 1, name="distances over their bounds")}


def _memory(config, measured: dict, predicted: dict) -> dict[str, dict]:
    sums, number = (np.array(list(measured[key].values())) for key in ("same_sum", "same_number"))
    rivals = {"the number of steps counts": sums.mean(1) / number.mean(1)}
    held_to = {"law": 1, "band": count_band(config.dim), "at": list(measured["same_sum"]), "rivals": rivals}
    name, error = "loss over that of constant steps of the same sum,", standard_error(sums)
    verdicts = {"sums": equivalence(numbers(name, sums.mean(1), error, config.seeds, **held_to))}
    # the first record kept no draws of items
    if items := measured.get("last_items"):
        order = ("constant", "dynamic", "anytime", "silver")
        more = {f"{high} less {low}": items[high] - items[low] for low, high in itertools.pairwise(order)}
        verdicts["ahead"] = above("items in the end,", more)
    return verdicts | {"muon": above("steps of gradient descent over Muon's", measured["ratio"], limit=1, scale=RATIO)}


EXPERIMENT = Experiment(
    name="anytime-descent",
    purpose=headline(__doc__),
    profiles={
        "smoke": AnytimeConfig(
            levels=7, certified=2, functions=10, random_levels=4, n_items=24, dim=8, memory_levels=3, factors=(2, 6),
            muon_rates=(1.0,), seeds=2,
        ),
        "cpu": AnytimeConfig(),
        "memory": AnytimeConfig(parts=("memory",), seeds=20, first_seed=65_100),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={"parts": PARTS},
)  # fmt: skip
