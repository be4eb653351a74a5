"""Maps on singular values, the iterations that approximate them, and their derivatives."""

# ruff: isort: skip_file
# a reader's order, which the reference follows
from amemlib.spectral.maps import (
    identity,
    polar,
    smoothed_sign,
    spectral_map,
    spectral_maps,
    singular_values,
    singular_triples,
    polar_by_products,
)
from amemlib.spectral.newton_schulz import (
    newton_schulz,
    newton_schulz_schedule,
    newton_schulz_coefficients,
    newton_schulz_scalar,
    compose_quintics,
    polar_express,
    polar_express_coefficients,
    best_odd_quintic,
    SCHEDULES,
    NEWTON_SCHULZ_COEFFICIENTS,
    DEFAULT_STEPS,
)
from amemlib.spectral.derivatives import (
    smoothed_sign_scalars,
    divided_difference,
    spectral_derivative,
    stein_slope,
    signal_slopes,
    signal_curve,
)
