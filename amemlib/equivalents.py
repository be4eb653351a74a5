"""Sharp predictions with nothing fitted: deterministic equivalents of one step from W = 0, for any frequencies.

Derived by leave-one-out and free-probability arguments and confirmed by simulation, not rigorous. The central object is
M(μ) = lim (1/d) tr μ (G Gᵀ + μ²)^{-1}, the fixed point of

    μ M = 1 − y,   y(M) = (1/d) Σ_k q_k² M² / (1 + q_k² M²).

Frequencies that differ by less than one per cent share a bin, so a million items cost a few thousand bins.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gammaln, log_ndtr, ndtri, zeta
from scipy.stats.qmc import Sobol
from torch import Tensor

from amemlib.problem import Problem, check_frequencies
from amemlib.theory import check_alpha

_BIN_WIDTH = 0.01
_LOG_STEP = 0.1
_NOISE_CLASSES = 32
_GAUSS_HERMITE = np.polynomial.hermite_e.hermegauss(24)
_SGD_BIN_WIDTH = 0.05
_LAW_BIN_WIDTH = 0.02
_LAW_STEP = 0.01
_LAW_SMOOTHING = 1e-4
_SCORE_STEP = 0.1
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
        """φ(q) for any q between the smallest and the largest frequency of the problem, by interpolation in log q.

        Raises `ValueError` for a q outside that range by more than the width of a bin.
        """
        seen = self.values > 0
        values, q = self.values[seen], q.cpu().numpy()
        low, high = values[-1] / (1 + _BIN_WIDTH), values[0] * (1 + _BIN_WIDTH)
        if not ((q >= low) & (q <= high)).all():
            raise ValueError(f"q must lie in [{values[-1]:.3g}, {values[0]:.3g}], got {q.min():.3g} … {q.max():.3g}")
        return np.exp(np.interp(np.log(q), np.log(values[::-1]), np.log(self.signal[seen][::-1])))

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

    def expected_losses(self, lr: float) -> np.ndarray:
        """(K,) mean of −log p̂_W(i | i) in nats for an item of each frequency, W = η h_λ(G) with η = `lr` > 0:

            E_g E_z log(1 + Σ_{j≠i} exp(η (σ_ij z_j − σ_i g) / √d − η φ_i)),   g and the z_j independent N(0, 1).

        Not annealed: it holds also where a few rivals make up the sum, η > √(2d log N). All rivals of an item get
        their mean variance. `counts * values` is the weight of each entry in the loss. Head items lose what their mean
        signal says, which at small d or η is a few per cent off (Corollary 4 in the chapter on the loss).
        """
        if not (math.isfinite(lr) and lr > 0):
            raise ValueError(f"lr must be finite and > 0, got {lr!r}")
        g, weights = _GAUSS_HERMITE
        n_items = self.counts.sum()
        own = np.sqrt(1 - self.unresolved * self.damping)
        rival = np.sqrt(1 - self.unresolved * self.damping * (self.counts @ self.damping / n_items))
        scores = lr * self.signal[:, None] + lr / math.sqrt(self.dim) * own[:, None] * g
        losses = np.zeros(len(self.values))
        label = np.round(_NOISE_CLASSES * rival)
        for one in np.unique(label):
            group = label == one
            spread = lr / math.sqrt(self.dim) * (self.counts[group] @ rival[group] / self.counts[group].sum())
            grid = np.arange(scores[group].min() - _SCORE_STEP, scores[group].max() + 2 * _SCORE_STEP, _SCORE_STEP)
            curve = _expected_softplus(grid, spread, n_items - 1)
            losses[group] = np.interp(scores[group], grid, curve) @ weights / math.sqrt(2 * math.pi)
        return losses


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
    # a small batch may lie in the head altogether, and then nothing sets the scale of the rest
    floor = max(math.sqrt(energy_rest / dim) / 10, 1e-6 * values[0] / math.sqrt(dim))
    rest_classes, rest_counts = _grouped(values, rest, floor)
    first_rank = np.cumsum(counts) - counts
    z, weights = _NORMAL_GRID
    probabilities = np.zeros(len(values))
    for i, q in enumerate(values):
        rivals = np.arange(len(head)) != first_rank[i]
        pull = (head[:, None, None] * g)[rivals]
        pull2 = np.square(pull) / dim
        c = pull2.sum(0) + energy_rest / dim
        score = math.sqrt(dim) * q + np.sqrt(2.5 * q**2 + c) * z
        variance = np.maximum(q**2 + c - pull2, 1e-12 * c)
        log_wins = log_ndtr((score - pull) / np.sqrt(variance)).sum(0)
        for rival, count in zip(rest_classes, rest_counts, strict=True):
            log_wins += count * log_ndtr(score / np.sqrt(q**2 + c + rival**2))
        if rivals.all():
            log_wins -= log_ndtr(score / np.sqrt(2 * q**2 + c))
        probabilities[i] = (np.exp(log_wins) @ weights).mean()
    return probabilities


def sgd_limit_probability(r: float, alpha: float) -> float:
    """F(r) = Π_{j≥1} Φ(r j^α): the limit of the probability that one SGD step recovers an item of frequency r p_1 / √d.

    Rival j has the logit p_j g_j / √d with g_j ~ N(0, 1), and all other terms vanish as d → ∞ (Theorem 5, sharpened).
    """
    # beyond r j^α = 8 a factor differs from 1 by less than 10⁻¹⁵
    ranks = np.arange(1, max(64, int((8 / r) ** (1 / alpha)) + 1) + 1)
    return math.exp(log_ndtr(r * ranks**alpha).sum())


def sgd_capacity_constant(alpha: float, batch_over_root_dim: float = math.inf) -> float:
    """C_α(b): one SGD step with batches of b √d recovers C_α(b) d^{1/2α} items as d → ∞ (Theorem 5, sharpened).

    Population, b = ∞: C_α = ∫₀^∞ F(x^{−α}) dx with F of `sgd_limit_probability`. No logarithm: the few most frequent
    rivals matter, not all N.
    Minibatch: (b/ζ)^{1/α} Σ_{m≥1} Γ(m − 1/α) / (α m!) F(m ζ/b), the sum over how often an item was seen; needs α > 1.
    """
    if batch_over_root_dim != math.inf:
        return _sgd_minibatch_constant(check_alpha(alpha, above=1.0), batch_over_root_dim)
    alpha = check_alpha(alpha)
    breaks = np.linspace(0, 64, 65)
    wins = lambda x: sgd_limit_probability(x**-alpha, alpha) if x > 0 else 1.0  # noqa: E731
    return sum(quad(wins, a, b, epsabs=1e-10)[0] for a, b in zip(breaks[:-1], breaks[1:], strict=True))


def expected_distinct_items(problem: Problem, batch_size: float) -> float:
    """Σ_i 1 − (1 − p_i)^B: the expected number of distinct items in a batch of B, exact, for any frequencies."""
    return float(-np.expm1(batch_size * np.log1p(-problem.frequencies.numpy())).sum())


def _sgd_minibatch_constant(alpha: float, batch_over_root_dim: float) -> float:
    if not (math.isfinite(batch_over_root_dim) and batch_over_root_dim > 0):
        raise ValueError(f"batch_over_root_dim must be > 0, got {batch_over_root_dim!r}")
    scaled = batch_over_root_dim / zeta(alpha)
    # from m = 8 b/ζ on F is 1 to 10⁻¹⁵, and the remaining weights sum to Γ(m − 1/α) / Γ(m)
    last = int(8 * scaled) + 1
    m = np.arange(1, last)
    weights = np.exp(gammaln(m - 1 / alpha) - gammaln(m + 1)) / alpha
    total = weights @ np.array([sgd_limit_probability(r, alpha) for r in m / scaled]) if last > 1 else 0.0
    return float(scaled ** (1 / alpha) * (total + math.exp(gammaln(last - 1 / alpha) - gammaln(last))))


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


@dataclass(frozen=True, eq=False)
class SpectralLaw:
    """Singular values of G = Σ_k q_k u_k v_kᵀ in the limit, and the signal and interactions of f(G) for any odd f.

    Everything is read off M(μ) of the fixed point at μ = 0⁺ − i s: with M = M(−i s),

        density of the singular values   ρ(s) = (2/π) Re M,
        signal of an item of weight q    E u_iᵀ f(G) v_i = (2/π) ∫ f(s) Im[q M² / (1 + q² M²)] ds,
        its interactions with rare items   d E (u_jᵀ f(G) v_i)² = (2/π) ∫ f(s)² Re[M / (1 + q² M²)] ds.

    Derived in the chapter "The gradient at initialisation"; with f = h_λ they are the formulas of `SpectralEquivalent`.
    singular_values: (n,) increasing, in the units of q. resolvent: (n,) complex, M(0⁺ − i s).
    A law, not a sample: it has no fluctuations, and items that stand alone (the head) are bumps of width q / √d.
    """

    singular_values: np.ndarray
    resolvent: np.ndarray

    @classmethod
    def power_law(cls, alpha: float, scale: float = 1.0) -> "SpectralLaw":
        """The closed form for p_i ∝ i^{−α}, N = ∞, d → ∞, in units of t₀ = `scale` (`theory.bulk_scale`).

        M = y^α / t₀ on the curve y = r e^{iθ}, 0 < θ < π/2α, r = cos αθ / cos (α − 1)θ, where
        s / t₀ = r^{−α} sin θ / cos (α − 1)θ. Its head has no end: moments of order 1/α and more are infinite.
        """
        angle = np.geomspace(1e-6, 1, 4000)
        # equal steps in log θ towards s = 0, in log (π/2α − θ) towards s = ∞
        theta = math.pi / (2 * check_alpha(alpha)) * np.concatenate([angle / 2, 1 - angle[-2::-1] / 2])
        r = np.cos(alpha * theta) / np.cos((alpha - 1) * theta)
        s = r**-alpha * np.sin(theta) / np.cos((alpha - 1) * theta)
        return cls(scale * s, (r * np.exp(1j * theta)) ** alpha / scale)

    @classmethod
    def solve(cls, q: Float[Tensor, " N"], dim: int) -> "SpectralLaw":
        """The law for any frequencies q (N,), zeros allowed, by Newton's method followed down from large s.

        Solved at μ = s (ε − i) with ε = 10⁻⁴, which smooths the density over s ε.
        """
        values, counts = _binned(q, _BIN_WIDTH)
        v, c = values[values > 0], counts[values > 0]
        top, bottom = math.log(3 * v[0]), math.log(1e-3 * _typical_scale(v, c, dim))
        s = np.exp(np.arange(top, bottom, -_LAW_STEP))
        resolvent = np.empty(len(s), complex)
        M = 1 / (s[0] * (_LAW_SMOOTHING - 1j))
        for k, mu in enumerate(s * (_LAW_SMOOTHING - 1j)):
            for _ in range(100):
                x2 = (v * M) ** 2
                excess = mu * M + c @ (x2 / (1 + x2)) / dim - 1
                update = M - excess / (mu + 2 * (c @ (v**2 * M / (1 + x2) ** 2)) / dim)
                if update.real <= 0:
                    # Newton has left the half-plane of resolvents; the averaged fixed-point map never does
                    update = (M + 1 / (mu + c @ (v**2 * M / (1 + x2)) / dim)) / 2
                converged = abs(update - M) < 1e-10 * abs(M)
                M = update
                if converged:
                    break
            resolvent[k] = M
        return cls(s[::-1], resolvent[::-1])

    @property
    def density(self) -> np.ndarray:
        """ρ(s) at `singular_values`, (n,); its integral is rank(G) / d."""
        return 2 / math.pi * self.resolvent.real

    def share_below(self, s: float | np.ndarray) -> float | np.ndarray:
        """∫₀^s ρ: the share of the d singular values that lie in (0, s]; zeros of a rank-deficient G do not count."""
        steps = np.diff(self.singular_values) * (self.density[1:] + self.density[:-1]) / 2
        # below the grid the density is flat
        cumulative = np.cumsum(np.r_[self.density[0] * self.singular_values[0], steps])
        return np.interp(s, np.r_[0.0, self.singular_values], np.r_[0.0, cumulative])

    def quantile(self, share: float | np.ndarray) -> float | np.ndarray:
        """The s below which a `share` of the non-zero singular values lies (0 < share < 1)."""
        cumulative = self.share_below(self.singular_values)
        return np.interp(share, cumulative / cumulative[-1], self.singular_values)

    def signal(self, f: Callable[[Tensor], Tensor], q: Float[Tensor, " n"]) -> np.ndarray:
        """(n,) mean own logit u_iᵀ f(G) v_i of items of weights q; f as in `spectral.spectral_map`."""
        x = q.cpu().numpy()[:, None] * self.resolvent
        return 2 / math.pi * (x * self.resolvent / (1 + x**2)).imag @ (self._weights() * self._values(f))

    def interaction(self, f: Callable[[Tensor], Tensor], q: Float[Tensor, " n"]) -> np.ndarray:
        """(n,) variance, times d, of the logits between items of weights q and rare ones; q = 0: among rare ones."""
        x = q.cpu().numpy()[:, None] * self.resolvent
        return 2 / math.pi * (self.resolvent / (1 + x**2)).real @ (self._weights() * self._values(f) ** 2)

    def _values(self, f: Callable[[Tensor], Tensor]) -> np.ndarray:
        return f(torch.as_tensor(self.singular_values.copy())).numpy()

    def _weights(self) -> np.ndarray:
        """Trapezoidal weights of ∫ds over the grid, the flat piece below it given to its first point."""
        s = self.singular_values
        steps = np.diff(s) / 2
        return np.r_[steps, 0] + np.r_[0, steps] + np.r_[s[0], np.zeros(len(s) - 1)]


def expected_map_capacity(
    problem: Problem, f: Callable[[Tensor], Tensor], frequencies: Float[Tensor, " N"] | None = None
) -> float:
    """Expected number of items that one step W = f(G) from W = 0 recovers, for any bounded odd f, nothing fitted.

    f: as in `spectral.spectral_map`, on absolute singular values; |f| about 1 at most where the head is.
    frequencies: the minibatch frequencies that the gradient saw, `None` for the population.
    The signal and the interactions between a frequent and a rare item are those of `SpectralLaw`; between items i, j
    that are both frequent, with variances v_i, v_j against rare ones and v₀ among rare ones, they are interpolated by
    v_i + v_j − v₀ − (v_i − v₀)(v_j − v₀) / (1 − v₀), which is the formula of `SpectralEquivalent` where f = h_λ.
    Slower than `expected_capacity`, which knows "polar" and "smoothed_sign".
    """
    q = problem.frequencies if frequencies is None else frequencies
    check_frequencies("frequencies", q, problem.n_items)
    law = SpectralLaw.solve(q, problem.dim)
    values, counts = _binned(q, _LAW_BIN_WIDTH)
    weights = torch.from_numpy(values)
    signal, variance = law.signal(f, weights), law.interaction(f, weights)
    rare = law.interaction(f, torch.zeros(1, dtype=torch.float64))[0]
    excess = variance - rare
    # a map that fills every direction (polar) has no room left, and then excess itself is rounding error
    overlap = 1 / (1 - rare) if rare < 0.999 else 0.0
    label = np.round((_NOISE_CLASSES - 1) * (excess - excess.min()) / max(np.ptp(excess), 1e-9)).astype(int)
    number = np.bincount(label, counts)
    rivals = np.bincount(label, counts * excess)[number > 0] / number[number > 0]
    number = number[number > 0]
    g, gauss = _GAUSS_HERMITE
    probabilities = np.zeros(len(values))
    for i, own in enumerate(excess):
        score = math.sqrt(problem.dim) * signal[i] + math.sqrt(max(variance[i], 0)) * g
        sd = np.sqrt(np.maximum(rare + own + rivals - overlap * own * rivals, 1e-12))
        log_wins = number @ log_ndtr(score / sd[:, None]) * (1 - 1 / counts.sum())
        probabilities[i] = gauss @ np.exp(log_wins) / math.sqrt(2 * math.pi)
    return float(counts @ probabilities)


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
    values, counts = _binned(q, _BIN_WIDTH)
    v, c = values[values > 0], counts[values > 0]
    s = np.exp(np.arange(math.log(1e-3 * _typical_scale(v, c, dim)), math.log(1e3 * v[0]), _LOG_STEP))
    weights = s * _LOG_STEP
    weights[[0, -1]] /= 2
    weights[[0, -1]] += s[[0, -1]]
    mu = np.hypot(s, lam)
    M = _solve_fixed_point(mu, v, c, dim)
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
