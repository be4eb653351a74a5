"""What is measured: samples that find the direction, by kind of gradient, dimension, learning rate and radius."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from amembook.companions.smoothing import links
from amembook.networks import sphere

EXPONENTS = {"plain": 2.0, "smoothed": 1.5, "sign": 0.5}
"""A learning rate is rate / d^exponent: with these the signal beats the noise at a rate that does not depend on d."""
RADIUS = 0.25
"""λ = d^(1/4)."""


def pull_of(kind: str, dim: int, multiple: float = 1.0) -> tuple[Callable, Callable]:
    """y of z and g of q and r²: of the plain loss, of that smoothed with λ = multiple · d^(1/4), or of signs."""
    if kind == "sign":
        return links.label_sign, links.sign_pull
    radius = 0.0 if kind == "plain" else multiple * dim**RADIUS
    return links.label, partial(links.smoothed_pull, smoothing=radius, dim=dim)


HORIZON = {"plain": (0.1, 3), "smoothed": (2.0, 2)}
"""Samples c d^p in which neurons must arrive: at the largest rates a few times what the flow without noise takes."""


def horizon_of(kind: str, dim: int) -> int:
    """The samples of `measure_late` at a dimension."""
    factor, power = HORIZON[kind]
    return round(factor * dim**power)


def measure_late(
    kind: str, dim: int, rates: Sequence[float], chains_per_draw: int, level: float, first_seed: int, seeds: int
) -> dict:
    """The share of neurons that is at the direction late on, by rate and draw."""
    eta, numbers = np.array(rates) / dim ** EXPONENTS[kind], range(first_seed, first_seed + seeds)
    horizon = horizon_of(kind, dim)
    return {
        "shares": sphere.late_share(*pull_of(kind, dim), dim, eta, numbers, chains_per_draw, level, horizon).tolist()
    }


def measure_kind(
    kind: str, dim: int, rates: Sequence[float], chains_per_draw: int, level: float, share: float, first_seed: int,
    seeds: int,
) -> dict:  # fmt: skip
    """Samples that one pass needs, by rate and draw, and those spent. All draws in one cell: a step costs as much."""
    return _samples(pull_of(kind, dim), dim, EXPONENTS[kind], rates, chains_per_draw, level, share, first_seed, seeds)


def measure_radius(
    multiple: float, sweep_dim: int, sweep_rates: Sequence[float], chains_per_draw: int, level: float, share: float,
    first_seed: int, seeds: int,
) -> dict:  # fmt: skip
    """The same at one dimension, the loss smoothed with λ = multiple · d^(1/4); rates over d²."""
    pull, power = pull_of("smoothed", sweep_dim, multiple), EXPONENTS["plain"]
    return _samples(pull, sweep_dim, power, sweep_rates, chains_per_draw, level, share, first_seed, seeds)


def _samples(pull, dim: int, power: float, rates, chains_per_draw: int, level: float, share: float, first: int, count):
    eta, draws = np.array(rates) / dim**power, range(first, first + count)
    needed, spent = sphere.samples_needed(*pull, dim, eta, draws, chains_per_draw, level, share)
    return {"samples": needed.tolist(), "spent": spent}
