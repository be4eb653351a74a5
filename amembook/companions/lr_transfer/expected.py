"""What a wide sketch does to the best rate, by its largest eigenvalue alone, and to the least risk, by two moments."""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.stats import chi2, foldnorm, norm

from amembook.companions.lr_transfer.measure import best_rate, risk, spectrum

_QUANTILES, _KNOTS = 801, 21


def edge_costs(widths, n_features: int, decay: float, steps: int) -> np.ndarray:
    """Median cost of a sketch's rate where nothing of the sketch counts but its largest eigenvalue,

        ℓ_1 = λ_1 (χ²_n/n)(1 + (1/n) Σ_{j > 1} λ_j/(λ_1 − λ_j)),

    the noise of λ_1 and its repulsion by the others to first order in 1/n. The rate is the best one of the risk whose
    first eigenvalue is ℓ_1, solved numerically at 21 values and splined; the median is over likely values of χ².
    """
    lam = spectrum(decay, n_features)
    total, (_, least) = lam.sum(), best_rate(lam, lam, lam.sum(), steps)
    repelled = (lam[1:] / (lam[0] - lam[1:])).sum()
    levels, medians = (np.arange(_QUANTILES) + 0.5) / _QUANTILES, []
    for n in widths:
        first = lam[0] * chi2.ppf(levels, n) / n * (1 + repelled / n)
        knots = np.linspace(first[0], first[-1], _KNOTS)
        rates = [best_rate(np.append(one, lam[1:]), lam, total, steps)[0] for one in knots]
        costs = risk(CubicSpline(knots, rates)(first), lam, lam, total, steps) - least
        medians.append(np.median(costs))
    return np.array(medians)


def local_exponents(widths, values) -> np.ndarray:
    """−d log(values)/d log n from each width to the next, along the first axis of values."""
    x = np.diff(np.log(np.asarray(widths, dtype=float)))
    return -np.diff(np.log(values), axis=0) / x.reshape(-1, *[1] * (np.ndim(values) - 1))


def limits(n_features: int, decay: float, steps: int) -> tuple[float, float]:
    """lim √n median gap and lim n median cost, n → ∞: the delta method, for finitely many features.

    L_n(η) = ½ wᵀ(1 − ηA)^{2T} w with A = Λ^{1/2} SᵀS Λ^{1/2}, w = Λ^{1/2} 1. To first order in A − Λ, with the divided
    differences g[·, ·] of g(x) = (1 − ηx)^{2T}, it moves by ½ Σ_ij λ_i λ_j g[λ_i, λ_j] (SᵀS − 1)_ij, whose variance is
    Σ_ij (λ_i λ_j g[λ_i, λ_j])²/2n; the best rate by minus its slope over L_∞″.
    """
    lam = spectrum(decay, n_features)
    rate, _ = best_rate(lam, lam, lam.sum(), steps)
    x, y, power = lam[:, None], lam[None], 2 * steps
    apart = x != y

    def moments(eta):
        g = lambda z: (1 - eta * z) ** power
        slope = -power * eta * (1 - eta * x) ** (power - 1)
        return x * y * np.where(apart, (g(x) - g(y)) / np.where(apart, x - y, 1), slope)

    step = 1e-4 * rate
    of_slope = (moments(rate + step) - moments(rate - step)) / (2 * step)
    bend = power * (power - 1) / 2 * (lam**3 * (1 - rate * lam) ** (power - 2)).sum()
    gap = np.sqrt((moments(rate) ** 2).sum() / 2) * norm.ppf(0.75)
    return float(gap), float((of_slope**2).sum() / 4 / bend * chi2.ppf(0.5, 1))


def gap_moments(n_features: int, decay: float, steps: int, own_rate: bool = True) -> tuple[float, float]:
    """(B, σ): L_n(η_n*) − L_∞(η_∞*) has the mean B/n to second order and the standard deviation σ/√n to first.

    B is what a sketch adds to the risk at a fixed rate, ½ Σ_ij λ_i² λ_j (1 + [i = j]) g[λ_i, λ_i, λ_j] with second
    divided differences of g(x) = (1 − ηx)^{2T}, less what the sketch's own best rate saves, which is the cost's mean;
    without `own_rate` nothing is saved.
    """
    lam = spectrum(decay, n_features)
    rate, _ = best_rate(lam, lam, lam.sum(), steps)
    x, y, power = lam[:, None], lam[None], 2 * steps
    g = lambda z: (1 - rate * z) ** power
    slope = -power * rate * (1 - rate * x) ** (power - 1)
    bend = power * (power - 1) * rate**2 * (1 - rate * x) ** (power - 2)
    same, apart = x == y, np.where(x == y, 1, x - y)
    second = np.where(same, bend / 2, (slope - (g(x) - g(y)) / apart) / apart)
    gap, cost = limits(n_features, decay, steps)
    added = (x**2 * y * (1 + same) * second).sum() / 2
    return float(added - own_rate * cost / chi2.ppf(0.5, 1)), gap / float(norm.ppf(0.75))


def gaps(widths, n_features: int, decay: float, steps: int, own_rate: bool = True) -> np.ndarray:
    """Median of |B/n + σz/√n|, z Gaussian: the gap, with the noise of its mean shift left out."""
    shift, noise = gap_moments(n_features, decay, steps, own_rate)
    noise = noise / np.sqrt(np.asarray(widths, dtype=float))
    return noise * foldnorm.ppf(0.5, abs(shift) / np.asarray(widths, dtype=float) / noise)
