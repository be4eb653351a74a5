"""`limit`: where the laws for these sizes run to as d grows: local exponents beside those of the theorems.

Nothing is drawn. What a law for finite d says of its own limit is computed, as far as d can be taken.
"""

import math
from dataclasses import dataclass

import numpy as np

from amembook.run.base import Ascending, Config, Experiment, Grid, Natural, Results, Several, SteepAlpha
from amembook.run.claims import EXPONENT, check, equivalence
from amemlib import theory
from amemlib.equivalents import (
    ManyStepEquivalent,
    expected_capacity,
    half_recovered_schedule,
    half_recovered_sgd_schedule,
    sgd_weights,
    thresholded_weights,
    weighted_sgd_capacity,
)
from amemlib.problem import Problem

MAPS = {"polar": "muon", "smoothed_sign": "muon", "sgd": "sgd", "muon_steps": "muon", "sgd_steps": "sgd"}
"""What has a law here, and whose exponents it has in the limit."""


@dataclass(frozen=True)
class LimitConfig(Config):
    """Laws of one step and of several, each at d and at 2d."""

    alpha: SteepAlpha = 1.5
    dims: Ascending = tuple(2**k for k in range(8, 17, 2))
    n_items: Several = 2**22
    sgd_dims: Ascending = tuple(2**k for k in range(8, 25, 4))
    sgd_items: Several = 2**14
    # thresholds at what is recovered, as `deflation` has them
    step_dims: Ascending = tuple(2**k for k in range(8, 12))
    steps: Several = 5
    first_seed: Natural = 0  # there are no draws


def one_step_count(name: str, n_items: int, dim: int, alpha: float) -> dict:
    """The law's count after one population step: the polar map, h_λ at λ = t₀, or SGD."""
    lam = theory.bulk_scale(n_items, dim, alpha) if name == "smoothed_sign" else 0.0
    return {"count": expected_capacity(Problem.power_law(n_items, dim, alpha), name, lam)}


def step_counts(name: str, n_items: int, dim: int, alpha: float, steps: int) -> dict:
    """The law's counts after 1, …, T thresholded steps of Muon (polar) or SGD."""
    p = Problem.power_law(n_items, dim, alpha).frequencies
    if name == "sgd_steps":
        plan = half_recovered_sgd_schedule(p, dim, steps)
        memories = sgd_weights(thresholded_weights(p, plan.removed), plan.learning_rates)
        return {"count": [weighted_sgd_capacity(x, dim) for x in memories]}
    plan = half_recovered_schedule(p, dim, steps)
    law = ManyStepEquivalent.solve(thresholded_weights(p, plan.removed), dim, plan.lams)
    return {"count": law.recovery_probabilities() @ law.counts}


def doubled(dims) -> list[int]:
    """Every d with its double after it."""
    return [d for dim in dims for d in (dim, 2 * dim)]


def limit_grids(config: LimitConfig) -> dict[str, Grid]:
    """A law a grid, cheap ones first."""
    one = lambda name, dims, n: Grid(one_step_count, {"dim": doubled(dims)}, name=name, n_items=n)
    many = lambda name: Grid(step_counts, {"dim": doubled(config.step_dims)}, name=name)
    return {
        "sgd": one("sgd", config.sgd_dims, config.sgd_items),
        "polar": one("polar", config.dims, config.n_items),
        "smoothed_sign": one("smoothed_sign", config.dims, config.n_items),
        "sgd_steps": many("sgd_steps"),
        "muon_steps": many("muon_steps"),
    }


def limit_summary(config: LimitConfig, results: Results) -> tuple[dict, dict]:
    """Counts at d and 2d (d, 2), and local exponents (d,), with T on a further axis for several steps; the limits."""
    measured, predicted = {"counts": {}, "local": {}}, {"slope": {}}
    for name, method in MAPS.items():
        counts = results.array(name, "count")
        pairs = counts.reshape(-1, 2, *counts.shape[1:])
        measured["counts"][name] = pairs
        measured["local"][name] = np.log2(pairs[:, 1] / pairs[:, 0])
        steps = range(1, config.steps + 1) if name.endswith("steps") else (1,)
        predicted["slope"][name] = [theory.recovery_exponent(method, config.alpha, t) for t in steps]
    return measured, predicted


def judge_limit(config: LimitConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Whether the local exponent at the largest d is within `EXPONENT` of its limit; if not, nothing is decided.

    A limit cannot be missed at any d: a law that is not there yet may have a logarithm before it.
    """
    verdicts = {}
    for name in MAPS:
        away = np.abs(measured["local"][name][-1] - predicted["slope"][name]).max()
        there = check(float(away), EXPONENT, name="away from the limit")
        verdicts[name] = there if away <= EXPONENT and math.isfinite(away) else equivalence([])
    return verdicts


EXPERIMENT = Experiment(
    name="limit",
    purpose="where the laws of one step and of several run to as d grows, without a draw (Theorems 1, 3, 5, 9, 10)",
    profiles={
        "smoke": LimitConfig(
            dims=(64, 128), n_items=4096, sgd_dims=(256, 512), sgd_items=256, step_dims=(32, 64), steps=2
        ),
        "cpu": LimitConfig(),
    },
    grids=limit_grids,
    summarise=limit_summary,
    judge=judge_limit,
)
