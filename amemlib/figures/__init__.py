"""Records and arrays in, matplotlib figures out. Nothing is computed here and no number is typed into a picture.

One file a chapter; the palette is in `style`.
"""

from amemlib.figures.gradient import batch_spectrum_figure, centring_figure, crosstalk_figure, spectrum_figure
from amemlib.figures.interactions import (
    expansion_error_figure,
    head_pairs_figure,
    interaction_blocks_figure,
    lipschitz_figure,
    regime_figure,
)
from amemlib.figures.loss import loss_curves_figure, over_mass_figure, safe_rate_figure
from amemlib.figures.memory import counts_figure, frequencies_figure, overlap_figure
from amemlib.figures.minibatches import (
    batch_collapse_figure,
    capacity_against_batch_figure,
    half_batch_figure,
    median_figure,
    occupancy_figure,
    sightings_figure,
    tails_figure,
)
from amemlib.figures.one_step import capacity_by_alpha_figure, capacity_figure, local_slopes_figure, signal_figure
from amemlib.figures.optimality import (
    admissible_figure,
    edge_figure,
    risk_figure,
    slope_bound_figure,
    smoothing_figure,
)
from amemlib.figures.sgd import recovery_profile_figure, sgd_batch_figure, sgd_constant_figure, sgd_loss_figure
from amemlib.figures.signal import (
    curvature_figure,
    signal_by_rank_figure,
    signal_curves_figure,
    slope_and_curvature_figure,
    slope_histogram_figure,
)
from amemlib.figures.spectral_maps import fixed_steps_figure, maps_capacity_figure, maps_figure, share_figure

__all__ = [
    "admissible_figure",
    "batch_collapse_figure",
    "batch_spectrum_figure",
    "capacity_against_batch_figure",
    "capacity_by_alpha_figure",
    "capacity_figure",
    "centring_figure",
    "counts_figure",
    "crosstalk_figure",
    "curvature_figure",
    "edge_figure",
    "expansion_error_figure",
    "fixed_steps_figure",
    "frequencies_figure",
    "half_batch_figure",
    "head_pairs_figure",
    "interaction_blocks_figure",
    "lipschitz_figure",
    "local_slopes_figure",
    "loss_curves_figure",
    "maps_capacity_figure",
    "maps_figure",
    "median_figure",
    "occupancy_figure",
    "over_mass_figure",
    "overlap_figure",
    "recovery_profile_figure",
    "regime_figure",
    "risk_figure",
    "safe_rate_figure",
    "sgd_batch_figure",
    "sgd_constant_figure",
    "sgd_loss_figure",
    "share_figure",
    "sightings_figure",
    "signal_by_rank_figure",
    "signal_curves_figure",
    "signal_figure",
    "slope_and_curvature_figure",
    "slope_bound_figure",
    "slope_histogram_figure",
    "smoothing_figure",
    "spectrum_figure",
    "tails_figure",
]
