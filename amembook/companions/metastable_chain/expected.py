"""What must come out: times between clusters, shares of rounds that find a hard step, steps to learn them.

All of it is derived in the chapter `metastable-chain`; the share and the polar step by heuristics that count rates and
variances. Nothing is fitted.
"""

import math

import numpy as np
from scipy.stats import binom, poisson

_BINS, _NODES = 40, 200


def crossing_time(inner, states: int, edge) -> np.ndarray:
    """H + 1 + M (1 − ε)/ε: from a cluster's entry to the next cluster, for doubly stochastic clusters."""
    return np.asarray(inner) + 1 + states * (1 - np.asarray(edge)) / edge


def seen_share(steps: float, states: int, edge: float) -> float:
    """E[ε/(ε + m)], m ~ Poisson(M e^{−s/M}) states that s steps at random have not seen: a walk takes the hard step."""
    m = np.arange(states + 1)
    return float((poisson.pmf(m, states * math.exp(-steps / states)) * edge / (edge + m)).sum())


def hard_share(budget: float, states: int, edge: float, walkers: int) -> float:
    """The share of rounds that report a hard step, `walkers` walkers of B/walkers whole steps, B ≈ budget · M log M.

    Σ_j P(j) E[g(s_j) e^{−s_j ε/M}], g of `seen_share`: j of the walkers have left the cluster, each by a chance 1 −
    e^{−Bε/(M walkers)}; s_0 = B, of which all stay, else s_j is what they have left, by none of which they leave again.
    """
    own = max(1, round(budget * states * math.log(states) / walkers))
    rate = own * edge / states
    left = np.exp(-rate * (1 - (np.arange(_BINS) + 0.5) / _BINS))
    left, spread = left / left.sum(), np.ones(1)
    chances = binom.pmf(np.arange(walkers + 1), walkers, -math.expm1(-rate))
    share = chances[0] * seen_share(walkers * own, states, edge)
    for j, chance in enumerate(chances[1:], 1):
        spread = np.convolve(spread, left)
        steps = (np.arange(len(spread)) + j / 2) * own / _BINS
        found = [seen_share(s, states, edge) * math.exp(-s * edge / states) for s in steps]
        share += chance * float(spread @ found)
    return float(share)


def missed_chance(share: float, rounds: int, clusters: int, least: int) -> float:
    """The chance that fewer than `least` of the rounds report a given hard step, if all K are alike."""
    return float(binom.cdf(least - 1, rounds, share / clusters))


def column_deviation(states: int, degree: int, samples: int, inside: float = 1.0) -> float:
    """σ: σ² = a² (χ − 1/M) + a (1 − a χ)/n, χ = Σ_y P(y|x)² in a cluster, 1/M if uniform (degree 0).

    What a column of a cluster's block has besides its mean, squared: structure and noise. inside: a, 1 − ε at a source.
    0 samples: all data.
    """
    chi = 1 / degree + (1 - 1 / degree) / states if degree else 1 / states
    noise = inside * (1 - inside * chi) / samples if samples else 0.0
    return math.sqrt(inside**2 * (chi - 1 / states) + noise)


def polar_edge(theta: float) -> float:
    """(2/π)(arctan θ + 1/θ − arctan(θ)/θ²): a hard step's entry in the polar factor, θ = ε/σ, as M → ∞ and ε → 0."""
    return 2 / math.pi * (math.atan(theta) + 1 / theta - math.atan(theta) / theta**2)


def polar_edge_at(edge: float, states: int, degree: int, samples: int) -> float:
    """The same for clusters of M states, whose mean has the singular value 1, and for counted ε̂, binomial.

    (2/π) ∫ ε̂ g h / (1 + ε̂² g h) dt over t > 0, with m = 1/(t + σ² m) for a state, 1/(t + σ_x² m) for a source, and
    the share 1/M of t/(t² + 1) in g and h.
    """
    sigma = column_deviation(states, degree, samples)
    if sigma == 0:
        return 1 - 1 / states
    if samples:
        counts = np.arange(binom.ppf(1e-6, samples, edge), binom.ppf(1 - 1e-6, samples, edge) + 1)
        weights, edges = binom.pmf(counts, samples, edge), counts / samples
    else:
        weights, edges = np.ones(1), np.array([edge])
    source, share = column_deviation(states, degree, samples, 1 - edge), 1 / states
    nodes, measure = np.polynomial.legendre.leggauss(_NODES)
    m = (nodes + 1) / 2 / sigma
    t = 1 / m - sigma**2 * m
    own = share * t / (t**2 + 1)
    product = ((1 - share) * m + own) * ((1 - share) / (t + source**2 * m) + own)
    values = edges[:, None] * product / (1 + edges[:, None] ** 2 * product) * (1 / m**2 + sigma**2)
    return float(weights @ (values @ measure) / math.pi / sigma)


def reward_steps(edge, degree: int, states: int, lr: float) -> dict[str, np.ndarray]:
    """Steps until a rewarded step of probability ε has 1/2, as lr → 0, by map; χ as in `column_deviation`.

    sgd: (1/ε − 1/(1 − ε) + 2 log((1 − ε)/ε)) / (lr (1 + χ)); polar: log((1 − ε)/ε) / (lr √(1 + χ)).
    """
    edge = np.asarray(edge, dtype=float)
    chi = 1 / degree + (1 - 1 / degree) / states
    odds = np.log((1 - edge) / edge)
    return {
        "sgd": (1 / edge - 1 / (1 - edge) + 2 * odds) / (lr * (1 + chi)),
        "polar": odds / (lr * math.sqrt(1 + chi)),
    }


def counted_steps(edge, degree: int, states: int, lr: float) -> dict[str, np.ndarray]:
    """The same at this lr, step by step: the log-odds rise by lr (1 + χ) p (1 − p) and by lr √(1 + χ)."""
    chi = 1 / degree + (1 - 1 / degree) / states
    rises = {
        "sgd": lambda odds: lr * (1 + chi) / (2 + 2 * math.cosh(odds)),
        "polar": lambda odds: lr * math.sqrt(1 + chi),
    }
    return {name: np.array([_count(math.log(one / (1 - one)), rise) for one in edge]) for name, rise in rises.items()}


def _count(odds: float, rise) -> float:
    """Steps until the log-odds are 0, the last in part."""
    steps = 0
    while odds + rise(odds) < 0:
        odds, steps = odds + rise(odds), steps + 1
    return steps - odds / rise(odds)


def overshot(degree: int, states: int, lr: float) -> float:
    """E e^{−x}, the mean of (1 − p)/p, if steps of lr √(1 + χ) take the log-odds to x ≥ 0, uniform up to a step."""
    step = lr * math.sqrt(1 + 1 / degree + (1 - 1 / degree) / states)
    return -math.expm1(-step) / step
