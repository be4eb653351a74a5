"""How many samples the statistic needs if its noise is Gaussian: a spiked matrix, with nothing fitted.

Ours; the chapter `generative-leap` derives it. Noise becomes Gaussian as d grows where n/d grows as well: so not for
k* = 2, where it is a guess, and for two passes there is none.
"""

import functools
import math

import numpy as np

from amembook.companions.generative_leap.tensors import TASKS, bins_of

_DRAWS = 2 * 10**5
_TENSORS = {
    "cubic": lambda z: z[:, 0],
    "quartic": lambda z: z[:, 0] ** 2 - 1,
    "sign": lambda z: math.sqrt(2) * z.prod(1),
    "bump": lambda z: z[:, 0] ** 4 - 6 * z[:, 0] ** 2 + 3,
}
"""Whose mean over a bin is the singular value of the bin's mean tensor, unfolded. The three of `sign` are equal."""


@functools.cache
def strength(task: str, bins: int) -> tuple[float, int]:
    """β² = Σ_b P(b) E[He_k | b]², the signal of the statistic, and the number of bins that there are."""
    z = np.random.default_rng(0).standard_normal((_DRAWS, TASKS[task].directions))
    b, values = bins_of(TASKS[task].label(z), bins), _TENSORS[task](z)
    counts = np.bincount(b)
    return float((np.bincount(b, values) ** 2 / counts).sum() / _DRAWS), len(counts)


def shape(task: str, dim: int, bins: int) -> tuple[float, float]:
    """Columns of the unfolded tensors of all bins together, and the variance of one entry for one sample."""
    order, (_, count) = TASKS[task].order, strength(task, bins)
    columns = {1: 1, 2: dim, 3: dim**2 / 2, 4: dim}[order]
    # of k = 3 every entry stands in two columns; of k = 4, E[(p − d − 4)² x₁² x₂²]
    return count * columns, {1: 1.0, 2: 1.0, 3: 2.0, 4: 2.0 * dim + 8}[order]


def samples(task: str, dim: int, bins: int, level: float) -> float:
    """n at which the left singular vectors of a spiked d × m Gaussian matrix have the overlap `level`.

    With s = nβ²/(m · variance) and c = d/m the overlap is 1 − c(1 + s)/(s(s + c)), so (1 − l)s² − lcs − c = 0.
    """
    columns, variance = shape(task, dim, bins)
    c = dim / columns
    s = (level * c + math.sqrt((level * c) ** 2 + 4 * (1 - level) * c)) / (2 * (1 - level))
    return s * columns * variance / strength(task, bins)[0]
