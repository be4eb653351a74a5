"""`experts`: items kept at so many tokens a step, by one memory and by a layer of experts, Muon and SGD, beside theory.

A question of practice, ours; Muon for training at scale, mixtures of experts included, is that of arXiv:2502.16982.

Claim: how many items an expert keeps follows from the tokens that it sees, B k / E of a step: with a random router a
layer of experts starves Muon, with a router by item it frees SGD of its rivals, and both end Muon's lead.

Caveats: one step from W = 0, of embeddings that all experts share, and routers that do not learn. Counts are held to
3 % in total, less what the same draws let expect. The rule min(D, C_Muon) / min(D, C_SGD) is held to a half of itself.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.practice.experts import expected
from amembook.practice.experts.expected import layer_of
from amembook.practice.experts.measure import ROUTINGS, measure_batch, measure_experts, measure_momentum
from amembook.run.base import (
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Results,
    Several,
    Sizes,
    SteepAlpha,
    SteepAlphas,
    draws,
    each,
    standard_error,
)
from amembook.run.claims import SIZES, equivalence, family, numbers
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.checks import check_count, check_dims
from amemlib.equivalents import expected_capacity, expected_distinct_items
from amemlib.problem import Problem

MAPS = ("polar", "sgd")
RULE_BAND = 0.5
"""The band of the gain over min(D, C_Muon) / min(D, C_SGD), by the rule's own account: either map stores up to a half
more than the population gives it near the batch where it fills up."""
EVEN_RATIO = 1.2
"""From which gain on SGD counts as behind."""


def _check_momentum(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be in [0, 1), got {value!r}")


Batches = Annotated[tuple[int, ...], each(partial(check_count, least=2))]


@dataclass(frozen=True)
class ExpertsConfig(Config):
    """One step from W = 0 on a memory, and on a layer of memories of which a router chooses k of E for a token."""

    alpha: SteepAlpha = 1.5
    n_items: Several = 4096  # N, d and b of one memory
    dims: Sizes = (128, 256)
    batch_sizes: Batches = (16, 64, 256, 1024, 4096, 16_384)
    momenta: Annotated[tuple[float, ...], each(_check_momentum)] = (0.9, 0.95, 0.99)  # warm, at the last of the dims
    momentum_batches: Batches = (64, 256, 1024)
    warm_up: Several = 500  # batches
    layer_items: Several = 4096  # N, d and B of a layer
    layer_dim: Several = 128
    batch_size: Several = 16_384
    # "experts/experts a token"
    layers: Annotated[tuple[str, ...], each(layer_of)] = ("1/1", "4/1", "16/1", "64/1", "16/4", "64/4")
    table_alphas: SteepAlphas = (1.25, 1.5)  # of the predicted table
    table_dims: Annotated[tuple[int, ...], partial(check_dims, count=0, least=2)] = (512, 1024, 2048, 4096)
    table_items: Several = 200_000
    seeds: Count = 5
    first_seed: Natural = 0


def grids(config: ExpertsConfig) -> dict[str, Grid]:
    """One memory by its batch, a warm momentum by batch and β, and layers of experts, each over the draws."""
    sizes = fixed(config, "dims", "batch_sizes", "momenta", "momentum_batches", "layers")
    seeds = {"seed": draws(config)}
    memory = {"dim": config.dims, "batch_size": config.batch_sizes}
    momentum = {"momentum": config.momenta, "batch_size": config.momentum_batches}
    layers = {f"{r} {layer}": {"layer": layer, "routing": r} for r in ROUTINGS for layer in config.layers}
    return {
        "batch": Grid(measure_batch, memory | seeds, config=sizes),
        "momentum": Grid(measure_momentum, momentum | seeds, dim=config.dims[-1], config=sizes),
        "layers": Grid(measure_experts, {"of": layers} | seeds, config=sizes),
    }


def summarise(config, results: Results) -> tuple[dict, dict]:
    """batch[map]: (d, b); momentum: (β, b); layers[map][routing]: one of each of `layers`; `…_error` beside.

    "…residual": mean count less what is expected of the same draws, with its error. predicted: the same, population,
    distinct, and `half` and `even`, tables by α and d.
    """
    measured, predicted = {}, {}
    for grid, keys in (("batch", MAPS), ("momentum", (None,)), ("layers", MAPS)):
        for key in keys:
            path = (("counts", key), ("sharp", key)) if key else (("count",), ("sharp",))
            counts, sharp = (results.array(grid, *one).astype(float) for one in path)
            moments = {
                "": counts.mean(-1),
                "_error": standard_error(counts, -1),
                "_residual": (counts - sharp).mean(-1),
                "_residual_error": standard_error(counts - sharp, -1),
            }
            for name, values in moments.items():
                _put(config, measured, grid + name, key, values)
            _put(config, predicted, grid, key, sharp.mean(-1))
    measured["distinct"] = results.array("batch", "distinct").mean(-1)
    busiest = results.array("layers", "busiest").mean(-1).reshape(len(ROUTINGS), -1)
    measured["busiest"] = dict(zip(ROUTINGS, busiest, strict=True))
    return measured, predicted | predict(config)


def _put(config, table: dict, name: str, key: str | None, values: np.ndarray) -> None:
    """The array under its name and map, a layer's apart by its routing."""
    values = np.nan_to_num(values)
    if name.startswith("layers"):
        by_routing = values.reshape(len(ROUTINGS), len(config.layers))
        table.setdefault(name, {})[key] = dict(zip(ROUTINGS, by_routing, strict=True))
    elif key:
        table.setdefault(name, {})[key] = values
    else:
        table[name] = values


def predict(config) -> dict:
    """What follows from the config alone: full memories, different items, an expert's typical tokens, the tables."""
    problems = [Problem.power_law(config.n_items, dim, config.alpha) for dim in config.dims]
    layer = Problem.power_law(config.layer_items, config.layer_dim, config.alpha)
    tokens = [expected.tokens_of_expert(config.batch_size, *expected.layer_of("layers", one)) for one in config.layers]
    table = lambda find: {
        f"{alpha:g}": [find(Problem.power_law(config.table_items, dim, alpha)) for dim in config.table_dims]
        for alpha in config.table_alphas
    }
    effective = [[b * (1 + beta) / (1 - beta) for b in config.momentum_batches] for beta in config.momenta]
    kept = lambda problem, name, b: expected.kept_by_expert(problem, name, b)
    return {
        "population": {name: [expected_capacity(problem, name) for problem in problems] for name in MAPS},
        "distinct": [[expected_distinct_items(problem, b) for b in config.batch_sizes] for problem in problems],
        "layer_population": {name: expected_capacity(layer, name) for name in MAPS},
        "tokens": tokens,
        "by_tokens": {name: [kept(layer, name, b) for b in tokens] for name in MAPS},
        "one_batch": [kept(problems[-1], "polar", b) for b in config.momentum_batches],
        "effective_batch": [[kept(problems[-1], "polar", b) for b in row] for row in effective],
        "half": table(expected.half_batch),
        "even": table(lambda problem: expected.even_batch(problem, EVEN_RATIO)),
    }


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """batch, momentum, layers: counts less what is expected of the same draws, in total.

    gain: Muon's count over SGD's beside the rule. All are for these sizes.
    """
    seen = predicted["distinct"]
    full = {name: predicted["population"][name][:, None] for name in MAPS}
    experts = np.array([expected.layer_of("layers", one)[0] for one in config.layers])

    def layers(values: dict) -> dict:
        """By map and routing the same, one number or one of each layer."""
        return {name: dict.fromkeys(ROUTINGS, np.broadcast_to(values[name], len(config.layers))) for name in MAPS}

    full_layer = predicted["layer_population"]
    rivals = {
        "batch": {
            "all that is seen": dict.fromkeys(MAPS, seen),
            "the less of both, Muon's": dict.fromkeys(MAPS, np.minimum(seen, full["polar"])),
        },
        "layers": {
            "as one memory with all tokens": layers(full_layer),
            "by the tokens of an expert": layers(predicted["by_tokens"]),
            "as many memories as experts": layers({name: items * experts for name, items in full_layer.items()}),
        },
        "momentum": {
            "one batch": predicted["one_batch"] + np.zeros((len(config.momenta), 1)),
            "(1 + β)/(1 − β) batches": predicted["effective_batch"],
        },
    }
    for name, others in rivals.items():
        tables = predicted[name], measured[name], measured[f"{name}_residual_error"]
        yield name, _totals(*tables, others, config.seeds)

    muon, sgd = (np.maximum(measured["batch"][name], 0.5) for name in MAPS)
    error = {name: np.fmax(measured["batch_error"][name], 0.5 / math.sqrt(config.seeds)) for name in MAPS}
    lead = full["polar"] / full["sgd"]
    rule = np.minimum(seen, full["polar"]) / np.minimum(seen, full["sgd"])
    rivals = {
        "SGD loses nothing": np.ones_like(rule),
        "the population's": lead + 0 * rule,
        "in proportion to the tokens up to the population's": np.minimum(
            np.array(config.batch_sizes) / config.batch_sizes[0], lead
        ),
    }
    at = [f"d = {dim}, b = {size}" for dim in config.dims for size in config.batch_sizes]
    of_gain = muon / sgd * np.hypot(error["polar"] / muon, error["sgd"] / sgd)
    held_to = {"law": rule, "band": RULE_BAND, "rivals": rivals, "at": at}
    yield "gain", equivalence(numbers("gain,", muon / sgd, of_gain, config.seeds, **held_to))


def _totals(law, counts, error, rivals: dict, seeds: int) -> dict:
    """The total over each map; its error is that of the differences draw by draw, where the tokens drop out."""
    made = []
    for part in MAPS if isinstance(law, dict) else (None,):
        own = lambda table, part=part: _flat(table if part is None else table[part])[None]
        held_to = {"law": own(law), "band": SIZES, "rivals": {name: own(rival) for name, rival in rivals.items()}}
        made += family("items", own(counts), own(error), seeds, at=[part or "polar"], **held_to)
    return equivalence(made)


def _flat(table) -> np.ndarray:
    """All numbers of nested dicts and lists, in their order."""
    if isinstance(table, dict):
        return np.concatenate([_flat(value) for value in table.values()])
    return np.array(table, float).ravel()


TINY = {"n_items": 128, "dims": (32,), "batch_sizes": (16, 64), "momenta": (0.9,), "momentum_batches": (16,)}
TINY |= {"warm_up": 20, "layer_items": 64, "layer_dim": 16, "batch_size": 32, "layers": ("2/1",), "table_dims": ()}
EXPERIMENT = Experiment(
    name="experts",
    purpose=headline(__doc__),
    profiles={
        "smoke": ExpertsConfig(seeds=2, **TINY),
        "cpu": ExpertsConfig(),
        "confirm": ExpertsConfig(first_seed=3650),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
