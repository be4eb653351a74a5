"""amemlib: how spectral optimizers store facts, as a small torch library behind an executable book."""

import os

# OpenMP reads this when torch first loads it: threads that wait actively slow a busy machine down many times over
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from amemlib import (  # noqa: E402
    attention,
    checks,
    equivalents,
    expansions,
    experiments,
    figures,
    fingerprint,
    recovery,
    runtime,
    sampling,
    scaling,
    sharding,
    spectral,
    sweep,
    tasks,
    theory,
    training,
    vocabularies,
)
from amemlib.equivalents import expected_capacity
from amemlib.gradients import (
    gradient,
    gradient_rank,
    initial_gradient,
    item_losses,
    loss,
    loss_and_gradient,
    thresholded_gradient,
)
from amemlib.optim import newton_step, step, trajectory
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity, longest_prefix, margins, recovered, recovered_prefix
from amemlib.sampling import sample_embeddings, sample_minibatch, sample_reduced_embeddings
from amemlib.scaling import fit_exponent
from amemlib.spectral import identity, newton_schulz, polar, smoothed_sign, spectral_map

__all__ = [
    "Embeddings",
    "Problem",
    "attention",
    "capacity",
    "checks",
    "equivalents",
    "expansions",
    "expected_capacity",
    "experiments",
    "figures",
    "fingerprint",
    "fit_exponent",
    "gradient",
    "gradient_rank",
    "identity",
    "initial_gradient",
    "item_losses",
    "longest_prefix",
    "loss",
    "loss_and_gradient",
    "margins",
    "newton_schulz",
    "newton_step",
    "polar",
    "recovered",
    "recovered_prefix",
    "recovery",
    "runtime",
    "sample_embeddings",
    "sample_minibatch",
    "sample_reduced_embeddings",
    "sampling",
    "scaling",
    "sharding",
    "smoothed_sign",
    "spectral",
    "spectral_map",
    "step",
    "sweep",
    "tasks",
    "theory",
    "thresholded_gradient",
    "training",
    "trajectory",
    "vocabularies",
]
