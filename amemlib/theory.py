"""The paper's statements as functions of α, d, B and t: exponents and scales, nothing measured and nothing fitted.

Every number here is the value of a formula; the theorem numbers are those of the paper version named in `PAPER`.
Exponents leave out powers of log d, as the paper does.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import lambertw
from scipy.special import zeta as hurwitz_zeta

from amemlib.checks import (
    check_alpha,
    check_choice,
    check_count,
    check_non_negative,
    check_numbers,
    check_positive,
    check_real,
    shown,
)

_SUMMED = 2**22
"""The most terms of a power sum that are added one by one."""

PAPER = "arXiv:2603.26554v1"
"""The version whose numbering of theorems, lemmas, equations and figures this project follows."""

SIGNAL_CURVATURE_BOUND = 4 / math.pi
"""C in |φ_i″(t)| ≤ C (‖u_i‖ ‖v_i‖)³ / λ² for every t and every G (Lemma 13 with its constant, derived here)."""


def recovery_exponent(method: str, alpha: float, steps: int = 1) -> float:
    """Exponent κ in "the method recovers d^κ items after `steps` population steps".

    Muon: κ_t = 2 − (1 − 1/2α)^t, so 1 + 1/2α at t = 1 (Theorem 3, Theorem 9).
    SGD: κ grows by 1/2α a step up to 1, then by Muon's recursion κ ← (1 − 1/2α) κ + 1/α (Theorem 5, Theorem 10).
    Newton: 1 + 1/2α at t = 1, for α > 1 (derived in this project; not a theorem of the paper's pinned version).

    For `steps` > 1 the theorems speak of the thresholded iterates of Eq. (7); for the true iterates this is the
    Conjecture. Raises `ValueError` for an unknown method, for α outside its range, and where there is no prediction.
    """
    steps = check_count("steps", steps)
    check_choice("method", method, ("sgd", "muon", "newton"))
    if method == "muon":
        return 2 - (1 - 1 / (2 * check_alpha(alpha))) ** steps
    if method == "sgd":
        kappa = 0.0
        for _ in range(steps):
            kappa = next_exponent("sgd", alpha, kappa)
        return kappa
    alpha = check_alpha(alpha, above=1.0)
    if steps > 1:
        raise ValueError(f"steps must be 1 for method 'newton', got {steps}: no prediction is known beyond one step")
    return 1 + 1 / (2 * alpha)


def next_exponent(method: str, alpha: float, kappa: float) -> float:
    """κ_{t+1} from κ_t on the thresholded gradient of Eq. (7) (Theorems 9 and 10).

    Muon: (1 − 1/2α) κ + 1/α, for κ ≥ 1. SGD: κ + 1/2α as long as κ ≤ 1, then the same. The fixed point is 2.
    Raises `ValueError` for an unknown method, for a κ outside [0, 2], and for Muon at κ < 1, where it never is.
    """
    alpha, kappa = check_alpha(alpha), check_real("kappa", kappa)
    check_choice("method", method, ("sgd", "muon"))
    if not (1 if method == "muon" else 0) <= kappa <= 2:
        raise ValueError(f"kappa must lie in [{1 if method == 'muon' else 0}, 2] for {method!r}, got {kappa!r}")
    return kappa + 1 / (2 * alpha) if method == "sgd" and kappa <= 1 else (1 - 1 / (2 * alpha)) * kappa + 1 / alpha


def recovery_thresholds(
    method: str, dim: int, alpha: float, steps: int, constant: float = 1.0, batch_size: float = math.inf
) -> tuple[int, ...]:
    """d_1, …, d_steps of the thresholded iterates, rounded, at least 1 (Eqs. (61) and (66)).

    With θ = `constant` in place of the paper's power of 1 / log d,

        d_{t+1} = θ min{d_t d^{1/2α}, B^{1/α}} if d_t ≤ d (SGD only), else θ min{d_t^{1 − 1/2α} d^{1/α}, B^{1/α}},

    from d_0 = d for Muon and d_0 = 1 for SGD. The gradient of step 0 is whole all the same: nothing is removed there.
    A finite B needs α > 1. Constants compound: d_t ∝ θ^{2α (1 − (1 − 1/2α)^t)} on Muon's recursion.
    Raises `ValueError` for a B or θ that is not > 0.
    """
    check_choice("method", method, ("sgd", "muon"))
    limit = check_real("batch_size", batch_size)
    if limit != math.inf:
        limit = check_positive("batch_size", batch_size) ** observed_exponent(alpha)
    constant = check_positive("constant", constant)
    alpha, dim = check_alpha(alpha), check_count("dim", dim)
    threshold, thresholds = float(dim) if method == "muon" else 1.0, []
    for _ in range(check_count("steps", steps)):
        gain = dim if method == "sgd" and threshold <= dim else dim**2 / threshold
        threshold = max(constant * min(threshold * gain ** (1 / (2 * alpha)), limit), 1.0)
        thresholds.append(round(threshold))
    return tuple(thresholds)


def muon_smoothing(n_items: int, dim: int, alpha: float, next_threshold: float) -> float:
    """λ_t = p_{d_{t+1}} √d = d_{t+1}^{−α} √d / ζ_N(α), Theorem 9 without its power of log d; absolute, like every λ."""
    return math.sqrt(check_count("dim", dim)) / sgd_learning_rate(n_items, alpha, next_threshold)


def sgd_learning_rate(n_items: int, alpha: float, next_threshold: float) -> float:
    """η_t = 1 / p_{d_{t+1}} = ζ_N(α) d_{t+1}^α: the last item to be gained gets a signal of 1 (Theorem 10).

    Muon with η = √d and λ_t multiplies a small singular value by √d / λ_t, which is this number at its own d_{t+1}.
    """
    return power_law_sum(n_items, alpha) * check_positive("next_threshold", next_threshold) ** check_alpha(alpha)


@dataclass(frozen=True)
class Schedule:
    """T thresholded steps: `thresholds` (d_1, …, d_T), `removed` (0, d_1, …, d_{T−1}), λ_t (∞: no map), η_t in √d."""

    thresholds: tuple[int, ...]
    lams: tuple[float, ...]
    learning_rates: tuple[float, ...]

    @property
    def removed(self) -> tuple[int, ...]:
        """d_t as the gradient of step t has it: nothing is removed at first."""
        return (0, *self.thresholds[:-1])


def muon_schedule(
    n_items: int, dim: int, alpha: float, steps: int, constant: float = 1.0, batch_size: float = math.inf
) -> Schedule:
    """Theorem 9's schedule: `recovery_thresholds` with θ = `constant`, λ_t = `muon_smoothing`, and η = √d, here 1.

    Recovery does not depend on a common η.
    """
    thresholds = recovery_thresholds("muon", dim, alpha, steps, constant, batch_size)
    lams = tuple(muon_smoothing(n_items, dim, alpha, threshold) for threshold in thresholds)
    return Schedule(thresholds, lams, (1.0,) * steps)


def sgd_schedule(
    n_items: int, dim: int, alpha: float, steps: int, constant: float = 1.0, batch_size: float = math.inf
) -> Schedule:
    """Theorem 10's schedule: `recovery_thresholds` with θ = `constant`, η_t = `sgd_learning_rate`, and no map."""
    thresholds = recovery_thresholds("sgd", dim, alpha, steps, constant, batch_size)
    rates = tuple(sgd_learning_rate(n_items, alpha, threshold) for threshold in thresholds)
    return Schedule(thresholds, (math.inf,) * steps, rates)


def critical_batch_exponent(method: str, alpha: float) -> float:
    """Exponent of the batch size B* ≍ d^β beyond which one step gains nothing (Theorems 3 and 5).

    Muon: β = α + 1/2. SGD: β = 1/2. It is α times `recovery_exponent`: the batch whose B^{1/α} items are the capacity.
    Raises `ValueError` for an unknown method or α ≤ 1 (below it B^{1/α} does not count the observed items).
    """
    check_choice("method", method, ("sgd", "muon"))
    return check_alpha(alpha, above=1.0) * recovery_exponent(method, alpha)


def observed_exponent(alpha: float) -> float:
    """Exponent of B in the number of distinct items that a batch shows, B^{1/α} (Theorems 3 and 5); needs α > 1."""
    return 1 / check_alpha(alpha, above=1.0)


def observed_items(n_items: int, alpha: float, batch_size: float) -> float:
    """Γ(1 − 1/α) (B / ζ_N(α))^{1/α}: distinct items in a batch of B to leading order, for 1 ≪ B ≪ N^α (Karlin, 1967).

    Needs α > 1, `ValueError` where that is above N. Exact, for any frequencies: `equivalents.expected_distinct_items`.
    """
    exponent, batch_size = observed_exponent(alpha), check_non_negative("batch_size", batch_size)
    count = math.gamma(1 - exponent) * (batch_size / power_law_sum(n_items, alpha)) ** exponent
    if count > n_items:
        raise ValueError(f"batch_size must be far below N^α = {n_items**alpha:.3g}, got {batch_size:g}")
    return count


def power_law_sum(n_items: int, alpha: float) -> float:
    """ζ_N(α) = Σ_{i ≤ N} i^{−α}, the normalisation of the power law; for any real α, to rounding error."""
    n_items, alpha = check_count("n_items", n_items), check_real("alpha", alpha)
    if alpha > 1:
        return float(hurwitz_zeta(alpha, 1) - hurwitz_zeta(alpha, n_items + 1))
    head = np.sum(np.arange(1, min(n_items, _SUMMED) + 1, dtype=np.float64) ** -alpha)
    return float(head + _power_tail(alpha, _SUMMED, n_items) if n_items > _SUMMED else head)


def _power_tail(alpha: float, first: int, last: int) -> np.float64:
    """Σ i^{−α} for first < i ≤ last by Euler and Maclaurin; what is left out is below α³ first^{−3} of it."""
    ends = np.array([first, last], np.float64)
    terms, octaves = ends**-alpha, math.log(last / first)
    rest = 1 - alpha
    whole = np.float64(first) ** rest * (np.expm1(rest * octaves) / rest if rest else octaves)
    return whole + (terms[1] - terms[0]) / 2 - alpha / 12 * (terms[1] / last - terms[0] / first)


def bulk_scale(n_items: int, dim: int, alpha: float) -> float:
    """t₀ = ζ_N(α)^{−1} (c′_α / d)^α with c′_α = (π/2α) / sin(π/2α): the scale of the bulk singular values of G.

    λ is always quoted in units of t₀ ≍ d^{−α}; the median singular value is 1.16, 1.36, 1.90 t₀ for α = 1.25, 1.5, 2
    (exact law: appendix "The spectrum, and maps of it"). Units: those of G's singular values with p normalised.
    Raises `ValueError` for an α ≤ 1/2.
    """
    alpha = check_alpha(alpha)
    x = math.pi / (2 * alpha)
    return (x / math.sin(x) / check_count("dim", dim)) ** alpha / power_law_sum(n_items, alpha)


def newton_schulz_steps(n_items: int, dim: int, alpha: float, slope: float) -> int:
    """⌈log(2 ‖p‖₂ / t₀) / log slope⌉: how many steps bring one power-law gradient to where polar's capacity is kept.

    slope: p′(0) of the iterated polynomial, 3.4445 for the shipped quintic, 1.5 for the cubic. n steps from G / ‖G‖_F
    have the slope slopeⁿ, are linear below λ = ‖G‖_F / slopeⁿ, and must bring λ to t₀/2; ‖G‖_F ≈ ‖p‖₂. The count is
    then 97 % of polar's or more (chapter "The best map"). Grows like α log d / log slope.
    Raises `ValueError` for a slope ≤ 1, which lifts nothing, and for an α ≤ 1/2.
    """
    if not 1 < check_real("slope", slope) < math.inf:
        raise ValueError(f"slope must be a finite number > 1, got {slope!r}")
    norm = math.sqrt(power_law_sum(n_items, 2 * check_alpha(alpha))) / power_law_sum(n_items, alpha)
    return max(1, math.ceil(math.log(2 * norm / bulk_scale(n_items, dim, alpha)) / math.log(slope)))


def one_gradient_bound(q: np.ndarray, dim: int) -> np.ndarray:
    """(N,) what no map of one gradient and its inputs exceeds in probability of recovering an item, at any d and N.

    W = Ψ(G₀, V) for any Ψ, q ≥ 0 decreasing, independent of the embeddings, q_K > 0. With n = ⌊N/2⌋ and any K < i,
    d + 2 < K < N/2: P(i is recovered) ≤ p where

        p (log np − 1) = d² (q_i² + q_n²) / (q_K² (K − d − 2)),   p ≥ e/n,

    (the theorem "One gradient and its inputs" of "The limit of one gradient: proofs"); here with the best K. Items up
    to d + 3 have the bound 1.
    Its sum is of order d^{1+1/2α} / (log N)^{1/2α} for a power law, and three to seven times what can be reached.
    Raises `ValueError` for q that are not decreasing.
    """
    q, dim = check_numbers("q", q), check_count("dim", dim)
    if q.ndim != 1 or len(q) == 0 or not (np.isfinite(q).all() and (q >= 0).all() and (np.diff(q) <= 0).all()):
        raise ValueError(f"q must be finite, ≥ 0 and decreasing, of shape (N,), got {shown(q)}")
    n_items, half = len(q), len(q) // 2
    bound = np.ones(n_items)
    K = np.arange(dim + 3, (n_items + 1) // 2)
    if len(K):
        with np.errstate(divide="ignore"):
            least = np.minimum.accumulate(1 / (q[K - 1] ** 2 * (K - dim - 2)))
        items = np.arange(K[0] + 1, n_items + 1)
        # the loudest of the rarest half, whoever i is
        loudness = np.nan_to_num(least[np.minimum(items - 1, K[-1]) - K[0]], posinf=1e300)
        kappa = dim**2 * (q[items - 1] ** 2 + q[n_items - half - 1] ** 2) * loudness
        # p = e^{1 + W(nκ/e)} / n with Lambert's W
        bound[items - 1] = np.minimum(np.exp(1 + lambertw(half * np.minimum(kappa, 1e9) / math.e).real) / half, 1)
    return bound


def counting_limit(dim: int, n_items: int) -> int:
    """The m that no memory W reaches, with probability 1 − e^{−d} over random embeddings: N, or the least m < N with

        log m! ≥ d² log(e N³ / d²) + d.

    W ranks the N outputs of each input in at most (e N³ / d²)^{d²} ways in all (cells of an arrangement of hyperplanes
    in d² dimensions), and a fixed ranking agrees with a random pairing in m places with probability at most 1 / m!.
    Of order d², no asymptotics and nothing assumed of how W was found; a crude bound, not a sharp constant.
    """
    parameters, n_items = check_count("dim", dim) ** 2, check_count("n_items", n_items)
    budget = parameters * (1 + math.log(n_items**3 / parameters)) + dim if n_items**3 > parameters else math.inf
    if math.lgamma(n_items + 1) < budget:
        return n_items
    low, high = 1, n_items
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if math.lgamma(middle + 1) >= budget else (middle + 1, high)
    return low
