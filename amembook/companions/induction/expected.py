"""What is expected: the moments of all sequences in closed form, critical scales, the cheapest distribution.

All of it is derived in the chapter `induction`; nothing is fitted.
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog

from amembook.companions.induction.sequences import Pretraining, new_places, power_lengths

_LOW, _HIGH, _HALVINGS = 0.2, 8.0, 14


def population_moments(training: Pretraining, n_tokens: int) -> Float[np.ndarray, "n K"]:
    """`sequences.sample_moments` of infinitely many sequences, for a small value scale.

    With E = 1 + (T − 3)/V the mean number of tokens like the answer, h is in the mean 1 − E/T at the answer, −E/T at a
    trigger, and 1/V − E/T at noise. By symmetry a column of noise tokens holds the V-th part of their sum.
    """
    rows = []
    for length, share in zip(training.lengths, training.shares, strict=True):
        total = 2 * length
        alike = (1 + (total - 3) / n_tokens) / total
        h = np.full(total, 1 / n_tokens - alike)
        h[[length - 1, total - 1]], h[length] = -alike, 1 - alike
        token = np.append(np.full(n_tokens, (h.sum() + 2 * alike) / n_tokens), -2 * alike)
        before = np.append(np.full(n_tokens, (h[1:].sum() - h[length]) / n_tokens), h[length])
        place = np.pad(h, (0, int(2 * training.lengths.max() + 1) - total))
        rows.append(share / total * np.concatenate([token, before, place]))
    return np.array(rows)


def critical_scale(accuracy: Callable[[float], float], level: float) -> float:
    """The scale g at which a falling accuracy passes `level`, by halving log g; NaN where it does not in 0.2…8."""
    low, high = _LOW, _HIGH
    if accuracy(low) < level or accuracy(high) >= level:
        return float("nan")
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if accuracy(middle) >= level else (low, middle)
    return float((low * high) ** 0.5)


def fewest_lengths(first: int, power: float, scale: float) -> int:
    """How many lengths from `first` on, with q_l ∝ l^power, bring g⁴ R below 1."""
    count = 1
    while scale**4 * power_lengths(first, count, power).max_sum >= 1:
        count += 1
    return count


def cheapest(first: int, ratio: float) -> Pretraining:
    """Of all distributions on lengths from `first` on with R ≤ ratio the one with the least mean cost, whatever grows
    with the length: q_l ∝ l on the ⌊1/ratio⌋ shortest lengths, and on the next what is left of 1/ratio times l."""
    whole = math.floor(1 / ratio + 1e-9)
    lengths = np.arange(first, first + whole + 1)
    weights = lengths * np.append(np.ones(whole), max(1 / ratio - whole, 0))
    return Pretraining(lengths, weights / weights.sum())


def head_margins(first: int, count: int, n_tokens: int, scale: float) -> Float[np.ndarray, "M n"]:
    """Linear forms in the shares q of `count` lengths from `first` on, all positive if and only if after a step on all
    sequences the head wins at each of them, wherever no trigger stood: its score less that of every other place."""
    lengths = np.arange(first, first + count)
    even = Pretraining(lengths, np.full(count, 1 / count))
    token, before, place = np.split(count * population_moments(even, n_tokens), [n_tokens + 1, 2 * n_tokens + 2], 1)
    rows = []
    for at, length in enumerate(lengths.tolist()):
        weights = (1 + scale**2 * (np.arange(count) == at))[:, None]
        for trigger in new_places(length, lengths):
            # noise is all token 0, which no score tells from other noise; the answer is token 1
            tokens = np.zeros(2 * length, dtype=int)
            tokens[trigger], tokens[[trigger - 1, -1]] = 1, n_tokens
            scores = token[:, tokens] + scale**2 * place[:, : 2 * length]
            scores[:, 1:] += before[:, tokens[:-1]]
            rows.append((weights * (scores[:, [trigger]] - np.delete(scores, trigger, 1))).T)
    return np.concatenate(rows)


def least_tokens(first: int, count: int, n_tokens: int, scale: float) -> tuple[float, float]:
    """The least mean number of tokens of any shares of `count` lengths with which the head wins everywhere, by linear
    programming, and the max-sum ratio of these shares."""
    margins = head_margins(first, count, n_tokens, scale)
    lengths, none = np.arange(first, first + count), np.zeros(len(margins))
    best = linprog(2.0 * lengths, -margins, none, np.ones((1, count)), [1], bounds=(0, None), method="highs")
    return float(best.fun), Pretraining(lengths, best.x).max_sum


def mean_length(training: Pretraining) -> float:
    """Mean number of tokens in a training sequence, Σ_l q_l 2l."""
    return float(2 * training.shares @ training.lengths)
