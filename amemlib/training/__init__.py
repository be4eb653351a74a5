"""What somebody who trains with Muon uses: the optimizer, and what its Newton–Schulz steps reach on one's own matrices.

Nothing else in amemlib imports this package; it imports the schedules of `amemlib.spectral`.
"""

# ruff: isort: skip_file
# a reader's order, which the reference follows
from amemlib.training.muon import Muon, schedule, part_rows, parameter_names, rate_scale
from amemlib.training.diagnosis import (
    Diagnosis,
    Diagnoses,
    diagnose,
    momentum_of,
    slope,
    least_schedule,
    noise_median,
)
from amemlib.training.watch import watch
