"""Measured numbers beside predicted ones, and the verdicts."""

import math

import numpy as np
from scipy.stats import binomtest

from amembook.companions.reward_variance import flows
from amembook.companions.reward_variance.measure import RISES
from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, check, numbers, order

EXACT = 0.02
"""Relative error of the flow's integration: logits move by 0.01 a step."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """scale, rare: steps or times by variance and their exponents. teachers, by policy: median times over all tables,
    shares that never arrive, mean variances and accuracies. memory: steps by scale; at the best rate by own scales."""
    steps, variances = results.array("scale", "steps").astype(float), results.array("scale", "variance")
    exponents = [slope(v, s) for v, s in zip(variances, steps, strict=True)]
    measured = {"scale": {"variance": variances.mean(0), "steps": steps.mean(0)}}
    measured["scale_exponent"] = exponents
    rare = {key: results.array("rare", key) for key in ("time", "law", "variance")}
    measured["rare"] = {key: rare[key] for key in ("time", "variance")}
    predicted = {"rare": {"time": rare["law"]}, "scale_exponent": -0.5}
    measured["rare_exponent"] = slope(rare["variance"], rare["time"])
    predicted["rare_exponent"] = slope(rare["variance"], rare["law"])
    measured["teachers"] = {}
    for policy in RISES:
        rows = measured["teachers"][policy] = {}
        for name in flows.TEACHERS:
            times = results.array("teachers", policy, name, "time").ravel()
            told = {key: results.array("teachers", policy, name, key) for key in ("variance", "accuracy")}
            rows[name] = {
                "time": np.median(times),
                "lost": np.isinf(times).mean(),
                "times": times,
                **{key: values.mean() for key, values in told.items()},
            }
    measured["above"] = results.array("teachers", "above").max()
    measured["memory"], measured["memory_exponent"] = {}, {}
    own = {}
    for name in ("sgd", "polar"):
        counts = results.array("memory", "scaled", name).astype(float)
        measured["memory"][name] = counts.mean(0)
        squares = np.array(config.scales) ** 2
        measured["memory_exponent"][name] = [slope(squares, row) for row in counts]
        own[name] = results.array("memory", "own", name).astype(float).min(1)
    measured["own"] = {name: counts for name, counts in own.items()}
    with np.errstate(invalid="ignore"):
        measured["ratio"] = own["sgd"] / own["polar"]
    predicted["memory_exponent"] = {"sgd": -0.5, "polar": 0.0}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """limit: nothing rises faster than its limit. scale: time goes as Var^(−1/2) if a reward is scaled, which is a
    change of clock. rare: it is the closed form's, and goes as 1/Var, where one arm is good. accuracy: on more than
    half of the tables the accurate teacher of low variance is slower than coarse tiers for one policy, and faster than
    the exact reward for the other. enough: two teachers of more variance than the exact one fail on tables on which it
    does not. memory: SGD's time goes as the scale, and Muon's step has no scale. own: where each prompt has its own,
    SGD needs more steps than Muon.
    """
    draws, told = config.seeds, measured["memory_exponent"]
    tables = config.tables * draws
    far = {
        "scale": np.abs(measured["scale_exponent"] - predicted["scale_exponent"]).max() / EXPONENT,
        "rare": max(
            np.abs(measured["rare"]["time"] / predicted["rare"]["time"] - 1).max() / EXACT,
            abs(measured["rare_exponent"] - predicted["rare_exponent"]) / EXPONENT,
        ),
        "memory": max(np.abs(told[name] - predicted["memory_exponent"][name]).max() for name in told) / EXPONENT,
    }
    verdicts = {name: check(off, 1, name="distance from the law over its bound") for name, off in far.items()}
    verdicts["limit"] = check(measured["above"], 1 + 1e-9, tables * len(RISES), "largest speed over its limit")

    low, high = (measured["teachers"][policy] for policy in ("low", "high"))
    slower = _share("slower for one policy", _slower(low, "eighth power", "five tiers"), limit=0.5)
    turned = _share("faster for the other", _slower(high, "exact", "eighth power"), limit=0.5)
    given = {"limit": 0, "scale": DIFFERENCE}
    less = numbers(
        "variance of five tiers less the eighth power's",
        low["five tiers"]["variance"] - low["eighth power"]["variance"],
        **given,
    )
    accurate = numbers(
        "accuracy of the eighth power less five tiers'",
        low["eighth power"]["accuracy"] - low["five tiers"]["accuracy"],
        **given,
    )
    verdicts["accuracy"] = order(slower + turned + less + accurate)

    enough = []
    for name in ("concave", "noisy"):
        lost = round(low[name]["lost"] * tables), round(low["exact"]["lost"] * tables)
        enough += _share(f"tables on which {name} fails", np.arange(tables) < lost[0], limit=lost[1] / tables)
        enough += numbers(
            f"variance of {name} less the exact reward's", low[name]["variance"] - low["exact"]["variance"], **given
        )
    verdicts["enough"] = order(enough)
    ratio = np.log([_time(value) for value in measured["ratio"]])
    return verdicts | {
        "own": order(numbers("log of SGD's steps over Muon's", ratio.mean(), standard_error(ratio, 0), draws, **given))
    }


def _slower(rows: dict, slow: str, fast: str) -> np.ndarray:
    """On which tables one teacher takes longer than another."""
    times = ([_time(value) for value in rows[name]["times"]] for name in (slow, fast))
    return np.array([one > other for one, other in zip(*times, strict=True)])


def _share(name: str, on: np.ndarray, limit: float) -> list[dict]:
    """The share of tables, with the exact interval of a binomial, that is to be above a limit."""
    interval = binomtest(int(on.sum()), len(on)).proportion_ci()
    return numbers(
        f"share of tables, {name}",
        on.mean(),
        draws=len(on),
        limit=limit,
        scale=DIFFERENCE,
        low=interval.low,
        high=interval.high,
    )


def _time(value) -> float:
    """A record's time: None, which stands for infinity there, is infinite again."""
    return math.inf if value is None or math.isnan(value) else value
