"""The paper's statements as functions of α, d, B and t: exponents and scales, nothing measured and nothing fitted.

Every number here is the value of a formula; the theorem numbers are those of the paper version named in `PAPER`.
Exponents leave out powers of log d, as the paper does.
"""

import math

import numpy as np
from scipy.special import zeta as hurwitz_zeta

PAPER = "arXiv:2603.26554v1"
"""The version whose numbering of theorems, lemmas, equations and figures this project follows."""

SIGNAL_CURVATURE_BOUND = 4 / math.pi
"""C in |φ_i″(t)| ≤ C (‖u_i‖ ‖v_i‖)³ / λ² for every t and every G (Lemma 13 with its constant, derived here)."""


def check_alpha(alpha: float, above: float = 0.5) -> float:
    """Return `alpha` as a float; raise `ValueError` unless it is finite and larger than `above`."""
    try:
        value = float(alpha)
    except (TypeError, ValueError):
        raise TypeError(f"alpha must be a real number, got {alpha!r}") from None
    if not (math.isfinite(value) and value > above):
        raise ValueError(f"alpha must be a finite number > {above:g}, got {alpha!r}")
    return value


def check_count(name: str, value: int, least: int = 1) -> int:
    """Return `value` as an int; raise `TypeError` or `ValueError` unless it is a whole number ≥ `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
    return int(value)


def check_positive(name: str, value: float) -> float:
    """Return `value` as a float; raise `ValueError` unless it is finite and > 0."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be finite and > 0, got {value!r}")
    return float(value)


def check_non_negative(name: str, value: float) -> float:
    """Return `value` as a float; raise `ValueError` unless it is finite and ≥ 0."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and ≥ 0, got {value!r}")
    return float(value)


def recovery_exponent(method: str, alpha: float, steps: int = 1) -> float:
    """Exponent κ in "the method recovers d^κ items after `steps` population steps".

    Muon: κ_t = 2 − (1 − 1/2α)^t, so 1 + 1/2α at t = 1 (Theorem 3, Theorem 9).
    SGD: κ grows by 1/2α a step up to 1, then by Muon's recursion κ ← (1 − 1/2α) κ + 1/α (Theorem 5, Theorem 10).
    Newton: 1 + 1/2α at t = 1, for α > 1 (derived in this project; not a theorem of the paper's pinned version).

    For `steps` > 1 the theorems speak of the thresholded iterates of Eq. (7); for the true iterates this is the
    Conjecture. Raises `ValueError` for an unknown method, for α outside its range, and where there is no prediction.
    """
    steps = check_count("steps", steps)
    if method == "muon":
        return 2 - (1 - 1 / (2 * check_alpha(alpha))) ** steps
    if method == "sgd":
        alpha = check_alpha(alpha)
        kappa = 0.0
        for _ in range(steps):
            kappa = kappa + 1 / (2 * alpha) if kappa <= 1 else (1 - 1 / (2 * alpha)) * kappa + 1 / alpha
        return kappa
    if method == "newton":
        alpha = check_alpha(alpha, above=1.0)
        if steps > 1:
            raise ValueError(
                f"steps must be 1 for method 'newton', got {steps}: no prediction is known beyond one step"
            )
        return 1 + 1 / (2 * alpha)
    raise ValueError(f"method must be one of 'sgd', 'muon', 'newton', got {method!r}")


def critical_batch_exponent(method: str, alpha: float) -> float:
    """Exponent of the batch size B* ≍ d^β beyond which one step gains nothing (Theorems 3 and 5).

    Muon: β = α + 1/2. SGD: β = 1/2. It is α times `recovery_exponent`: the batch whose B^{1/α} items are the capacity.
    Raises `ValueError` for an unknown method or α ≤ 1 (below it B^{1/α} does not count the observed items).
    """
    if method not in ("sgd", "muon"):
        raise ValueError(f"method must be one of 'sgd', 'muon', got {method!r}")
    return check_alpha(alpha, above=1.0) * recovery_exponent(method, alpha)


def observed_exponent(alpha: float) -> float:
    """Exponent of B in the number of distinct items that a batch shows, B^{1/α} (Theorems 3 and 5); needs α > 1."""
    return 1 / check_alpha(alpha, above=1.0)


def observed_items(alpha: float, n_items: int, batch_size: float) -> float:
    """Γ(1 − 1/α) (B / ζ_N(α))^{1/α}: distinct items in a batch of B to leading order, for 1 ≪ B ≪ N^α (Karlin, 1967).

    Needs α > 1. The exact expectation for any frequencies is `equivalents.expected_distinct_items`.
    """
    exponent = observed_exponent(alpha)
    return math.gamma(1 - exponent) * (batch_size / power_law_sum(alpha, n_items)) ** exponent


def power_law_sum(alpha: float, n_items: int) -> float:
    """ζ_N(α) = Σ_{i ≤ N} i^{−α}, the normalisation of the power law; for any real α, to rounding error."""
    n_items = check_count("n_items", n_items)
    if alpha > 1:
        return float(hurwitz_zeta(alpha, 1) - hurwitz_zeta(alpha, n_items + 1))
    return float(np.sum(np.arange(1, n_items + 1, dtype=np.float64) ** -alpha))


def bulk_scale(alpha: float, n_items: int, dim: int) -> float:
    """t₀ = ζ_N(α)^{−1} (c′_α / d)^α with c′_α = (π/2α) / sin(π/2α): the scale of the bulk singular values of G.

    λ is always quoted in units of t₀ ≍ d^{−α}; the median singular value is 1.16, 1.36, 1.90 t₀ for α = 1.25, 1.5, 2
    (exact law: chapter "The gradient at initialisation"). Units: those of G's singular values with p normalised.
    """
    alpha = check_alpha(alpha)
    x = math.pi / (2 * alpha)
    return (x / math.sin(x) / check_count("dim", dim)) ** alpha / power_law_sum(alpha, n_items)


def information_limit(dim: int) -> int:
    """d²: the number of parameters, the order of the largest capacity any W can have (up to logarithms)."""
    return check_count("dim", dim) ** 2
