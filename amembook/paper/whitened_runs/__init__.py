"""`whitened-runs`: many steps with the softmax's own gradients, by updates that whiten and by those that do not.

Whether the ranking of the first step outlasts it: every update at its best rate, for loss and for items.
"""

from dataclasses import dataclass

from amembook.paper.whitened_runs.judge import judge, summarise
from amembook.paper.whitened_runs.measure import METHODS, measure_method
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Positive,
    Several,
    Sizes,
    SteepAlpha,
)

PAPER = "arXiv:2603.26554; the updates are those of arXiv:2604.01472, arXiv:1503.05671 and arXiv:2409.11321"
CLAIM = (
    "ours: the first step's ranking of whitened updates holds for a few steps and is gone after thirty, when SGD with "
    "steps of one length ends as low as Muon"
)


@dataclass(frozen=True)
class WhitenedRunsConfig(Config):
    """Fresh batches; all steps of one run at one Frobenius norm, falling in a line to 0; momentum by the horizon."""

    alpha: SteepAlpha = 1.5
    dims: Sizes = (64, 128)
    n_items: Counts = (2048, 4096)  # at each of `dims`
    steps: AscendingCounts = (1, 3, 10, 30)
    more_steps: Count = 100  # at the first of `dims` alone
    batch_size: Count = 4096
    horizon: Positive = 24.0  # of the rule β = max(0, 1 − horizon/T), for all
    tuning_seeds: Count = 2  # draws after the counted ones, on which the rates are chosen
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if len(self.n_items) != len(self.dims):
            raise ValueError(f"n_items must hold {len(self.dims)} numbers, as dims does, got {list(self.n_items)}")
        if self.steps[0] != 1:
            raise ValueError(f"steps must begin with 1, the first step, got {list(self.steps)}")
        if self.more_steps <= self.steps[-1]:
            raise ValueError(f"more_steps must be more than those of steps, got {self.more_steps}")


def places(config: WhitenedRunsConfig) -> dict[str, dict]:
    """Every setting by "d T"."""
    sizes = list(zip(config.dims, config.n_items, strict=True))
    found = [(dim, n_items, steps) for dim, n_items in sizes for steps in config.steps]
    found.append((*sizes[0], config.more_steps))
    return {f"{dim} {steps}": {"dim": dim, "n_items": n, "n_steps": steps} for dim, n, steps in sorted(found)}


def grids(config: WhitenedRunsConfig) -> dict[str, Grid]:
    """A cell for each setting and method: the rates are chosen in it."""
    return {"runs": Grid(measure_method, {"place": places(config), "method": METHODS})}


EXPERIMENT = Experiment(
    name="whitened-runs",
    purpose="whether the first step's ranking of whitened updates outlasts it: loss and items of runs at tuned rates",
    profiles={
        "smoke": WhitenedRunsConfig(
            dims=(4,),
            n_items=(48,),
            steps=(1, 2),
            more_steps=3,
            batch_size=512,
            horizon=2.0,
            tuning_seeds=1,
            seeds=1,
        ),
        "cpu": WhitenedRunsConfig(),
        "confirm": WhitenedRunsConfig(first_seed=6800),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6800,
)
