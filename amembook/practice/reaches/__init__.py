"""`reaches`: the median singular value of a momentum by step and width, and what of it five steps lift.

A question of practice beside the spectra of arXiv:2606.04058.
"""

from dataclasses import dataclass

from amembook.practice.reaches.judge import judge, summarise
from amembook.practice.reaches.measure import measure_reach
from amembook.run.base import (
    AscendingCounts,
    Chance,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    SteepAlphas,
    draws,
)

PAPER = (
    "ours; singular values of momenta of language models by their number of parameters are those of arXiv:2606.04058"
)
CLAIM = (
    "under training the median singular value of the memory's momentum falls with the width more slowly than d^−α, "
    "and no more slowly than white noise's"
)


@dataclass(frozen=True)
class ReachesConfig(Config):
    """Muon with five of Jordan's steps on the memory, Nesterov's average, the rate falling in a line to 0."""

    alphas: SteepAlphas = (1.5, 2.0)
    n_items: Count = 2048
    dims: Dims = (64, 128, 256)
    batch_size: Count = 1024
    at: AscendingCounts = (1, 10, 50, 200)  # steps after which the momentum is looked at; the last is the run's end
    population_at: AscendingCounts = (1, 10)  # the same on exact gradients
    beta: Chance = 0.95
    rate: Positive = 0.075  # times √d
    seeds: Count = 5
    first_seed: Natural = 0


def grids(config: ReachesConfig) -> dict[str, Grid]:
    """Momenta of batches and of the population, by α, d and draw."""
    axes = {"alpha": config.alphas, "dim": config.dims, "seed": draws(config)}
    return {
        "batches": Grid(measure_reach, axes),
        "population": Grid(measure_reach, axes, batch_size=0, at=config.population_at),
    }


EXPERIMENT = Experiment(
    name="reaches",
    purpose="reach and lifted share of the memory's momentum by step and width, beside spectra of language models",
    profiles={
        "smoke": ReachesConfig(
            alphas=(1.5,), n_items=64, dims=(8, 16), batch_size=64, at=(1, 3), population_at=(1, 2), seeds=2
        ),
        "cpu": ReachesConfig(),
        "confirm": ReachesConfig(first_seed=6710),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6710,
)
