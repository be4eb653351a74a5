"""`composition`: k-fold composition of hidden and given permutations, learnt with and without the easier hops.

A study of Wang, Nichani, Bietti, Damian, Hsu, Lee and Wu, arXiv:2505.23683.

Claim: k-fold composition is expressed by a transformer with O(log k) layers; any statistical query learner with
polynomially many queries needs a sample size exponential in k, while gradient descent on easy and hard data learns it
with runtime and sample complexity polynomial in k (abstract).

Caveats: one layer less may lie 0.1 from 1/N for the k-hop: it writes another permutation of N = 8 things. A mean number
of samples and a share are exact expectations, held to 0.02 and 0.01, the latter half of what independent keys would
make it wrong by; the first record was judged by independent keys. Of Muon no law is known. Steps by k are those of an
attention-only network whose samples answer every place; no law of them is known.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.composition import measure
from amembook.companions.composition.judge import PARTS, judge, summarise
from amembook.run.base import Config, Count, Counts, Experiment, Grid, Natural, Positive, Several, draws, each, some_of
from amembook.run.studies import headline
from amembook.run.study import of_part
from amemlib.checks import check_count


def _check_power(name: str, value: int) -> None:
    if value < 2 or value & (value - 1):
        raise ValueError(f"{name} must hold powers of two from 2 on, got {value!r}")


Things = Annotated[tuple[int, ...], each(partial(check_count, least=2))]
Sizes = Annotated[tuple[str, ...], each(measure.pair_of)]


@dataclass(frozen=True)
class CompositionConfig(Config):
    """Sizes of the network built by hand (`built_…`), of correlations, of one step with all (`dense_…`) and with one
    answer a sample (`sparse_…`), of training, also with the k-hop alone (`only_…`), of the ordinary transformer
    (`net_…`), and of training by k with all hops (`growth_…`) and with the k-hop alone (`alone_…`).
    """

    built_ks: Annotated[tuple[int, ...], each(_check_power)] = (2, 4, 8, 16)
    built_things: Several = 8
    correlation_ks: Counts = (1, 2, 3)
    correlation_things: Things = (3, 4)
    n_pairs: Count = 4000  # with n_inputs of correlations that the first record sampled: they are counted now
    n_inputs: Count = 50
    dense_sizes: Sizes = ("2 4", "4 4", "8 4", "16 4", "4 8", "16 8", "4 16", "16 16")  # pairs "k N"
    dense_repeats: Count = 100  # tasks a draw
    sparse_sizes: Sizes = ("4 8", "8 8", "16 4")
    sparse_repeats: Count = 20
    per_place: Counts = (1, 2, 3, 4, 6, 8, 12)  # mean answers a place
    k: Annotated[int, _check_power] = 4  # of training
    train_things: Things = (4, 5, 6, 8)
    steps: Count = 400  # of Adam
    only_things: Things = (5,)
    only_steps: Count = 2600
    only_muon_steps: Count = 1300
    n_samples: Count = 128  # a step
    lr: Positive = 0.05
    muon_lr: Positive = 0.2
    spread: Positive = 0.3  # standard deviation of the start
    net_things: Several = 3
    net_steps: Count = 1500
    net_only_steps: Count = 2000
    net_samples: Count = 64
    net_dim: Count = 32
    net_layers: Count = 4
    net_lr: Positive = 2e-3
    growth_ks: Annotated[tuple[int, ...], each(_check_power)] = (2, 4, 8, 16)
    growth_things: Things = (3,)
    alone_ks: Annotated[tuple[int, ...], each(_check_power)] = (2, 4)
    alone_things: Things = (3,)
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self):
        if self.net_dim % 4:
            raise ValueError(f"net_dim must be a multiple of 4, the number of heads, got {self.net_dim!r}")


def grids(config: CompositionConfig) -> dict[str, Grid]:
    """Of the parts: the built network and training; one step with all and with one answer a sample; correlations,
    counted; training by k, or of that the runs with all hops only."""
    parts = {"networks": _networks, "step": _step, "count": _count, "growth": _growth, "doubling": _doubling}
    return {name: grid for part, own in parts.items() if part in config.parts for name, grid in own(config).items()}


def _step(config: CompositionConfig) -> dict[str, Grid]:
    seeds = {"seed": draws(config)}
    dense, sparse = ({"size": measure.pairs_of(sizes)} for sizes in (config.dense_sizes, config.sparse_sizes))
    return {
        "dense": Grid(measure.measure_dense, dense | seeds, n_repeats=config.dense_repeats),
        "sparse": Grid(measure.measure_sparse, sparse | seeds, n_repeats=config.sparse_repeats),
        "expected sparse": Grid(measure.expected_sparse, sparse),
    }


def _networks(config: CompositionConfig) -> dict[str, Grid]:
    seeds = {"seed": draws(config)}
    easy = {name: {"regime": name} for name in ("mixture", "curriculum")}
    optimizers = {"adam": {"optimizer": "adam"}, "muon": {"optimizer": "muon"}}
    budgets = {"adam": config.only_steps, "muon": config.only_muon_steps}
    things = {"n_things": config.train_things}
    alone = {name: one | {"steps": budgets[name]} for name, one in optimizers.items()}
    net = {"mixture": config.net_steps, "k only": config.net_only_steps}
    regimes = {name: {"regime": name, "steps": steps} for name, steps in net.items()}
    network = of_part(config, "net", "dim", "layers", "lr", n_things="things", n_samples="samples")
    built = {"size": measure.products(config.built_ks, (config.built_things,))}
    return {
        "built": Grid(measure.measure_built, built | seeds),
        "easy": Grid(measure.measure_training, {"data": easy, "by": optimizers} | things | seeds),
        "alone": Grid(measure.measure_training, {"by": alone, "n_things": config.only_things} | seeds, regime="k only"),
        "transformer": Grid(measure.measure_transformer, {"data": regimes} | seeds, **network),
    }


def _count(config: CompositionConfig) -> dict[str, Grid]:
    pairs = {"size": measure.products(config.correlation_ks, config.correlation_things)}
    return {"correlation": Grid(measure.exact_correlation, pairs)}


def _growth(config: CompositionConfig) -> dict[str, Grid]:
    alone = {"n_things": config.alone_things, "k": config.alone_ks, "seed": draws(config)}
    lone = {"regime": "k only", "optimizer": "adam", "steps": config.only_steps}
    return _doubling(config) | {"by k alone": Grid(measure.measure_training, alone, **lone)}


def _doubling(config: CompositionConfig) -> dict[str, Grid]:
    seeds = {"seed": draws(config)}
    easy = {name: {"regime": name} for name in ("mixture", "curriculum")}
    grown = {"data": easy, "n_things": config.growth_things, "k": config.growth_ks}
    return {"growth": Grid(measure.measure_training, grown | seeds, optimizer="adam")}


EXPERIMENT = Experiment(
    name="composition",
    purpose=headline(__doc__),
    profiles={
        "smoke": CompositionConfig(
            built_ks=(2, 4), built_things=3, correlation_ks=(1, 2), correlation_things=(3,), n_pairs=50, n_inputs=20,
            dense_sizes=("2 3", "4 3"), dense_repeats=5, sparse_sizes=("2 3",), sparse_repeats=1, per_place=(1, 4), k=2,
            train_things=(3,), steps=20, only_things=(3,), only_steps=20, only_muon_steps=10, n_samples=16,
            net_things=2, net_steps=5, net_only_steps=5, net_samples=8, net_dim=8, net_layers=2, growth_ks=(4,),
            growth_things=(3,), alone_ks=(4,), alone_things=(3,), seeds=2,
        ),
        "cpu": CompositionConfig(),
        "share": CompositionConfig(parts=("step",), dense_repeats=1000, sparse_repeats=200, seeds=8, first_seed=6628),
        "growth": CompositionConfig(parts=("count", "growth"), seeds=6, first_seed=65_000),
        "doubling": CompositionConfig(parts=("doubling",), seeds=24, first_seed=69_000),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={
        "parts": ("networks", "step"), "growth_ks": (2, 4, 8, 16), "growth_things": (3,), "alone_ks": (2, 4),
        "alone_things": (3,),
    },
)  # fmt: skip
