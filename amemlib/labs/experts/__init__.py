"""`experts`: what Muon and SGD keep at so many tokens a step, in one memory and in a layer of experts.

A question of practice about the update of arXiv:2502.16982.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.experts.expected import layer_of
from amemlib.labs.experts.judge import judge, summarise
from amemlib.labs.experts.measure import ROUTINGS, measure_batch, measure_experts, measure_momentum

PAPER = "ours; Muon for training at scale, mixtures of experts included, is that of arXiv:2502.16982"
CLAIM = (
    "how many items an expert keeps follows from the tokens that it sees, B k / E of a step: with a random router a "
    "layer of experts starves Muon, with a router by item it frees SGD of its rivals, and both end Muon's lead"
)


@dataclass(frozen=True)
class ExpertsConfig:
    """One step from W = 0 on a memory, and on a layer of memories of which a router chooses k of E for a token.

    alpha: of the power law. n_items, dims, batch_sizes: N, d and b of one memory. momenta, momentum_batches: β and b of
    a warm momentum at the last of the dims, `warm_up` batches long. layer_items, layer_dim, batch_size, layers: N, d,
    B of a layer, and its "experts/experts a token". table_alphas, table_dims, table_items: of the predicted table.
    """

    alpha: float = 1.5
    n_items: int = 4096
    dims: tuple[int, ...] = (128, 256)
    batch_sizes: tuple[int, ...] = (16, 64, 256, 1024, 4096, 16_384)
    momenta: tuple[float, ...] = (0.9, 0.95, 0.99)
    momentum_batches: tuple[int, ...] = (64, 256, 1024)
    warm_up: int = 500
    layer_items: int = 4096
    layer_dim: int = 128
    batch_size: int = 16_384
    layers: tuple[str, ...] = ("1/1", "4/1", "16/1", "64/1", "16/4", "64/4")
    table_alphas: tuple[float, ...] = (1.25, 1.5)
    table_dims: tuple[int, ...] = (512, 1024, 2048, 4096)
    table_items: int = 200_000
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for alpha in (self.alpha, *self.table_alphas):
            check_alpha(alpha, above=1.0)
        check_dims("dims", self.dims, count=1)
        for name in ("batch_sizes", "momentum_batches", "layers"):
            if not getattr(self, name):
                raise ValueError(f"{name} must hold at least one value")
        for name in ("batch_sizes", "momentum_batches", "table_dims"):
            for value in getattr(self, name):
                check_count(name, value, least=2)
        for momentum in self.momenta:
            if not 0 <= momentum < 1:
                raise ValueError(f"momenta must be in [0, 1), got {momentum!r}")
        for layer in self.layers:
            layer_of("layers", layer)
        for name in ("n_items", "warm_up", "layer_items", "layer_dim", "batch_size", "table_items"):
            check_count(name, getattr(self, name), least=2)
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


def layer_arguments(config: ExpertsConfig) -> dict[str, dict]:
    """Every layer with every routing, in words."""
    sizes = {"n_items": config.layer_items, "dim": config.layer_dim}
    return {f"{r} {layer}": {"layer": layer, "routing": r} | sizes for r in ROUTINGS for layer in config.layers}


def grids(config: ExpertsConfig) -> dict[str, Grid]:
    """One memory by its batch, a warm momentum by batch and β, and layers of experts, each over the draws."""
    seeds = {"seed": draws(config)}
    momentum = {"momentum": config.momenta, "batch_size": config.momentum_batches}
    return {
        "batch": Grid(measure_batch, {"dim": config.dims, "batch_size": config.batch_sizes} | seeds),
        "momentum": Grid(measure_momentum, momentum | seeds, dim=config.dims[-1]),
        "layers": Grid(measure_experts, {"of": layer_arguments(config)} | seeds),
    }


EXPERIMENT = Experiment(
    name="experts",
    purpose="items kept at so many tokens a step, by one memory and by a layer of experts, Muon and SGD, beside theory",
    profiles={
        "smoke": ExpertsConfig(
            n_items=128,
            dims=(32,),
            batch_sizes=(16, 64),
            momenta=(0.9,),
            momentum_batches=(16,),
            warm_up=20,
            layer_items=64,
            layer_dim=16,
            batch_size=32,
            layers=("2/1",),
            table_dims=(),
            seeds=2,
        ),
        "cpu": ExpertsConfig(),
        "confirm": ExpertsConfig(first_seed=3650),
        "gpu": ExpertsConfig(n_items=32_768, dims=(256, 512, 1024), layer_dim=256, layer_items=8192, seeds=8),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
