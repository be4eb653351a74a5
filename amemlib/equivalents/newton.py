"""One Newton step from W = 0: leverages, noise and the count, for any frequencies and any N."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count
from amemlib.equivalents.fixed_point import BIN_WIDTH, binned, solve_leverages
from amemlib.equivalents.winning import InputSpread, classes, winning_probabilities


@dataclass(frozen=True, eq=False)
class NewtonEquivalent:
    """Signal and interactions of W = Σ_u⁻¹ G₀ Σ_v⁻¹ / d (`optim.newton_step` over d) for every distinct frequency.

    values, counts: (K,) the frequencies and how many items share each.
    leverage: (K,) ℓ = q τ / (1 + q τ), the share of an item's own weight in the fit, and its signal E u_iᵀ W v_i.
        Σ_i ℓ_i = d fixes τ ≈ v_iᵀ Σ_{v,−i}⁻¹ v_i; with d items or fewer all that are seen have ℓ = 1.
    overlap: S = (1/d) Σ_i ℓ_i², the share of the fit's weight that is on the own item.
    whitening: 1 − d/N, what Σ_u⁻¹ leaves of the overlaps between different outputs; 0 if N ≤ d.
    The chapter "Newton's method" derives all of it by leaving items out; it is confirmed, not proved.
    """

    values: np.ndarray
    counts: np.ndarray
    dim: int
    leverage: np.ndarray
    overlap: float
    whitening: float

    @classmethod
    def solve(cls, q: Float[Tensor, " N"], dim: int) -> "NewtonEquivalent":
        """Solve Σ_i q_i τ / (1 + q_i τ) = d for frequencies q (N,), any non-negative weights."""
        dim = check_count("dim", dim)
        values, counts = binned(q, BIN_WIDTH)
        seen = values > 0
        leverage = seen.astype(float)
        if counts[seen].sum() > dim:
            log_tau = solve_leverages(np.log(values[seen]), counts[seen], dim)
            leverage[seen] = 1 / (1 + np.exp(-np.log(values[seen]) - log_tau))
        overlap = float(counts @ leverage**2 / dim)
        return cls(values, counts, dim, leverage, overlap, max(0.0, 1 - dim / counts.sum()))

    def interaction(self, rival_leverage: np.ndarray) -> np.ndarray:
        """(K, n) d · E (u_jᵀ W v_i)² = (1 − d/N) (ℓ_i² + S (1 − ℓ_i)²/(1 − S)) + ℓ_j² (1 − ℓ_i)²/(1 − S)."""
        rest = self._rest()
        # eq-ne-noise
        shared = self.whitening * (self.leverage**2 + self.overlap * rest)
        return shared[:, None] + np.square(rival_leverage) * rest[:, None]

    def spread(self) -> InputSpread:
        """What the logits of one input have in common, from the moments m_k = (1/d) tr Σ_v^{−k} of the fixed point.

        With y_j = q_j Σ_v⁻¹ v_j and B = Σ_j y_j y_jᵀ the interactions of a rare v with rare rivals have the variance
        vᵀ C v / d, and (1/d) tr C² = (1/d) tr B² + (1 − d/N) ((1/d) tr B)²: a Wishart matrix on top of B.
        """
        leverage, overlap, free = self.leverage, self.overlap, 1 - self.overlap
        own_noise = self.whitening * overlap * self._rest()
        lengths = 2 * self.whitening * leverage**2
        if not ((leverage > 0) & (leverage < 1)).any():
            zero = np.zeros(len(leverage))
            return InputSpread(0.0, own_noise, zero, lengths, zero, zero)
        tau, square, cube, fourth = self._moments()
        powers = [self.counts @ leverage**k / self.dim for k in (2, 3, 4)]
        # eq-ne-overlaps: y_jᵀ B y_j without its own term, by leaving both items out
        joint = fourth * powers[0] - 2 * cube * square / tau * (leverage * powers[0] + powers[1])
        joint += square**3 / tau**2 * (leverage**2 * powers[0] + 2 * leverage * powers[1] + powers[2])
        own = leverage**4 / free**2 + leverage**2 / tau**4 * joint
        mean = overlap / free
        # eq-ne-spread
        energy = self.counts @ own / self.dim + self.whitening * mean**2
        variance = 2 / self.dim * energy / mean**2
        # eq-ne-gain: with δτ/τ of an item's own leverage, and what is left of that
        shared = 2 / self.dim * (powers[0] * cube - powers[1] * square**2 / tau) / tau**3 / mean
        left = 2 / self.dim / free - shared**2 / variance
        # eq-ne-rivals
        # rival j has the logit ⟨y_j + w, v⟩ with w = W_{−j}ᵀ u_j, and W (y_j + w) overlaps with ‖y_j‖² u_j twice
        rival = leverage**2 / free + self.whitening * mean
        gain = (own + 2 * self.whitening * mean * leverage**2 / free + self.whitening * energy) * mean / energy / rival
        return InputSpread(
            float(variance),
            own_noise,
            signal_gain=shared / variance * (1 - leverage),
            private=lengths + self.dim * (leverage * (1 - leverage)) ** 2 * max(left, 0),
            rival_gain=gain,
            fading=overlap * self._rest() / (leverage**2 + overlap * self._rest()),
        )

    def recovery_probabilities(self) -> np.ndarray:
        """(K,) probability that an item of each frequency beats all its rivals: `winning_probabilities`."""
        label, rivals = classes(self.leverage, self.counts)
        score = math.sqrt(self.dim) * self.leverage
        return winning_probabilities(score, self.spread(), self.interaction(rivals), label, self.counts)

    def _rest(self) -> np.ndarray:
        """(K,) (1 − ℓ_i)² / (1 − S): what an item's input gets of every other item's weight; 0 for a perfect fit."""
        rest = (1 - self.leverage) ** 2
        # as many items as dimensions leave nothing: what another item's input gets has no bound
        free = np.maximum(1 - self.overlap, 1e-12)
        return np.where(rest > 1e-12, rest / free, 0.0)

    def _moments(self) -> tuple[float, float, float, float]:
        """(1/d) tr Σ_v^{−k}, k = 1 … 4: derivatives at z = 0 of m(z) with (1/d) Σ q m / (1 + q m) = 1 + z m."""
        at = int(np.abs(self.leverage - 0.5).argmin())
        tau = self.leverage[at] / (1 - self.leverage[at]) / self.values[at]
        seen = self.values > 0
        v, c = self.values[seen], self.counts[seen] / self.dim
        first, second, third = (sign * (c @ (v**k / (1 + v * tau) ** (k + 1))) for k, sign in ((1, 1), (2, -2), (3, 6)))
        m1 = tau / first
        m2 = (2 * m1 - second * m1**2) / first
        m3 = (3 * m2 - third * m1**3 - 3 * second * m1 * m2) / first
        return tau, m1, m2 / 2, m3 / 6
