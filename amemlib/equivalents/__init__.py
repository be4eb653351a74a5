"""Sharp predictions with nothing fitted: deterministic equivalents of one step from W = 0, for any frequencies.

Derived by leave-one-out and free-probability arguments and confirmed by simulation, not rigorous. The central object is
M(μ) = lim (1/d) tr μ (G Gᵀ + μ²)^{-1}, the fixed point of

    μ M = 1 − y,   y(M) = (1/d) Σ_k q_k² M² / (1 + q_k² M²).

Frequencies that differ by less than one per cent share a bin, so a million items cost a few thousand bins.
"""

# ruff: isort: skip_file
# a reader's order, which the reference follows
from amemlib.equivalents.capacity import expected_capacity, expected_prefix, expected_distinct_items
from amemlib.equivalents.smoothed_sign import SpectralEquivalent, interaction_variances
from amemlib.equivalents.newton import NewtonEquivalent
from amemlib.equivalents.one_gradient import (
    capacity_limit,
    matrix_capacity_limit,
    expected_siblings_capacity,
    MatchedFilterEquivalent,
)
from amemlib.equivalents.whitened import (
    expected_whitened_capacity,
    whitened_recovery_probabilities,
    Whitener,
    balanced_whitener,
    KFAC,
    MATCHED,
    MATCHED_AND_NEWTON,
)
from amemlib.equivalents.sgd import sgd_recovery_probabilities, sgd_limit_probability, sgd_capacity_constant
from amemlib.equivalents.law import SpectralLaw, expected_map_capacity, expected_map_loss
from amemlib.equivalents.optimal_map import best_map, best_monotone_map, best_smoothing, tail_snr
from amemlib.equivalents.leading_order import (
    capacity_constant,
    rare_item_snr,
    typical_maximum,
    typical_maximum_expansion,
    SMALLEST_MEDIAN,
)
from amemlib.equivalents.thresholded import (
    ManyStepEquivalent,
    thresholded_weights,
    half_recovered_thresholds,
    half_recovered_schedule,
    half_recovered_smoothed_schedule,
    half_recovered_sgd_schedule,
    sgd_weights,
    weighted_sgd_capacity,
    evenly_spread_sgd_capacity,
)
