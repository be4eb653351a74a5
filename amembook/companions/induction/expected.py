"""What is expected: the moments of all sequences in closed form, critical scales, the cheapest distribution.

All of it is derived in the chapter `induction`; nothing is fitted.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from amembook.companions.induction.sequences import Pretraining, power_lengths

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


def mean_length(training: Pretraining) -> float:
    """Mean number of tokens in a training sequence, Σ_l q_l 2l."""
    return float(2 * training.shares @ training.lengths)
