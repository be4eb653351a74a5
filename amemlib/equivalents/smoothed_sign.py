"""Signal, interactions, counts and losses of the polar map and of h_λ."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr
from torch import Tensor

from amemlib.equivalents.fixed_point import (
    BIN_WIDTH,
    GAUSS_HERMITE,
    LOG_STEP,
    NOISE_CLASSES,
    binned,
    solve_fixed_point,
    typical_scale,
)
from amemlib.theory import check_positive

_SCORE_STEP = 0.1


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
        values, counts = binned(q, BIN_WIDTH)
        seen = values > 0
        v, c = values[seen], counts[seen]
        # the integrand is smooth in log s, so equal steps there converge fast; below and above it is s × its end value
        log_s = np.arange(math.log(1e-3 * typical_scale(v, c, dim)), math.log(1e3 * v[0]), LOG_STEP)
        s = np.exp(log_s)
        M = solve_fixed_point(np.hypot(s, lam), v, c, dim)
        x = v[:, None] * M
        integrand = x * M / (1 + x**2)
        weights = s * LOG_STEP
        weights[[0, -1]] /= 2
        weights[0] += s[0]
        weights[-1] += s[-1]
        signal, damping = np.zeros(len(values)), np.ones(len(values))
        signal[seen] = 2 / math.pi * integrand @ weights
        if lam > 0:
            M_lam = solve_fixed_point(np.array([lam]), v, c, dim)[0]
            unresolved = lam * M_lam
            damping[seen] = 1 / (1 + (v * M_lam) ** 2)
        else:
            unresolved = max(0.0, 1 - c.sum() / dim)
            damping[seen] = 0.0 if unresolved else 1.0
        return cls(values, counts, dim, lam, signal, damping, float(unresolved))

    def signal_of(self, q: Float[Tensor, " n"]) -> np.ndarray:
        """φ(q) for any q between the smallest and the largest frequency of the problem, by interpolation in log q.

        Raises `ValueError` for a q outside that range by more than the width of a bin.
        """
        seen = self.values > 0
        values, q = self.values[seen], q.cpu().numpy()
        low, high = values[-1] / (1 + BIN_WIDTH), values[0] * (1 + BIN_WIDTH)
        if not ((q >= low) & (q <= high)).all():
            raise ValueError(f"q must lie in [{values[-1]:.3g}, {values[0]:.3g}], got {q.min():.3g} … {q.max():.3g}")
        return np.exp(np.interp(np.log(q), np.log(values[::-1]), np.log(self.signal[seen][::-1])))

    def recovery_probabilities(self) -> np.ndarray:
        """(K,) probability that an item of each frequency beats all its competitors: E_g Π_j Φ((√d φ + σ g) / σ_ij)."""
        g, weights = GAUSS_HERMITE
        own = np.sqrt(1 - self.unresolved * self.damping)
        classes, rivals = _classes(self.damping, self.counts)
        probabilities = np.zeros(len(self.values))
        for i, damping in enumerate(self.damping):
            score = math.sqrt(self.dim) * self.signal[i] + own[i] * g
            sd = np.sqrt(np.maximum(1 - self.unresolved * damping * classes, 1e-12))
            log_wins = rivals @ log_ndtr(score / sd[:, None]) * (1 - 1 / self.counts.sum())
            probabilities[i] = weights @ np.exp(log_wins) / math.sqrt(2 * math.pi)
        return probabilities

    def expected_losses(self, lr: float) -> np.ndarray:
        """(K,) mean of −log p̂_W(i | i) in nats for an item of each frequency, W = η h_λ(G) with η = `lr` > 0:

            E_g E_z log(1 + Σ_{j≠i} exp(η (σ_ij z_j − σ_i g) / √d − η φ_i)),   g and the z_j independent N(0, 1).

        Not annealed: it holds also where a few rivals make up the sum, η > √(2d log N). All rivals of an item get
        their mean variance. `counts * values` is the weight of each entry in the loss. Head items lose what their mean
        signal says, which at small d or η is a few per cent off (Corollary 4 in the chapter on the loss).
        """
        check_positive("lr", lr)
        g, weights = GAUSS_HERMITE
        n_items = self.counts.sum()
        own = np.sqrt(1 - self.unresolved * self.damping)
        rival = np.sqrt(1 - self.unresolved * self.damping * (self.counts @ self.damping / n_items))
        scores = lr * self.signal[:, None] + lr / math.sqrt(self.dim) * own[:, None] * g
        losses = np.zeros(len(self.values))
        label = np.round(NOISE_CLASSES * rival)
        for one in np.unique(label):
            group = label == one
            spread = lr / math.sqrt(self.dim) * (self.counts[group] @ rival[group] / self.counts[group].sum())
            grid = np.arange(scores[group].min() - _SCORE_STEP, scores[group].max() + 2 * _SCORE_STEP, _SCORE_STEP)
            curve = _expected_softplus(grid, spread, n_items - 1)
            losses[group] = np.interp(scores[group], grid, curve) @ weights / math.sqrt(2 * math.pi)
        return losses


def interaction_variances(
    q: Float[Tensor, " N"], dim: int, lam: float, at: Float[Tensor, " n"]
) -> Float[np.ndarray, "n n"]:
    """d · E (u_jᵀ h_λ(G) v_i)² for every two items of weights `at`, head or tail, to leading order in d (λ ≥ 0).

    With M = M(√(λ² + s²)), w_i = 1/(1 + q_i² M²), primes for a second variable s′,

        (4/π²) ∬ w_i w_j w_i′ w_j′ [(1 + q_i² q_j² M² M′²) C + (q_i² + q_j²) M M′ S] ds ds′,

    C = (μM − μ′M′)/(μ² − μ′²) and S = (μM′ − μ′M)/(μ² − μ′²), the limits of (1/d) tr σ² R R′ and (1/d) tr μμ′ R R′.
    Derived in the chapter "Interactions". For a rare i or j it is 1 − λM(λ) damping, as in `SpectralEquivalent`; for
    the polar map and two items far above the bulk it is (q_i² + q_j²)/(q_i + q_j)², between 1/2 and 1.
    """
    values, counts = binned(q, BIN_WIDTH)
    v, c = values[values > 0], counts[values > 0]
    s = np.exp(np.arange(math.log(1e-3 * typical_scale(v, c, dim)), math.log(1e3 * v[0]), LOG_STEP))
    weights = s * LOG_STEP
    weights[[0, -1]] /= 2
    weights[[0, -1]] += s[[0, -1]]
    mu = np.hypot(s, lam)
    M = solve_fixed_point(mu, v, c, dim)
    # dM/dμ from the fixed point: on the diagonal C and S are derivatives
    x2 = np.square(v[:, None] * M)
    slope = -M / (mu + c @ (2 * x2 / (1 + x2) ** 2) / dim / M)
    gap = mu[:, None] ** 2 - mu**2
    np.fill_diagonal(gap, 1.0)
    C = ((mu * M)[:, None] - mu * M) / gap
    S = (mu[:, None] * M - mu * M[:, None]) / gap
    np.fill_diagonal(C, (M + mu * slope) / (2 * mu))
    np.fill_diagonal(S, (M - mu * slope) / (2 * mu))
    at = at.cpu().double().numpy()
    damping = 1 / (1 + np.square(at[:, None] * M))
    result = np.empty((len(at), len(at)))
    for i, (weight, row) in enumerate(zip(at, damping, strict=True)):
        x = row * damping * weights
        even = ((x @ C) * x).sum(1) + (weight * at) ** 2 * ((x * M**2 @ C) * (x * M**2)).sum(1)
        result[i] = even + (weight**2 + at**2) * ((x * M @ S) * (x * M)).sum(1)
    return 4 / math.pi**2 * result


def _expected_softplus(scores: np.ndarray, spread: float, n_rivals: float) -> np.ndarray:
    """E log(1 + e^{−s} Z) with Z = Σ_{j ≤ n} e^{c z_j}, for equally spaced s = `scores` and c = `spread`.

    By log(1 + X) = ∫ (1 − e^{−tX}) e^{−t} dt/t with t = e^x it is ∫ (1 − Λ(x − s)) e^{−e^x} dx, where
    Λ(y) = E e^{−e^y Z} = (E_z exp(−e^{y + cz}))^n needs one normal variable: a convolution.
    """
    z = np.linspace(-9, 9, 361)
    density = np.exp(-(z**2) / 2)
    density /= density.sum()
    # below this x no rival is left whatever s; above 5 the kernel is 0
    low = scores[0] - math.log(n_rivals) - 9 * spread - 40
    x = np.arange(min(low, -40), 5, _SCORE_STEP)
    y = x[0] - scores[-1] + _SCORE_STEP * np.arange(len(x) + len(scores) - 1)
    misses = -np.expm1(-np.exp(np.minimum(y[:, None] + spread * z, 50))) @ density
    beaten = -np.expm1(n_rivals * np.log1p(-np.minimum(misses, 1 - 1e-16)))
    return _SCORE_STEP * np.correlate(beaten, np.exp(-np.exp(x)), "valid")[::-1]


def _classes(damping: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Competitors grouped by how far their interactions are damped: representative value and number in each class."""
    label = np.minimum((damping * NOISE_CLASSES).astype(int), NOISE_CLASSES - 1)
    number = np.bincount(label, counts, NOISE_CLASSES)
    total = np.bincount(label, counts * damping, NOISE_CLASSES)
    return total[number > 0] / number[number > 0], number[number > 0]
