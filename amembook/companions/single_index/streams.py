"""One-pass spherical SGD on a single-index model, exactly in law, as a chain of one number a neuron.

A fresh x has the components q along w, s along the part of θ outside w, and a square length χ² of the other d − 2. With
z = mq + √(1 − m²) s, G = y σ′(q) and the gradient G(x − qw) on the sphere,

    m′ = (m + ηG √(1 − m²) s) / √(1 + η²G²(s² + χ²)).
"""

from collections.abc import Callable

import numpy as np

_BLOCK = 256
_MOST, _LONGER = 40, 1.5


def advance(m, eta, value: Callable, slope: Callable, q, s, length):
    """The overlap after one sample with the components q and s and the square length s² + χ² = `length` outside w."""
    across = np.sqrt(1 - m**2) * s
    step = eta * value(m * q + across) * slope(q)
    return (m + step * across) / np.sqrt(1 + step**2 * length)


def samples_needed(
    value: Callable[[np.ndarray], np.ndarray],
    slope: Callable[[np.ndarray], np.ndarray],
    dim: int,
    rates: np.ndarray,
    chains: int,
    level: float,
    seed: int,
) -> np.ndarray:
    """Samples after which the median |m| of `chains` neurons is `level`, for η = rate/d. (rates,)

    NaN for a rate that is still below after half as many samples again as the fastest needed, or than 40 d. The rates
    see the same samples. The median is looked at every d/32 samples, and taken as linear between.
    """
    generator = np.random.default_rng([seed, dim])
    start = generator.standard_normal(chains)
    m = np.tile(start / np.sqrt(start**2 + generator.chisquare(dim - 1, chains)), (len(rates), 1))
    eta = np.asarray(rates)[:, None] / dim
    needed, before = np.full(len(rates), np.nan), np.median(np.abs(m), axis=1)
    every, k = max(1, dim // 32), 0
    while np.isnan(needed).any() and k < min(_MOST * dim, _LONGER * np.nanmin(needed, initial=np.inf)):
        for begin in range(0, every, _BLOCK):
            count = min(_BLOCK, every - begin)
            q, s = generator.standard_normal((2, count, chains))
            length = s**2 + generator.chisquare(dim - 2, (count, chains))
            for i in range(count):
                m = advance(m, eta, value, slope, q[i], s[i], length[i])
        k += every
        median = np.median(np.abs(m), axis=1)
        crossed = np.isnan(needed) & (median >= level)
        part = (level - before) / np.where(median > before, median - before, 1)
        needed[crossed] = (k - every + every * part)[crossed]
        before = median
    return needed
