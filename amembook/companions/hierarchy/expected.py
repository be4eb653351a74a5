"""Laws with nothing fitted: errors of two layers and of a kernel, the span of two features (ours)."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import eval_gegenbauer

from amembook.companions.hierarchy.features import LINK_NOISE, even_count
from amembook.companions.hierarchy.fits import KERNEL_PENALTIES

_DRAWS, _MOST, _CEILING = 40_000, 20, 60.0


def square_share(dim: float) -> float:
    """v = d/(d + 6): the variance of (p² − 1)/√2 on the sphere, p = xᵀAx with A² ∝ I; 1 for a normal p."""
    return 1.0 if math.isinf(dim) else dim / (dim + 6)


def correlation(ratio: float, dim: float = math.inf) -> float:
    """ρ², of the feature that ridge regression finds from δD samples with the feature, from `ratio` = δ.

    With x = 1 − ρ², signal s and noise 1 − s: x = 1/(1 + δ/(x + (1 − s)/s)), D and n large. dim: of the sphere on
    which p has its moments.
    """
    noise = LINK_NOISE / (1 - LINK_NOISE) * square_share(dim)
    b = ratio + noise - 1
    return 1 - (-b + math.sqrt(b * b + 4 * noise)) / 2


def layerwise_error(ratio: float, dim: float = math.inf) -> float:
    """Relative error after n = ratio · D samples: 1 − (ρ² + ρ⁴)/2, as if the outer layer's samples were fresh.

    At a finite dim 1 − (ρ² + v · vρ⁴/(1 − (1 − v)ρ⁴))/(1 + v): of the best quadratic function of ρp + noise, normal
    and independent of p.
    """
    rho2, v = correlation(ratio, dim), square_share(dim)
    signal = 1 / (1 + LINK_NOISE / (1 - LINK_NOISE) * v)
    return 1 - signal * rho2 - (1 - signal) * v * rho2**2 / (1 - (1 - v) * rho2**2)


def layerwise_ratio(level: float, dim: float = math.inf) -> float:
    """n/D at which that error is `level`."""
    return float(brentq(lambda ratio: layerwise_error(ratio, dim) - level, 1e-3, 1e5))


def kernel_error(n: float, dim: int, degree: int = 4, square: float | None = None, free: tuple[int, ...] = ()) -> float:
    """Relative error of the kernel (1 + ⟨x, x'⟩/d)^degree on n samples, at the best of the penalties that are tried.

    Its harmonics of order k, B_k of them of eigenvalue λ_k, as if they were independent features: with κ from
    n = Σ_k B_k λ_k/(λ_k + κ) + penalty/κ, Σ_k e_k (κ/(λ_k + κ))² over 1 − Σ_k B_k (λ_k/(λ_k + κ))²/n, where the target
    has the shares e_k of its variance. Other laws: `square` in place of v, and orders that cost no samples, `free`.
    """
    v = square_share(dim) if square is None else square
    polynomials = lambda k: math.comb(dim + k - 1, k) if k >= 0 else 0
    t, weights = np.polynomial.legendre.leggauss(200)
    weights = weights * (1 - t * t) ** ((dim - 3) / 2)
    order = (dim - 2) / 2
    harmonics = [eval_gegenbauer(k, order, t) / eval_gegenbauer(k, order, 1.0) for k in range(degree + 1)]
    lam = np.array([weights @ ((1 + t) ** degree * one) for one in harmonics]) / weights.sum()
    count = np.array([polynomials(k) - polynomials(k - 2) for k in range(degree + 1)])
    share, errors = np.zeros(degree + 1), []
    share[[2, 4]] = 1 / (1 + v), v / (1 + v)
    count[list(free)] = 0
    for penalty in KERNEL_PENALTIES:
        spent = lambda log, penalty=penalty: (count * lam / (lam + math.exp(log))).sum() + penalty / math.exp(log)
        kappa = math.exp(brentq(lambda log, spent=spent: spent(log) - n, -60, 30))
        kept = lam / (lam + kappa)
        errors.append((share * (1 - kept) ** 2).sum() / (1 - count @ kept**2 / n))
    return float(min(errors))


def kernel_ratio(level: float, dim: int, **other) -> float:
    """n over C(d + 3, 4) at which that error is `level`."""
    return float(brentq(lambda ratio: kernel_error(ratio * even_count(dim), dim, **other) - level, 0.1, 2.0))


def span_overlap(ratio: float, count: int, draws: int = 0) -> float:
    """Overlap of the top eigenvector of (1/n) Σ y z zᵀ with (θ₁ + θ₂)/√2, y = p₁p₂, n = ratio · D.

    For Gaussian z; with fixed labels and u = (p₁ + p₂)/√2 it is (τ + μτ′)/(μ(τ′ − S′)) at S(μ) = τ(μ), where
    τ = D/n + (1/n) Σ y/(μ − y), S = (1/n) Σ u² y/(μ − y), the largest label left out of τ.
    A mean of so many draws of labels, by default of the few that the first record has.
    """
    n = round(ratio * count)
    of_draw = lambda k: _overlap_of_labels(np.random.default_rng(k).standard_normal((n, 2)), count)
    return float(np.mean([of_draw(k) for k in range(draws or min(_MOST, max(4, _DRAWS // n)))]))


def span_curves(ratios, count: int, draws: int = 400) -> np.ndarray:
    """The same by draw of labels and ratio, (draws, ratios), where a larger ratio sees more labels of the same draw."""
    sizes = [round(ratio * count) for ratio in ratios]
    labels = (np.random.default_rng([k, count]).standard_normal((max(sizes), 2)) for k in range(draws))
    return np.array([[_overlap_of_labels(p[:n], count) for n in sizes] for p in labels])


def _overlap_of_labels(p: np.ndarray, count: int) -> float:
    n, y, u = len(p), p[:, 0] * p[:, 1], (p[:, 0] + p[:, 1]) ** 2 / 2
    order = np.argsort(-y)
    y, u = y[order], u[order]
    rest = y[1:]

    def tau(mu: float) -> float:
        return count / n + (rest / (mu - rest)).sum() / n

    def gap(mu: float) -> float:
        return (u * y / (mu - y)).sum() / n - tau(mu)

    low, high = y[0] * (1 + 1e-9), _CEILING * y[0]
    if not gap(low) > 0 > gap(high):
        return 0.0
    mu = brentq(gap, low, high)
    slope = -(rest / (mu - rest) ** 2).sum() / n
    signal = -(u * y / (mu - y) ** 2).sum() / n
    return max(0.0, (tau(mu) + mu * slope) / (mu * (slope - signal)))
