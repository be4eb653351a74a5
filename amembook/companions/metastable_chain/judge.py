"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.metastable_chain import expected
from amembook.companions.metastable_chain.measure import time_axes
from amembook.companions.metastable_chain.search import search_rounds
from amembook.run.base import MAPS, Results, standard_error
from amembook.run.claims import DIFFERENCE, SIZES, SMALL, check, count_band, equivalence, numbers
from amemlib.scaling import fit_exponent

TIME_BAND = 1e-6
"""How far a solved time may lie from its law, relative: both are exact."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`time`: by case, and exponents. `search`: by ε and budget. `pipeline`: by ε. `reward`: by ε, a map. `step`: by
    case, a map. predicted: the same, and rival laws."""
    measured, predicted = {}, {}
    cases = results.grids["time"].axes["case"]
    times, laws = (results.array("time", key).mean(1) for key in ("time", "law"))
    measured["time"] = {"steps": times, "cases": list(cases)}
    predicted["time"] = {"steps": laws}
    predicted["time"]["leading"] = [(c["clusters"] - 1) * c["states"] / c["edge"] for c in cases.values()]
    measured["time"]["axes"] = {
        axis: [list(cases).index(name) for name in own] for axis, own in time_axes(config).items()
    }
    axes = {"edge": config.edges, "size": config.sizes, "ring": np.array(config.rings) - 1, "circle": config.sizes}
    measured["time"]["slopes"] = {
        name: fit_exponent(x, times[measured["time"]["axes"][name]]).slope for name, x in axes.items()
    }
    predicted["time"]["slopes"] = {"edge": -1.0, "size": 1.0, "ring": 1.0}

    shares = results.array("search", "share")
    measured["search"] = {
        "share": shares.mean(2),
        "share_error": standard_error(shares, 2),
        "cost": results.array("search", "cost").mean(2),
    }
    for name in ("kept", "once"):
        measured["search"][name] = {
            "recall": results.array("search", name, "recall").mean(2),
            # no step kept is no precision: such draws count as none, and a row without any as NaN
            "precision": _mean(results.array("search", name, "precision")),
        }
    search = [[(b, config.states, edge, config.walkers) for b in config.budgets] for edge in config.search_edges]
    predicted["search"] = {"share": [[expected.hard_share(*one) for one in row] for row in search]}
    log = config.states * np.log(config.states)
    stay = np.exp(-np.outer(config.search_edges, config.budgets) * log / config.states)
    once = [
        [expected.hard_share(b, config.states, edge, 10**9) for b in config.budgets] for edge in config.search_edges
    ]
    predicted["search"]["rivals"] = {
        "it is enough to stay": stay,
        "it is enough to see all": once / stay,
        "all rounds": np.ones_like(stay),
    }

    times = {key: results.array("pipeline", key) for key in ("before", "after", "law", "recall")}
    measured["pipeline"] = {key: times[key].mean(1) for key in ("before", "after", "recall")}
    measured["pipeline"]["after_error"] = standard_error(times["after"])
    measured["pipeline"]["slope"] = fit_exponent(config.edges, times["after"]).slope
    rounds = search_rounds(config.rounds, config.clusters)
    edges = np.array(config.edges)
    found = [expected.hard_share(config.best, config.states, edge, config.walkers) for edge in edges]
    missed = np.array([expected.missed_chance(share, rounds, config.clusters, config.least) for share in found])
    # a step that is missed is as rare as before: M (1 − ε)/ε in place of M
    slow = (config.clusters - 1) * missed * config.states * ((1 - edges) / edges - 1)
    predicted["pipeline"] = {
        "after": times["law"].mean(1) + slow,
        "all found": times["law"].mean(1),
        "meta": config.clusters - 1,
    }

    edge = np.geomspace(config.often, config.rare, config.clusters)
    measured["reward"], predicted["reward"] = {"edge": edge}, {}
    for name, lr in zip(MAPS, config.reward_lr, strict=True):
        reached = results.array("reward", name)
        measured["reward"][name] = reached.mean(0)
        measured["reward"][f"{name}_error"] = standard_error(reached, 0)
        predicted["reward"][name] = expected.reward_steps(edge, config.degree, config.states, lr)[name]
    measured["reward"]["slope"] = fit_exponent(1 / edge, measured["reward"]["sgd"]).slope

    cases = list(results.grids["step"].axes["case"].values())
    measured["step"] = {"cases": list(results.grids["step"].axes["case"])}
    for name in MAPS:
        entries = results.array("step", name)
        measured["step"][name], measured["step"][f"{name}_error"] = entries.mean(1), standard_error(entries)
    M = config.step_states
    edges = np.array([case["edge"] for case in cases])
    theta = edges / [expected.column_deviation(M, case["degree"], case["samples"]) for case in cases]
    predicted["step"] = {
        "theta": theta,
        "polar": [expected.polar_edge_at(case["edge"], M, case["degree"], case["samples"]) for case in cases],
        "limit": [expected.polar_edge(x) for x in theta],
        "rivals": {
            "its probability": edges,
            "one": [1 - 1 / M] * len(cases),
            "a lone signal's": theta / np.sqrt(1 + theta**2),
            "the arc alone": 2 / np.pi * np.arctan(theta),
        },
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """time: solved times are Kac's law, of which their powers follow: both are computed, nothing is random. search: the
    share of rounds that report a hard step is the law's. boosted: after search and policy gradient times are those of ε
    = 1/2. reward: a policy gradient's steps are the laws'. step: a hard step's entry in the polar factor is that of the
    sizes; limit: the function of ε/σ.
    """
    draws, small = config.seeds, count_band(config.states)
    off = np.abs(measured["time"]["steps"] / predicted["time"]["steps"] - 1).max()

    share, error = (measured["search"][key] for key in ("share", "share_error"))
    law = predicted["search"]
    at = [f"{edge:g}, {budget:g}" for edge in config.search_edges for budget in config.budgets]
    rivals = {name: own for name, own in law["rivals"].items() if name != "all rounds"}
    given = {"law": law["share"], "band": SIZES, "scale": DIFFERENCE, "at": at, "rivals": rivals}
    search = numbers("share of rounds at ε, budget =", share, error, draws, **given)

    after, error = (measured["pipeline"][key] for key in ("after", "after_error"))
    rivals = {"as ε^(−1/4)": after.mean() * (np.array(config.edges) / config.edges[-1]) ** -0.25}
    given = {"law": predicted["pipeline"]["after"], "band": small, "at": config.edges, "rivals": rivals}
    boosted = numbers("steps at ε =", after, error, draws, **given)

    told, laws = measured["reward"], predicted["reward"]
    edge, at = told["edge"], [f"{one:.2g}" for one in told["edge"]]
    power = lambda law, exponent: law[0] * (edge[0] / edge) ** exponent
    rivals = {
        "sgd": {"SGD as ε^(−3/4)": power(laws["sgd"], 0.75), "SGD as 1/√ε": power(laws["sgd"], 0.5)},
        "polar": {"Muon as ε^(−1/4)": power(laws["polar"], 0.25)},
    }
    reward = []
    for name in MAPS:
        given = {"law": laws[name], "band": small, "at": at, "rivals": rivals[name]}
        reward += numbers(f"steps of {name} from ε =", told[name], told[f"{name}_error"], draws, **given)

    law, entry, error = predicted["step"], measured["step"]["polar"], measured["step"]["polar_error"]
    rivals = {name: own for name, own in law["rivals"].items() if name != "one"}
    given = {"law": law["polar"], "limit": law["limit"], "band": SMALL, "at": measured["step"]["cases"]}
    given |= {"rivals": rivals}
    step = numbers("entry at", entry, error, draws, **given)
    verdicts = {"search": search, "boosted": boosted, "reward": reward, "step": step}
    verdicts = {name: equivalence(judged) for name, judged in verdicts.items()}
    return verdicts | {"time": check(off, TIME_BAND, name="relative distance of solved times from the law")}


def _mean(values: np.ndarray) -> np.ndarray:
    """Means over the last axis of what is not NaN, NaN where nothing is left."""
    count = np.isfinite(values).sum(-1)
    return np.where(count > 0, np.nansum(values, -1) / np.maximum(count, 1), np.nan)
