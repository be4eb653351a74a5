"""What the sample size must be, in closed form: signal and noise of one step, and a polar step's response to noise.

All of it is derived in the chapter `token-retrieval`, by a heuristic that counts variances; nothing is fitted.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import binom, chi2, norm, poisson, qmc

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_FEW_NODES, _FEW_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_MOST = 1e12


def logit_variances(n_tokens: int, dim: int, length: int, n_samples: float) -> tuple[float, float]:
    """Variance of a rival's logit and of the right one, in units of the right one's mean squared:

    3/d + 2V/d² + (L − 1)/N (1 + V/d)(1 + 2V/d),   and 2/d more.
    """
    load = n_tokens / dim
    rival = 3 / dim + 2 * load / dim + (length - 1) / n_samples * (1 + load) * (1 + 2 * load)
    return rival, rival + 2 / dim


def recall_probability(n_tokens: int, dim: int, length: int, n_samples: float) -> float:
    """E_g Φ((1 + σ_own g)/σ)^{V−1}: that the right logit beats V − 1 independent rivals."""
    rival, own = (math.sqrt(v) for v in logit_variances(n_tokens, dim, length, n_samples))
    return float(_WEIGHTS @ ndtr((1 + own * _NODES) / rival) ** (n_tokens - 1) / _WEIGHTS.sum())


def samples_needed(
    n_tokens: int, dim: int, length: int, level: float, probability: Callable[..., float] = recall_probability
) -> float:
    """The N at which `probability` is `level`; NaN where no sample is enough, beyond the memory's capacity."""
    gap = lambda log_n: probability(n_tokens, dim, length, math.exp(log_n)) - level
    if gap(math.log(_MOST)) < 0:
        return math.nan
    return math.exp(brentq(gap, 0, math.log(_MOST)))


def recall_by_lengths(n_tokens: int, dim: int, length: int, n_samples: float, draws: int = 4000) -> float:
    """`recall_probability` where signal and noise share the lengths of their vectors, over `draws` of those:

    with a = e_v·(e_v + t) and x = |e_v + t|² the signal is |u_v|²a; a² stands for v's own share of the noise of words,
    and x/2 for the rest.
    """
    rng, load = np.random.default_rng(0), n_tokens / dim
    e, t, u = rng.chisquare(dim, (3, draws)) / dim
    along = np.sqrt(e * t / dim) * rng.standard_normal(draws)
    a, x = e + along, e + 2 * along + t
    words = (length - 1) / n_samples * (a**2 + load * x)
    rival = np.sqrt((u * a**2 + x * (1 + load)) / dim + (1 + load) * words)[:, None]
    own = np.sqrt(u * (load * x / dim + (u + load) * words))[:, None]
    chances = ndtr(((u * a)[:, None] + own * _NODES) / rival) ** (n_tokens - 1)
    return float((chances @ _WEIGHTS).mean() / _WEIGHTS.sum())


def recall_by_counts(n_tokens: int, dim: int, length: int, n_samples: float, log2_draws: int = 11) -> float:
    """`recall_by_lengths` where a rival shares two things more with the word:

    what its own label saw of the word is a Poisson count of mean b = n(L − 1)/V, less b and over n, which gives it a
    times that, skewed; and the score of the right label, s, leaks into every rival by s²/(|u_v|²d), where the count of
    variances has its mean. Sums over other words have V − 1 and V − 2 terms. Lengths are quasi-random, 2^`log2_draws`
    of them.
    """
    n, seen = n_samples / n_tokens, (length - 1) / n_samples
    others, load = (n_tokens - 2) / dim, (n_tokens - 1) / dim
    quantiles = qmc.Sobol(4, seed=0).random_base2(log2_draws)
    e, t, u = chi2(dim).ppf(quantiles[:, :3].T) / dim
    along = np.sqrt(e * t / dim) * norm.ppf(quantiles[:, 3])
    a, x = e + along, e + 2 * along + t
    quiet = (x * (1 + others) / dim + seen * (others * a**2 + (1 + others) * load * x))[:, None]
    own = np.sqrt(u * (load * x / dim + seen * (load * a**2 + (u + load) * load * x)))[:, None]
    excess, weights = _poisson_nodes(n * (length - 1) / n_tokens)
    chances = np.zeros(len(a))
    for node, weight in zip(excess, weights, strict=True):
        right = (u * a * (1 + node / n))[:, None] + own * _FEW_NODES
        rest = np.sqrt(quiet + np.square(right) / (dim * u[:, None]))
        below = sum(w * ndtr((right - a[:, None] * k / n) / rest) for k, w in zip(excess, weights, strict=True))
        chances += weight * (below ** (n_tokens - 1) @ _FEW_WEIGHTS)
    return float(chances.mean() / _FEW_WEIGHTS.sum())


def _poisson_nodes(mean: float, most: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Values of a Poisson number less its mean, and their weights; where they are many, means of runs of neighbours,
    and beyond a mean of 10⁴ the nodes of a Gaussian."""
    if mean > 1e4:
        return math.sqrt(mean) * _FEW_NODES, _FEW_WEIGHTS / _FEW_WEIGHTS.sum()
    law = poisson(mean)
    numbers = np.arange(law.ppf(1e-7), law.isf(1e-7) + 1)
    runs = np.arange(len(numbers)) // -(-len(numbers) // most)
    weights = law.pmf(numbers)
    mass = np.bincount(runs, weights)
    return np.bincount(runs, weights * numbers) / mass - mean, mass / mass.sum()


def score_variances(n_tokens: int, dim: int, length: int, per_label: float) -> tuple[float, float]:
    """Variance of a word's score after attention's first step and of the mark's, in units of N², for n = `per_label`:

    with b = n(L − 1)/V and the mark's weight M = (1 − 1/L)(n − 1), c = 2Vb² + 3V²b²/d + V³b²/d² + n²Vb(1 + V/d)/d and
    a = b(1 + V/d)² + n²(2/d + V/d²), a word has (1 + V/d)c/N² + M²/d, the mark (V/d)c/N² + 2M²/d + a/V.
    """
    V, n, load = n_tokens, per_label, n_tokens / dim
    b, weight = n * (length - 1) / V, (1 - 1 / length) * (n - 1)
    own = (V * b**2 * (2 + 3 * load + load**2) + n**2 * load * b * (1 + load)) / (n * V) ** 2
    of_mean = (b * (1 + load) ** 2 + n**2 * (2 + load) / dim) / V
    return (1 + load) * own + weight**2 / dim, load * own + 2 * weight**2 / dim + of_mean


def hit_probability(n_tokens: int, dim: int, length: int, per_label: float) -> float:
    """That the marked place outscores L − 1 words, in a draw whose mark scores what it should:

    E_g Φ((M + σg)/σ)^{L−1}. The mark's own fluctuation σ_m is one number for all sequences of a draw: draws scatter by
    it, and their geometric mean is about the number without it.
    """
    word, _ = score_variances(n_tokens, dim, length, per_label)
    own = (1 - 1 / length) * (per_label - 1) + math.sqrt(word) * _NODES
    return float(_WEIGHTS @ ndtr(own / math.sqrt(word)) ** (length - 1) / _WEIGHTS.sum())


def finding_needed(n_tokens: int, dim: int, length: int, level: float) -> float:
    """The samples of a label at which `hit_probability` is `level`; NaN where no number is enough."""
    gap = lambda log_n: hit_probability(n_tokens, dim, length, math.exp(log_n)) - level
    return math.exp(brentq(gap, 0, math.log(_MOST))) if gap(math.log(_MOST)) > 0 else math.nan


def one_hot_needed(n_tokens: int, length: int, level: float) -> float:
    """The same for one-hot vectors, where a logit is a count: own n + k, rivals binomial, the largest must be alone."""
    for per_label in range(1, 10**6):
        shares = [_one_hot(n_tokens, length, n) for n in (per_label - 1, per_label)]
        if shares[1] >= level:
            return n_tokens * crossing(per_label - 1, per_label, *shares, level)
    return math.nan


def polar_response(noise: float) -> float:
    """m(r) = lim (1/V) tr polar(I + r X) for a Gaussian X of variance 1/V: 1 − r²/4 up to r = 1 (Proposition)."""
    t = noise**2
    if t <= 1:
        return 1 - t / 4
    edge, angle = math.sqrt(t - 1), math.asin(1 / noise)
    return (angle * (4 - t) / 2 + edge * (1 / t + 0.5)) / math.pi


def polar_gain(noise: float) -> float:
    """Signal over noise, squared, of the polar factor over that of the matrix itself: m² r² / (1 − m²)."""
    m = polar_response(noise)
    return m**2 * noise**2 / (1 - m**2)


def crossing(low: int, high: int, share_low: float, share_high: float, level: float) -> float:
    """The number at which a share is `level`, linear in the logarithm between two numbers; the upper one from 0."""
    if low < 1 or share_high <= share_low:
        return float(high)
    at = (level - share_low) / (share_high - share_low)
    return float(low * (high / low) ** at)


def _one_hot(n_tokens: int, length: int, per_label: int) -> float:
    law = binom(per_label * (length - 1), 1 / n_tokens)
    counts = np.arange(law.isf(1e-12) + 2)
    return float(law.pmf(counts) @ law.cdf(counts + per_label - 1) ** (n_tokens - 1))
