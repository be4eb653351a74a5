"""`smoothing`: how many samples online SGD needs to find a direction behind a flat start, and what smoothing saves.

A lab on Damian, Nichani, Ge and Lee, arXiv:2305.10633.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.smoothing.judge import judge, summarise
from amemlib.labs.smoothing.measure import measure_kind, measure_radius

PAPER = "arXiv:2305.10633"
CLAIM = (
    "online SGD on a single-index model of information exponent k needs n ≳ d^(k−1) samples; on a smoothed loss "
    "n ≳ d^(k/2) suffice (abstract); k = 4 here"
)


@dataclass(frozen=True)
class SmoothingConfig:
    """Sizes of the lab.

    plain_dims, smoothed_dims, sign_dims, and their rates: d, and learning rates times d², d^(3/2), d^(1/2).
    sweep_dim, multiples, sweep_rates: where λ varies, in units of d^(1/4). level, share: the overlap that a share of
    chains_per_draw neurons has.
    """

    plain_dims: tuple[int, ...] = (48, 64, 96, 128, 192)
    plain_rates: tuple[float, ...] = (1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
    smoothed_dims: tuple[int, ...] = (48, 96, 192, 384)
    smoothed_rates: tuple[float, ...] = (0.28, 0.4, 0.56, 0.8, 1.1)
    sign_dims: tuple[int, ...] = (64, 256, 1024)
    sign_rates: tuple[float, ...] = (0.25, 0.4, 0.6)
    sweep_dim: int = 64
    multiples: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0)
    sweep_rates: tuple[float, ...] = (0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
    level: float = 0.5
    share: float = 0.25
    chains_per_draw: int = 96
    seeds: int = 6
    first_seed: int = 0

    def __post_init__(self):
        for name in ("plain_dims", "smoothed_dims", "sign_dims"):
            check_dims(name, getattr(self, name), count=2, least=8)
        for name in ("plain_rates", "smoothed_rates", "sign_rates", "sweep_rates"):
            for value in getattr(self, name):
                check_positive(name, value)
        if not self.multiples or min(self.multiples) < 0:
            raise ValueError(f"multiples must be numbers from 0 on, got {self.multiples!r}")
        for name in ("level", "share"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be in (0, 1), got {getattr(self, name)!r}")
        for name in ("sweep_dim", "chains_per_draw", "seeds"):
            check_count(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)


def grids(config: SmoothingConfig) -> dict[str, Grid]:
    """Every kind of gradient by dimension, and the smoothed one by radius."""
    seeds = {"seed": draws(config)}
    kinds = {
        kind: Grid(measure_kind, {"dim": getattr(config, f"{kind}_dims")} | seeds, kind=kind, rates=rates)
        for kind in ("plain", "smoothed", "sign")
        for rates in [getattr(config, f"{kind}_rates")]
    }
    return kinds | {"radius": Grid(measure_radius, {"multiple": config.multiples} | seeds)}


EXPERIMENT = Experiment(
    name="smoothing",
    purpose="samples that online SGD needs on a plain and on a smoothed loss, and with normalised gradients",
    profiles={
        "smoke": SmoothingConfig(
            plain_dims=(8, 12),
            plain_rates=(2.8, 4.0),
            smoothed_dims=(8, 12),
            smoothed_rates=(1.6,),
            sign_dims=(8, 12),
            sign_rates=(0.9,),
            sweep_dim=8,
            multiples=(0.5,),
            sweep_rates=(4.0,),
            chains_per_draw=16,
            seeds=2,
        ),
        "cpu": SmoothingConfig(),
        "gpu": SmoothingConfig(plain_dims=(48, 64, 96, 128, 192, 256), smoothed_dims=(48, 96, 192, 384, 768), seeds=12),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
