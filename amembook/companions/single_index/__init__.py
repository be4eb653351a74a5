"""`single-index`: how many samples find a direction, each seen once or all of them at every step.

On Kovačević, Ji, Wu, Soltanolkotabi and Mondelli, arXiv:2602.02431.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.single_index.judge import judge, summarise
from amembook.companions.single_index.measure import (
    ACTIVATIONS,
    measure_full_batch,
    measure_muon,
    measure_one_pass,
    measure_squared,
)
from amembook.run.base import (
    Chance,
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Sizes,
    draws,
    each,
    some_of,
)
from amemlib.checks import check_dims

PAPER = "arXiv:2602.02431"
CLAIM = (
    "for a quadratic activation one-pass SGD requires n ≳ d log d samples for weak recovery, and so does full-batch "
    "spherical GD on the correlation loss; if the activation is truncated, full-batch GD needs n ≃ d and outperforms "
    "one-pass SGD with the same activation; on the squared loss from small initialization n ≳ d samples and T ≳ log d "
    "steps suffice for exact recovery (abstract)"
)


PARTS = ("samples", "muon")
"""Samples by dimension and activation; what neurons under Muon need, by their number and dimension."""


@dataclass(frozen=True)
class SingleIndexConfig(Config):
    """Neurons that look for one direction: in one pass, on the full batch, under Muon, on the squared loss."""

    dims: Annotated[tuple[int, ...], partial(check_dims, least=16)] = (64, 192, 640, 2048, 6400)
    level: Chance = 0.5  # the overlap that counts as found
    rates: Positives = (0.12, 0.15, 0.18, 0.21, 0.24, 0.28)  # learning rates times d, in one pass
    chains: Count = 64  # neurons a draw, in one pass
    steps_per_log: Positive = 25.0  # steps over log d of the truncated full batch
    neurons: Counts = (1, 2, 4, 8, 16)  # under Muon
    muon_dim: Count = 640
    muon_dims: Sizes = (160, 320, 640)  # where they are counted for every dimension
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    exact_ratio: Positive = 8.0  # n/d, learning rate and steps on the squared loss
    rate: Positive = 0.1
    squared_steps: Count = 300
    law_draws: Count = 40  # sets of labels behind a prediction
    seeds: Count = 8
    first_seed: Natural = 0

    def limits(self) -> None:
        least = min(self.muon_dim, *self.muon_dims)
        if max(self.neurons) > least / 2:
            raise ValueError(f"neurons must be at most half of muon_dim, {least}, got {max(self.neurons)}")


def grids(config: SingleIndexConfig) -> dict[str, Grid]:
    """One pass and the full batch by activation and dimension, Muon, the squared loss by dimension."""
    seeds, dims = {"seed": draws(config)}, {"dim": config.dims}
    single = {"activation": ("quadratic", "truncated")}
    by_dim = {"muon-dims": Grid(measure_muon, {"muon_dim": config.muon_dims} | seeds)}
    if "samples" not in config.parts:
        return by_dim
    found = {"one-pass": Grid(measure_one_pass, single | dims | seeds)}
    found |= {"full-batch": Grid(measure_full_batch, {"activation": tuple(ACTIVATIONS)} | dims | seeds)}
    found |= {"muon": Grid(measure_muon, seeds), "squared": Grid(measure_squared, dims | seeds)}
    return found | by_dim if "muon" in config.parts else found


EXPERIMENT = Experiment(
    name="single-index",
    purpose="samples that find one direction, in one pass and on the full batch, by dimension; several neurons' Muon",
    profiles={
        "smoke": SingleIndexConfig(
            dims=(24, 32),
            rates=(0.18, 0.24),
            chains=8,
            neurons=(1, 2),
            muon_dim=20,
            muon_dims=(16, 24),
            squared_steps=30,
            steps_per_log=5.0,
            law_draws=2,
            seeds=2,
        ),
        "cpu": SingleIndexConfig(parts=("samples",)),
        "muon": SingleIndexConfig(parts=("muon",), seeds=16, first_seed=5632),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={"parts": ("samples",), "muon_dims": (640,)},
)
