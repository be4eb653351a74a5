"""`lr-transfer`: whether the best learning rate of a small model costs a large one less than its width does.

A study of Ghosh, Wu and Bietti, arXiv:2512.22768, in a sketched regression of ours.
"""

from dataclasses import dataclass

from amembook.companions.lr_transfer.judge import judge, summarise
from amembook.companions.lr_transfer.measure import measure_sketch
from amembook.run.base import AscendingCounts, Config, Count, Dims, Experiment, Grid, Natural, Several, draws

PAPER = "arXiv:2512.22768"
CLAIM = (
    "transfer is fast when the suboptimality it induces vanishes asymptotically faster than the finite-scale "
    "performance gap; whether it is depends critically on problem structure"
)


@dataclass(frozen=True)
class TransferConfig(Config):
    """Sizes of the sketched regression."""

    n_features: Several = 2048
    decay: float = 1.5  # feature j has the variance j^(−decay)
    widths: Dims = (32, 64, 128, 256)
    steps: AscendingCounts = (1, 64)  # of gradient descent
    sketches: Count = 40  # a seed
    seeds: Count = 20
    first_seed: Natural = 0

    def limits(self):
        if not 1 < self.decay < 10:
            raise ValueError(f"decay must be in (1, 10), for a finite second moment, got {self.decay!r}")


def grids(config: TransferConfig) -> dict[str, Grid]:
    """Sketches by width and draw."""
    return {"sketch": Grid(measure_sketch, {"width": config.widths, "seed": draws(config)})}


EXPERIMENT = Experiment(
    name="lr-transfer",
    purpose="what the best rate of a sketched regression costs the full one, beside what the sketch loses",
    profiles={
        "smoke": TransferConfig(n_features=32, widths=(4, 8), steps=(1, 4), sketches=2, seeds=2),
        "cpu": TransferConfig(),
    },
    grids=grids, summarise=summarise, judge=judge, unseen_from=6400,
)  # fmt: skip
