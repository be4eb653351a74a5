"""What must come out: how machines forget each other, alphabets, the words that letters need.

All of it is derived in the chapter `semiautomata`, the number of words for many letters. Nothing is fitted.
"""

import math
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import poisson, qmc

_POINTS, _TABLE = 2**13, 1e5
"""A Poisson number with a larger mean than the second is a Gaussian."""


def letter_factor(n_states: int) -> float:
    """λ = 1 − 1/(N − 1): E P(σ) on the standard representation, of a lazy random transposition."""
    return 1 - 1 / (n_states - 1)


def excess(n_states: int, length) -> np.ndarray | float:
    """(N − 1)/N λ^{2T}: what two independent machines agree more than by chance, for many letters."""
    return (n_states - 1) / n_states * letter_factor(n_states) ** (2 * np.asarray(length, dtype=float))


def renamed_excess(fixed: int, n_states: int) -> float:
    """(fix π − 1)²/(N (N − 1)): what a machine with states renamed by π agrees in the end, for ever."""
    return (fixed - 1) ** 2 / (n_states * (n_states - 1))


def connected_share(n_states: int, letters: int) -> float:
    """The share of machines whose letters connect all states, exactly: 1 − N (1 − 1/N)^A + …

    Of words of m transpositions on n states those that connect them are Σ_a w_a a^m, with
    c_n(z) = Σ_a w_a z^a = z^{n(n−1)/2} − Σ_{k<n} C(n−1, k−1) c_k(z) z^{(n−k)(n−k−1)/2}: the others are told by the k
    states that the first one is connected to. Of A letters m ~ Binomial(A, 1/2) move. In whole numbers: terms cancel.
    """
    pairs = [math.comb(n, 2) for n in range(n_states + 1)]
    connected: list[dict[int, int]] = [{}]
    for n in range(1, n_states + 1):
        weights = {pairs[n]: 1}
        for k in range(1, n):
            ways = math.comb(n - 1, k - 1)
            for power, weight in connected[k].items():
                at = power + pairs[n - k]
                weights[at] = weights.get(at, 0) - ways * weight
        connected.append({power: weight for power, weight in weights.items() if weight})
    total = sum(weight * (pairs[-1] + power) ** letters for power, weight in connected[-1].items())
    return float(Fraction(total, (2 * pairs[-1]) ** letters))


def free_gap(n_states: int, letters: int) -> float:
    """(1 − top)/(1 − λ²) if the letters' P ⊗ P' were *free* involutions with mean λ²: a rival.

    A free projections of trace τ = (1 − λ²)/2 are summed; the edge of the sum is the best of A R(z) + 1/z, R theirs.
    """
    tau = (1 - letter_factor(n_states) ** 2) / 2
    z = -np.geomspace(1e-4, 1e4, 20_001)
    R = (z - 1 + np.sqrt((1 - z) ** 2 + 4 * tau * z)) / (2 * z)
    return float(max(0.0, 2 * (letters * R + 1 / z).max() / letters / (2 * tau)))


def semicircle_gap(n_states: int, letters: int) -> float:
    """The same with a semicircle of variance (1 − λ⁴)/A: another rival."""
    square = letter_factor(n_states) ** 2
    return max(0.0, 1 - 2 * np.sqrt((1 - square**2) / letters) / (1 - square))


def right_share(places: float, n_states: int, rho: float) -> float:
    """Share of letters that counts tell rightly which stand in `places` places of the words, ρ of their signal left.

    Counts of cells are independent Poisson numbers of means m h where the letter leads and m l where not, and leads
    share the cells that they have in common. Given those, the counts of all transpositions are independent. Equal
    scores are told apart by a uniform number of the right letter's. The mean is over fixed Sobol points.
    """
    N, (high, low) = n_states, chances(n_states, rho)
    points = _points(N + 4)
    tie = points[:, -1:]
    cells = _counts(points[:, :N], places * high)
    below = lambda counts: _below(counts, 2 * places * low, tie).prod(1)
    i, j = np.triu_indices(N, 1)
    still = below(cells[:, i] + cells[:, j]).mean()
    # the letter swaps two states: their two cells together, those that the identity has instead, and the other states'
    moved, stayed = _counts(points[:, N], 2 * places * high), _counts(points[:, N + 1 : N + 3], places * low)
    others, over, lead = cells[:, : N - 2], moved[:, None] - stayed, moved - stayed.sum(1)
    share = np.where(lead > 0, 1.0, (lead == 0) * tie[:, 0])
    for k in (0, 1):
        share = share * below(over[:, [k]] + others)
    i, j = np.triu_indices(N - 2, 1)
    share = share * below(lead[:, None] + others[:, i] + others[:, j])
    return float((still + share.mean()) / 2)


@cache
def words_needed(n_states: int, letters: int, length: int, level: float, power: float = 1.0) -> float:
    """n* = m* A/T: words after which a share `level` of the letters is right, m* where `right_share` is `level`.

    For many letters; ρ = λ^{T−1}. power: another exponent of λ^{T−1}, for rivals.
    """
    rho = letter_factor(n_states) ** (power * (length - 1))
    start = math.log(independent_words(n_states, letters, length, level, power) * length / letters)
    off = lambda x: right_share(math.exp(x), n_states, rho) - level
    return letters / length * math.exp(brentq(off, start - 2, start + 1, xtol=1e-5))


def independent_words(n_states: int, letters: int, length: int, level: float, power: float = 1.0) -> float:
    """(A/T) z² (h + l)/(2 (h − l)²): the same if all leads were independent Gaussians: a rival.

    z is the mean over the deviation of the identity's lead on a transposition; a transposition's lead on one that
    shares a state has √1.5 z, on a disjoint one √2 z.
    """
    N, (high, low) = n_states, chances(n_states, letter_factor(n_states) ** (power * (length - 1)))
    still = lambda z: ndtr(z) ** (N * (N - 1) / 2)
    moves = lambda z: ndtr(z) * ndtr(1.5**0.5 * z) ** (2 * (N - 2)) * ndtr(2**0.5 * z) ** ((N - 2) * (N - 3) / 2)
    z = brentq(lambda x: (still(x) + moves(x)) / 2 - level, 1e-3, 40)
    return letters / length * z**2 * (high + low) / (2 * (high - low) ** 2)


def chances(n_states: int, rho: float) -> tuple[float, float]:
    """h = (1/N + ρ (1 − 1/N))/N and l = (1 − ρ)/N²: those of a pair (s_T, s_0) where the letter leads and where not."""
    return (1 / n_states + rho * (1 - 1 / n_states)) / n_states, (1 - rho) / n_states**2


@cache
def _points(dim: int) -> np.ndarray:
    """Fixed points in the open cube."""
    return qmc.Sobol(dim, scramble=False).random(_POINTS) + 0.5 / _POINTS


def _counts(points: np.ndarray, mean: float) -> np.ndarray:
    """Poisson numbers where their distribution function takes these values."""
    if mean > _TABLE:
        return np.rint(mean + math.sqrt(mean) * ndtri(points)).astype(int)
    most = int(mean + 10 * math.sqrt(mean) + 20)
    return np.searchsorted(poisson.cdf(np.arange(most), mean), points)


def _below(counts: np.ndarray, mean: float, tie: np.ndarray) -> np.ndarray:
    """P(X < x) + tie P(X = x) of a Poisson number, at whole numbers."""
    if mean > _TABLE:
        return ndtr((counts - mean) / math.sqrt(mean))
    masses = poisson.pmf(np.arange(max(counts.max(), 0) + 1), mean)
    at = np.maximum(counts, 0)
    return np.where(counts < 0, 0.0, np.cumsum(masses)[at] - (1 - tie) * masses[at])


def evidence(n_states: int, letters: int, length, n_words) -> np.ndarray | float:
    """x = n T λ^{2(T − 1)}/A: looks at a letter, in units of looks at it alone. What a step can tell depends on it."""
    return np.asarray(n_words) * length * letter_factor(n_states) ** (2 * (np.asarray(length) - 1)) / letters
