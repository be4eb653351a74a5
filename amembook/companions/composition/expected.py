"""What is expected: correlations of composition functions, and samples that one step needs; nothing is fitted."""

import math

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import binom


def correlation(pi: Int[np.ndarray, "*#pairs k N"], other: Int[np.ndarray, "*#pairs k N"]) -> Float[np.ndarray, "..."]:
    """Of the k-fold compositions of two tuples, over uniform σ and x: Π_i (a_i − 1)/(N − 1), a_i = #{j: π_i = π'_i}."""
    return ((pi == other).sum(-1) - 1).prod(-1) / (pi.shape[-1] - 1) ** pi.shape[-2]


def mean_square(k: int, n_things: int) -> float:
    """Mean of the squared correlation over independent uniform tuples: (N − 1)^(−2k)."""
    return (n_things - 1.0) ** (-2 * k)


def samples_needed(k: int, n_things: int) -> float:
    """Mean number of samples, all places answered, after which no two keys have always been equal: with
    C = k (k − 1) N²/2 pairs of keys, Σ_n (1 − exp(−C N^(−n)))."""
    pairs = k * (k - 1) * n_things**2 / 2
    return float(sum(-math.expm1(-pairs * float(n_things) ** -n) for n in range(400)))


def share_alone(k: int, n_things: int, per_place: float) -> float:
    """Share of places whose right key is alone after one step, one answer a sample, `per_place` answers a place in the
    mean, exact: of another block one key holds the answer in each of m samples, so with n = `per_place` k N samples it
    is Σ_{m ≥ 1} Binomial(m; n, 1/(kN)) (1 − N^(1 − m))^(k − 1)."""
    m, chance = _answers(k, n_things, per_place)
    return float(chance[1:] @ (1 - float(n_things) ** (1 - m[1:])) ** (k - 1))


def share_independent(k: int, n_things: int, per_place: float) -> float:
    """The same if the keys of a block were independent, which they are not: (1 − N^(−m))^((k − 1) N)."""
    m, chance = _answers(k, n_things, per_place)
    return float(chance @ (1 - float(n_things) ** -m) ** ((k - 1) * n_things))


def leading_constant(k, n_things):
    """What is added to 2 log(kN)/log N for many places: (γ + log((1 − 1/k)/2))/log N + 1/2."""
    return (np.euler_gamma + np.log((1 - 1 / k) / 2)) / np.log(n_things) + 0.5


def _answers(k: int, n_things: int, per_place: float) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of answers that a place may have, and their chances."""
    n = round(per_place * k * n_things)
    return np.arange(n + 1), binom.pmf(np.arange(n + 1), n, 1 / (k * n_things))
