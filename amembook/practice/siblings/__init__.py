"""`siblings`: whether whitening by the gradients of matrices that share inputs beats Muon in two trained networks.

A question of practice: in one step of the memory it does, and on short runs.
"""

from dataclasses import dataclass
from typing import Annotated

from amembook.practice.siblings.judge import judge, summarise
from amembook.practice.siblings.measure import TASKS, UPDATES, measure_run
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Several, draws, some_of

PAPER = "ours; Muon is that of arXiv:2502.16982, whitening by the inputs' moment that of arXiv:2604.01472"
CLAIM = (
    "at tuned rates a momentum that is whitened by the gradients of all matrices that read the same inputs, with a "
    "floor of the polar factor, ends below Muon in two networks, and below one that is whitened by its own alone"
)


@dataclass(frozen=True)
class SiblingsConfig(Config):
    """Runs of both updates at the best rate of a ladder, chosen for every seed on one half of what is held out."""

    tasks: Annotated[tuple[str, ...], some_of(*TASKS)] = TASKS
    updates: Annotated[tuple[str, ...], some_of(*UPDATES)] = UPDATES
    text_steps: Count = 200
    recall_steps: Count = 300
    batch: Count = 32  # sequences
    length: Several = 32
    dim: Several = 64
    n_words: Count = 320_000
    vocabulary: Several = 1024
    n_items: Several = 64  # of the recall network
    alpha: float = 1.5
    pairs: Count = 3
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        for name in ("muon", "siblings"):
            if name not in self.updates:
                raise ValueError(f"updates must hold {name}, got {self.updates}")


def grids(config: SiblingsConfig) -> dict[str, Grid]:
    """Both updates on every task, over the seeds."""
    return {"runs": Grid(measure_run, {"task": config.tasks, "update": config.updates, "seed": draws(config)})}


EXPERIMENT = Experiment(
    name="siblings",
    purpose="whitening by matrices that share inputs against Muon in a recall network and a small language model",
    profiles={
        "smoke": SiblingsConfig(
            text_steps=2, recall_steps=2, batch=2, length=12, dim=8, n_words=4000, vocabulary=32, n_items=8, pairs=2,
            seeds=1,
        ),
        "cpu": SiblingsConfig(),
        "confirm": SiblingsConfig(tasks=("recall",), first_seed=6650),
        "confirm-text": SiblingsConfig(tasks=("text",), first_seed=6660),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6650,
)  # fmt: skip
