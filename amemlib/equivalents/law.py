"""The law of the singular values, and what any odd spectral map makes of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from amemlib.checks import (
    check_alpha,
    check_count,
    check_function,
    check_instance,
    check_non_negative,
    check_numbers,
    check_positive,
    shown,
)
from amemlib.equivalents.fixed_point import (
    BIN_WIDTH,
    GAUSS_HERMITE,
    NOISE_CLASSES,
    beating_all,
    binned,
    class_means,
    typical_scale,
)
from amemlib.equivalents.smoothed_sign import SCORE_STEP, expected_softplus
from amemlib.problem import Problem, check_tensor, seen_frequencies

_LAW_BIN_WIDTH = 0.02
_LAW_STEP = 0.01
_LAW_SMOOTHING = 1e-4
_NOISE_STEPS = 20


@dataclass(frozen=True, eq=False)
class SpectralLaw:
    """Singular values of G = Σ_k q_k u_k v_kᵀ in the limit, and the signal and interactions of f(G) for any odd f.

    Everything is read off M(μ) of the fixed point at μ = 0⁺ − i s: with M = M(−i s),

        density of the singular values   ρ(s) = (2/π) Re M,
        signal of an item of weight q    E u_iᵀ f(G) v_i = (2/π) ∫ f(s) Im[q M² / (1 + q² M²)] ds,
        its interactions with rare items   d E (u_jᵀ f(G) v_i)² = (2/π) ∫ f(s)² Re[M / (1 + q² M²)] ds.

    Derived in the appendix "The spectrum, and maps of it"; with f = h_λ they are the formulas of `SpectralEquivalent`.
    singular_values: (n,) increasing, in the units of q. resolvent: (n,) complex, M(0⁺ − i s).
    A law, not a sample: it has no fluctuations, and items that stand alone (the head) are bumps of width q / √d.
    """

    singular_values: np.ndarray
    resolvent: NDArray[np.complex128]

    @classmethod
    def power_law(cls, alpha: float, scale: float = 1.0) -> "SpectralLaw":
        """The closed form for p_i ∝ i^{−α}, N = ∞, d → ∞, in units of t₀ = `scale` (`theory.bulk_scale`).

        M = y^α / t₀ on the curve y = r e^{iθ}, 0 < θ < π/2α, r = cos αθ / cos (α − 1)θ, where
        s / t₀ = r^{−α} sin θ / cos (α − 1)θ. Its head has no end: moments of order 1/α and more are infinite.
        """
        scale = check_positive("scale", scale)
        angle = np.geomspace(1e-6, 1, 4000)
        # equal steps in log θ towards s = 0, in log (π/2α − θ) towards s = ∞
        alpha = check_alpha(alpha)
        theta = math.pi / (2 * alpha) * np.concatenate([angle / 2, 1 - angle[-2::-1] / 2])
        # eq-gr-law
        r = np.cos(alpha * theta) / np.cos((alpha - 1) * theta)
        s = r**-alpha * np.sin(theta) / np.cos((alpha - 1) * theta)
        return cls(scale * s, np.asarray((r * np.exp(1j * theta)) ** alpha / scale, complex))

    @classmethod
    def solve(cls, q: Float[Tensor, " N"], dim: int, noise: float = 0.0) -> "SpectralLaw":
        """The law for any frequencies q (N,), zeros allowed, by Newton's method followed down from large s.

        Solved at μ = s (ε − i) with ε = 10⁻⁴, which smooths the density over s ε.
        noise: ‖E‖_F² / d of a Gaussian matrix E that is added to G, in the units of q²; it adds `noise` · M² to y, as
            infinitely many items of vanishing weight would.
        """
        dim, noise = check_count("dim", dim), check_non_negative("noise", noise)
        values, counts = binned(q, BIN_WIDTH)
        v, c = values[values > 0], counts[values > 0]
        # without a head the spectrum ends at the edge of a Gaussian matrix, far above its largest weight
        edge = 2 * math.sqrt(c @ v**2 / dim + noise)
        typical = max(typical_scale(v, c, dim), math.sqrt(noise))
        top, bottom = math.log(3 * max(v[0], edge)), math.log(1e-3 * typical)
        s = np.exp(np.arange(top, bottom, -_LAW_STEP))
        resolvent = np.empty(len(s), complex)
        M = 1 / (s[0] * (_LAW_SMOOTHING - 1j))
        for k, mu in enumerate(s * (_LAW_SMOOTHING - 1j)):
            for _ in range(100):
                x2 = (v * M) ** 2
                excess = mu * M + c @ (x2 / (1 + x2)) / dim + noise * M**2 - 1
                update = M - excess / (mu + 2 * (c @ (v**2 * M / (1 + x2) ** 2)) / dim + 2 * noise * M)
                if update.real <= 0:
                    # Newton has left the half-plane of resolvents; the averaged fixed-point map never does
                    update = (M + 1 / (mu + c @ (v**2 * M / (1 + x2)) / dim + noise * M)) / 2
                converged = abs(update - M) < 1e-10 * abs(M)
                M = update
                if converged:
                    break
            resolvent[k] = M
        return cls(s[::-1], resolvent[::-1])

    @property
    def density(self) -> np.ndarray:
        """ρ(s) at `singular_values`, (n,); its integral is rank(G) / d."""
        return 2 / math.pi * self.resolvent.real  # eq-gr-density

    def share_below(self, s: float | np.ndarray) -> float | np.ndarray:
        """∫₀^s ρ: the share of the d singular values that lie in (0, s]; zeros of a rank-deficient G do not count."""
        s = _check_within("s", s, math.inf)
        steps = np.diff(self.singular_values) * (self.density[1:] + self.density[:-1]) / 2
        # below the grid the density is flat
        cumulative = np.cumsum(np.r_[self.density[0] * self.singular_values[0], steps])
        return np.interp(s, np.r_[0.0, self.singular_values], np.r_[0.0, cumulative])

    def quantile(self, share: float | np.ndarray) -> float | np.ndarray:
        """The s below which a `share` of the non-zero singular values lies (0 ≤ share ≤ 1)."""
        share = _check_within("share", share, 1.0)
        cumulative = np.asarray(self.share_below(self.singular_values))
        return np.interp(share, cumulative / cumulative[-1], self.singular_values)

    def integrate(self, values: np.ndarray) -> float:
        """∫ values dμ over the law μ of the singular values, for values (n,) at `singular_values`."""
        values = check_numbers("values", values)
        if values.shape != self.singular_values.shape:
            raise ValueError(f"values must have shape {self.singular_values.shape}, got {values.shape}")
        return float(self._weights() * self.density @ values)

    def signal(self, f: Callable[[Tensor], Tensor], q: Float[Tensor, " n"]) -> np.ndarray:
        """(n,) mean own logit u_iᵀ f(G) v_i of items of weights q; f as in `spectral.spectral_map`."""
        x = _check_weights(q)[:, None] * self.resolvent
        return 2 / math.pi * (x * self.resolvent / (1 + x**2)).imag @ (self._weights() * self._values(f))

    def interaction(self, f: Callable[[Tensor], Tensor], q: Float[Tensor, " n"]) -> np.ndarray:
        """(n,) variance, times d, of the logits between items of weights q and rare ones; q = 0: among rare ones."""
        x = _check_weights(q)[:, None] * self.resolvent
        return 2 / math.pi * (self.resolvent / (1 + x**2)).real @ (self._weights() * self._values(f) ** 2)

    def _values(self, f: Callable[[Tensor], Tensor]) -> np.ndarray:
        check_function("f", f)
        return f(torch.as_tensor(self.singular_values.copy())).numpy(force=True)

    def _weights(self) -> np.ndarray:
        """Trapezoidal weights of ∫ds over the grid, the flat piece below it given to its first point."""
        s = self.singular_values
        steps = np.diff(s) / 2
        return np.r_[steps, 0] + np.r_[0, steps] + np.r_[s[0], np.zeros(len(s) - 1)]


def expected_map_capacity(
    problem: Problem,
    f: Callable[[Tensor], Tensor],
    frequencies: Float[Tensor, " N"] | None = None,
    law: SpectralLaw | None = None,
) -> float:
    """Expected number of items that one step W = f(G) from W = 0 recovers, for any bounded odd f, nothing fitted.

    f: as in `spectral.spectral_map`, on absolute singular values; |f| about 1 at most where the head is.
    frequencies: the minibatch frequencies that the gradient saw, `None` for the population.
    law: of the singular values, where noise is added to G (`SpectralLaw.solve`); `None` for that of the frequencies.
    The signal and the interactions between a frequent and a rare item are those of `SpectralLaw`; between items i, j
    that are both frequent, with variances v_i, v_j against rare ones and v₀ among rare ones, they are interpolated by
    v_i + v_j − v₀ − (v_i − v₀)(v_j − v₀) / (1 − v₀), which is the formula of `SpectralEquivalent` where f = h_λ, and by
    v_i v_j / v₀ where one of v_i, v_j is below v₀ (an f that falls towards the head, as `best_map` does).
    Slower than `expected_capacity`, which knows "polar" and "smoothed_sign".
    """
    channel = _Channel.solve(problem, f, frequencies, law)
    score = math.sqrt(problem.dim) * channel.signal[:, None] + channel.own[:, None] * GAUSS_HERMITE[0]
    return float(channel.counts @ beating_all(score, channel.rivals, channel.number))


def expected_map_loss(
    problem: Problem, f: Callable[[Tensor], Tensor], lr: float, law: SpectralLaw | None = None
) -> float:
    """Expected loss in nats after one step W = η f(G), η = `lr` > 0, scaled so that ‖f(G)‖_F = √d, nothing fitted.

    Signal and interactions as in `expected_map_capacity`, the mean over logits as in
    `SpectralEquivalent.expected_losses`, whose errors apply.
    """
    lr = check_positive("lr", lr)
    channel = _Channel.solve(problem, f, None, law)
    law, counts = channel.law, channel.counts
    eta = lr / math.sqrt(law.integrate(law._values(f) ** 2) / law.share_below(math.inf))
    noise = np.sqrt(channel.rivals**2 @ channel.number / channel.number.sum())
    g, gauss = GAUSS_HERMITE
    scores = eta * (channel.signal[:, None] + channel.own[:, None] * g / math.sqrt(problem.dim))
    losses, label = np.zeros(len(counts)), np.round(_NOISE_STEPS * np.log(noise))
    for one in np.unique(label):
        group = label == one
        sd = eta / math.sqrt(problem.dim) * (counts[group] @ noise[group] / counts[group].sum())
        grid = np.arange(scores[group].min() - SCORE_STEP, scores[group].max() + 2 * SCORE_STEP, SCORE_STEP)
        losses[group] = np.interp(scores[group], grid, expected_softplus(grid, sd, counts.sum() - 1)) @ gauss
    return float(counts * channel.values @ losses) / math.sqrt(2 * math.pi)


@dataclass(frozen=True, eq=False)
class _Channel:
    """What f(G) makes of the logits of one input, deviations times √d.

    values, counts: (K,) the frequencies and how many items share each. law: of the singular values.
    signal, own: (K,) mean and deviation of the own logit.
    number: (C,) rivals in each class. rivals: (K, C) deviation of a logit with a rival of it.
    """

    values: np.ndarray
    counts: np.ndarray
    law: SpectralLaw
    signal: np.ndarray
    own: np.ndarray
    number: np.ndarray
    rivals: np.ndarray

    @classmethod
    def solve(
        cls, problem: Problem, f: Callable[[Tensor], Tensor], frequencies: Tensor | None, law: SpectralLaw | None
    ) -> "_Channel":
        q = seen_frequencies(problem, frequencies)
        if law is None:
            law = SpectralLaw.solve(q, problem.dim)
        check_instance("law", law, SpectralLaw)
        values, counts = binned(q, _LAW_BIN_WIDTH)
        weights = torch.from_numpy(values)
        signal, variance = law.signal(f, weights), law.interaction(f, weights)
        rare = law.interaction(f, torch.zeros(1, dtype=torch.float64))[0]
        excess = variance - rare
        # of a map that fills every direction (polar) the excess is rounding error
        overlap = 1 / (1 - rare) if rare < 0.999 else 0.0
        label = np.round((NOISE_CLASSES - 1) * (excess - excess.min()) / max(np.ptp(excess), 1e-9)).astype(int)
        number, others = class_means(label, counts, excess)
        own = excess[:, None]
        mixed = rare + own + others - overlap * own * others
        quiet = ((own < 0) | (others < 0)) & (rare > 0)
        np.divide((rare + own) * (rare + others), rare, out=mixed, where=quiet)
        own, rivals = np.sqrt(np.maximum(variance, 0)), np.sqrt(np.maximum(mixed, 1e-12))
        return cls(values, counts, law, signal, own, number, rivals)


def _check_within(name: str, values, most: float) -> np.ndarray:
    """`values` as an array of float64; raise `ValueError` unless all of them lie in [0, `most`]."""
    array = check_numbers(name, values)
    if not ((array >= 0) & (array <= most)).all():
        raise ValueError(f"{name} must lie in [0, {most:g}], got {shown(values)}")
    return array


def _check_weights(q: Tensor) -> np.ndarray:
    check_tensor("q", q, ("n",))
    return q.double().numpy(force=True)
