"""What the sample sizes must be, with nothing fitted: a drift for one pass, a secular equation for the full batch.

Both are ours; the chapter `single-index` derives them. The full batch is that of a linear gradient, σ' = 2q, where
descent ends in the top eigenvectors of D = (1/n) Σ y x xᵀ.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

LEAST, MOST, _RESOLUTION = 0.5, 16.0, 0.05
"""The n/d among which a crossing is sought, and how finely."""
_TOLERANCE = 1e-12
_REACH, _NODES, _STEPS = 7.0, 141, 26
_MEDIAN = 0.6744897501960817
"""Median of |g|, g normal."""


def crossing(overlap: Callable[[float], float], level: float) -> float:
    """The ratio n/d at which `overlap` crosses `level`, by halving its logarithm; NaN where `MOST` is too few."""
    low, high = LEAST, MOST
    while high / low > 1 + _RESOLUTION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if overlap(middle) >= level else (middle, high)
    return math.sqrt(low * high) if high < MOST else math.nan


def top_directions(labels: np.ndarray, z: np.ndarray, dim: int, neurons: int) -> tuple[np.ndarray, np.ndarray]:
    """The `neurons` largest eigenvalues of D and ⟨v, θ⟩² of their eigenvectors, for given z = Xθ and labels y.

    As n and d grow together: with τ(μ) = d/n + (1/n) Σ_rest y/(μ − y) and S(μ) = (1/n) Σ z²y/(μ − y) the eigenvalues
    are λ = μτ(μ) where S = τ, and the overlap is (τ + μτ′)/(μ(τ′ − S′)). The rest is all but the `neurons` largest
    labels, which stand alone: between two of them lies one root.
    """
    n = len(z)
    order = np.argsort(-labels)
    y, weight = labels[order], z[order] ** 2 * labels[order] / n
    rest = y[neurons:]

    def tau(mu: float) -> float:
        return dim / n + (rest / (mu - rest)).sum() / n

    def gap(mu: float) -> float:
        return (weight / (mu - y)).sum() - tau(mu)

    values, overlaps = np.full(neurons, np.nan), np.zeros(neurons)
    high = 4 * y[0] + 100 * n / dim
    for k in range(neurons):
        low = y[k] * (1 + _TOLERANCE) + _TOLERANCE
        if low < high and gap(low) > 0 > gap(high):
            mu = brentq(gap, low, high, xtol=1e-13, rtol=1e-13)
            slope, signal = (-(w / (mu - v) ** 2).sum() for w, v in ((rest / n, rest), (weight, y)))
            values[k] = mu * tau(mu)
            overlaps[k] = max(0.0, (tau(mu) + mu * slope) / (mu * (slope - signal)))
        high = y[k] * (1 - _TOLERANCE)
    return values, overlaps


def part_by_resolvent(
    labels: np.ndarray, z: np.ndarray, dim: int, neurons: int, above: float = 0.05, points: int = 400
) -> float:
    """Σ ⟨v, θ⟩² of the top `neurons` eigenvectors, with all labels in τ: what `top_directions` says where labels crowd.

    At λ + i `above` the trace g = 1/μ solves λ g = d/n + (1/n) Σ y g/(1 − y g), and θ's resolvent is 1/(λ − μS). Both
    densities are summed from above until they hold so many eigenvalues.
    """
    n, line = len(z), np.linspace(2.2 * labels.max(), 3.0, points)
    at = line + 1j * above
    g = dim / n / at
    for _ in range(400):
        last, g = g, (g + dim / n / (at - (labels / (1 - np.outer(g, labels))).mean(1))) / 2
        if abs(last - g).max() < 1e-6:
            break
    F = at - (z * z * labels / (1 - np.outer(g, labels))).mean(1)
    width = (line[0] - line[1]) / math.pi
    counted = np.cumsum(-(n * g + np.gradient(F, at) / F).imag) * width
    return float(np.interp(neurons, counted, np.cumsum(-(1 / F).imag) * width))


def full_batch_ratios(
    value: Callable[[np.ndarray], np.ndarray], dim: int, level: float, neurons: int, draws: int
) -> np.ndarray:
    """n/d at which the part of θ in the top eigenvectors is `level`, for `draws` sets of labels. (draws,)"""
    ratios = []
    for k in range(draws):
        z = np.random.default_rng([k, dim, neurons]).standard_normal(int(MOST * dim) + 1)

        def part(ratio: float, z=z) -> float:
            z = z[: round(ratio * dim)]
            return math.sqrt(top_directions(value(z), z, dim, neurons)[1].sum())

        ratios.append(crossing(part, level))
    return np.array(ratios)


def escape_steps(dim: int, ratio: float, rate: float, length: float, draws: int) -> float:
    """Median step at which descent on the squared loss has the length `length`, from 1/d, along the top direction:

    log(length · d^{3/2} / 0.6745) / log(1 + ηλ).
    """
    n, steps = round(ratio * dim), []
    for k in range(draws):
        z = np.random.default_rng([k, dim]).standard_normal(n)
        largest = top_directions(z * z, z, dim, 1)[0][0]
        steps.append(math.log(length * dim**1.5 / _MEDIAN) / math.log1p(rate * largest))
    return float(np.median(steps))


def one_pass_samples(
    value: Callable[[np.ndarray], np.ndarray],
    slope: Callable[[np.ndarray], np.ndarray],
    dim: int,
    rate: float,
    level: float,
) -> float:
    """Samples after which the median overlap of one-pass SGD is `level`; NaN where the drift ends below it.

    Time t = n/d. The overlap drifts by D(m) and has the variance v/d at zero; with ρ = D′(0) and the flow's own
    coordinate h(m) = m exp ∫₀^m (ρ/D − 1/u) du it is Gaussian, of variance V = (1/d)((1 + v/2ρ) e^{2ρt} − v/2ρ), and
    the median arrives when 0.6745 √V = h(level).
    """
    nodes = np.linspace(-_REACH, _REACH, _NODES)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    q, s = nodes[:, None], nodes[None, :]
    length, pull = s**2 + dim - 2, rate / dim * slope(q)

    def moves(m: float) -> np.ndarray:
        across = math.sqrt(1 - m * m) * s
        step = pull * value(m * q + across)
        return (m + step * across) / np.sqrt(1 + step**2 * length) - m

    overlaps = np.concatenate([[1e-3], np.linspace(0, level, _STEPS)[1:]])
    drift = np.array([dim * float(weights @ moves(m) @ weights) for m in overlaps])
    if (drift <= 0).any():
        return math.nan
    rho = drift[0] / overlaps[0]
    h = level * math.exp(np.trapezoid(rho / drift - 1 / overlaps, overlaps))
    early = dim**2 * float(weights @ moves(0.0) ** 2 @ weights) / (2 * rho)
    return dim * math.log(((h / _MEDIAN) ** 2 * dim + early) / (1 + early)) / (2 * rho)
