"""Sharp predictions with nothing fitted: deterministic equivalents of one step from W = 0, for any frequencies.

Derived by leave-one-out and free-probability arguments and confirmed by simulation, not rigorous. The central object is
M(μ) = lim (1/d) tr μ (G Gᵀ + μ²)^{-1}, the fixed point of

    μ M = 1 − y,   y(M) = (1/d) Σ_k q_k² M² / (1 + q_k² M²).

Frequencies that differ by less than one per cent share a bin, so a million items cost a few thousand bins.
"""

from amemlib.equivalents.capacity import expected_capacity, expected_distinct_items
from amemlib.equivalents.law import SpectralLaw, expected_map_capacity
from amemlib.equivalents.sgd import sgd_capacity_constant, sgd_limit_probability, sgd_recovery_probabilities
from amemlib.equivalents.smoothed_sign import SpectralEquivalent, interaction_variances

__all__ = [
    "SpectralEquivalent",
    "SpectralLaw",
    "expected_capacity",
    "expected_distinct_items",
    "expected_map_capacity",
    "interaction_variances",
    "sgd_capacity_constant",
    "sgd_limit_probability",
    "sgd_recovery_probabilities",
]
