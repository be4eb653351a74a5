"""`lr-transfer`: whether the best rate of a small memory is that of a large one; sketched regression beside it.

A study of Ghosh, Wu and Bietti, arXiv:2512.22768.
"""

from dataclasses import dataclass

from amembook.companions.lr_transfer.judge import judge, summarise
from amembook.companions.lr_transfer.measure import measure_rates, measure_sketch
from amembook.run.base import Alphas, AscendingCounts, Config, Count, Dims, Experiment, Grid, Natural, Several, draws

PAPER = "arXiv:2512.22768"
CLAIM = (
    "transfer is fast when the suboptimality it induces vanishes asymptotically faster than the finite-scale "
    "performance gap; this depends critically on problem structure (abstract); one step has η* = c √d (ours)"
)


@dataclass(frozen=True)
class TransferConfig(Config):
    """Sizes of the memories and of the sketched regression."""

    alphas: Alphas = (1.25, 1.5)  # of the memories, as n_items and dims
    n_items: Several = 2048
    dims: Dims = (16, 32, 64, 128)
    # log₂ of c = η/√d, the step's spectral norm over √d, ascending
    log_rates: tuple[float, ...] = (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
    n_features: Several = 2048  # of the sketched regression, as the next three
    decay: float = 1.5
    widths: Dims = (32, 64, 128, 256, 512)
    steps: AscendingCounts = (1, 4, 16, 64)
    sketches: Count = 40  # a seed
    seeds: Count = 6
    first_seed: Natural = 0

    def limits(self):
        if len(self.log_rates) < 4 or list(self.log_rates) != sorted(set(self.log_rates)):
            raise ValueError(f"log_rates must be four or more, ascending, got {self.log_rates!r}")
        if not 1 < self.decay < 10:
            raise ValueError(f"decay must be in (1, 10), for a finite second moment, got {self.decay!r}")


def grids(config: TransferConfig) -> dict[str, Grid]:
    """Losses by α, d and draw; sketches by steps, width and draw."""
    return {
        "rates": Grid(measure_rates, {"alpha": config.alphas, "dim": config.dims, "seed": draws(config)}),
        "sketch": Grid(measure_sketch, {"width": config.widths, "seed": draws(config)}),
    }


EXPERIMENT = Experiment(
    name="lr-transfer",
    purpose="the best rate of one step of SGD and Muon by the memory's dimension, and what the small one's costs",
    profiles={
        "smoke": TransferConfig(
            alphas=(1.5,),
            n_items=128,
            dims=(8, 16),
            log_rates=(0.0, 1.0, 2.0, 3.0),
            n_features=32,
            widths=(4, 8),
            steps=(1, 4),
            sketches=2,
            seeds=2,
        ),
        "cpu": TransferConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5550,
)
