"""`metastable-chain`: a chain of thought among clusters, its rare hard steps, and who learns them.

A study of Kim, Wu, Lee and Suzuki, arXiv:2502.01694.

Claim: implementing a search protocol that rewards sparse edges improves CoT by decreasing the expected number of steps
to reach different clusters; the pretrained model can be directly finetuned to favor sparse edges via policy gradient
methods, and a compressed metastable representation can be distilled into a smaller model (abstract).

Caveats: solved times and their law are both exact, and lie 10⁻⁶ apart at most. A draw of a search that keeps no step
has no precision and does not count in its mean. A hard step that a search misses is as rare as before.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.companions.metastable_chain import expected, measure
from amembook.companions.metastable_chain.search import search_rounds
from amembook.run.base import (
    MAPS,
    Chance,
    Chances,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Results,
    Several,
    draws,
    some_of,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, SIZES, SMALL, check, count_band, equivalence, numbers
from amembook.run.studies import headline
from amembook.run.study import by_part, claims_by_part, means
from amemlib.checks import check_count, check_dims
from amemlib.scaling import fit_exponent

PARTS = ("time", "search", "pipeline", "reward", "step")
TIME_BAND = 1e-6
FEWEST_SAMPLES = ("0.01 uniform 100", "0.01 uniform 300", "0.01 uniform 1000")
"""Cases of the first gradient that a hundred draws leave too wide: four hundred fresh ones are another record."""

ManyOf = Annotated[Dims, partial(check_dims, least=2)]


@dataclass(frozen=True)
class MetastableChainConfig(Config):
    """Sizes of the chain where they do not vary, of its times, of a search and what is learnt from it, of a policy
    gradient by reward (`reward_…`), and of the first gradient (`step_…`).
    """

    clusters: Annotated[int, partial(check_count, least=3)] = 10  # K
    states: Count = 24  # M
    edge: Chance = 0.02  # ε
    degree: Several = 8  # permutations of a random cluster
    edges: Chances = (0.005, 0.01, 0.02, 0.05, 0.1)  # ε of the times, as M and K varied at the others' value
    sizes: ManyOf = (12, 24, 48, 96)  # M of the times
    rings: ManyOf = (5, 9, 17, 33)  # K of the times
    circle_edge: Chance = 0.2  # ε of circles
    budgets: Positives = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # exploration in units of M log M
    search_edges: Chances = (0.01, 0.05)
    walkers: Count = 8  # of a search
    rounds: Positive = 8.0  # of a search, in units of K log K
    least: Count = 4  # reports that keep a step
    best: Positive = 2.0  # the budget of what is learnt from a search
    half_lr: Positive = 0.1  # of Muon there
    reward_lr: Positives = (1.0, 0.25)  # of SGD and of Muon
    often: Chance = 0.2  # the largest ε of a chain whose hard steps differ
    rare: Chance = 0.002  # the smallest
    step_clusters: Count = 12  # K
    step_states: Count = 48  # M
    step_edges: Chances = (0.01, 0.05)
    samples: ManyOf = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)  # a state, of uniform clusters
    degrees: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (6, 12, 24)  # of random ones, all data
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    seeds: Count = 8
    first_seed: Natural = 0

    def limits(self):
        if len(self.reward_lr) != 2:
            raise ValueError(f"reward_lr must hold a rate for SGD and one for Muon, got {list(self.reward_lr)}")


def step_cases(config: MetastableChainConfig) -> dict[str, dict]:
    """Clusters of the first gradient: uniform ones by samples a state, random ones from all data, by name."""
    uniform = [(edge, "uniform", 0, n) for edge in config.step_edges for n in config.samples]
    random = [(edge, "random", r, 0) for edge in config.step_edges for r in config.degrees]
    named = {f"{edge:g} {kind} {r + n}": (edge, r, n) for edge, kind, r, n in uniform + random}
    return {name: dict(zip(("edge", "degree", "samples"), case, strict=True)) for name, case in named.items()}


def grids(config: MetastableChainConfig) -> dict[str, Grid]:
    """Times; shares of a search by budget; times after it; steps to learn hard steps; the first gradient."""
    seeds = {"seed": draws(config)}
    times = {name: case for axis in measure.time_axes(config).values() for name, case in axis.items()}
    every = {
        "time": Grid(measure.measure_time, {"case": times} | seeds),
        "search": Grid(measure.measure_search, {"edge": config.search_edges, "budget": config.budgets} | seeds),
        "pipeline": Grid(measure.measure_pipeline, {"edge": config.edges} | seeds),
        "reward": Grid(measure.measure_reward, seeds),
        "step": Grid(measure.measure_step, {"case": step_cases(config)} | seeds),
    }
    return {part: every[part] for part in config.parts}


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`time`: by case, and exponents. `search`: by ε and budget. `pipeline`: by ε. `reward`: by ε, a map. `step`: by
    case, a map. predicted: the same, and rival laws."""
    return by_part(config, results, dict(zip(PARTS, (_time, _search, _pipeline, _reward, _step), strict=True)))


def _time(config, results: Results) -> tuple[dict, dict]:
    cases, axes = results.grids["time"].axes["case"], measure.time_axes(config)
    times, laws = (results.array("time", key).mean(1) for key in ("time", "law"))
    places = {axis: [list(cases).index(name) for name in own] for axis, own in axes.items()}
    sizes = {"edge": config.edges, "size": config.sizes, "ring": np.array(config.rings) - 1, "circle": config.sizes}
    slopes = {name: fit_exponent(x, times[places[name]]).slope for name, x in sizes.items()}
    leading = [(case["clusters"] - 1) * case["states"] / case["edge"] for case in cases.values()]
    laws = {"steps": laws, "leading": leading, "slopes": {"edge": -1.0, "size": 1.0, "ring": 1.0}}
    return {"time": {"steps": times, "cases": list(cases), "axes": places, "slopes": slopes}}, {"time": laws}


def _search(config, results: Results) -> tuple[dict, dict]:
    measured = means({"share": results.array("search", "share")}, 2)
    measured["cost"] = results.array("search", "cost").mean(2)
    for name in ("kept", "once"):
        recall, precision = (results.array("search", name, key) for key in ("recall", "precision"))
        measured[name] = {"recall": recall.mean(2), "precision": _mean(precision)}
    M, log = config.states, math.log(config.states)
    table = lambda law: np.array([[law(edge, b) for b in config.budgets] for edge in config.search_edges])
    rivals = {
        "it is enough to stay": table(lambda edge, b: math.exp(-edge * b * log)),
        "it is enough to see all": table(lambda edge, b: expected.seen_share(b * M * log, M, edge)),
    }
    share = table(lambda edge, b: expected.hard_share(b, M, edge, config.walkers))
    return {"search": measured}, {"search": {"share": share, "rivals": rivals}}


def _pipeline(config, results: Results) -> tuple[dict, dict]:
    times = {key: results.array("pipeline", key) for key in ("before", "after", "law", "recall")}
    measured = {key: times[key].mean(1) for key in ("before", "after", "recall")}
    measured["after_error"] = standard_error(times["after"])
    measured["slope"] = fit_exponent(config.edges, times["after"]).slope
    rounds, edges, law = search_rounds(config.rounds, config.clusters), np.array(config.edges), times["law"].mean(1)
    shares = [expected.hard_share(config.best, config.states, edge, config.walkers) for edge in edges]
    missed = np.array([expected.missed_chance(share, rounds, config.clusters, config.least) for share in shares])
    # a step that is missed is as rare as before: M (1 − ε)/ε in place of M
    slow = (config.clusters - 1) * missed * config.states * ((1 - edges) / edges - 1)
    # what is rewarded ends above 1/2, by half a step in the mean
    over = (config.clusters - 1) * config.states * (1 - expected.overshot(config.degree, config.states, config.half_lr))
    laws = {"after": law + slow - over, "all found": law, "meta": config.clusters - 1}
    return {"pipeline": measured}, {"pipeline": laws}


def _reward(config, results: Results) -> tuple[dict, dict]:
    edge = np.geomspace(config.often, config.rare, config.clusters)
    measured = {"edge": edge} | means({name: results.array("reward", name) for name in MAPS}, 0)
    laws, counted = {}, {}
    for name, lr in zip(MAPS, config.reward_lr, strict=True):
        laws[name] = expected.reward_steps(edge, config.degree, config.states, lr)[name]
        counted[name] = expected.counted_steps(edge, config.degree, config.states, lr)[name]
    measured |= {"slope": fit_exponent(1 / edge, measured["sgd"]).slope}
    return {"reward": measured}, {"reward": laws | {"counted": counted}}


def _step(config, results: Results) -> tuple[dict, dict]:
    cases, M = results.grids["step"].axes["case"], config.step_states
    noise = [(case["degree"], case["samples"]) for case in cases.values()]
    edges = np.array([case["edge"] for case in cases.values()])
    theta = edges / [expected.column_deviation(M, *own) for own in noise]
    polar = [expected.polar_edge_at(edge, M, *own) for edge, own in zip(edges.tolist(), noise, strict=True)]
    rivals = {
        "its probability": edges,
        "one": [1 - 1 / M] * len(edges),
        "a lone signal's": theta / np.sqrt(1 + theta**2),
    }
    rivals["the arc alone"] = 2 / np.pi * np.arctan(theta)
    laws = {"theta": theta, "polar": polar, "limit": [expected.polar_edge(x) for x in theta], "rivals": rivals}
    entries = means({name: results.array("step", name) for name in MAPS})
    return {"step": {"cases": list(cases)} | entries}, {"step": laws}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Of the parts that were measured. time: solved times are Kac's law, of which their powers follow: both are
    computed, nothing is random. search: the share of rounds that report a hard step is the law's. boosted: after search
    and policy gradient times are those of ε = 1/2, and of half a step beyond. reward: a policy gradient's steps are the
    laws', counted one by one; a record may lack these and is held to the laws of small steps. step: a hard step's entry
    in the polar factor is that of the sizes; limit: the function of ε/σ.
    """
    claims = (_judge_time, _judge_search, _judge_pipeline, _judge_reward, _judge_step)
    return claims_by_part(config, measured, predicted, dict(zip(PARTS, claims, strict=True)))


def _judge_time(config, measured: dict, predicted: dict) -> dict[str, dict]:
    off = np.abs(measured["time"]["steps"] / predicted["time"]["steps"] - 1).max()
    return {"time": check(off, TIME_BAND, name="relative distance of solved times from the law")}


def _judge_search(config, measured: dict, predicted: dict) -> dict[str, dict]:
    share, error = (measured["search"][key] for key in ("share", "share_error"))
    law = predicted["search"]
    at = [f"{edge:g}, {budget:g}" for edge in config.search_edges for budget in config.budgets]
    rivals = {name: own for name, own in law["rivals"].items() if name != "all rounds"}
    held_to = {"law": law["share"], "band": SIZES, "scale": DIFFERENCE, "at": at, "rivals": rivals}
    return {"search": equivalence(numbers("share of rounds at ε, budget =", share, error, config.seeds, **held_to))}


def _judge_pipeline(config, measured: dict, predicted: dict) -> dict[str, dict]:
    after, error = (measured["pipeline"][key] for key in ("after", "after_error"))
    rivals = {"as ε^(−1/4)": after.mean() * (np.array(config.edges) / config.edges[-1]) ** -0.25}
    held_to = {"law": predicted["pipeline"]["after"], "band": count_band(config.states), "at": config.edges}
    return {"boosted": equivalence(numbers("steps at ε =", after, error, config.seeds, rivals=rivals, **held_to))}


def _judge_reward(config, measured: dict, predicted: dict) -> dict[str, dict]:
    steps, laws = measured["reward"], predicted["reward"].get("counted", predicted["reward"])
    edge, at = steps["edge"], [f"{one:.2g}" for one in steps["edge"]]
    power = lambda law, exponent: law[0] * (edge[0] / edge) ** exponent
    rivals = {
        "sgd": {"SGD as ε^(−3/4)": power(laws["sgd"], 0.75), "SGD as 1/√ε": power(laws["sgd"], 0.5)},
        "polar": {"Muon as ε^(−1/4)": power(laws["polar"], 0.25)},
    }
    reward = []
    for name in MAPS:
        held_to = {"law": laws[name], "band": count_band(config.states), "at": at, "rivals": rivals[name]}
        reward += numbers(f"steps of {name} from ε =", steps[name], steps[f"{name}_error"], config.seeds, **held_to)
    return {"reward": equivalence(reward)}


def _judge_step(config, measured: dict, predicted: dict) -> dict[str, dict]:
    law, entry, error = predicted["step"], measured["step"]["polar"], measured["step"]["polar_error"]
    rivals = {name: own for name, own in law["rivals"].items() if name != "one"}
    held_to = {"law": law["polar"], "limit": law["limit"], "band": SMALL, "at": measured["step"]["cases"]}
    judged = numbers("entry at", entry, error, config.seeds, rivals=rivals, **held_to)
    few = [f"entry at {case}" for case in FEWEST_SAMPLES]
    rest = [one for one in judged if one["name"] not in few]
    return {"step": equivalence(judged), "rest": equivalence(rest)}


def _mean(values: np.ndarray) -> np.ndarray:
    """Means over the last axis of what is not NaN, NaN where nothing is left."""
    count = np.isfinite(values).sum(-1)
    return np.where(count > 0, np.nansum(values, -1) / np.maximum(count, 1), np.nan)


EXPERIMENT = Experiment(
    name="metastable-chain",
    purpose=headline(__doc__),
    profiles={
        "smoke": MetastableChainConfig(
            clusters=3, states=8, degree=4, edges=(0.05, 0.2), sizes=(6, 12), rings=(3, 5), budgets=(1.0, 2.0),
            walkers=2, often=0.3, rare=0.05, step_clusters=3, step_states=12, step_edges=(0.05,), samples=(100, 1000),
            degrees=(4,), seeds=2,
        ),
        "cpu": MetastableChainConfig(),
        # laws of whole steps and of walkers that leave twice, which a first record of eight draws lacked
        "many": MetastableChainConfig(parts=("search", "pipeline", "reward"), seeds=100, first_seed=63_000),
        # an exploration of M log M steps alone, ten times as many rounds a draw
        "window": MetastableChainConfig(parts=("search",), budgets=(1.0,), rounds=80.0, seeds=60, first_seed=70_700),
        "steps": MetastableChainConfig(parts=("step",), seeds=100, first_seed=63_000),
        # the three entries that a hundred draws left too wide; a fourth because a record has one of random clusters
        "few": MetastableChainConfig(
            parts=("step",), step_edges=(0.01,), samples=(100, 300, 1000), degrees=(24,), seeds=400, first_seed=76_100
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={"parts": PARTS},
)  # fmt: skip
