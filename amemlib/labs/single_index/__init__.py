"""`single-index`: how many samples find a direction, each seen once or all of them at every step.

A lab on Kovačević, Ji, Wu, Soltanolkotabi and Mondelli, arXiv:2602.02431.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.single_index.judge import judge, summarise
from amemlib.labs.single_index.measure import (
    ACTIVATIONS,
    measure_full_batch,
    measure_muon,
    measure_one_pass,
    measure_squared,
)

PAPER = "arXiv:2602.02431"
CLAIM = (
    "for a quadratic activation one-pass SGD requires n ≳ d log d samples for weak recovery, and so does full-batch "
    "spherical GD on the correlation loss; if the activation is truncated, full-batch GD needs n ≃ d and outperforms "
    "one-pass SGD with the same activation; on the squared loss from small initialization n ≳ d samples and T ≳ log d "
    "steps suffice for exact recovery (abstract)"
)


@dataclass(frozen=True)
class SingleIndexConfig:
    """Sizes of the lab.

    level: the overlap that counts as found. rates, chains: learning rates times d, and neurons a draw, in one pass.
    steps_per_log: steps over log d of the truncated full batch. neurons, muon_dim: under Muon. exact_ratio, rate,
    squared_steps: n/d, learning rate and steps on the squared loss. law_draws: sets of labels behind a prediction.
    """

    dims: tuple[int, ...] = (64, 192, 640, 2048, 6400)
    level: float = 0.5
    rates: tuple[float, ...] = (0.12, 0.15, 0.18, 0.21, 0.24, 0.28)
    chains: int = 64
    steps_per_log: float = 25.0
    neurons: tuple[int, ...] = (1, 2, 4, 8, 16)
    muon_dim: int = 640
    exact_ratio: float = 8.0
    rate: float = 0.1
    squared_steps: int = 300
    law_draws: int = 40
    seeds: int = 8
    first_seed: int = 0

    def __post_init__(self):
        check_dims("dims", self.dims, count=2, least=16)
        for name in ("rates", "steps_per_log", "exact_ratio", "rate"):
            for value in getattr(self, name) if name == "rates" else (getattr(self, name),):
                check_positive(name, value)
        for count in self.neurons:
            check_count("neurons", count)
        for name in ("chains", "muon_dim", "squared_steps", "law_draws", "seeds"):
            check_count(name, getattr(self, name))
        if max(self.neurons) > self.muon_dim / 2:
            raise ValueError(f"neurons must be at most half of muon_dim, {self.muon_dim}, got {max(self.neurons)}")
        if not 0 < self.level < 1:
            raise ValueError(f"level must be in (0, 1), got {self.level!r}")
        check_count("first_seed", self.first_seed, least=0)


def grids(config: SingleIndexConfig) -> dict[str, Grid]:
    """One pass and the full batch by activation and dimension, Muon, the squared loss by dimension."""
    seeds, dims = {"seed": draws(config)}, {"dim": config.dims}
    single = {"activation": ("quadratic", "truncated")}
    return {
        "one-pass": Grid(measure_one_pass, single | dims | seeds),
        "full-batch": Grid(measure_full_batch, {"activation": tuple(ACTIVATIONS)} | dims | seeds),
        "muon": Grid(measure_muon, seeds),
        "squared": Grid(measure_squared, dims | seeds),
    }


EXPERIMENT = Experiment(
    name="single-index",
    purpose="samples that find one direction, in one pass and on the full batch, by dimension; several neurons' Muon",
    profiles={
        "smoke": SingleIndexConfig(
            dims=(24, 32),
            rates=(0.18, 0.24),
            chains=8,
            neurons=(1, 2),
            muon_dim=24,
            squared_steps=30,
            steps_per_log=5.0,
            law_draws=2,
            seeds=2,
        ),
        "cpu": SingleIndexConfig(),
        "gpu": SingleIndexConfig(dims=(64, 192, 640, 2048, 6400, 16384), seeds=16),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
