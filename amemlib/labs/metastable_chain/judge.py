"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.metastable_chain import expected
from amemlib.labs.metastable_chain.measure import MAPS, time_axes
from amemlib.labs.metastable_chain.search import search_rounds
from amemlib.scaling import fit_exponent
from amemlib.verdicts import refuse, verdict

TIME_BAND, SLOPE_BAND = 1e-6, 0.02
"""How far a solved time may lie from its law, relative: both are exact; and an exponent from its limit."""
SHARE_BAND, FOUND = 0.07, 0.85
"""How far a share of rounds may lie from its law, beyond two standard errors: walks are taken as visits at random.
What share of the hard steps a search must keep at the best budget, and what share of what it keeps must be hard."""
AFTER_BAND, FREE = 0.1, 0.05
"""How far a time after the policy gradient may lie from its law, relative and beyond two standard errors; below what
exponent of ε it is free of it."""
REWARD_BAND, REWARD_SLOPE = 0.1, 0.1
"""How far steps of a policy gradient may lie from their law, relative and beyond two standard errors; how far the
exponent of SGD's may lie from one, and Muon's share of growth from that of a logarithm."""
STEP_BAND, LIMIT_BAND = 0.1, 0.05
"""How far a polar entry may lie from the law of these sizes, relative and beyond two standard errors: random clusters
have few permutations; and from its limit, absolute."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`time`: by case, and exponents. `search`: by ε and budget. `pipeline`: by ε. `reward`: by ε, a map. `step`: by
    case, a map. predicted: the same, and rival laws."""
    measured, predicted = {}, {}
    cases = results.grids["time"].axes["case"]
    times, laws = (results.array("time", key).mean(1) for key in ("time", "law"))
    measured["time"] = {"steps": times.tolist(), "cases": list(cases)}
    predicted["time"] = {"steps": laws.tolist()}
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
        "share": shares.mean(2).tolist(),
        "share_error": standard_error(shares, 2).tolist(),
        "cost": results.array("search", "cost").mean(2).tolist(),
    }
    for name in ("kept", "once"):
        measured["search"][name] = {
            "recall": results.array("search", name, "recall").mean(2).tolist(),
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
        "it is enough to stay": stay.tolist(),
        "it is enough to see all": (np.array(once) / stay).tolist(),
        "all rounds": np.ones_like(stay).tolist(),
    }

    told = {key: results.array("pipeline", key) for key in ("before", "after", "law", "recall")}
    measured["pipeline"] = {key: told[key].mean(1).tolist() for key in ("before", "after", "recall")}
    measured["pipeline"]["after_error"] = standard_error(told["after"]).tolist()
    measured["pipeline"]["slope"] = fit_exponent(config.edges, told["after"]).slope
    rounds = search_rounds(config.rounds, config.clusters)
    edges = np.array(config.edges)
    found = [expected.hard_share(config.best, config.states, edge, config.walkers) for edge in edges]
    missed = np.array([expected.missed_chance(share, rounds, config.clusters, config.least) for share in found])
    # a step that is missed is as rare as before: M (1 − ε)/ε in place of M
    slow = (config.clusters - 1) * missed * config.states * ((1 - edges) / edges - 1)
    predicted["pipeline"] = {
        "after": (told["law"].mean(1) + slow).tolist(),
        "all found": told["law"].mean(1).tolist(),
        "meta": config.clusters - 1,
    }

    edge = np.geomspace(config.often, config.rare, config.clusters)
    measured["reward"], predicted["reward"] = {"edge": edge.tolist()}, {}
    for name, lr in zip(MAPS, config.reward_lr, strict=True):
        reached = results.array("reward", name)
        measured["reward"][name] = reached.mean(0).tolist()
        measured["reward"][f"{name}_error"] = standard_error(reached, 0).tolist()
        predicted["reward"][name] = expected.reward_steps(edge, config.degree, config.states, lr)[name].tolist()
    measured["reward"]["slope"] = fit_exponent(1 / edge, measured["reward"]["sgd"]).slope

    cases = list(results.grids["step"].axes["case"].values())
    measured["step"] = {"cases": list(results.grids["step"].axes["case"])}
    for name in MAPS:
        found = results.array("step", name)
        measured["step"][name] = found.mean(1).tolist()
        measured["step"][f"{name}_error"] = standard_error(found).tolist()
    M = config.step_states
    edges = np.array([case["edge"] for case in cases])
    theta = edges / [expected.column_deviation(M, case["degree"], case["samples"]) for case in cases]
    predicted["step"] = {
        "theta": theta.tolist(),
        "polar": [expected.polar_edge_at(case["edge"], M, case["degree"], case["samples"]) for case in cases],
        "limit": [expected.polar_edge(x) for x in theta],
        "rivals": {
            "its probability": edges.tolist(),
            "one": [1 - 1 / M] * len(cases),
            "a lone signal's": (theta / np.sqrt(1 + theta**2)).tolist(),
            "the arc alone": (2 / np.pi * np.arctan(theta)).tolist(),
        },
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """time: solved times are Kac's law; limit: as 1/ε, as M and as the number of clusters to cross.
    search: the share of rounds that report a hard step is the law's; limit: at the best budget nearly all are kept.
    boosted: after search and policy gradient times are those of ε = 1/2; limit: free of ε.
    reward: a policy gradient's steps are the laws'; limit: SGD's as 1/ε.
    step: a hard step's entry in the polar factor is that of the sizes; limit: the function of ε/σ.
    """
    draws, verdicts = config.seeds, {}
    time, told = measured["time"], predicted["time"]
    found = np.array(time["steps"])
    is_time = lambda law: bool((np.abs(found / np.array(law) - 1) <= TIME_BAND).all())  # noqa: E731

    def scales(slopes) -> bool:
        return all(abs(time["slopes"][name] - slope) <= SLOPE_BAND for name, slope in slopes.items())

    refused = refuse(is_time, {"M/ε a cluster": told["leading"]})
    rivals = {"1/√ε": {"edge": -0.5}, "M²": {"size": 2.0}, "K²": {"ring": 2.0}}
    refused += refuse(scales, {name: told["slopes"] | other for name, other in rivals.items()})
    verdicts["time"] = verdict(is_time(told["steps"]), scales(told["slopes"]), refused, draws)

    share, error = (_numbers(measured["search"][key]) for key in ("share", "share_error"))
    is_share = lambda law: bool((np.abs(share - law) <= SHARE_BAND + 2 * np.nan_to_num(error)).all())  # noqa: E731
    finds = None
    if config.best in config.budgets:
        k = list(config.budgets).index(config.best)
        kept = [_numbers(measured["search"]["kept"][key])[:, k] for key in ("recall", "precision")]
        finds = all(bool((values >= FOUND).all()) for values in kept)
    rivals = {name: np.array(law) for name, law in predicted["search"]["rivals"].items()}
    verdicts["search"] = verdict(
        is_share(np.array(predicted["search"]["share"])), finds, refuse(is_share, rivals), draws
    )

    after, error = (_numbers(measured["pipeline"][key]) for key in ("after", "after_error"))
    law = np.array(predicted["pipeline"]["after"])
    is_after = lambda law: bool((np.abs(after - law) <= AFTER_BAND * law + 2 * np.nan_to_num(error)).all())  # noqa: E731
    rivals = {"as before": np.array(measured["pipeline"]["before"]), "a step a cluster": 0 * law + config.clusters - 1}
    free = abs(measured["pipeline"]["slope"]) <= FREE
    verdicts["boosted"] = verdict(is_after(law), free, refuse(is_after, rivals), draws)

    reward, laws = measured["reward"], predicted["reward"]

    def is_reward(laws) -> bool:
        for name in MAPS:
            steps, error = _numbers(reward[name]), np.nan_to_num(_numbers(reward[f"{name}_error"]))
            law = np.array(laws[name])
            if not (np.abs(steps - law) <= REWARD_BAND * law + 2 * error).all():
                return False
        return True

    edge = np.array(reward["edge"])
    rivals = {
        "SGD as 1/√ε": laws | {"sgd": (laws["sgd"][0] * np.sqrt(edge[0] / edge)).tolist()},
        "SGD as log 1/ε": laws | {"sgd": (laws["sgd"][0] * np.log(edge) / np.log(edge[0])).tolist()},
        "Muon as 1/ε": laws | {"polar": (laws["polar"][0] * edge[0] / edge).tolist()},
    }
    steep = abs(reward["slope"] - 1) <= REWARD_SLOPE
    verdicts["reward"] = verdict(is_reward(laws), steep, refuse(is_reward, rivals), draws)

    found, error = (_numbers(measured["step"][key]) for key in ("polar", "polar_error"))

    def is_step(law) -> bool:
        return bool((np.abs(found - law) <= STEP_BAND * np.array(law) + 2 * np.nan_to_num(error)).all())

    limit = bool((np.abs(found - predicted["step"]["limit"]) <= LIMIT_BAND + 2 * np.nan_to_num(error)).all())
    refused = refuse(is_step, predicted["step"]["rivals"])
    verdicts["step"] = verdict(is_step(predicted["step"]["polar"]), limit, refused, draws)
    return verdicts


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)


def _mean(values: np.ndarray) -> list:
    """Means over the last axis of what is not NaN, NaN where nothing is left."""
    count = np.isfinite(values).sum(-1)
    return np.where(count > 0, np.nansum(values, -1) / np.maximum(count, 1), np.nan).tolist()
