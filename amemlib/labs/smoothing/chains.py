"""Online SGD on the sphere, exactly in law, as a chain of one number a neuron, the overlap m = ⟨w, θ⟩.

A fresh x has the components q along w, s along the part of θ outside w, and a square length χ² of the other d − 2; with
z = mq + √(1 − m²) s and r² = s² + χ²,

    m′ = (m + ηG √(1 − m²) s) / √(1 + η²G²r²).
"""

from collections.abc import Callable

import numpy as np

_BLOCK = 256
_MOST, _LONGER, _LOOKS = 10**7, 1.5, 1.02


def samples_needed(
    pull: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    dim: int,
    rates: np.ndarray,
    chains: int,
    level: float,
    share: float,
    seed: int,
) -> np.ndarray:
    """Samples after which a share of `chains` neurons has |m| above `level` at one time, for rates η; (rates,).

    pull: G of z, q and r². The rates see the same samples. The neurons are looked at whenever the samples have grown
    by two per cent, and what lies between is taken as linear; it counts where they are, not where they once were. NaN
    for a rate that is still below after half as many samples again as the fastest needed.
    """
    generator = np.random.default_rng([seed, dim])
    start = generator.standard_normal(chains)
    m = np.tile(start / np.sqrt(start**2 + generator.chisquare(dim - 1, chains)), (len(rates), 1))
    eta = np.asarray(rates)[:, None]
    needed, before, look, k = np.full(len(rates), np.nan), np.quantile(np.abs(m), 1 - share, axis=1), dim, 0
    while np.isnan(needed).any() and k < min(_MOST, _LONGER * np.nanmin(needed, initial=np.inf)):
        begin = k
        while k < look:
            count = min(_BLOCK, look - k)
            q, s = generator.standard_normal((2, count, chains))
            squared = s**2 + generator.chisquare(dim - 2, (count, chains))
            for i in range(count):
                m = advance(m, eta, pull, q[i], s[i], squared[i])
            k += count
        reached = np.quantile(np.abs(m), 1 - share, axis=1)
        crossed = np.isnan(needed) & (reached >= level)
        part = (level - before) / np.where(reached > before, reached - before, 1)
        needed[crossed] = (begin + (k - begin) * part)[crossed]
        before, look = reached, max(look + 1, int(look * _LOOKS))
    return needed


def advance(m, eta, pull: Callable, q, s, squared):
    """The overlap after one sample with the components q and s and the square length `squared` outside w."""
    across = np.sqrt(1 - m**2) * s
    step = eta * pull(m * q + across, q, squared)
    return (m + step * across) / np.sqrt(1 + step**2 * squared)
