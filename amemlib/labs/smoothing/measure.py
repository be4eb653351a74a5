"""What the lab measures: samples that find the direction, by kind of gradient, dimension and radius."""

from collections.abc import Callable

import numpy as np

from amemlib.labs.smoothing import chains, links

EXPONENTS = {"plain": 2.0, "smoothed": 1.5, "sign": 0.5}
"""A learning rate is rate / d^exponent: for these the best rate hardly depends on d."""
RADIUS = 0.25
"""λ = d^(1/4)."""


def pull_of(kind: str, dim: int, multiple: float = 1.0) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """G of z, q and r² of the plain loss, of that smoothed with λ = multiple · d^(1/4), or divided by its length."""
    if kind == "sign":
        return lambda z, q, squared: np.sign(links.label(z)) * links.sign_pull(q) / np.sqrt(squared)
    radius = 0.0 if kind == "plain" else multiple * dim**RADIUS
    return lambda z, q, squared: links.label(z) * links.smoothed_pull(q, squared, radius, dim)


def measure_kind(kind: str, dim: int, rates: list, chains_per_draw: int, level: float, share: float, seed: int) -> dict:
    """Samples that one pass needs, for each rate."""
    eta = np.array(rates) / dim ** EXPONENTS[kind]
    needed = chains.samples_needed(pull_of(kind, dim), dim, eta, chains_per_draw, level, share, seed)
    return {"samples": needed.tolist()}


def measure_radius(
    multiple: float, sweep_dim: int, sweep_rates: list, chains_per_draw: int, level: float, share: float, seed: int
) -> dict:
    """The same at one dimension, the loss smoothed with λ = multiple · d^(1/4); rates over d²."""
    eta = np.array(sweep_rates) / sweep_dim ** EXPONENTS["plain"]
    pull = pull_of("smoothed", sweep_dim, multiple)
    return {"samples": chains.samples_needed(pull, sweep_dim, eta, chains_per_draw, level, share, seed).tolist()}
