"""Laws that need more than a formula: the true iterates by simulation, embeddings with covariances. Nothing fitted."""

# ruff: isort: skip_file
# a reader's order, which the reference follows
from amembook.laws.mean_field import expected_trajectory, mean_field_iterates, power_law_iterates
from amembook.laws.descent import descent_iterates
from amembook.laws.stream import MeanFieldIterates
from amembook.laws.free_energy import expected_log_partition, mean_tilt
from amembook.laws.covariance import (
    expected_covariance_capacity,
    expected_table_capacity,
    effective_dimension,
    CovarianceEquivalent,
)
