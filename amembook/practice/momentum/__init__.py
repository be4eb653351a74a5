"""`momentum`: which β of Muon, by the number of steps and by the batch, on the memory.

A question of practice about arXiv:2606.03899 and arXiv:2304.13960.
"""

import math
from dataclasses import dataclass

from amembook.practice.momentum.judge import judge, summarise
from amembook.practice.momentum.measure import measure_minimum, measure_run
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positive,
    Several,
    Shares,
    SteepAlpha,
    draws,
)

PAPER = "ours; that noise is what an average before the polar factor is for is the thesis of arXiv:2606.03899"
CLAIM = (
    "an average of T/24 steps is near the best at any batch; without one the polar factor of noisy gradients stops at "
    "a loss that more steps do not lower; batch over 1 − β does not tell the loss"
)


@dataclass(frozen=True)
class MomentumConfig(Config):
    """Muon on one memory, the rate tuned for every run, falling in a line to 0."""

    alpha: SteepAlpha = 1.5
    other_alpha: SteepAlpha = 1.25  # beside it, at all horizons but the longest
    n_items: Several = 1024
    dim: Several = 64
    steps: AscendingCounts = (60, 240, 960)
    batch_sizes: AscendingCounts = (16, 256)
    third_batch: Count = 64  # at the middle horizon
    betas: Shares = (0.0, 0.6, 0.8, 0.9, 0.95, 0.975, 0.99)
    horizon: Positive = 24.0  # of the rule 1/(1 − β) = T/horizon
    drift_batches: Several = 1000  # gradients at the minimum whose polar factors are averaged
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        for steps in self.steps:
            if not any(math.isclose(1 / (1 - beta), steps / self.horizon) for beta in self.betas):
                raise ValueError(f"betas must hold 1 − {self.horizon:g}/{steps}, got {self.betas}")


def runs(config: MomentumConfig) -> dict[str, dict]:
    """Every run but its draw: α, steps T, batch (0 for all items) and β with a memory of at most T/2 steps."""
    *short, last = config.steps
    middle = config.steps[len(config.steps) // 2]
    places = [(config.alpha, T, B) for T in config.steps for B in config.batch_sizes]
    places += [(config.other_alpha, T, B) for T in short for B in config.batch_sizes]
    places += [(config.alpha, middle, config.third_batch)] + [(config.alpha, T, 0) for T in short]
    return {
        f"{alpha:g} {T} {B} {beta:g}": {"alpha": alpha, "n_steps": T, "batch_size": B, "beta": beta}
        for alpha, T, B in places
        for beta in config.betas
        if 2 <= T * (1 - beta) * (1 + 1e-9)
    }


def grids(config: MomentumConfig) -> dict[str, Grid]:
    """The runs, and the least loss of every memory with the mean polar factor there."""
    seeds = {"seed": draws(config)}
    alphas = {"alpha": (config.alpha, config.other_alpha)}
    return {
        "runs": Grid(measure_run, {"run": runs(config)} | seeds),
        "minimum": Grid(measure_minimum, alphas | seeds),
    }


EXPERIMENT = Experiment(
    name="momentum",
    purpose="the best momentum of Muon on the memory by steps and batch, and what no momentum leaves",
    profiles={
        "smoke": MomentumConfig(
            n_items=32,
            dim=8,
            steps=(4, 8),
            batch_sizes=(4, 16),
            third_batch=8,
            betas=(0.0, 0.5),
            horizon=4.0,
            drift_batches=8,
            seeds=2,
        ),
        "cpu": MomentumConfig(),
        "confirm": MomentumConfig(first_seed=6210),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6210,
)
