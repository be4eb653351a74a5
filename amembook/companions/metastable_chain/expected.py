"""What must come out: times between clusters, shares of rounds that find a hard step, steps to learn them.

All of it is derived in the chapter `metastable-chain`; the share and the polar step by heuristics that count rates and
variances. Nothing is fitted.
"""

import math

import numpy as np
from scipy.stats import binom, poisson

_BINS, _NODES = 100, 200


def crossing_time(inner, states: int, edge) -> np.ndarray:
    """H + 1 + M (1 − ε)/ε: from a cluster's entry to the next cluster, for doubly stochastic clusters."""
    return np.asarray(inner) + 1 + states * (1 - np.asarray(edge)) / edge


def hard_share(budget: float, states: int, edge: float, walkers: int) -> float:
    """The share of rounds that report a hard step, B = budget · M log M steps of all walkers together.

    Σ_j Poisson(j; Bε/M) E g(s_j): j walkers have left the cluster; s_0 = B, else s_j is what they have left of their
    B/walkers steps, a sum of j uniforms. g(s) = E[ε/(ε + m)] with m ~ Poisson(M e^{−s/M}) states of the last cluster
    that nobody has seen.
    """
    B = budget * states * math.log(states)
    m = np.arange(states + 1)
    g = lambda s: float((poisson.pmf(m, states * math.exp(-s / states)) * edge / (edge + m)).sum())
    left = poisson(B * edge / states)
    share, spread = left.pmf(0) * g(B), np.ones(1)
    for j in range(1, 6):
        spread = np.convolve(spread, np.full(_BINS, 1 / _BINS))
        steps = (np.arange(len(spread)) + j / 2) * B / walkers / _BINS
        share += left.pmf(j) * sum(weight * g(s) for weight, s in zip(spread, steps, strict=True))
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
    """Steps until a rewarded step of probability ε has 1/2, by map; χ as in `column_deviation`.

    sgd: (1/ε − 1/(1 − ε) + 2 log((1 − ε)/ε)) / (lr (1 + χ)); polar: log((1 − ε)/ε) / (lr √(1 + χ)).
    """
    edge = np.asarray(edge, dtype=float)
    chi = 1 / degree + (1 - 1 / degree) / states
    odds = np.log((1 - edge) / edge)
    return {
        "sgd": (1 / edge - 1 / (1 - edge) + 2 * odds) / (lr * (1 + chi)),
        "polar": odds / (lr * math.sqrt(1 + chi)),
    }
