"""What must come out if a read-out connects its dots: errors between the points that training lengths sample.

All of it is derived in the chapter `length-generalization`; nothing is fitted. Errors are mean squares of the error on
sin(ωz + φ), averaged over φ: answering 0 costs 1/2.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

_ALIASES = 3000


def whole_samples(frequency: int, ratios: Sequence[float]) -> list[int]:
    """m = ratio · ω, where that is a whole number from 2 on."""
    counts = [frequency * ratio for ratio in ratios]
    return [int(m) for m in counts if m == int(m) and m >= 2]


def sampled_points(m: int, every: bool) -> Float[np.ndarray, " n"]:
    """z = 2k/m − 1, k = 0…m; `every`: 2k/t − 1 for all t = 1…m, the Farey fractions of order m on [−1, 1]."""
    lengths = range(1, m + 1) if every else (m,)
    fractions = {Fraction(k, t) for t in lengths for k in range(t + 1)}
    return np.array([2 * float(fraction) - 1 for fraction in sorted(fractions)])


def line_error(theta: float) -> float:
    """The mean over a gap that is θ = ωh long: 5/6 + cos θ/6 − 2(1 − cos θ)/θ², which is θ⁴/240 for small θ."""
    if theta < 0.05:
        return theta**4 / 240
    return 5 / 6 + math.cos(theta) / 6 - 2 * (1 - math.cos(theta)) / theta**2


def line_amplitude(theta: float, t):
    """|e^{iθt} − (1 − t) − t e^{iθ}|, the largest error over all φ at the share t of a gap θ long."""
    t = np.asarray(t)
    return np.abs(np.exp(1j * theta * t) - (1 - t) - t * np.exp(1j * theta))


def dots_error(frequency: float, points: Float[np.ndarray, " n"]) -> float:
    """The mean over [−1, 1] of straight lines between the points."""
    gaps = np.diff(points)
    return float(sum(gap / 2 * line_error(frequency * gap) for gap in gaps))


def dots_worst(frequency: float, points: Float[np.ndarray, " n"]) -> float:
    """The largest error over [−1, 1] and over φ, of straight lines between the points."""
    share = np.linspace(0, 1, 201)
    return float(max(line_amplitude(frequency * gap, share).max() for gap in np.diff(points)))


def spline_error(theta: float, order: int) -> float:
    """½ ((1 − w₀)² + Σ_{j≠0} w_j²), w_j ∝ |θ + 2πj|^{−order}: splines on a grid without end, order 2 being lines.

    A spline of even order p through samples of e^{iωz}, spacing h = θ/ω, is Σ_j w_j e^{i(ω + 2πj/h)z}: the wave and its
    aliases.
    """
    shifted = theta + 2 * math.pi * np.arange(-_ALIASES, _ALIASES + 1)
    # at θ = 2π the alias of frequency 0 takes all
    weights = np.maximum(np.abs(shifted), 1e-9) ** -float(order)
    weights /= weights.sum()
    own = weights[_ALIASES]
    return float(((1 - own) ** 2 + (weights**2).sum() - own**2) / 2)


def course(frequency: float, m: int, factor: int) -> float:
    """The same at `factor` times the training length, where z has factor · m + 1 values and m + 1 of them are known."""
    amplitudes = line_amplitude(2 * frequency / m, np.arange(factor) / factor)
    return float(m * (amplitudes**2).sum() / 2 / (factor * m + 1))


def threshold(level: float, order: int) -> float:
    """m/ω at which `spline_error` is `level`, on its last descent."""
    return 2 / brentq(lambda theta: spline_error(theta, order) - level, 0.1, math.pi)
