"""Closed forms for power laws to leading order in d: the constants of the capacities (α, N), and what a maximum is."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from amemlib.checks import check_alpha, check_choice, check_count, check_non_negative

SMALLEST_MEDIAN = math.sqrt(1 + 2 * math.log(2)) - 1
"""Median of d s_min / t₀: its law is that of √d s_min of a real Gaussian d × d matrix, 1 − exp(−x²/2 − x) (Edelman)."""

_LEAST_Y = 1e-12


def typical_maximum(n: int) -> float:
    """b_n = Φ⁻¹(2^{−1/n}): the median of the largest of n independent standard normals, about √(2 log n)."""
    return -float(ndtri(-math.expm1(-math.log(2) / check_count("n", n))))


def typical_maximum_expansion(n: int) -> float:
    """b − (ln ln n + ln 4π + 2 ln ln 2) / 2b with b = √(2 ln n): `typical_maximum` up to O((ln ln n)² / b³), n ≥ 3."""
    log_n = math.log(check_count("n", n, least=3))
    b = math.sqrt(2 * log_n)
    return b - (math.log(log_n) + math.log(4 * math.pi) + 2 * math.log(math.log(2))) / (2 * b)


def rare_item_snr(spectral_map: str, alpha: float, lam_over_t0: float = 0.0) -> float:
    """Signal slope of a rare item over the standard deviation of its interactions with rare rivals, times t₀.

    polar: 4 / (π (α + 1)). smoothed_sign: (2/π) ∫₀^∞ y(√(λ² + s²))^{2α} ds / √y(λ) with μ/t₀ = (1 − y) y^{−α}.
    newton: cos(π/2α)^α / √(α − 1), for α > 1. matched_filter: 1, which no matrix exceeds that does not see the outputs,
    so that every other number is a cosine with it. An item of frequency p stands √d p × this / t₀ deviations high.
    Raises `ValueError` for an unknown map, an α outside its range, or a λ ≠ 0 for a map without one.
    """
    check_choice("spectral_map", spectral_map, ("polar", "smoothed_sign", "newton", "matched_filter"))
    lam = check_non_negative("lam_over_t0", lam_over_t0)
    if lam and spectral_map != "smoothed_sign":
        raise ValueError(f"lam_over_t0 must be 0 for {spectral_map!r}, which has no λ, got {lam_over_t0!r}")
    if spectral_map == "newton":
        alpha = check_alpha(alpha, above=1.0)
        return math.cos(math.pi / (2 * alpha)) ** alpha / math.sqrt(alpha - 1)  # eq-ne-snr
    alpha = check_alpha(alpha)
    if spectral_map == "matched_filter":
        return 1.0
    if lam == 0:
        return 4 / (math.pi * (alpha + 1))
    # y(μ) is looked for above 10⁻¹²
    if not 1e-100 < lam or not math.log(1e4 * (lam + 1)) + 1 < -math.log(_LEAST_Y) * alpha < 700:
        allowed = "above 1e-100 and about 1e-4 * 1e12^alpha at most, for alpha up to 25"
        raise ValueError(f"lam_over_t0 must be 0, or {allowed}, got {lam_over_t0!r} for alpha = {alpha!r}")
    occupied = lambda mu: brentq(lambda y: (1 - y) * y**-alpha - mu, _LEAST_Y, 1.0)
    log_s = np.arange(math.log(1e-4 * lam), math.log(1e4 * (lam + 1)), 0.05)
    slope = sum(math.exp(t) * occupied(math.hypot(lam, math.exp(t))) ** (2 * alpha) for t in log_s) * 0.05
    return 2 / math.pi * slope / math.sqrt(occupied(lam))  # eq-sh-snr


def capacity_constant(spectral_map: str, n_items: int, alpha: float, lam_over_t0: float = 0.0) -> float:
    """c in c d^{1+1/2α}, the capacity of one step to leading order in d: (SNR / b_N)^{1/α} / c′_α.

    spectral_map, alpha, lam_over_t0 as in `rare_item_snr`; b_N is `typical_maximum`.
    The maximum is taken over rare rivals. That is all for the polar map; for h_λ and Newton frequent rivals interact
    more strongly, and the constant is for so large an N that there are enough rare ones to outbid them (chapters
    "Sharp constants", "Newton's method"). `expected_capacity` has no such limit.
    """
    check_count("n_items", n_items, least=2)
    x = math.pi / (2 * check_alpha(alpha))
    # eq-sh-constant
    return math.sin(x) / x * (rare_item_snr(spectral_map, alpha, lam_over_t0) / typical_maximum(n_items)) ** (1 / alpha)
