"""`lr-transfer`: whether the best rate of a small memory is that of a large one; sketched regression beside it.

A lab on Ghosh, Wu and Bietti, arXiv:2512.22768.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.lr_transfer.judge import judge, summarise
from amemlib.labs.lr_transfer.measure import measure_rates, measure_sketch

PAPER = "arXiv:2512.22768"
CLAIM = (
    "transfer is fast when the suboptimality it induces vanishes asymptotically faster than the finite-scale "
    "performance gap; this depends critically on problem structure (abstract); one step has η* = c √d (ours)"
)


@dataclass(frozen=True)
class TransferConfig:
    """Sizes of the lab.

    alphas, n_items, dims: of the memories. log_rates: log₂ of c = η/√d, the step's spectral norm over √d, ascending.
    n_features, decay, widths, steps: of the sketched regression, `sketches` of them a seed.
    """

    alphas: tuple[float, ...] = (1.25, 1.5)
    n_items: int = 2048
    dims: tuple[int, ...] = (16, 32, 64, 128)
    log_rates: tuple[float, ...] = (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
    n_features: int = 2048
    decay: float = 1.5
    widths: tuple[int, ...] = (32, 64, 128, 256, 512)
    steps: tuple[int, ...] = (1, 4, 16, 64)
    sketches: int = 40
    seeds: int = 6
    first_seed: int = 0

    def __post_init__(self):
        for alpha in self.alphas:
            check_alpha(alpha)
        for name in ("n_items", "n_features"):
            check_count(name, getattr(self, name), least=2)
        for name in ("sketches", "seeds"):
            check_count(name, getattr(self, name))
        for name in ("dims", "widths"):
            check_dims(name, getattr(self, name))
        for steps in self.steps:
            check_count("steps", steps)
        if len(self.steps) < 2 or list(self.steps) != sorted(set(self.steps)):
            raise ValueError(f"steps must be two or more, ascending, got {self.steps!r}")
        if len(self.log_rates) < 4 or list(self.log_rates) != sorted(set(self.log_rates)):
            raise ValueError(f"log_rates must be four or more, ascending, got {self.log_rates!r}")
        if not 1 < self.decay < 10:
            raise ValueError(f"decay must be in (1, 10), for a finite second moment, got {self.decay!r}")
        check_count("first_seed", self.first_seed, least=0)


def grids(config: TransferConfig) -> dict[str, Grid]:
    """Losses by α, d and draw; sketches by steps, width and draw."""
    return {
        "rates": Grid(measure_rates, {"alpha": config.alphas, "dim": config.dims, "seed": draws(config)}),
        "sketch": Grid(
            measure_sketch,
            {"width": config.widths, "seed": draws(config)},
        ),
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
        "gpu": TransferConfig(n_items=16_384, dims=(32, 64, 128, 256, 512), seeds=12),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5550,
)
