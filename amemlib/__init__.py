"""amemlib: how spectral optimizers store facts, as a small torch library behind an executable book."""

import os

from amemlib import fingerprint, lazy  # the fingerprint first: it notes what the process loads

__version__ = "0.1.0"

# OpenMP reads this when torch first loads it: threads that wait actively slow a busy machine down many times over
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "WORLD_SIZE" in os.environ:
    # a rank that loses another says so in a line of its own, torch in a page of C++ frames
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    {
        "equivalents": ("expected_capacity", "expected_trajectory"),
        "gradients": (
            "gradient",
            "gradient_rank",
            "initial_gradient",
            "item_losses",
            "loss",
            "loss_and_gradient",
            "thresholded_gradient",
        ),
        "optim": ("newton_step", "step", "trajectory"),
        "problem": ("Embeddings", "Problem"),
        "records": ("read_records",),
        "recovery": ("capacity", "longest_prefix", "margins", "recovered", "recovered_prefix"),
        "sampling": ("sample_embeddings", "sample_minibatch", "sample_reduced_embeddings"),
        "scaling": ("fit_exponent",),
        "spectral": ("identity", "newton_schulz", "polar", "smoothed_sign", "spectral_map"),
    },
    rooms=(
        "arithmetic",
        "attention",
        "checks",
        "equivalents",
        "expansions",
        "experiments",
        "figures",
        "fingerprint",
        "records",
        "recovery",
        "runtime",
        "sampling",
        "scaling",
        "sharding",
        "spectral",
        "sweep",
        "tasks",
        "theory",
        "training",
        "verdicts",
        "vocabularies",
    ),
)
