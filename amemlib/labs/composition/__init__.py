"""`composition`: k-fold composition of hidden and given permutations, learnt with and without the easier hops.

A lab on Wang, Nichani, Bietti, Damian, Hsu, Lee and Wu, arXiv:2505.23683.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.composition.judge import judge, summarise
from amemlib.labs.composition.measure import (
    expected_sparse,
    measure_built,
    measure_correlation,
    measure_dense,
    measure_sparse,
    measure_training,
    measure_transformer,
    pair_of,
    pairs_of,
    products,
)

PAPER = "arXiv:2505.23683"
CLAIM = (
    "k-fold composition is expressed by a transformer with O(log k) layers; any statistical query learner with "
    "polynomially many queries needs a sample size exponential in k, while gradient descent on easy and hard data "
    "learns it with runtime and sample complexity polynomial in k (abstract)"
)


@dataclass(frozen=True)
class CompositionConfig:
    """Sizes of the lab.

    built_ks, built_things: of the network built by hand. correlation_ks, correlation_things, n_pairs, n_inputs: for
    correlations. dense_sizes, sparse_sizes: pairs "k N" for one step; dense_repeats, sparse_repeats: tasks a draw;
    per_place: mean answers a place. k, train_things: of training; steps of Adam; only_things and only_steps,
    only_muon_steps: for the k-hop alone; n_samples a step; lr, muon_lr; spread: standard deviation of the start.
    net_things, net_steps, net_only_steps, net_samples, net_dim, net_layers, net_lr: of the ordinary transformer.
    """

    built_ks: tuple[int, ...] = (2, 4, 8, 16)
    built_things: int = 8
    correlation_ks: tuple[int, ...] = (1, 2, 3)
    correlation_things: tuple[int, ...] = (3, 4)
    n_pairs: int = 4000
    n_inputs: int = 50
    dense_sizes: tuple[str, ...] = ("2 4", "4 4", "8 4", "16 4", "4 8", "16 8", "4 16", "16 16")
    dense_repeats: int = 100
    sparse_sizes: tuple[str, ...] = ("4 8", "8 8", "16 4")
    sparse_repeats: int = 20
    per_place: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12)
    k: int = 4
    train_things: tuple[int, ...] = (4, 5, 6, 8)
    steps: int = 400
    only_things: tuple[int, ...] = (5,)
    only_steps: int = 2600
    only_muon_steps: int = 1300
    n_samples: int = 128
    lr: float = 0.05
    muon_lr: float = 0.2
    spread: float = 0.3
    net_things: int = 3
    net_steps: int = 1500
    net_only_steps: int = 2000
    net_samples: int = 64
    net_dim: int = 32
    net_layers: int = 4
    net_lr: float = 2e-3
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for name in ("built_things", "net_things"):
            check_count(name, getattr(self, name), least=2)
        for name in (
            "n_pairs",
            "n_inputs",
            "dense_repeats",
            "sparse_repeats",
            "steps",
            "only_steps",
            "only_muon_steps",
        ):
            check_count(name, getattr(self, name))
        for name in ("n_samples", "net_steps", "net_only_steps", "net_samples", "net_dim", "net_layers", "seeds"):
            check_count(name, getattr(self, name))
        for name in ("train_things", "only_things", "correlation_things"):
            for value in getattr(self, name):
                check_count(name, value, least=2)
        for name in ("correlation_ks", "per_place"):
            for value in getattr(self, name):
                check_count(name, value)
        for name in ("dense_sizes", "sparse_sizes"):
            for size in getattr(self, name):
                pair_of(name, size)
        for name in ("lr", "muon_lr", "spread", "net_lr"):
            check_positive(name, getattr(self, name))
        for name, value in (*(("built_ks", k) for k in self.built_ks), ("k", self.k)):
            if value < 2 or value & (value - 1):
                raise ValueError(f"{name} must hold powers of two from 2 on, got {value!r}")
        if self.net_dim % 4:
            raise ValueError(f"net_dim must be a multiple of 4, the number of heads, got {self.net_dim!r}")
        check_count("first_seed", self.first_seed, least=0)


def grids(config: CompositionConfig) -> dict[str, Grid]:
    """The built network, correlations, one step with all and with one answer a sample, training."""
    seeds = {"seed": draws(config)}
    easy = {name: {"regime": name} for name in ("mixture", "curriculum")}
    optimizers = {"adam": {"optimizer": "adam"}, "muon": {"optimizer": "muon"}}
    budgets = {"adam": config.only_steps, "muon": config.only_muon_steps}
    alone = {name: told | {"steps": budgets[name]} for name, told in optimizers.items()}
    net = {"mixture": config.net_steps, "k only": config.net_only_steps}
    regimes = {name: {"regime": name, "steps": steps} for name, steps in net.items()}
    network = {"n_things": config.net_things, "n_samples": config.net_samples, "dim": config.net_dim}
    network |= {"layers": config.net_layers, "lr": config.net_lr}
    sparse = {"size": pairs_of(config.sparse_sizes)}
    pairs = {"size": products(config.correlation_ks, config.correlation_things)}
    built = {"size": products(config.built_ks, (config.built_things,))}
    return {
        "built": Grid(measure_built, built | seeds),
        "correlation": Grid(measure_correlation, pairs | seeds),
        "dense": Grid(measure_dense, {"size": pairs_of(config.dense_sizes)} | seeds, n_repeats=config.dense_repeats),
        "sparse": Grid(measure_sparse, sparse | seeds, n_repeats=config.sparse_repeats),
        "expected sparse": Grid(expected_sparse, sparse),
        "easy": Grid(measure_training, {"data": easy, "by": optimizers, "n_things": config.train_things} | seeds),
        "alone": Grid(measure_training, {"by": alone, "n_things": config.only_things} | seeds, regime="k only"),
        "transformer": Grid(measure_transformer, {"data": regimes} | seeds, **network),
    }


EXPERIMENT = Experiment(
    name="composition",
    purpose="k-fold composition: a network by hand, correlations, samples of one step, easy and hard data, Muon",
    profiles={
        "smoke": CompositionConfig(
            built_ks=(2, 4),
            built_things=3,
            correlation_ks=(1, 2),
            correlation_things=(3,),
            n_pairs=50,
            n_inputs=20,
            dense_sizes=("2 3", "4 3"),
            dense_repeats=5,
            sparse_sizes=("2 3",),
            sparse_repeats=1,
            per_place=(1, 4),
            k=2,
            train_things=(3,),
            steps=20,
            only_things=(3,),
            only_steps=20,
            only_muon_steps=10,
            n_samples=16,
            net_things=2,
            net_steps=5,
            net_only_steps=5,
            net_samples=8,
            net_dim=8,
            net_layers=2,
            seeds=2,
        ),
        "cpu": CompositionConfig(),
        "gpu": CompositionConfig(n_pairs=20_000, dense_repeats=400, sparse_repeats=80, seeds=10),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
