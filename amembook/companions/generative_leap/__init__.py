"""`generative-leap`: how many samples find a subspace, by the order of the first Hermite tensor that labels leave.

A study of Damian, Lee and Bruna, arXiv:2506.05500.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.generative_leap.judge import judge, summarise
from amembook.companions.generative_leap.measure import CONTROLS, measure_control, measure_memory, measure_samples
from amembook.run.base import (
    AscendingPositives,
    Chance,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Several,
    Sizes,
    SteepAlpha,
    draws,
    each,
)
from amemlib.checks import check_count, check_dims

PAPER = "arXiv:2506.05500"
CLAIM = (
    "for Gaussian multi-index models a sample complexity of n = Θ(d^(1 ∨ k*/2)), k* the generative leap exponent, is "
    "necessary in the class of low-degree polynomials, and sufficient by a sequential procedure based on a spectral "
    "U-statistic over Hermite tensors (abstract)"
)


TaskDims = Annotated[Dims, partial(check_dims, least=8)]


@dataclass(frozen=True)
class LeapConfig(Config):
    """Sizes of the tasks and of the memory with noisy keys."""

    low_dims: TaskDims = (64, 128, 256, 384)  # for the tasks that need n ∝ d
    sign_dims: TaskDims = (40, 64, 96, 144)  # for k* = 3
    bump_dims: TaskDims = (64, 96, 144, 192, 256)  # for k* = 4
    bins: Several = 8  # of the labels
    level: Chance = 0.5  # the overlap, less that of chance, that counts as found
    control_dim: Annotated[int, partial(check_count, least=8)] = 64  # where statistics of the wrong order must fail
    control_samples: Annotated[int, partial(check_count, least=100)] = 20_000
    alpha: SteepAlpha = 1.5  # of the memory
    memory_dims: TaskDims = (48, 96, 192)
    noises: AscendingPositives = (3.0, 6.0)  # σ
    ratios: AscendingPositives = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # B/(σ² d^α)
    share: Chance = 0.7  # of the items without noise, at which batches are compared
    seeds: Count = 16
    first_seed: Natural = 0

    def dims(self, task: str) -> tuple[int, ...]:
        """The dimensions of a task."""
        return {"sign": self.sign_dims, "bump": self.bump_dims}.get(task, self.low_dims)


def grids(config: LeapConfig) -> dict[str, Grid]:
    """Samples by task and dimension, each task a grid; statistics of the wrong order; the memory by noise."""
    seeds = {"seed": draws(config)}
    samples = {
        task: Grid(measure_samples, {"dim": config.dims(task)} | seeds, task=task)
        for task in ("cubic", "quartic", "leap", "sign", "bump")
    }
    return samples | {
        "controls": Grid(measure_control, {"control": tuple(CONTROLS)} | seeds),
        "memory": Grid(measure_memory, {"dim": config.memory_dims, "noise": config.noises} | seeds),
    }


EXPERIMENT = Experiment(
    name="generative-leap",
    purpose="samples that find a subspace by the order of the first Hermite tensor; the memory as order one",
    profiles={
        "smoke": LeapConfig(
            low_dims=(8, 10), sign_dims=(8, 10), bump_dims=(8, 10), control_dim=8, control_samples=200,
            memory_dims=(8, 10), ratios=(0.5, 4.0), level=0.3, seeds=1,
        ),
        "cpu": LeapConfig(),
    },
    grids=grids, summarise=summarise, judge=judge, unseen_from=5450,
)  # fmt: skip
