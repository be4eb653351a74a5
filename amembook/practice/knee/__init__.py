"""`knee`: how much of what orthogonalizing gains a language model keeps when five Newton–Schulz steps reach less far.

A question of practice: the slope of the steps is dialled, their plateau and the size of every update are kept.
"""

from dataclasses import dataclass
from typing import Annotated

from amembook.practice.knee.judge import judge, summarise
from amembook.practice.knee.measure import ARMS, measure_run
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Several, draws, some_of

PAPER = "ours; whether accuracy matters is disputed in arXiv:2606.00371 and arXiv:2606.04058"
CLAIM = (
    "a small language model keeps what orthogonalizing gains down to a reach of 3, a part of it below, nothing where "
    "the whole map is linear, and the part is the lift over its plateau"
)


@dataclass(frozen=True)
class KneeConfig(Config):
    """Runs of every arm at the best rate of a ladder, chosen for every seed on one half of the held-out text."""

    arms: Annotated[tuple[str, ...], some_of(*ARMS)] = tuple(ARMS)
    steps: Several = 200
    batch: Count = 32  # sequences
    length: Several = 32
    dim: Several = 64
    n_words: Count = 320_000
    vocabulary: Several = 1024
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        for name in ("jordan 1", "normalized"):
            if name not in self.arms:
                raise ValueError(f"arms must hold {name}, by which the others are measured, got {self.arms}")


def grids(config: KneeConfig) -> dict[str, Grid]:
    """Every arm over the seeds."""
    return {"runs": Grid(measure_run, {"arm": config.arms, "seed": draws(config)})}


SHORT = (
    "frozen", "normalized", "jordan 256", "jordan 64", "jordan 16", "cans 34.6", "jordan 4", "jordan 1",
)  # fmt: skip
LONG = ("frozen", "normalized", "jordan 256", "jordan 64", "jordan 16", "jordan 4", "jordan 1")
EXPERIMENT = Experiment(
    name="knee",
    purpose="the slope of five Newton-Schulz steps dialled: loss of a small language model against the reach",
    profiles={
        "smoke": KneeConfig(
            arms=("frozen", "normalized", "jordan 1"),
            steps=2, batch=2, length=8, dim=8, n_words=4000, vocabulary=32, seeds=1,
        ),
        "cpu": KneeConfig(),
        "confirm": KneeConfig(arms=SHORT, first_seed=6900),
        "confirm-800": KneeConfig(arms=LONG, steps=800, seeds=4, first_seed=6910),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6900,
)  # fmt: skip
