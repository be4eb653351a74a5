"""What must come out: memories' risks, labels that one step needs, what too few heads and too few samples leave.

All of it is derived in the chapter `sparse-retrieval`; the sample size by a heuristic that counts variances. Nothing is
fitted.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_MOST = 1e12


def memory_risk(n_positions: float, code_dim: int) -> float:
    """1 − 1/(1 + s), s = (N − 1)/m: what a state Σ_j x_j ω_jᵀ, read at the best scale, leaves."""
    s = (n_positions - 1) / code_dim
    return s / (1 + s)


def found_chance(n_positions: int, code_dim: int, noise: float) -> float:
    """The chance that the own score beats N − 1 rivals: Gaussian, with variance `noise` and crosstalk of the codes

    ((2/N + 1/m)²/m + 1/(N m²)) / (1/N + 1/m)², in units of the own score's mean squared.
    """
    p, m = 1 / n_positions, code_dim
    crosstalk = ((2 * p + 1 / m) ** 2 / m + p / m**2) / (p + 1 / m) ** 2
    rival, own = math.sqrt(crosstalk + noise), math.sqrt(noise)
    return float(_WEIGHTS @ ndtr((1 + own * _NODES) / rival) ** (n_positions - 1) / _WEIGHTS.sum())


def needed(n_positions: int, code_dim: int, level: float, noise_of: float) -> float:
    """The n at which `found_chance` with noise `noise_of`/n is `level`; NaN where the codes are too short for any n."""
    gap = lambda log_n: found_chance(n_positions, code_dim, noise_of / math.exp(log_n)) - level
    if gap(math.log(_MOST)) < 0:
        return math.nan
    return math.exp(brentq(gap, -5, math.log(_MOST)))


def shared_chance(n_positions: int, code_dim: int, n_sequences: float, labels: int, draws: int = 4000) -> float:
    """`found_chance` where own score and rivals' noise share what was asked about the position, over `draws` of it.

    With c the number of questions about it in a sequence and a its token, the own score leads by Σ c a² + B and the
    noise of all scores grows with Σ c² a² + b: B = nL/m and b = B (2 − 1/N if L = N) are of questions about the others.
    """
    N, m, L, n = n_positions, code_dim, labels, n_sequences
    rng = np.random.default_rng(0)
    if L == 1:
        lead = squares = rng.chisquare(np.maximum(asked := rng.binomial(round(n), 1 / N, draws), 1)) * (asked > 0)
    else:
        c, a = rng.binomial(L, 1 / N, (draws, round(n))), rng.standard_normal((draws, round(n)))
        lead, squares = (c * a * a).sum(1), (c * c * a * a).sum(1)
    others = n * L * (1 - 1 / N) / m
    centred, b = (1 - 1 / N) ** 2, others * (1 if L == 1 else 2 - 1 / N)
    crosstalk = (lead + n * L / N) ** 2 / m + (n * L / N) ** 2 * N / m**2
    rival = np.sqrt(crosstalk + centred * (squares + b) * (1 + N / m))[:, None]
    own = np.sqrt(centred * (squares * N / m + b * (1 + N / m)))[:, None]
    chances = ndtr(((lead + others)[:, None] + own * _NODES) / rival) ** (N - 1)
    return float((chances @ _WEIGHTS).mean() / _WEIGHTS.sum())


def shared_on_grid(
    n_positions: int, code_dim: int, level: float, labels: int, fewest: int, growth: float, draws: int
) -> float:
    """The n at which `shared_chance` is `level`, read off as it is measured: n grows by steps from `fewest` on, and
    between the last two the chance is linear in log n."""
    low, before, high = 0, 0.0, fewest
    while (chance := shared_chance(n_positions, code_dim, high, labels, draws)) < level:
        low, before, high = high, chance, math.ceil(growth * high)
    return low * (high / low) ** ((level - before) / (chance - before)) if low else float(high)


def heads_floor(heads: int, targets: int) -> float:
    """1 − H/q, 0 from H = q on: what H averages of q independent targets leave of y = Σ_i He₂(x_i)/√(2q)."""
    return max(0.0, 1 - heads / targets)


def span_floor(n_labels: int, n_positions: int, dim: int) -> float:
    """1 − n/(N d), 0 from n = N d on: what a network leaves whose first layer lies in the span of n inputs."""
    return max(0.0, 1 - n_labels / (n_positions * dim))
