"""The counts of the study `whitening` that are predicted, with nothing fitted."""

import numpy as np
from torch import Tensor

from amemlib import theory
from amemlib.equivalents import (
    KFAC,
    MATCHED_AND_NEWTON,
    SpectralLaw,
    Whitener,
    best_map,
    expected_capacity,
    expected_map_capacity,
    expected_siblings_capacity,
    expected_whitened_capacity,
)
from amemlib.problem import Problem

SIBLINGS = 4
PREDICTED = ("sgd", "polar", "best", "newton", "kfac", "siblings", "matched", "mixed")
"""Steps with a law: spectral maps, one side, both sides, a sum; polar factors of whitened gradients have none."""


def expected_counts(problem: Problem, alpha: float) -> dict[str, float]:
    """Expected items by step on a power law."""
    best = best_map(SpectralLaw.power_law(alpha, theory.bulk_scale(problem.n_items, problem.dim, alpha)))
    return {
        "sgd": expected_capacity(problem, "sgd"),
        "polar": expected_capacity(problem, "polar"),
        "best": expected_map_capacity(problem, best),
        "newton": expected_whitened_capacity(problem, right=KFAC),
        "kfac": expected_capacity(problem, "kfac"),
        "siblings": expected_siblings_capacity(problem, SIBLINGS),
        "matched": expected_capacity(problem, "matched_filter"),
        "mixed": expected_whitened_capacity(problem, right=MATCHED_AND_NEWTON),
    }


def expected_damped(problem: Problem, name: str, damping: float) -> float:
    """Expected items of K-FAC or of W* with a damping in units of the mean eigenvalue."""
    if name == "kfac":
        side = (Whitener(np.asarray, damping=damping),)
        return expected_whitened_capacity(problem, side, side)
    return expected_whitened_capacity(problem, right=(Whitener(np.square, damping=damping),))


def expected_of_a_batch(problem: Problem, name: str, q: Tensor) -> float:
    """Expected items of K-FAC or of W* on a batch, by the frequencies that were drawn."""
    return expected_capacity(problem, {"kfac": "kfac", "matched": "matched_filter"}[name], frequencies=q)
