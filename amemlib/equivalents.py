"""Sharp predictions with nothing fitted: deterministic equivalents of one step from W = 0, for any frequencies.

Derived by leave-one-out and free-probability arguments and confirmed by simulation, not rigorous. The central object is
M(μ) = lim (1/d) tr μ (G Gᵀ + μ²)^{-1}, the fixed point of

    μ M = 1 − y,   y(M) = (1/d) Σ_k q_k² M² / (1 + q_k² M²).

Frequencies that differ by less than one per cent share a bin, so a million items cost a few thousand bins.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri
from scipy.stats.qmc import Sobol
from torch import Tensor

from amemlib.problem import Problem, check_frequencies
from amemlib.theory import check_alpha

_BIN_WIDTH = 0.01
_LOG_STEP = 0.1
_NOISE_CLASSES = 32
_GAUSS_HERMITE = np.polynomial.hermite_e.hermegauss(24)
_SGD_BIN_WIDTH = 0.05
_HEAD = 8
_LOG2_DRAWS = 7
_NORMAL_GRID = np.linspace(-5, 8, 53), 0.25 * np.exp(-(np.linspace(-5, 8, 53) ** 2) / 2) / math.sqrt(2 * math.pi)


def expected_capacity(
    problem: Problem, spectral_map: str, lam: float = 0.0, frequencies: Float[Tensor, " N"] | None = None
) -> float:
    """Expected number of items that one step from W = 0 recovers, to a few per cent, nothing fitted.

    spectral_map: "polar", "smoothed_sign" (h_λ with λ = `lam`, absolute) or "sgd".
    frequencies: the minibatch frequencies q that the gradient saw, (N,); `None` for the population, q = p.

    polar, h_λ: Σ_i E_g Π_{j≠i} Φ((√d φ(q_i) + σ_i g) / σ_ij) with the signal curve φ and the interaction law of
        `SpectralEquivalent`. Within about 4 % of counts for d ≥ 128; below, head items differ from their mean.
    sgd: the competitors' own terms q_j ⟨v_j, v_i⟩ are kept one by one, see `sgd_recovery_probabilities`.
    Raises `ValueError` for an unknown map, a λ < 0, or frequencies of the wrong length.
    """
    q = problem.frequencies if frequencies is None else frequencies
    check_frequencies("frequencies", q, problem.n_items)
    if spectral_map == "sgd":
        values, counts = _binned(q, _SGD_BIN_WIDTH)
        return float(counts @ sgd_recovery_probabilities(values, counts, problem.dim))
    if spectral_map not in ("polar", "smoothed_sign"):
        raise ValueError(f"spectral_map must be one of 'polar', 'smoothed_sign', 'sgd', got {spectral_map!r}")
    if not (math.isfinite(lam) and lam >= 0):
        raise ValueError(f"lam must be finite and ≥ 0, got {lam!r}")
    equivalent = SpectralEquivalent.solve(q, problem.dim, 0.0 if spectral_map == "polar" else lam)
    return float(equivalent.counts @ equivalent.recovery_probabilities())


@dataclass(frozen=True, eq=False)
class SpectralEquivalent:
    """Signal and interactions of W = h_λ(G), G = Σ_k q_k u_k v_kᵀ, for every distinct frequency (bins of equal q).

    values, counts: (K,) the frequencies and how many items share each.
    signal: (K,) φ(q) = E u_iᵀ W v_i = (2/π) ∫₀^∞ q M² / (1 + q² M²) ds with M = M(√(λ² + s²)).
    damping: (K,) 1 / (1 + q² M(λ)²); the interaction of items i, j has variance (1 − λM(λ) damping_i damping_j) / d,
        exact when one of the two is rare, an interpolation when neither is.
    unresolved: λ M(λ), 0 for the polar map of a full-rank G.
    """

    values: np.ndarray
    counts: np.ndarray
    dim: int
    lam: float
    signal: np.ndarray
    damping: np.ndarray
    unresolved: float

    @classmethod
    def solve(cls, q: Float[Tensor, " N"], dim: int, lam: float = 0.0) -> "SpectralEquivalent":
        """Solve the fixed point for frequencies q (N,), any non-negative weights, and λ = `lam` ≥ 0."""
        values, counts = _binned(q, _BIN_WIDTH)
        seen = values > 0
        v, c = values[seen], counts[seen]
        # the integrand is smooth in log s, so equal steps there converge fast; below and above it is s × its end value
        log_s = np.arange(math.log(1e-3 * _typical_scale(v, c, dim)), math.log(1e3 * v[0]), _LOG_STEP)
        s = np.exp(log_s)
        M = _solve_fixed_point(np.hypot(s, lam), v, c, dim)
        x = v[:, None] * M
        integrand = x * M / (1 + x**2)
        weights = s * _LOG_STEP
        weights[[0, -1]] /= 2
        weights[0] += s[0]
        weights[-1] += s[-1]
        signal, damping = np.zeros(len(values)), np.ones(len(values))
        signal[seen] = 2 / math.pi * integrand @ weights
        if lam > 0:
            M_lam = _solve_fixed_point(np.array([lam]), v, c, dim)[0]
            unresolved = lam * M_lam
            damping[seen] = 1 / (1 + (v * M_lam) ** 2)
        else:
            unresolved = max(0.0, 1 - c.sum() / dim)
            damping[seen] = 0.0 if unresolved else 1.0
        return cls(values, counts, dim, lam, signal, damping, float(unresolved))

    def signal_of(self, q: Float[Tensor, " n"]) -> np.ndarray:
        """φ(q) for any q between the smallest and the largest frequency of the problem, by interpolation in log q."""
        seen = self.values > 0
        log_values, log_signal = np.log(self.values[seen]), np.log(self.signal[seen])
        return np.exp(np.interp(np.log(q.cpu().numpy()), log_values[::-1], log_signal[::-1]))

    def recovery_probabilities(self) -> np.ndarray:
        """(K,) probability that an item of each frequency beats all its competitors: E_g Π_j Φ((√d φ + σ g) / σ_ij)."""
        g, weights = _GAUSS_HERMITE
        own = np.sqrt(1 - self.unresolved * self.damping)
        classes, rivals = _classes(self.damping, self.counts)
        probabilities = np.zeros(len(self.values))
        for i, damping in enumerate(self.damping):
            score = math.sqrt(self.dim) * self.signal[i] + own[i] * g
            sd = np.sqrt(np.maximum(1 - self.unresolved * damping * classes, 1e-12))
            log_wins = rivals @ log_ndtr(score / sd[:, None]) * (1 - 1 / self.counts.sum())
            probabilities[i] = weights @ np.exp(log_wins) / math.sqrt(2 * math.pi)
        return probabilities


def sgd_recovery_probabilities(values: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    """Probability that one SGD step from W = 0 recovers an item of each frequency, at finite d (Theorem 5, sharpened).

    In units of |v_i|/√d and given g_j = √d ⟨v_j, v_i⟩/|v_i| ~ N(0, 1), with c = (1/d) Σ_{k≠i} q_k² g_k²: the own logit
    is S = √d q_i (1 + ξ √(5/2d)) + √c ξ′, competitor j has q_j g_j + √(q_i² + c − q_j² g_j²/d) z_j, and

        P = E_g E_S Π_{j≠i} Φ((S − q_j g_j) / √(q_i² + c − q_j² g_j²/d)).

    Only the leading g_j move c: they are drawn (scrambled Sobol points of a fixed seed). The other g_j are integrated
    out, which makes their factor Φ(S / √(q_i² + c + q_j²)), and so is S, on a grid: a rare item is recovered by a large
    S, which few random draws would hit. values, counts: (K,), values in decreasing order; returns (K,).
    """
    head = np.repeat(values, counts.astype(int))[:_HEAD]
    rest = counts - np.bincount(np.searchsorted(-values, -head), minlength=len(values))
    energy_rest = rest @ values**2
    g = ndtri(Sobol(len(head), rng=np.random.default_rng(0)).random_base2(_LOG2_DRAWS)).T[:, :, None]
    rest_classes, rest_counts = _grouped(values, rest, math.sqrt(energy_rest / dim) / 10)
    first_rank = np.cumsum(counts) - counts
    z, weights = _NORMAL_GRID
    probabilities = np.zeros(len(values))
    for i, q in enumerate(values):
        rivals = np.arange(len(head)) != first_rank[i]
        pull = (head[:, None, None] * g)[rivals]
        pull2 = np.square(pull) / dim
        c = pull2.sum(0) + energy_rest / dim
        score = math.sqrt(dim) * q + np.sqrt(2.5 * q**2 + c) * z
        log_wins = log_ndtr((score - pull) / np.sqrt(q**2 + c - pull2)).sum(0)
        for rival, count in zip(rest_classes, rest_counts, strict=True):
            log_wins += count * log_ndtr(score / np.sqrt(q**2 + c + rival**2))
        if rivals.all():
            log_wins -= log_ndtr(score / np.sqrt(2 * q**2 + c))
        probabilities[i] = (np.exp(log_wins) @ weights).mean()
    return probabilities


def sgd_capacity_constant(alpha: float) -> float:
    """C_α = ∫₀^∞ Π_{j≥1} Φ((j/x)^α) dx: one population SGD step recovers C_α d^{1/2α} items as d → ∞ (Theorem 5).

    No logarithm: an item competes with the few most frequent ones, whose number of order one matters, not with all N.
    """
    alpha = check_alpha(alpha)

    def wins(x: float) -> float:
        n_terms = max(64, int(8 ** (1 / alpha) * x) + 1)
        ranks = np.arange(1, n_terms + 1)
        # beyond (j/x)^α = 8 a factor differs from 1 by less than 10⁻¹⁵
        return math.exp(log_ndtr((ranks / x) ** alpha).sum()) if x > 0 else 1.0

    breaks = np.linspace(0, 64, 65)
    return sum(quad(wins, a, b, epsabs=1e-10)[0] for a, b in zip(breaks[:-1], breaks[1:], strict=True))


def _solve_fixed_point(mu: np.ndarray, values: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    """M(μ) for an array of μ > 0 by bisection on log M: μ M + y(M) − 1 is increasing in M."""
    high = -np.log(mu)
    low = high - 50
    for _ in range(48):
        middle = (low + high) / 2
        M = np.exp(middle)
        above = mu * M + _occupation(M, values, counts, dim) > 1
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.exp((low + high) / 2)


def _occupation(M: np.ndarray, values: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    """y(M) = (1/d) Σ_k q_k² M² / (1 + q_k² M²)."""
    x2 = np.square(values[:, None] * M)
    return counts @ (x2 / (1 + x2)) / dim


def _typical_scale(values: np.ndarray, counts: np.ndarray, dim: int) -> float:
    """The scale of the smallest singular values: 1/M where y(M) = 1, or the smallest frequency if rank < d."""
    if counts.sum() <= dim:
        return float(values[-1])
    # y(M) ≤ (1/d) Σ q² M², which is 1/4 at the lower end
    low, high = math.log(dim / (counts @ values**2)) / 2 - math.log(2), -math.log(values[-1]) + 20
    excess = lambda log_M: _occupation(np.array([math.exp(log_M)]), values, counts, dim)[0] - 1  # noqa: E731
    return math.exp(-brentq(excess, low, high)) if excess(high) > 0 else float(values[-1])


def _binned(q: Tensor, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Distinct frequencies in decreasing order and their counts; those within a factor 1 + `width` share their mean."""
    q = np.sort(q.detach().cpu().double().numpy())[::-1]
    labels = np.full(len(q), np.inf)
    seen = q > 0
    labels[seen] = np.floor(-np.log(q[seen] / q[0]) / width)
    _, start, counts = np.unique(labels, return_index=True, return_counts=True)
    return np.add.reduceat(q, start) / counts, counts.astype(float)


def _grouped(values: np.ndarray, counts: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Coarser classes, a factor e^0.2 wide, all below `floor` in one: root-mean-square value and number in each."""
    floored = np.maximum(values, floor)
    label = np.floor(-np.log(floored / floored[0]) / 0.2).astype(int)
    number = np.bincount(label, counts)
    energy = np.bincount(label, counts * values**2)
    return np.sqrt(energy[number > 0] / number[number > 0]), number[number > 0]


def _classes(damping: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Competitors grouped by how far their interactions are damped: representative value and number in each class."""
    label = np.minimum((damping * _NOISE_CLASSES).astype(int), _NOISE_CLASSES - 1)
    number = np.bincount(label, counts, _NOISE_CLASSES)
    total = np.bincount(label, counts * damping, _NOISE_CLASSES)
    return total[number > 0] / number[number > 0], number[number > 0]
