"""What the page "The best learning rate" computes from the law alone."""

import math

import numpy as np

import amemlib as am

LARGE = 10**6
"""Items of a memory that nobody has run."""


def loss_curve(equivalent: am.equivalents.SpectralEquivalent, spreads) -> np.ndarray:
    """(n,) predicted losses of the polar map at the rates c √d."""
    weights = equivalent.counts * equivalent.values
    return np.array([weights @ equivalent.expected_losses(c * math.sqrt(equivalent.dim)) for c in spreads])


def _solve(n_items: int, dim: int) -> am.equivalents.SpectralEquivalent:
    return am.equivalents.SpectralEquivalent.solve(am.Problem.power_law(n_items, dim, 1.5).frequencies, dim)


def price_of_safety() -> dict:
    """Loss at the safe rate over the best loss for a million items: `dims`, `ratio` and the dimension of reach."""
    b_n = am.equivalents.typical_maximum(LARGE)
    spreads = [math.sqrt(b_n**2 + 2) - b_n, *2.0 ** np.arange(0.5, 2.1, 0.25)]
    dims = [2**k for k in (6, *range(8, 15))]
    curves = [loss_curve(_solve(LARGE, dim), spreads) for dim in dims]
    return {
        "dims": dims,
        "ratio": [curve[0] / curve[1:].min() for curve in curves],
        "reach": (b_n * math.log(LARGE)) ** 2,
    }
