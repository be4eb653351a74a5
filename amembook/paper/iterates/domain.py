"""`iterates-domain`: where the recursion's counts of Muon's true iterates are as good as `expected_trajectory` says."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from amembook.run import runtime
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Positives,
    Results,
    Several,
    SteepAlphas,
    draws,
)
from amembook.run.claims import SIZES, equivalence, family
from amemlib.equivalents import mean_field_iterates
from amemlib.optim import trajectory
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

EARLY, EARLY_BAND, LATE_BAND = 5, SIZES, 0.04
"""The promise of `expected_trajectory`: the first five steps within the band of counts, later ones within 4 %."""
JUDGED_DIM = 128


@dataclass(frozen=True)
class DomainConfig(Config):
    """Muon's true iterates on the population loss, polar map, over the domain of `expected_trajectory`."""

    alphas: SteepAlphas = (1.25, 1.6, 2.0)
    dims: Counts = (128, 192)
    n_items: Several = 4096
    rates: Positives = (0.5, 1.0, 2.0)  # η / √d
    looks: AscendingCounts = (1, 2, 3, 4, 5, 10)  # T
    seeds: Count = 8
    first_seed: Natural = 0


def measure_counts(
    alpha: float, n_items: int, dim: int, lr_over_root_dim: float, looks: tuple[int, ...], seed: int, device: str
) -> dict:
    """Counts of one draw after each of the steps in `looks`."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    course, lr = itertools.repeat(problem.frequencies, max(looks)), lr_over_root_dim * math.sqrt(dim)
    return {"count": [capacity(W, emb) for t, W in enumerate(trajectory(emb, course, polar, lr)) if t in looks]}


def solve_counts(alpha: float, n_items: int, dim: int, lr_over_root_dim: float, looks: tuple[int, ...]) -> dict:
    """The recursion's counts after the same steps, its own standard errors, and its counts a step earlier."""
    law = mean_field_iterates(Problem.power_law(n_items, dim, alpha), lr_over_root_dim, max(looks))
    at = np.array(looks) - 1
    return {"count": law.counts[at], "error": law.errors[at], "before": law.counts[np.maximum(at - 1, 0)]}


def domain_grids(config: DomainConfig) -> dict[str, Grid]:
    """Draws and the recursion at every rate, exponent and dimension."""
    at = {"lr_over_root_dim": config.rates, "alpha": config.alphas, "dim": config.dims}
    return {
        "iterates": Grid(measure_counts, at | {"seed": draws(config)}),
        "recursion": Grid(solve_counts, at),
    }


def domain_summary(config: DomainConfig, results: Results) -> tuple[dict, dict]:
    """Counts of all draws (rates, alphas, dims, draws, looks); of the recursion (rates, alphas, dims, looks)."""
    law = {key: results.array("recursion", key) for key in ("count", "error", "before")}
    return {"counts": results.array("iterates", "count")}, {
        "counts": law["count"],
        "count_errors": law["error"],
        "before": law["before"],
    }


def judge_domain(config: DomainConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """At every rate and step the items of all exponents and dimensions together, and every place as a guard.

    The recursion is made for these sizes and has nothing to converge to.
    """
    verdicts = {name: equivalence([]) for name in ("early", "late")}
    if min(config.dims) < JUDGED_DIM or config.seeds < 2:
        return verdicts
    # (rates, looks, alphas, dims), and the draws last
    counts = np.moveaxis(measured["counts"], -1, 1)
    law, before = (np.moveaxis(predicted[key], -1, 1) for key in ("counts", "before"))
    rivals = {"one step later": before, "the rate does not matter": law[:1] + 0 * law}
    looks = np.array(config.looks)
    groups = lambda values, kept: values[:, kept].reshape(-1, *values.shape[2:])
    for name, kept, band in (("early", looks <= EARLY, EARLY_BAND), ("late", looks > EARLY, LATE_BAND)):
        if kept.any():
            at = [f"η/√d = {rate:g}, T = {t}" for rate in config.rates for t in looks[kept]]
            cut = {other: groups(values, kept) for other, values in rivals.items()}
            given = {"law": groups(law, kept), "band": band, "rivals": cut, "at": at}
            verdicts[name] = equivalence(family("items", groups(counts, kept), **given))
    return verdicts


EXPERIMENT = Experiment(
    name="iterates-domain",
    purpose="where the recursion for Muon's true iterates is as good as its prediction says (Conjecture)",
    profiles={
        "smoke": DomainConfig(alphas=(1.5,), dims=(24, 32), n_items=512, rates=(1.0, 2.0), looks=(1, 2, 4), seeds=2),
        "cpu": DomainConfig(),
        "confirm": DomainConfig(first_seed=4000),
        "gpu": DomainConfig(dims=(128, 192, 256), n_items=16_384, looks=(1, 2, 3, 4, 5, 10, 20), first_seed=22_500),
    },
    grids=domain_grids,
    summarise=domain_summary,
    judge=judge_domain,
    unseen_from=3000,
)
