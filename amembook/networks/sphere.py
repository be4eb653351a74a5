"""Online SGD on the sphere, exactly in law, as a chain of one number a neuron, the overlap m = ⟨w, θ⟩.

Apart, because the studies of one neuron and one direction have no network to train. A fresh sample has the components
q along w, s along the part of θ outside w, and a square length χ² of the other d − 2; with z = mq + √(1 − m²) s, r² =
s² + χ² and the gradient G(x − qw), G = y(z) g(q, r²),

    m′ = (m + ηG √(1 − m²) s) / √(1 + η²G²r²).
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import beta

_BLOCK = 256
_MOST, _LONGER, _LOOKS = 10**8, 1.5, 1.02


def samples_needed(
    label: Callable[[np.ndarray], np.ndarray],
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray],
    dim: int,
    rates: np.ndarray,
    seeds: Sequence[int],
    chains: int,
    level: float,
    share: float,
) -> tuple[np.ndarray, int]:
    """Samples after which a share of `chains` neurons has |m| above `level` at one time; and those spent.

    (rates, seeds). label, slope: y of z, g of q and r². rates: η. A seed is an independent draw; the rates see the same
    samples. The neurons are looked at whenever the samples have grown by two per cent, and what lies between is taken
    as linear; it counts where they are, not where they once were. NaN for what is still below when every draw has
    arrived at one rate at least and half as many samples again as the last of these needed are spent.
    """
    generators = [np.random.default_rng([seed, dim]) for seed in seeds]
    m = np.tile(np.concatenate([_start(generator, chains, dim) for generator in generators]), (len(rates), 1))
    eta = np.asarray(rates)[:, None]
    needed, before, look, k = np.full((len(rates), len(seeds)), np.nan), 0.0, dim, 0
    while np.isnan(needed).any() and k < min(_MOST, _LONGER * _last_of_fastest(needed)):
        begin = k
        while k < look:
            count = min(_BLOCK, look - k)
            q, s, squared = _draw(generators, (count, chains), dim - 2)
            g = slope(q, squared)
            for i in range(count):
                m = advance(m, eta, label, g[i], q[i], s[i], squared[i])
            k += count
        reached = np.quantile(np.abs(m).reshape(len(rates), len(seeds), chains), 1 - share, axis=2)
        crossed = np.isnan(needed) & (reached >= level)
        part = (level - before) / np.where(reached > before, reached - before, 1)
        needed[crossed] = (begin + (k - begin) * part)[crossed]
        before, look = reached, max(look + 1, int(look * _LOOKS))
    return needed, k


def late_share(
    label: Callable[[np.ndarray], np.ndarray],
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray],
    dim: int,
    rates: np.ndarray,
    seeds: Sequence[int],
    chains: int,
    level: float,
    horizon: int,
) -> np.ndarray:
    """The share of `chains` neurons with |m| above `level`, mean over the second half of `horizon` samples.

    (rates, seeds), as in `samples_needed`; looked at a hundred times.
    """
    generators = [np.random.default_rng([seed, dim]) for seed in seeds]
    m = np.tile(np.concatenate([_start(generator, chains, dim) for generator in generators]), (len(rates), 1))
    eta, every, shares = np.asarray(rates)[:, None], -(-horizon // 200), []
    for look in range(200):
        q, s, squared = _draw(generators, (every, chains), dim - 2)
        g = slope(q, squared)
        for i in range(every):
            m = advance(m, eta, label, g[i], q[i], s[i], squared[i])
        if look >= 100:
            shares.append((np.abs(m) > level).reshape(len(rates), len(seeds), chains).mean(2))
    return np.mean(shares, axis=0)


def advance(m, eta, label: Callable, g, q, s, squared):
    """The overlap after one sample with the components q and s, the square length outside w and the pull g."""
    across = np.sqrt(1 - m * m) * s
    step = eta * (g * label(m * q + across))
    return (m + step * across) / np.sqrt(1 + step * step * squared)


def _start(generator: np.random.Generator, chains: int, dim: int) -> np.ndarray:
    """Overlaps |m| of uniform directions, one from each of `chains` parts of equal probability. Theirs is √Beta."""
    return np.sqrt(beta.ppf((np.arange(chains) + generator.random(chains)) / chains, 0.5, (dim - 1) / 2))


def _draw(generators: Sequence, shape: tuple[int, int], rest: int) -> np.ndarray:
    """q, s and s² + χ² of `rest` degrees for every neuron of every draw, side by side; (3, count, draws · chains)."""
    single = np.float32
    parts = []
    for generator in generators:
        q, s = generator.standard_normal((2, *shape), dtype=single)
        parts.append((q, s, s * s + 2 * generator.standard_gamma(rest / 2, shape, dtype=single)))
    return np.concatenate(parts, axis=2, dtype=float)


def _last_of_fastest(needed: np.ndarray) -> float:
    """The samples of the draw that is last when each takes its fastest rate; infinite while one has not arrived."""
    return float(np.nanmin(np.where(np.isnan(needed), np.inf, needed), axis=0).max())
