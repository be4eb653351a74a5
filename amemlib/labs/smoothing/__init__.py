"""`smoothing`: how many samples online SGD needs to find a direction behind a flat start, and what smoothing saves.

A lab on Damian, Nichani, Ge and Lee, arXiv:2305.10633.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid
from amemlib.labs.smoothing.judge import BEST, KINDS, judge, summarise
from amemlib.labs.smoothing.measure import measure_kind, measure_radius

PAPER = "arXiv:2305.10633"
CLAIM = (
    "online SGD on a single-index model of information exponent k needs n ≳ d^(k−1) samples; on a smoothed loss "
    "n ≳ d^(k/2) suffice (abstract); k = 4 here"
)


@dataclass(frozen=True)
class SmoothingConfig:
    """Sizes of the lab.

    plain_dims, smoothed_dims, sign_dims, with plain_rate, smoothed_rate, sign_rate: d, and the learning rate times d²,
    d^(3/2), d^(1/2). best_…_dims, best_…_rates: where the best of several is taken. sweep_dim, multiples, sweep_rates:
    where λ varies, in units of d^(1/4). level, share: the overlap that a share of chains_per_draw neurons has.
    """

    plain_dims: tuple[int, ...] = (32, 48, 64, 96)
    plain_rate: float = 0.15
    smoothed_dims: tuple[int, ...] = (96, 192, 384, 768)
    smoothed_rate: float = 0.4
    sign_dims: tuple[int, ...] = (256, 1024, 4096)
    sign_rate: float = 0.3
    best_plain_dims: tuple[int, ...] = (48, 96, 192)
    best_plain_rates: tuple[float, ...] = (1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0)
    best_smoothed_dims: tuple[int, ...] = (96, 192, 384)
    best_smoothed_rates: tuple[float, ...] = (0.28, 0.4, 0.56, 0.8, 1.1)
    sweep_dim: int = 64
    multiples: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0)
    sweep_rates: tuple[float, ...] = (1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0)
    level: float = 0.5
    share: float = 0.25
    chains_per_draw: int = 96
    seeds: int = 6
    first_seed: int = 0

    def __post_init__(self):
        for name in ("plain", "smoothed", "sign", "best_plain", "best_smoothed"):
            check_dims(f"{name}_dims", getattr(self, f"{name}_dims"), count=2, least=8)
        for name in ("plain_rate", "smoothed_rate", "sign_rate"):
            check_positive(name, getattr(self, name))
        for name in ("best_plain_rates", "best_smoothed_rates", "sweep_rates"):
            rates = getattr(self, name)
            for value in rates:
                check_positive(name, value)
            if list(rates) != sorted(set(rates)):
                raise ValueError(f"{name} must increase, or no rate is an end of its grid, got {rates!r}")
        if not self.multiples or min(self.multiples) < 0:
            raise ValueError(f"multiples must be numbers from 0 on, got {self.multiples!r}")
        for name in ("level", "share"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be in (0, 1), got {getattr(self, name)!r}")
        for name in ("sweep_dim", "chains_per_draw", "seeds"):
            check_count(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)


def grids(config: SmoothingConfig) -> dict[str, Grid]:
    """Every kind of gradient by dimension at one rate; two of them at several; the smoothed one by radius."""
    fixed = {
        kind: Grid(
            measure_kind,
            {"dim": getattr(config, f"{kind}_dims")},
            kind=kind,
            rates=(getattr(config, f"{kind}_rate"),),
        )
        for kind in KINDS
    }
    best = {
        name: Grid(
            measure_kind,
            {"dim": getattr(config, f"{name}_dims")},
            kind=kind,
            rates=getattr(config, f"{name}_rates"),
        )
        for name, kind in BEST.items()
    }
    return fixed | best | {"radius": Grid(measure_radius, {"multiple": config.multiples})}


EXPERIMENT = Experiment(
    name="smoothing",
    purpose="samples that online SGD needs on a plain and on a smoothed loss, and with normalised gradients",
    profiles={
        "smoke": SmoothingConfig(
            plain_dims=(8, 12),
            plain_rate=2.8,
            smoothed_dims=(8, 12),
            smoothed_rate=0.9,
            sign_dims=(8, 12),
            sign_rate=0.5,
            best_plain_dims=(8, 12),
            best_plain_rates=(2.8, 4.0),
            best_smoothed_dims=(8, 12),
            best_smoothed_rates=(1.1,),
            sweep_dim=8,
            multiples=(0.5,),
            sweep_rates=(4.0,),
            chains_per_draw=16,
            seeds=2,
        ),
        "cpu": SmoothingConfig(),
        "gpu": SmoothingConfig(plain_dims=(32, 48, 64, 96, 128), smoothed_dims=(96, 192, 384, 768, 1536), seeds=12),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6050,
)
