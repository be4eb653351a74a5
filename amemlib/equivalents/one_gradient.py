"""What one gradient holds given its inputs: the matched filter, the ceiling of a matrix, the limit of any function."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import chndtr, chndtrix, gammaincinv, ndtr
from torch import Tensor

from amemlib.checks import check_count
from amemlib.equivalents.fixed_point import BIN_WIDTH, GAUSS_HERMITE, beating_all, binned, class_means, solve_leverages
from amemlib.equivalents.leading_order import typical_maximum
from amemlib.equivalents.winning import classes
from amemlib.problem import Problem, seen_frequencies

_LENGTHS = np.polynomial.hermite_e.hermegauss(12)
_SCORES = 160
_SANKARAN_DIM = 128
"""From here on Sankaran's approximation changes a limit by less than 2 in 10⁴, and takes a hundredth of the time."""


@dataclass(frozen=True, eq=False)
class MatchedFilterEquivalent:
    """Given the uncentred gradient and the inputs, q_i W* v_i = √ℓ_i × (√ℓ_i u_i + √(1 − ℓ_i) ξ_i), ξ_i ~ N(0, I/d).

    values, counts: (K,) the frequencies and how many items share each.
    leverage: (K,) ℓ = q² τ / (1 + q² τ), the diagonal of a projection of rank d, so that Σ_i ℓ_i = d fixes τ; with d
        items or fewer all that are seen have ℓ = 1. q² τ is the signal-to-noise ratio of a channel used d times.
    overlap: S = (1/d) Σ_i ℓ_i².
    Exact in law for given inputs; what is approximate is ℓ_i, which scatters little about its mean, and the rivals'
    part in ξ_i, taken as Gaussian (chapter "The limit of one gradient").
    """

    values: np.ndarray
    counts: np.ndarray
    dim: int
    leverage: np.ndarray
    overlap: float

    @classmethod
    def solve(cls, q: Float[Tensor, " N"], dim: int) -> "MatchedFilterEquivalent":
        """Solve Σ_i q_i² τ / (1 + q_i² τ) = d for frequencies q (N,), any non-negative weights."""
        dim = check_count("dim", dim)
        values, counts = binned(q, BIN_WIDTH)
        seen = values > 0
        leverage = seen.astype(float)
        if counts[seen].sum() > dim:
            log_weights = 2 * np.log(values[seen])
            log_tau = solve_leverages(log_weights, counts[seen], dim)
            leverage[seen] = 1 / (1 + np.exp(-log_weights - log_tau))
        return cls(values, counts, dim, leverage, float(counts @ leverage**2 / dim))

    def recovery_probabilities(self, siblings: float = math.inf) -> np.ndarray:
        """(K,) probability that W* recovers an item of each frequency, E_g Π_{j≠i} Φ(s_i / √(1 + ψ_ij)).

        s_i = √ℓ_i χ_d + √(1 − ℓ_i) g is the own logit; a rival of leverage ℓ_j is louder than a fresh codeword, by
        ψ_ij = (1 − ℓ_i) ℓ_j (1 − ℓ_j) / (1 − S).
        siblings: r ≥ 2, for one of the r matrices of `whitening.siblings` instead of W*. With κ = 1 − 1/r − 1/dr, the
            square of its cosine with W*, the signal is √κ of W*'s and a rival's variance 1 + κ ψ_ij − (1 − κ) ℓ_j.
        """
        share = 1 - (1 + 1 / self.dim) / siblings
        label, rivals = classes(self.leverage, self.counts)
        number, loud = class_means(label, self.counts, self.leverage * (1 - self.leverage))
        excess = np.outer(1 - self.leverage, loud) / max(1 - self.overlap, 1e-12)
        return self._chances(np.sqrt(1 + share * excess - (1 - share) * rivals), number, share)

    def matrix_limit(self) -> np.ndarray:
        """(K,) the same against N − 1 fresh codewords, ψ = 0, for matrices made of one gradient and its inputs.

        The limit's value at these sizes, no certificate at a finite d; two-sided whitening, which sees the outputs'
        second moment, exceeds it.
        """
        return self._chances(np.ones((len(self.values), 1)), self.counts.sum(keepdims=True))

    def limit(self) -> np.ndarray:
        """(K,) probability that maximum likelihood finds u_i among itself and N − 1 fresh codewords.

        y = u + z with z ~ N(0, I/(d q² τ)) is seen: E (1 − F)^{N−1}, F = P(‖y − u′‖² ≤ ‖z‖²), a noncentral χ².
        """
        rivals = self.counts.sum() - 1
        # the information of a channel is t²/2 nats; below 0.1 nothing, beyond the last everything is found
        t = np.linspace(0.1, typical_maximum(int(rivals) + 1) + 10, _SCORES)
        noise = np.exp(-(t**2) / self.dim)
        nodes, weights = _LENGTHS
        length = 2 * gammaincinv(self.dim / 2, ndtr(nodes))[:, None]
        g, gauss = GAUSS_HERMITE
        chances = np.empty(len(t))
        for k, rest in enumerate(noise):
            seen = length / -math.expm1(-(t[k] ** 2) / self.dim)
            closer = _squared_length_cdf(rest * _squared_length(g, self.dim, seen * rest), self.dim, seen)
            log_each = np.log1p(-np.clip(closer, 0, 1 - 1e-12))
            chances[k] = weights @ np.exp(rivals * log_each) @ gauss / (2 * math.pi)
        with np.errstate(divide="ignore"):
            at = np.sqrt(-self.dim * np.log1p(-self.leverage))
        return np.interp(at, np.r_[0, t], np.r_[1 / (rivals + 1), chances], right=1.0)

    def _chances(self, deviation: np.ndarray, number: np.ndarray, share: float = 1.0) -> np.ndarray:
        """E_g Π Φ(s_i / deviation) over classes of rivals, `number` in each, the item itself left out."""
        # χ_d is √d (1 − 1/4d) on average, and its variance 1/2
        score = np.sqrt(self.dim * share * self.leverage) * (1 - 0.25 / self.dim)
        score = score[:, None] + np.sqrt(1 - self.leverage / 2)[:, None] * GAUSS_HERMITE[0]
        return beating_all(score, deviation, number)


def capacity_limit(problem: Problem, frequencies: Float[Tensor, " N"] | None = None) -> float:
    """Expected number of items that any function of one gradient and its inputs can recover, the sharp form.

    Σ_i P(maximum likelihood finds u_i among N codewords, seen through a Gaussian channel used d times of the
    signal-to-noise ratio q_i² τ): `MatchedFilterEquivalent.limit`. About c d (d / 2 log N)^{1/2α} for a power law,
    c = sin(π/2α) / (π/2α).
    frequencies: the minibatch frequencies q that the gradient saw, (N,); `None` for the population.
    It is the limit's value at these sizes. For a power law it is proved as d → ∞ in the chapter "The limit of one
    gradient", from above for every rule and, for N ≥ d^{1+α/2}, from below for the matched filter; no certificate at a
    finite d, which is the theorem "One gradient and its inputs" there. It does not hold for maps that see the outputs,
    nor for gradients at W ≠ 0.
    """
    equivalent = _solve(problem, frequencies)
    return float(equivalent.counts @ equivalent.limit())


def matrix_capacity_limit(problem: Problem, frequencies: Float[Tensor, " N"] | None = None) -> float:
    """The same for a matrix W, which cannot use the lengths of the candidates: Σ_i E Φ(√ℓ_i χ_d + √(1 − ℓ_i) g)^{N−1}.

    `matched_filter` stays below it by what frequent rivals disturb, a constant factor if N < d^{1+α/2}. Arguments and
    limits of `capacity_limit`.
    """
    equivalent = _solve(problem, frequencies)
    return float(equivalent.counts @ equivalent.matrix_limit())


def expected_siblings_capacity(
    problem: Problem, siblings: int, frequencies: Float[Tensor, " N"] | None = None
) -> float:
    """Expected number of items that one of r = `siblings` ≥ 2 matrices of `whitening.siblings` recovers.

    The matrices read the same inputs with the same weights and have independent outputs; nothing is fitted. About
    (1 − 1/r)^{1/2α} of what `matched_filter` recovers for a power law. Arguments as of `capacity_limit`.
    """
    equivalent, siblings = _solve(problem, frequencies), check_count("siblings", siblings, least=2)
    return float(equivalent.counts @ equivalent.recovery_probabilities(siblings))


def _squared_length(g: np.ndarray, dim: int, centre: np.ndarray) -> np.ndarray:
    """‖a + z‖² with ‖a‖² = `centre` and z ~ N(0, I_d), at the standard normal deviates g."""
    if dim < _SANKARAN_DIM:
        # beyond seven deviations the chance rounds to 1
        return chndtrix(ndtr(np.clip(g, -7, 7)), dim, centre)
    power, mean, sd = _sankaran(dim, centre)
    return (dim + centre) * (mean + sd * g) ** (1 / power)


def _squared_length_cdf(x: np.ndarray, dim: int, centre: np.ndarray) -> np.ndarray:
    if dim < _SANKARAN_DIM:
        return chndtr(x, dim, centre)
    power, mean, sd = _sankaran(dim, centre)
    return ndtr(((x / (dim + centre)) ** power - mean) / sd)


def _sankaran(dim: int, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """h, μ, σ such that (χ′²_d(λ) / (d + λ))^h is nearly N(μ, σ²) (Sankaran, Biometrika 50, 1963)."""
    total = dim + centre
    power = 1 - 2 / 3 * total * (total + 2 * centre) / (total + centre) ** 2
    spread = (total + centre) / total**2
    skew = (power - 1) * (1 - 3 * power)
    mean = 1 + power * spread * (power - 1 - (2 - power) * skew * spread / 2)
    return power, mean, power * np.sqrt(2 * spread) * (1 + skew * spread / 2)


def _solve(problem: Problem, frequencies: Tensor | None) -> MatchedFilterEquivalent:
    return MatchedFilterEquivalent.solve(seen_frequencies(problem, frequencies), problem.dim)
