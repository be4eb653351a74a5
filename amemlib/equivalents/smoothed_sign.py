"""Signal, interactions, counts and losses of the polar map and of h_λ."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count, check_non_negative, check_positive
from amemlib.equivalents.fixed_point import (
    BIN_WIDTH,
    GAUSS_HERMITE,
    NOISE_CLASSES,
    NORMAL_GRID,
    NORMAL_WEIGHTS,
    binned,
    log_quadrature,
    quadratic,
    solve_fixed_point,
    typical_scale,
)
from amemlib.equivalents.winning import InputSpread, classes, winning_probabilities
from amemlib.problem import check_tensor

SCORE_STEP = 0.1
_ROWS = 4096
_LARGEST_LOGIT, _LARGEST_SPREAD = 1e4, 1e3


@dataclass(frozen=True, eq=False)
class SpectralEquivalent:
    """Signal and interactions of W = h_λ(G), G = Σ_k q_k u_k v_kᵀ, for every distinct frequency (bins of equal q).

    values, counts: (K,) the frequencies and how many items share each.
    signal: (K,) φ(q) = E u_iᵀ W v_i = (2/π) ∫₀^∞ q M² / (1 + q² M²) ds with M = M(√(λ² + s²)).
    damping: (K,) 1 / (1 + q² M(λ)²); the interaction of items i, j has variance (1 − λM(λ) damping_i damping_j) / d,
        exact when one of the two is rare, an interpolation when neither is.
    unresolved: λ M(λ), 0 for the polar map of a full-rank G.
    spread: what the logits of one input have in common, of relative order 1/d (chapter "Sharp constants").
    """

    values: np.ndarray
    counts: np.ndarray
    dim: int
    lam: float
    signal: np.ndarray
    damping: np.ndarray
    unresolved: float
    spread: InputSpread

    @classmethod
    def solve(cls, q: Float[Tensor, " N"], dim: int, lam: float = 0.0) -> "SpectralEquivalent":
        """Solve the fixed point for frequencies q (N,), any non-negative weights, and λ = `lam` ≥ 0."""
        dim, lam = check_count("dim", dim), check_non_negative("lam", lam)
        values, counts = binned(q, BIN_WIDTH)
        seen = values > 0
        v, c = values[seen], counts[seen]
        s, weights, mu, M, slope = _grid(v, c, dim, lam)
        x = values[:, None] * M
        w = 1 / (1 + x**2)
        signal = 2 / math.pi * (x * M * w) @ weights  # eq-sh-two
        damping = np.ones(len(values))
        if lam > 0:
            M_lam, slope_lam = (X[0] for X in _resolvent(np.array([lam]), v, c, dim))
            unresolved = lam * M_lam
            damping = 1 / (1 + (values * M_lam) ** 2)
            # −(λ/2) dA/dλ for A = λ M(λ) damping, what h_λ⁴ has beyond h_λ²
            rise = unresolved * damping * (1 - 2 * values**2 * M_lam * slope_lam * damping * lam)
            rise = (rise + lam**2 * slope_lam * damping) / 2
            tail_rise = (unresolved + lam**2 * slope_lam) / 2
            # eq-sh-filled: (1/d) tr μ h_λ²(G) / (GGᵀ + μ²)
            filled = M - lam * (mu * M_lam - lam * M) / s**2
        else:
            unresolved = max(0.0, 1 - c.sum() / dim)
            damping[seen] = 0.0 if unresolved else 1.0
            rise, tail_rise = np.zeros(len(values)), 0.0
            filled = M - unresolved / mu
        C, S = _pair_kernels(mu, M, slope)
        resolved = 1 - unresolved
        fourth = resolved - tail_rise
        variance = 2 / dim * fourth / resolved**2  # eq-sh-moments
        # eq-sh-gain
        # covariance of δ with the signal, through the length of v in the directions that carry it
        shared = 2 / math.pi * (x * w**2) @ (weights * filled) * 2 / dim / resolved
        # eq-sh-own
        lengths = 4 * 4 / math.pi**2 * quadratic(x * w**2 * weights, S)
        energy = 1 - unresolved * damping
        spread = InputSpread(
            variance,
            own_noise=np.maximum(4 / math.pi**2 * quadratic((1 - x**2) * w**2 * weights, C), 0),
            signal_gain=np.divide(shared, variance * signal, out=np.zeros_like(signal), where=signal > 0),
            private=np.maximum(lengths - dim * shared**2 / variance, 0),
            rival_gain=(energy - rise) * resolved / fourth / np.maximum(energy, 1e-12),  # eq-sh-rival
            # a frequent input keeps the fluctuation of its own length, 2/d, which is all there is for the polar map
            fading=np.sqrt(damping**4 + (1 - damping**4) * 2 / dim / variance),
        )
        return cls(values, counts, dim, lam, signal, damping, float(unresolved), spread)

    def signal_of(self, q: Float[Tensor, " n"]) -> np.ndarray:
        """φ(q) for any q between the smallest and the largest frequency of the problem, by interpolation in log q.

        Raises `ValueError` for a q outside that range by more than the width of a bin.
        """
        seen = self.values > 0
        check_tensor("q", q, ("n",))
        values, at = self.values[seen], q.double().numpy(force=True)
        low, high = values[-1] / (1 + BIN_WIDTH), values[0] * (1 + BIN_WIDTH)
        if not ((at >= low) & (at <= high)).all():
            raise ValueError(f"q must lie in [{values[-1]:.3g}, {values[0]:.3g}], got {at.min():.3g} … {at.max():.3g}")
        return np.exp(np.interp(np.log(at), np.log(values[::-1]), np.log(self.signal[seen][::-1])))

    def recovery_probabilities(self) -> np.ndarray:
        """(K,) probability that an item of each frequency beats all its rivals: `winning_probabilities`.

        Raises `ValueError` for a λ so large that 1 − λ M(λ) is lost in rounding: h_λ is linear there, which is SGD.
        """
        if self.spread.variance <= -1:
            least = "1 - lam M(lam) above rounding (beyond, h_λ is the map of SGD)"
            raise ValueError(f"lam must leave {least}, got {self.lam:g}")
        label, rivals = classes(self.damping, self.counts)
        variance = 1 - self.unresolved * self.damping[:, None] * rivals  # eq-sh-two
        return winning_probabilities(math.sqrt(self.dim) * self.signal, self.spread, variance, label, self.counts)

    def expected_losses(self, lr: float) -> np.ndarray:
        """(K,) mean of −log p̂_W(i | i) in nats for an item of each frequency, W = η h_λ(G) with η = `lr` > 0:

            E_g E_z log(1 + Σ_{j≠i} exp(η (σ_ij z_j − σ_i g) / √d − η φ_i)),   g and the z_j independent N(0, 1).

        Not annealed: it holds also where a few rivals make up the sum, η > √(2d log N). All rivals of an item get
        their mean variance. `counts * values` is the weight of each entry in the loss. Head items lose what their mean
        signal says, which at small d or η is a few per cent off (Corollary 4 in the chapter on the loss).
        Raises `ValueError` for an η that is not > 0, or that makes an expected logit larger than 10⁴ nats or the
        spread of logits larger than 10³: the work grows with both.
        """
        lr = check_positive("lr", lr)
        if lr * self.signal.max() > _LARGEST_LOGIT or lr > _LARGEST_SPREAD * math.sqrt(self.dim):
            allowed = f"the expected logits below {_LARGEST_LOGIT:g} and their spread below {_LARGEST_SPREAD:g}"
            raise ValueError(f"lr must keep {allowed}, got {lr!r}")
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
            grid = np.arange(scores[group].min() - SCORE_STEP, scores[group].max() + 2 * SCORE_STEP, SCORE_STEP)
            curve = expected_softplus(grid, spread, n_items - 1)
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
    dim, lam = check_count("dim", dim), check_non_negative("lam", lam)
    check_tensor("at", at, ("n",))
    values, counts = binned(q, BIN_WIDTH)
    v, c = values[values > 0], counts[values > 0]
    _, weights, mu, M, slope = _grid(v, c, dim, lam)
    C, S = _pair_kernels(mu, M, slope)
    items = at.double().numpy(force=True)
    damping = 1 / (1 + np.square(items[:, None] * M))
    result = np.empty((len(items), len(items)))
    for i, (weight, row) in enumerate(zip(items, damping, strict=True)):
        x = row * damping * weights
        even = quadratic(x, C) + (weight * items) ** 2 * quadratic(x * M**2, C)
        result[i] = even + (weight**2 + items**2) * quadratic(x * M, S)
    return 4 / math.pi**2 * result


def expected_softplus(scores: np.ndarray, spread: float, n_rivals: float) -> np.ndarray:
    """E log(1 + e^{−s} Z) with Z = Σ_{j ≤ n} e^{c z_j}, for equally spaced s = `scores` and c = `spread`.

    By log(1 + X) = ∫ (1 − e^{−tX}) e^{−t} dt/t with t = e^x it is ∫ (1 − Λ(x − s)) e^{−e^x} dx, where
    Λ(y) = E e^{−e^y Z} = (E_z exp(−e^{y + cz}))^n needs one normal variable: a convolution.
    """
    # below this x no rival is left whatever s; above 5 the kernel is 0
    low = scores[0] - math.log(n_rivals) - 9 * spread - 40
    x = np.arange(min(low, -40), 5, SCORE_STEP)
    y = x[0] - scores[-1] + SCORE_STEP * np.arange(len(x) + len(scores) - 1)
    misses = np.empty_like(y)
    for start in range(0, len(y), _ROWS):
        part = slice(start, start + _ROWS)
        misses[part] = -np.expm1(-np.exp(np.minimum(y[part, None] + spread * NORMAL_GRID, 50))) @ NORMAL_WEIGHTS
    # eq-loss-laplace
    beaten = -np.expm1(n_rivals * np.log1p(-np.minimum(misses, 1 - 1e-16)))
    # the kernel is 1 to rounding up to x = −40, where a running sum takes the place of products
    flat = int(np.searchsorted(x, -40))
    below = np.cumsum(np.append(0.0, beaten))[flat : flat + len(scores)]
    return SCORE_STEP * (below + np.correlate(beaten[flat:], np.exp(-np.exp(x[flat:])), "valid"))[::-1]


def _grid(v: np.ndarray, c: np.ndarray, dim: int, lam: float) -> tuple[np.ndarray, ...]:
    """Nodes s and weights of ∫₀^∞ ds, μ = √(λ² + s²), M(μ) and dM/dμ, all (n,)."""
    s, weights = log_quadrature(1e-3 * typical_scale(v, c, dim), 1e3 * v[0])
    mu = np.hypot(s, lam)
    return s, weights, mu, *_resolvent(mu, v, c, dim)


def _resolvent(mu: np.ndarray, v: np.ndarray, c: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """M(μ) and its derivative, from that of the fixed point."""
    M = solve_fixed_point(mu, v, c, dim)
    x2 = np.square(v[:, None] * M)
    return M, -M / (mu + c @ (2 * x2 / (1 + x2) ** 2) / dim / M)


def _pair_kernels(mu: np.ndarray, M: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C = (μM − μ′M′)/(μ² − μ′²) and S = (μM′ − μ′M)/(μ² − μ′²) at all pairs of nodes; derivatives on the diagonal."""
    gap = mu[:, None] ** 2 - mu**2
    same = gap == 0
    gap[same] = 1.0
    C = np.where(same, (M + mu * slope) / (2 * mu), ((mu * M)[:, None] - mu * M) / gap)
    S = np.where(same, (M - mu * slope) / (2 * mu), (mu[:, None] * M - mu * M[:, None]) / gap)
    return C, S
