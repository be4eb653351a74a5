"""Laws with nothing fitted: the error of two layers, the span of two features (both ours)."""

import math

import numpy as np
from scipy.optimize import brentq

from amembook.companions.hierarchy.features import LINK_NOISE

_DRAWS, _MOST, _CEILING = 40_000, 20, 60.0


def correlation(ratio: float) -> float:
    """ρ², of the feature that ridge regression finds from δD samples with the feature, from `ratio` = δ.

    With x = 1 − ρ², signal s and noise v = 1 − s: x = 1/(1 + δ/(x + v/s)), D and n large.
    """
    noise = LINK_NOISE / (1 - LINK_NOISE)
    b = ratio + noise - 1
    return 1 - (-b + math.sqrt(b * b + 4 * noise)) / 2


def layerwise_error(ratio: float) -> float:
    """Relative error after n = ratio · D samples: 1 − (ρ² + ρ⁴)/2, as if the outer layer's samples were fresh."""
    rho2 = correlation(ratio)
    return 1 - (1 - LINK_NOISE) * rho2 - LINK_NOISE * rho2**2


def layerwise_ratio(level: float) -> float:
    """n/D at which that error is `level`."""
    return float(brentq(lambda ratio: layerwise_error(ratio) - level, 1e-3, 1e5))


def span_overlap(ratio: float, count: int, draws: int = 0) -> float:
    """Overlap of the top eigenvector of (1/n) Σ y z zᵀ with (θ₁ + θ₂)/√2, y = p₁p₂, n = ratio · D.

    For Gaussian z; with fixed labels and u = (p₁ + p₂)/√2 it is (τ + μτ′)/(μ(τ′ − S′)) at S(μ) = τ(μ), where
    τ = D/n + (1/n) Σ y/(μ − y), S = (1/n) Σ u² y/(μ − y), the largest label left out of τ.
    A mean of so many draws of labels, by default of the few that the record has.
    """
    n = round(ratio * count)
    overlaps = []
    for k in range(draws or min(_MOST, max(4, _DRAWS // n))):
        p = np.random.default_rng(k).standard_normal((n, 2))
        y, u = p[:, 0] * p[:, 1], (p[:, 0] + p[:, 1]) ** 2 / 2
        order = np.argsort(-y)
        y, u = y[order], u[order]
        rest = y[1:]

        def tau(mu: float, rest=rest, n=n) -> float:
            return count / n + (rest / (mu - rest)).sum() / n

        def gap(mu: float, y=y, u=u, tau=tau, n=n) -> float:
            return (u * y / (mu - y)).sum() / n - tau(mu)

        low, high = y[0] * (1 + 1e-9), _CEILING * y[0]
        if not gap(low) > 0 > gap(high):
            overlaps.append(0.0)
            continue
        mu = brentq(gap, low, high)
        slope = -(rest / (mu - rest) ** 2).sum() / n
        signal = -(u * y / (mu - y) ** 2).sum() / n
        overlaps.append(max(0.0, (tau(mu) + mu * slope) / (mu * (slope - signal))))
    return float(np.mean(overlaps))
