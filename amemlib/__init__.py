"""amemlib: how spectral optimizers store facts, as a small torch library."""

import os
from importlib import import_module

__version__ = "0.1.0"

# OpenMP reads this when torch first loads it: threads that wait actively slow a busy machine down many times over
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_HOMES = {
    "problem": ("Problem", "Embeddings"),
    "sampling": ("sample_embeddings", "sample_minibatch", "sample_reduced_embeddings"),
    "gradients": (
        "loss",
        "gradient",
        "loss_and_gradient",
        "item_losses",
        "initial_gradient",
        "thresholded_gradient",
        "gradient_rank",
    ),
    "spectral": ("identity", "polar", "smoothed_sign", "newton_schulz", "spectral_map"),
    "whitening": ("second_moment", "whiten", "matched_filter", "siblings"),
    "optim": ("step", "trajectory", "newton_step"),
    "muon": ("Muon",),
    "diagnosis": ("diagnose", "watch"),
    "recovery": ("margins", "recovered", "capacity", "longest_prefix"),
    "equivalents": ("expected_capacity", "expected_trajectory", "capacity_limit"),
    "scaling": ("fit_exponent",),
    "theory": (),
    "plain": (),
}
"""The public modules in a reader's order, and what `amemlib` itself shows of each."""

__all__ = [name for module, names in _HOMES.items() for name in (*names, module)]


def __getattr__(name: str):
    # on demand: `import amemlib` loads neither torch nor scipy before one of them is needed
    if name in _HOMES:
        return import_module(f"amemlib.{name}")
    for module, names in _HOMES.items():
        if name in names:
            globals()[name] = getattr(import_module(f"amemlib.{module}"), name)
            return globals()[name]
    raise AttributeError(f"module 'amemlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
