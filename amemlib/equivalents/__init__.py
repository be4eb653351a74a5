"""Sharp predictions with nothing fitted: deterministic equivalents of one step from W = 0, for any frequencies.

Derived by leave-one-out and free-probability arguments and confirmed by simulation, not rigorous. The central object is
M(μ) = lim (1/d) tr μ (G Gᵀ + μ²)^{-1}, the fixed point of

    μ M = 1 − y,   y(M) = (1/d) Σ_k q_k² M² / (1 + q_k² M²).

Frequencies that differ by less than one per cent share a bin, so a million items cost a few thousand bins.
"""

from amemlib import lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    {
        "optimal_map": ("best_map", "best_monotone_map", "best_smoothing", "tail_snr"),
        "capacity": ("expected_capacity", "expected_distinct_items", "expected_prefix"),
        "covariance": (
            "CovarianceEquivalent",
            "effective_dimension",
            "expected_covariance_capacity",
            "expected_table_capacity",
        ),
        "descent": ("descent_iterates",),
        "free_energy": ("expected_log_partition", "mean_tilt", "surrogate_gradient"),
        "law": ("SpectralLaw", "expected_map_capacity"),
        "leading_order": (
            "SMALLEST_MEDIAN",
            "capacity_constant",
            "inverse_sum_limit",
            "rare_item_snr",
            "typical_absolute_maximum",
            "typical_maximum",
            "typical_maximum_expansion",
        ),
        "mean_field": ("MeanFieldIterates", "expected_trajectory", "mean_field_iterates", "power_law_iterates"),
        "newton": ("NewtonEquivalent",),
        "sgd": ("sgd_capacity_constant", "sgd_limit_probability", "sgd_recovery_probabilities"),
        "smoothed_sign": ("PredictedVariances", "SpectralEquivalent", "interaction_variances"),
        "thresholded": (
            "ManyStepEquivalent",
            "evenly_spread_sgd_capacity",
            "half_recovered_schedule",
            "half_recovered_sgd_schedule",
            "half_recovered_smoothed_schedule",
            "half_recovered_thresholds",
            "sgd_weights",
            "thresholded_weights",
            "weighted_sgd_capacity",
        ),
    },
)
