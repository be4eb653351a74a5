"""`experts`: items kept at so many tokens a step, by one memory and by a layer of experts, Muon and SGD, beside theory.

A question of practice, ours; Muon for training at scale, mixtures of experts included, is that of arXiv:2502.16982.

Claim: how many items an expert keeps follows from the tokens that it sees, B k / E of a step: with a random router a
layer of experts starves Muon, with a router by item it frees SGD of its rivals, and both end Muon's lead.

Caveats: one step from W = 0, of embeddings that all experts share, and routers that do not learn. Counts are held to
3 % in total, less what the same draws let expect. The rule min(D, C_Muon) / min(D, C_SGD) is held to a half of itself.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.practice.experts.expected import layer_of
from amembook.practice.experts.judge import judge, summarise
from amembook.practice.experts.measure import ROUTINGS, measure_batch, measure_experts, measure_momentum
from amembook.run.base import (
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Several,
    Sizes,
    SteepAlpha,
    SteepAlphas,
    draws,
    each,
)
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.checks import check_count, check_dims


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
