"""`smoothing`: how many samples online SGD needs to find a direction behind a flat start, and what smoothing saves.

On Damian, Nichani, Ge and Lee, arXiv:2305.10633.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.smoothing.judge import BEST, KINDS, LATE, judge, summarise
from amembook.companions.smoothing.measure import measure_kind, measure_late, measure_radius
from amembook.run.base import (
    Chance,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    NonNegatives,
    Positive,
    Positives,
    some_of,
)
from amemlib.checks import check_dims

PAPER = "arXiv:2305.10633"
CLAIM = (
    "online SGD on a single-index model of information exponent k needs n ≳ d^(k−1) samples; on a smoothed loss "
    "n ≳ d^(k/2) suffice (abstract); k = 4 here"
)


def _check_rising(name: str, rates: tuple) -> None:
    if list(rates) != sorted(set(rates)):
        raise ValueError(f"{name} must increase, or no rate is an end of its grid, got {rates!r}")


Large = Annotated[tuple[int, ...], partial(check_dims, least=8)]
Rates = Annotated[Positives, _check_rising]


PARTS = ("samples", "largest")
"""Samples by kind, rate and radius; the largest rate at which neurons still arrive."""


@dataclass(frozen=True)
class SmoothingConfig(Config):
    """Neurons under plain, smoothed and signed gradients, at one learning rate or the best of several."""

    plain_dims: Large = (32, 48, 64, 96)
    plain_rate: Positive = 0.15  # times d²
    smoothed_dims: Large = (96, 192, 384, 768)
    smoothed_rate: Positive = 0.4  # times d^(3/2)
    sign_dims: Large = (256, 1024, 4096)
    sign_rate: Positive = 0.3  # times d^(1/2)
    best_plain_dims: Large = (48, 96, 192)  # where the best of several rates is taken
    best_plain_rates: Rates = (1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0)
    best_smoothed_dims: Large = (96, 192, 384)
    best_smoothed_rates: Rates = (0.28, 0.4, 0.56, 0.8, 1.1)
    sweep_dim: Count = 64  # where λ varies
    multiples: NonNegatives = (0.0, 0.5, 1.0, 2.0)  # λ over d^(1/4)
    sweep_rates: Rates = (1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0)
    late_plain_dims: Large = (64, 96, 128, 192)  # where the largest rate is sought
    late_plain_rates: Rates = (2.8, 3.4, 4.0, 4.8, 5.6, 6.7, 8.0, 9.5, 11.3, 13.5)
    late_smoothed_dims: Large = (96, 192, 384)
    late_smoothed_rates: Rates = (0.4, 0.48, 0.57, 0.68, 0.8, 0.95, 1.13, 1.35, 1.6)
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    level: Chance = 0.5  # the overlap that counts
    share: Chance = 0.25  # the share of neurons that has it
    chains_per_draw: Count = 96
    seeds: Count = 6
    first_seed: Natural = 0


def grids(config: SmoothingConfig) -> dict[str, Grid]:
    """Every kind of gradient by dimension at one rate; two of them at several; the smoothed one by radius; and who is
    at the direction late on."""
    late = {
        f"late_{kind}": Grid(
            measure_late,
            {"dim": getattr(config, f"late_{kind}_dims")},
            kind=kind,
            rates=getattr(config, f"late_{kind}_rates"),
        )
        for kind in LATE
    }
    if "samples" not in config.parts:
        return late
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
    found = fixed | best | {"radius": Grid(measure_radius, {"multiple": config.multiples})}
    return found | late if "largest" in config.parts else found


EXPERIMENT = Experiment(
    name="smoothing",
    purpose="samples that online SGD needs on a plain and on a smoothed loss, and with normalised gradients",
    profiles={
        "smoke": SmoothingConfig(
            plain_dims=(8, 12), plain_rate=2.8, smoothed_dims=(8, 12), smoothed_rate=0.9, sign_dims=(8, 12),
            sign_rate=0.5, best_plain_dims=(8, 12), best_plain_rates=(2.8, 4.0), best_smoothed_dims=(8, 12),
            best_smoothed_rates=(1.1,), late_plain_dims=(8, 12), late_plain_rates=(4.0,), late_smoothed_dims=(8, 12),
            late_smoothed_rates=(4.0,), sweep_dim=8, multiples=(0.5,), sweep_rates=(4.0,), chains_per_draw=16, seeds=2,
        ),
        "cpu": SmoothingConfig(),
        "largest": SmoothingConfig(parts=("largest",), first_seed=5650),
    },
    grids=grids, summarise=summarise, judge=judge, unseen_from=5650,
    added={"parts": ("samples",)} | {f"late_{kind}_{of}": (8, 16) for kind in LATE for of in ("dims", "rates")},
)  # fmt: skip
