"""What must come out: how machines forget each other, alphabets, the words that letters need.

All of it is derived in the chapter `semiautomata`; the number of words by a heuristic that takes scores as independent
Gaussians. Nothing is fitted.
"""

import math
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr


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
        found = {pairs[n]: 1}
        for k in range(1, n):
            ways = math.comb(n - 1, k - 1)
            for power, weight in connected[k].items():
                at = power + pairs[n - k]
                found[at] = found.get(at, 0) - ways * weight
        connected.append({power: weight for power, weight in found.items() if weight})
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


def right_share(z: float, n_states: int) -> float:
    """Share of letters that counts tell rightly, z = mean over deviation of the identity's lead on a transposition.

    Leads over a transposition that shares a state have √1.5 z, over a disjoint one √2 z; all are taken as independent.
    """
    N = n_states
    still = ndtr(z) ** (N * (N - 1) / 2)
    moves = ndtr(z) * ndtr(1.5**0.5 * z) ** (2 * (N - 2)) * ndtr(2**0.5 * z) ** ((N - 2) * (N - 3) / 2)
    return float((still + moves) / 2)


def words_needed(n_states: int, letters: int, length: int, level: float, power: float = 1.0) -> float:
    """n* = (A/T) z² (h + l)/(2 (h − l)²): words after which a share `level` of the letters is right.

    h = (1/N + ρ (1 − 1/N))/N and l = (1 − ρ)/N² are the chances of (s_T, s_0) where the letter leads and where not,
    ρ = λ^{T−1}. power: another exponent of λ^{T−1}, for rivals.
    """
    z = brentq(lambda x: right_share(x, n_states) - level, 1e-3, 40)
    rho = letter_factor(n_states) ** (power * (length - 1))
    high, low = (1 / n_states + rho * (1 - 1 / n_states)) / n_states, (1 - rho) / n_states**2
    return letters / length * z**2 * (high + low) / (2 * (high - low) ** 2)


def evidence(n_states: int, letters: int, length, n_words) -> np.ndarray | float:
    """x = n T λ^{2(T − 1)}/A: looks at a letter, in units of looks at it alone. What a step can tell depends on it."""
    return np.asarray(n_words) * length * letter_factor(n_states) ** (2 * (np.asarray(length) - 1)) / letters
