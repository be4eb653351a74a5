"""amemlib: how spectral optimizers store facts, as a small torch library."""

import os
import signal
import sys

if sys.argv[0] == "-m" or os.path.basename(sys.argv[0]).removesuffix(".exe") == "amemlib":
    # the command: Ctrl-C is one line even while torch is imported, where KeyboardInterrupt would be a traceback
    signal.signal(signal.SIGINT, lambda *_: (os.write(2, b"amemlib: interrupted\n"), os._exit(130)))

# OpenMP reads this when torch first loads it: threads that wait actively slow a busy machine down many times over
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# ruff: isort: skip_file
# a reader's order, which the reference follows
from amemlib import problem, sampling, gradients, spectral, whitening, optim, training
from amemlib import recovery, equivalents, scaling, theory, plain
from amemlib.problem import Problem, Embeddings
from amemlib.sampling import sample_embeddings, sample_minibatch, sample_reduced_embeddings
from amemlib.gradients import (
    loss,
    gradient,
    loss_and_gradient,
    item_losses,
    initial_gradient,
    thresholded_gradient,
    gradient_rank,
)
from amemlib.spectral import identity, polar, smoothed_sign, newton_schulz, spectral_map
from amemlib.whitening import second_moment, whiten, matched_filter, siblings
from amemlib.optim import step, trajectory, newton_step
from amemlib.training import Muon, diagnose, schedule, watch
from amemlib.recovery import margins, recovered, capacity, longest_prefix
from amemlib.equivalents import expected_capacity, capacity_limit
from amemlib.scaling import fit_exponent

__version__ = "0.1.0"

__all__ = [
    "Problem",
    "Embeddings",
    "sample_embeddings",
    "sample_minibatch",
    "sample_reduced_embeddings",
    "loss",
    "gradient",
    "loss_and_gradient",
    "item_losses",
    "initial_gradient",
    "thresholded_gradient",
    "gradient_rank",
    "identity",
    "polar",
    "smoothed_sign",
    "newton_schulz",
    "spectral_map",
    "second_moment",
    "whiten",
    "matched_filter",
    "siblings",
    "step",
    "trajectory",
    "newton_step",
    "Muon",
    "diagnose",
    "watch",
    "schedule",
    "margins",
    "recovered",
    "capacity",
    "longest_prefix",
    "expected_capacity",
    "capacity_limit",
    "fit_exponent",
    "problem",
    "sampling",
    "gradients",
    "spectral",
    "whitening",
    "optim",
    "training",
    "recovery",
    "equivalents",
    "scaling",
    "theory",
    "plain",
]
