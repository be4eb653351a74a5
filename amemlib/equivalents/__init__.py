"""Sharp predictions with nothing fitted: deterministic equivalents of one step from W = 0, for any frequencies.

Derived by leave-one-out and free-probability arguments and confirmed by simulation, not rigorous. The central object is
M(μ) = lim (1/d) tr μ (G Gᵀ + μ²)^{-1}, the fixed point of

    μ M = 1 − y,   y(M) = (1/d) Σ_k q_k² M² / (1 + q_k² M²).

Frequencies that differ by less than one per cent share a bin, so a million items cost a few thousand bins.
"""

from amemlib.equivalents.best_map import best_map, best_monotone_map, best_smoothing, tail_snr
from amemlib.equivalents.capacity import expected_capacity, expected_distinct_items
from amemlib.equivalents.covariance import (
    CovarianceEquivalent,
    effective_dimension,
    expected_covariance_capacity,
    expected_table_capacity,
)
from amemlib.equivalents.law import SpectralLaw, expected_map_capacity
from amemlib.equivalents.leading_order import (
    SMALLEST_MEDIAN,
    capacity_constant,
    inverse_sum_limit,
    rare_item_snr,
    typical_absolute_maximum,
    typical_maximum,
    typical_maximum_expansion,
)
from amemlib.equivalents.mean_field import MeanFieldIterates, mean_field_iterates
from amemlib.equivalents.newton import NewtonEquivalent
from amemlib.equivalents.sgd import sgd_capacity_constant, sgd_limit_probability, sgd_recovery_probabilities
from amemlib.equivalents.smoothed_sign import PredictedVariances, SpectralEquivalent, interaction_variances
from amemlib.equivalents.thresholded import (
    ManyStepEquivalent,
    evenly_spread_sgd_capacity,
    half_recovered_schedule,
    half_recovered_thresholds,
    sgd_weights,
    thresholded_weights,
    weighted_sgd_capacity,
)

__all__ = [
    "CovarianceEquivalent",
    "ManyStepEquivalent",
    "MeanFieldIterates",
    "NewtonEquivalent",
    "PredictedVariances",
    "SMALLEST_MEDIAN",
    "SpectralEquivalent",
    "SpectralLaw",
    "effective_dimension",
    "evenly_spread_sgd_capacity",
    "best_map",
    "best_monotone_map",
    "best_smoothing",
    "capacity_constant",
    "expected_capacity",
    "expected_covariance_capacity",
    "expected_distinct_items",
    "expected_map_capacity",
    "expected_table_capacity",
    "half_recovered_schedule",
    "half_recovered_thresholds",
    "interaction_variances",
    "inverse_sum_limit",
    "mean_field_iterates",
    "rare_item_snr",
    "sgd_capacity_constant",
    "sgd_limit_probability",
    "sgd_recovery_probabilities",
    "sgd_weights",
    "thresholded_weights",
    "weighted_sgd_capacity",
    "tail_snr",
    "typical_absolute_maximum",
    "typical_maximum",
    "typical_maximum_expansion",
]
