"""Bounds of Appendix C with their constants: what sums of weighted Gaussians exceed rarely (Lemmas 33 and 34)."""

import math

import numpy as np
from scipy.special import log_ndtr

from amemlib.checks import check_count, check_non_negative, check_positive


def weighted_norm_bound(norm: float, largest: float, dim: int, t: float) -> float:
    """What ‖Σ x_k² v_k v_kᵀ‖ exceeds with probability e^{−t} at most: (‖x‖₂/√d + (1 + √(2t/d)) ‖x‖_∞)² (Lemma 33).

    norm, largest: ‖x‖₂ and ‖x‖_∞. The v_k are independent, N(0, I/d).
    Raises `ValueError` or `TypeError` unless norm, largest and t are finite and ≥ 0 and d ≥ 1.
    """
    norm, largest = check_non_negative("norm", norm), check_non_negative("largest", largest)
    dim, t = check_count("dim", dim), check_non_negative("t", t)
    return (norm / math.sqrt(dim) + (1 + math.sqrt(2 * t / dim)) * largest) ** 2


def weighted_frobenius_bound(second: float, fourth: float, largest: float, dim: int, t: float) -> float:
    """The same for ‖Σ x_k² v_k v_kᵀ‖_F: ((‖x‖₂⁴/d + (1 + 1/d) ‖x‖₄⁴)^{1/4} + √(2t/d) ‖x‖_∞)² (Lemma 33).

    second, fourth, largest: Σ x_k², Σ x_k⁴ and ‖x‖_∞.
    Raises `ValueError` or `TypeError` unless these and t are finite and ≥ 0 and d ≥ 1.
    """
    second, fourth = check_non_negative("second", second), check_non_negative("fourth", fourth)
    largest, dim, t = check_non_negative("largest", largest), check_count("dim", dim), check_non_negative("t", t)
    mean = (second**2 / dim + (1 + 1 / dim) * fourth) ** 0.25
    return (mean + math.sqrt(2 * t / dim) * largest) ** 2


def superconcentration_failure(n: float, constant: float) -> float:
    """Pr[max_{k≤n} g_k < √(2 log n) − C log log n / √log n], exact: Φ(x)^n (Lemma 34). C: `constant`.

    Raises `ValueError` for an n that is not finite and > 1, where log log n is, and a C that is not finite and ≥ 0.
    """
    n, constant = check_positive("n", n), check_non_negative("constant", constant)
    if n <= 1:
        raise ValueError(f"n must be > 1, got {n!r}")
    log_n = math.log(n)
    x = math.sqrt(2 * log_n) - constant * math.log(log_n) / math.sqrt(log_n)
    return float(np.exp(n * log_ndtr(x)))
