"""`ranking`: the optimizers of a speed run's track on the memory, one rule of momentum for all, rates tuned for each.

A question of practice about the updates of arXiv:2502.16982, arXiv:2409.11321, arXiv:1802.09568 and arXiv:2510.05491.
"""

from dataclasses import dataclass

from amembook.practice.ranking.judge import judge, summarise
from amembook.practice.ranking.measure import OPTIMIZERS, measure_run
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positive,
    Several,
    SteepAlpha,
    draws,
)

PAPER = "ours; the updates are those of arXiv:2502.16982, arXiv:2409.11321, arXiv:1802.09568 and arXiv:2510.05491"
CLAIM = (
    "with 1/(1 − β) = T/24 for every optimizer and a rate tuned for each, neither the order of a language model's "
    "track comes out on the memory, nor does Muon come first"
)


@dataclass(frozen=True)
class RankingConfig(Config):
    """Runs of every optimizer, the rate tuned for every draw, falling in a line to 0."""

    alpha: SteepAlpha = 1.5
    n_items: Several = 1024
    dim: Several = 64
    steps: AscendingCounts = (60, 240)
    batch_sizes: AscendingCounts = (16, 256)
    horizon: Positive = 24.0  # of the rule 1/(1 − β) = T/horizon, for all
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.steps[0] < self.horizon:
            raise ValueError(f"steps must be at least the horizon {self.horizon:g}, got {self.steps}")


def runs(config: RankingConfig) -> dict[str, dict]:
    """Every run but its draw: "T batch optimizer"."""
    return {
        f"{steps} {batch} {name}": {"n_steps": steps, "batch_size": batch, "optimizer": name}
        for steps in config.steps
        for batch in config.batch_sizes
        for name in OPTIMIZERS
    }


def grids(config: RankingConfig) -> dict[str, Grid]:
    """The runs over the draws."""
    return {"runs": Grid(measure_run, {"run": runs(config), "seed": draws(config)})}


EXPERIMENT = Experiment(
    name="ranking",
    purpose="optimizers on the memory with one rule for the momentum of all, ranked beside a language model's track",
    profiles={
        "smoke": RankingConfig(n_items=32, dim=8, steps=(2, 3), batch_sizes=(2, 4), horizon=1.5, seeds=1),
        "cpu": RankingConfig(),
        "confirm": RankingConfig(first_seed=6750),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6750,
)
