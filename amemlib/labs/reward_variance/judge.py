"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.experiments.base import Results
from amemlib.labs.reward_variance import flows
from amemlib.labs.reward_variance.measure import RISES
from amemlib.verdicts import consistency, refuse, verdict

EXPONENT_BAND = 0.03
"""How far an exponent of time in the variance may lie from its law: steps come whole."""
EXACT = 0.02
"""Relative error of the flow's integration: logits move by 0.01 a step."""
MOST = 0.75
"""The share of tables, of pairs of teachers on the same table, that makes one of the two the slower one."""
LOST = 0.25
"""The share of tables on which a teacher must fail to count as a counter-example; the exact one fails on none."""
RATIO = 10.0
"""By what factor SGD needs more steps than Muon where every prompt has its own scale."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """scale, rare: steps or times by variance and their exponents. teachers, by policy: median times over all tables,
    shares that never arrive, mean variances and accuracies. memory: steps by scale; at the best rate by own scales."""
    steps, variances = results.array("scale", "steps").astype(float), results.array("scale", "variance")
    exponents = [_exponent(v, s) for v, s in zip(variances, steps, strict=True)]
    measured = {"scale": {"variance": variances.mean(0).tolist(), "steps": steps.mean(0).tolist()}}
    measured["scale_exponent"] = exponents
    rare = {key: results.array("rare", key) for key in ("time", "law", "variance")}
    measured["rare"] = {key: rare[key].tolist() for key in ("time", "variance")}
    predicted = {"rare": {"time": rare["law"].tolist()}, "scale_exponent": -0.5}
    measured["rare_exponent"] = _exponent(rare["variance"], rare["time"])
    predicted["rare_exponent"] = _exponent(rare["variance"], rare["law"])
    measured["teachers"] = {}
    for policy in RISES:
        rows = measured["teachers"][policy] = {}
        for name in flows.TEACHERS:
            times = results.array("teachers", policy, name, "time").ravel()
            told = {key: results.array("teachers", policy, name, key) for key in ("variance", "accuracy")}
            rows[name] = {
                "time": float(np.median(times)),
                "lost": float(np.isinf(times).mean()),
                "times": times.tolist(),
                **{key: float(values.mean()) for key, values in told.items()},
            }
    measured["above"] = float(results.array("teachers", "above").max())
    measured["memory"], measured["memory_exponent"] = {}, {}
    own = {}
    for name in ("sgd", "polar"):
        counts = results.array("memory", "scaled", name).astype(float)
        measured["memory"][name] = counts.mean(0).tolist()
        squares = np.array(config.scales) ** 2
        measured["memory_exponent"][name] = [_exponent(squares, row) for row in counts]
        own[name] = results.array("memory", "own", name).astype(float).min(1)
    measured["own"] = {name: counts.tolist() for name, counts in own.items()}
    with np.errstate(invalid="ignore"):
        measured["ratio"] = (own["sgd"] / own["polar"]).tolist()
    predicted["memory_exponent"] = {"sgd": -0.5, "polar": 0.0}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """limit: nothing rises faster than its limit. scale: time goes as Var^(−1/2) if a reward is scaled. rare: it is the
    closed form, and goes as 1/Var, where one arm is good. accuracy: on most tables the accurate teacher of low variance
    is slower than coarse tiers for one policy, and faster than the exact reward for the other. enough: variance is not
    sufficient, two teachers of more variance than the exact one fail. memory: SGD's time goes as the scale, Muon's does
    not, and where each prompt has its own SGD needs many times as many steps.
    """
    verdicts = {"limit": consistency(measured["above"] <= 1 + 1e-9)}
    scale = np.array(measured["scale_exponent"], dtype=float)
    is_scale = lambda value: bool((np.abs(scale - value) <= EXPONENT_BAND).all())  # noqa: E731
    rivals = {"1/Var": -1.0, "any variance": 0.0, "Var^(−1/3)": -1 / 3}
    met = is_scale(predicted["scale_exponent"])
    verdicts["scale"] = verdict(met, met, refuse(is_scale, rivals))

    time, law = (np.array(told["rare"]["time"], dtype=float) for told in (measured, predicted))
    near = bool((np.abs(time / law - 1) <= EXACT).all())
    is_rare = lambda value: bool(abs(measured["rare_exponent"] - value) <= EXPONENT_BAND)  # noqa: E731
    rivals = {"Var^(−1/2)": -0.5, "any variance": 0.0, "Var^(−2)": -2.0}
    verdicts["rare"] = verdict(near, is_rare(-1.0), refuse(is_rare, rivals))

    low, high = (measured["teachers"][policy] for policy in ("low", "high"))
    behind = _share_slower(low, "eighth power", "five tiers")
    slower, turned = behind >= MOST, _share_slower(high, "exact", "eighth power") >= MOST
    less = low["eighth power"]["variance"] < low["five tiers"]["variance"]
    accurate = low["eighth power"]["accuracy"] > low["five tiers"]["accuracy"]
    # laws by the share of tables on which the accurate teacher would be the slower one, for the first policy
    is_behind = lambda share: abs(behind - share) <= 1 - MOST  # noqa: E731
    refused = refuse(is_behind, {"accuracy decides": 0.0, "neither matters": 0.5})
    verdicts["accuracy"] = verdict(None, slower and turned and less and accurate, refused)

    failing = [name for name in ("concave", "noisy") if low[name]["variance"] > low["exact"]["variance"]]
    failing = [name for name in failing if low[name]["lost"] >= LOST]
    arrives = low["exact"]["lost"] == 0
    told = arrives and "concave" in failing and "noisy" in failing
    verdicts["enough"] = verdict(None, told, ["variance is sufficient"] if arrives and failing else [])

    exponents = {name: np.array(measured["memory_exponent"][name], dtype=float) for name in ("sgd", "polar")}
    is_memory = lambda values: all(  # noqa: E731
        (np.abs(exponents[name] - value) <= EXPONENT_BAND).all() for name, value in zip(exponents, values, strict=True)
    )
    ratio = np.array([_time(value) for value in measured["ratio"]])
    rivals = {"Muon as SGD": (-0.5, -0.5), "neither sees the scale": (0.0, 0.0)}
    verdicts["memory"] = verdict(is_memory((-0.5, 0.0)), bool((ratio >= RATIO).all()), refuse(is_memory, rivals))
    return verdicts


def _exponent(x, y) -> float:
    """The slope of log y in log x."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return float(np.polyfit(np.log(x), np.log(y), 1)[0]) if np.isfinite(y).all() else math.nan


def _share_slower(rows: dict, slow: str, fast: str) -> float:
    """The share of tables on which one teacher takes longer than another."""
    times = ([_time(value) for value in rows[name]["times"]] for name in (slow, fast))
    return float(np.mean([one > other for one, other in zip(*times, strict=True)]))


def _time(value) -> float:
    """A record's time: None, which stands for infinity there, is infinite again."""
    return math.inf if value is None else value
