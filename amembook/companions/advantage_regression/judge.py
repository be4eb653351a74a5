"""Measured numbers beside predicted ones, and the verdicts."""

import math

import numpy as np
from scipy.stats import binomtest

from amembook.companions.advantage_regression.teachers import RISES, TEACHERS
from amembook.run.base import Results, scaled, standard_error
from amembook.run.claims import DIFFERENCE, SMALL, check, equivalence, numbers, order
from amembook.run.study import above, by_part, claims_by_part, means

PARTS = ("identity", "floor", "variance", "race", "memory", "teachers")
IDENTITY = 1e-12  # rounding: how far the two gradients may lie apart, per unit of the larger


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Of the parts that were measured. identity: the largest relative error. floor, by baseline: V* − J by rate.
    variance: ratio of one generation with V* to a group, by β and K. race, by β: V* − J at the best rate of each racer,
    draw by draw. memory, by offline samples: J at the best rate after 16, 64 and 256 generations, draw by draw.
    teachers, by policy."""
    summaries = (_identity, _floor, _variance, _race, _memory, _teachers)
    return by_part(config, results, dict(zip(PARTS, summaries, strict=True)))


def _identity(config, results: Results) -> tuple[dict, dict]:
    identity = results.array("identity", "error") / results.array("identity", "size")
    return {"identity": identity.max()}, {}


def _floor(config, results: Results) -> tuple[dict, dict]:
    names, kinds = list(results.grids["floor"].axes["baseline"]), ("first", "next", "filled", "error")
    gaps, laws = results.array("floor", "gap"), {key: results.array("floor", key) for key in kinds}
    by_name = lambda values, moment=np.mean: {name: moment(values[:, k], 1) for k, name in enumerate(names)}
    measured = {"floor": by_name(gaps), "floor_error": by_name(gaps, standard_error)}
    predicted = {"squared_error" if key == "error" else key: by_name(law) for key, law in laws.items()}
    # the scatter of V̂ is in both: their ratio has less
    places = [names.index(str(count)) for count in config.offline]
    for label, key in (("floor_ratio", "next"), ("filled_ratio", "filled")):
        measured |= means({label: gaps[:, places] / laws[key][:, places]}, 2)
    return measured, predicted


def _variance(config, results: Results) -> tuple[dict, dict]:
    sampled, exact = results.array("variance", "sampled"), results.array("variance", "exact")
    rule = (results.array("variance", "gap") / results.array("variance", "allowed")).mean(2)
    law = {"variance": (exact[..., 0] / exact[..., 1]).mean(2), "rule": rule}
    return means({"variance": sampled[..., 0] / sampled[..., 1]}, 2), law


def _race(config, results: Results) -> tuple[dict, dict]:
    racers, measured = list(results.grids["race"].axes["racer"]), {"race": {}, "race_rate": {}, "race_edge": {}}
    ends = results.array("race", "gaps")
    for i, beta in enumerate(f"{beta:g}" for beta in config.race_betas):
        best = {name: int(ends[i, k].mean(0).argmin()) for k, name in enumerate(racers)}
        measured["race"][beta] = {name: ends[i, k, :, best[name]] for k, name in enumerate(racers)}
        measured["race_rate"][beta] = {name: config.race_rates[place] for name, place in best.items()}
        measured["race_edge"][beta] = [n for n, place in best.items() if place in (0, len(config.race_rates) - 1)]
    return measured, {}


def _memory(config, results: Results) -> tuple[dict, dict]:
    measured = {"memory": {}, "memory_rate": {}}
    for n_offline in results.grids["memory"].axes["n_offline"]:
        label = f"{n_offline}" if n_offline else "exact"
        measured["memory"][label], measured["memory_rate"][label] = {}, {}
        for name, rates in (("sgd", config.sgd_rates), ("polar", config.polar_rates)):
            J = results.array("memory", name, n_offline=n_offline)
            best = J.mean(0).argmax(1)
            measured["memory"][label][name] = [J[:, t, place] for t, place in enumerate(best)]
            measured["memory_rate"][label][name] = [rates[place] for place in best]
    return measured, {"best": results.array("memory", "best").mean()}


def _teachers(config, results: Results) -> tuple[dict, dict]:
    teachers = {policy: {name: _teacher(results, policy, name) for name in TEACHERS} for policy in RISES}
    return {"teachers": teachers, "above": results.array("teachers", "above").max()}, {}


def _teacher(results: Results, policy: str, name: str) -> dict:
    """Times over all tables, their median, the share that never arrives, mean variance and accuracy."""
    times = results.array("teachers", policy, name, "time").ravel()
    mean = {key: results.array("teachers", policy, name, key).mean() for key in ("variance", "accuracy")}
    return {"time": np.median(times), "lost": np.isinf(times).mean(), "times": times} | mean


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Of the parts that were measured. identity: the two gradients are one. floor: V* − J is the law's to next order in
    η at all rates and errors, in the limit its first order, at the smallest rate; it is nothing for V* and for a group.
    filled: it is that law's at the times of the run. variance: sampled ratios at the start are the exact ones. oracle:
    at every β exact V* ends ahead of the best group; realizable: V* of 64 samples does. memory: Muon ahead after 16
    generations, and hurt more by the errors of V* after 256; no law is known. limit: no reward rises faster than its
    limit. accuracy: on more than half of the tables the accurate teacher of low variance is slower than coarse tiers
    for one policy, and faster than the exact reward for the other. enough: two teachers of more variance than the exact
    reward fail on tables on which it does not.
    """
    claims = (_judge_identity, _judge_floor, _judge_variance, _judge_race, _judge_memory, _judge_teachers)
    return claims_by_part(config, measured, predicted, dict(zip(PARTS, claims, strict=True)))


def _judge_identity(config, measured: dict, predicted: dict) -> dict[str, dict]:
    return {"identity": check(measured["identity"], IDENTITY, config.seeds, "largest relative difference")}


def _judge_floor(config, measured: dict, predicted: dict) -> dict[str, dict]:
    draws, offline = config.seeds, [str(count) for count in config.offline]
    by_name = lambda values: np.stack([values[name] for name in offline], 1)
    gap, first, following = by_name(measured["floor"]), by_name(predicted["first"]), by_name(predicted["next"])
    rates, at = np.array(config.rates)[:, None], [f"{rate:g}, {name}" for rate in config.rates for name in offline]
    shapes = {"proportional to |δ|": by_name(predicted["squared_error"]) ** -0.5}
    shapes |= {"as η^(3/4)": rates**-0.25 * np.ones_like(gap)}
    rivals = {name: scaled(shape, 1.0) for name, shape in shapes.items()}
    held_to = {"law": 1, "band": SMALL, "at": at}
    ratio, error = measured["floor_ratio"], measured["floor_ratio_error"]
    others = rivals | {"first order, at every rate": first / following}
    floor = numbers("V* − J over the law at η, samples =", ratio, error, draws, rivals=others, **held_to)
    slow = following[0] / first[0]
    ratio, error = ratio[0] * slow, error[0] * slow
    floor += numbers("over its first order at samples =", ratio, error, draws, limit=1, band=SMALL, at=offline)
    largest = max(np.abs(measured["floor"][name]).max() for name in ("exact", "group"))
    nothing = {"law": 0, "band": 0.01 * gap.min(), "scale": DIFFERENCE, "guard": True}
    nothing = numbers("largest V* − J for exact V* or a group", largest, **nothing)
    verdicts = {"floor": equivalence(floor + nothing)}
    if "filled_ratio" in measured:
        ratio, error, law = measured["filled_ratio"], measured["filled_ratio_error"], by_name(predicted["filled"])
        others = rivals | {"first order, at every rate": first / law, "the floor at once": following / law}
        filled = numbers("V* − J over the law in time at η, samples =", ratio, error, draws, rivals=others, **held_to)
        verdicts["filled"] = equivalence(filled + nothing)
    return verdicts


def _judge_variance(config, measured: dict, predicted: dict) -> dict[str, dict]:
    # sampled estimates of what is known exactly check the formula and refuse no law
    off = np.abs(np.array(measured["variance"]) / np.array(predicted["variance"]) - 1).max()
    name = "largest relative deviation of a sampled ratio from the exact one"
    return {"variance": check(off, SMALL, config.seeds, name)}


def _judge_race(config, measured: dict, predicted: dict) -> dict[str, dict]:
    verdicts, races = {}, measured["race"]
    for key, racer in (("oracle", "star 0"), ("realizable", "star 64")):
        if any(racer not in race for race in races.values()):
            continue
        leads = {}
        for beta, race in races.items():
            groups = np.stack([gaps for name, gaps in race.items() if name.startswith("group")])
            leads[f"less {racer}'s, β = {beta}"] = groups[groups.mean(1).argmin()] - race[racer]
        verdicts[key] = above("best group's distance", leads)
    return verdicts


def _judge_memory(config, measured: dict, predicted: dict) -> dict[str, dict]:
    memory = measured["memory"]
    ahead = memory["exact"]["polar"][0] - memory["exact"]["sgd"][0]
    hurt = {name: memory["exact"][name][-1] - memory["8"][name][-1] for name in ("sgd", "polar")}
    leads = {"Muon less SGD, early": ahead, "Muon's loss by errors less SGD's, late": hurt["polar"] - hurt["sgd"]}
    judged = []
    for name, lead in leads.items():
        judged += numbers(name, lead.mean(), standard_error(lead, 0), len(lead), limit=0, scale=DIFFERENCE)
    return {"memory": order(judged)}


def _judge_teachers(config, measured: dict, predicted: dict) -> dict[str, dict]:
    tables = config.tables * config.seeds
    low, high = (measured["teachers"][policy] for policy in ("low", "high"))
    limit = check(measured["above"], 1 + 1e-9, tables * len(RISES), "largest speed over its limit")
    more = lambda name, value: numbers(name, value, limit=0, scale=DIFFERENCE)
    accurate, tiers, exact = (low[name] for name in ("eighth power", "five tiers", "exact"))
    accuracy = _share("slower for one policy", _slower(low, "eighth power", "five tiers"), limit=0.5)
    accuracy += _share("faster for the other", _slower(high, "exact", "eighth power"), limit=0.5)
    accuracy += more("variance of five tiers less the eighth power's", tiers["variance"] - accurate["variance"])
    accuracy += more("accuracy of the eighth power less five tiers'", accurate["accuracy"] - tiers["accuracy"])
    enough = []
    for name in ("concave", "noisy"):
        lost = np.arange(tables) < round(low[name]["lost"] * tables)
        enough += _share(f"on which {name} fails", lost, limit=exact["lost"])
        enough += more(f"variance of {name} less the exact reward's", low[name]["variance"] - exact["variance"])
    return {"limit": limit, "accuracy": order(accuracy), "enough": order(enough)}


def _slower(rows: dict, slow: str, fast: str) -> np.ndarray:
    """On which tables one teacher takes longer than another; a record's NaN stands for infinity."""
    times = (np.nan_to_num(rows[name]["times"], nan=math.inf) for name in (slow, fast))
    return np.array([one > other for one, other in zip(*times, strict=True)])


def _share(name: str, on: np.ndarray, limit: float) -> list[dict]:
    """The share of tables, with the exact interval of a binomial, that is to be above a limit."""
    interval = binomtest(int(on.sum()), len(on)).proportion_ci()
    held_to = {"limit": limit, "scale": DIFFERENCE, "low": interval.low, "high": interval.high}
    return numbers(f"share of tables, {name}", on.mean(), draws=len(on), **held_to)
