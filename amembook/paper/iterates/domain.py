"""`iterates-domain`: where the recursion for Muon's true iterates is as good as its prediction says (Conjecture).

Caveats: the promise is 3 % up to five steps and 4 % later, in total over α and d at each rate, for d ≥ 96 and N ≥ 20 d.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch

from amembook.laws import mean_field_iterates
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
from amembook.run.claims import DIFFERENCE, SIZES, SMALL, equivalence, family, numbers
from amembook.run.studies import headline
from amemlib.optim import trajectory
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

EARLY, EARLY_BAND, LATE_BAND = 5, SIZES, 0.04
"""The promise of `expected_trajectory`: the first five steps within the band of counts, later ones within 4 %."""
OVERLAP_BAND = SMALL
"""The band of a cosine between two updates, as a difference."""
JUDGED_DIM, ITEMS_PER_DIM = 96, 20
ENDS = {"alphas": (1.25, 2.25), "rates": (0.5, 2.0), "looks": (1, 2, 3, 4, 5, 10, 15, 20), "seeds": 4}
FIVE_STEPS = {"looks": (1, 2, 3, 4, 5)}


@dataclass(frozen=True)
class DomainConfig(Config):
    """Muon's true iterates on the population loss, polar map, at places in the box of `expected_trajectory`."""

    alphas: SteepAlphas = (1.25, 1.6, 2.0)
    dims: Counts = (128, 192)
    n_items: Several = 4096
    rates: Positives = (0.5, 1.0, 2.0)  # η / √d
    looks: AscendingCounts = (1, 2, 3, 4, 5, 10)  # T
    seeds: Count = 8
    first_seed: Natural = 0


def measure_counts(
    n_items: int, dim: int, alpha: float, lr_over_root_dim: float, looks: tuple[int, ...], seed: int, device: str
) -> dict:
    """One draw: counts after each of the steps in `looks`, and the cosines of their updates (looks, looks)."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    course, lr = itertools.repeat(problem.frequencies, max(looks)), lr_over_root_dim * math.sqrt(dim)
    counts, updates = [], []
    for t, (before, W) in enumerate(itertools.pairwise(trajectory(emb, course, polar, lr)), start=1):
        if t in looks:
            counts.append(capacity(W, emb))
            updates.append(((W - before) / lr).flatten())
    flat = torch.stack(updates)
    return {"count": counts, "overlaps": flat @ flat.T / dim}


def solve_counts(n_items: int, dim: int, alpha: float, lr_over_root_dim: float, looks: tuple[int, ...]) -> dict:
    """The recursion's numbers after the same steps, its own standard errors, and its counts a step earlier."""
    law = mean_field_iterates(Problem.power_law(n_items, dim, alpha), lr_over_root_dim, max(looks))
    at = np.array(looks) - 1
    before = law.counts[np.maximum(at - 1, 0)]
    return {"count": law.counts[at], "error": law.errors[at], "before": before, "overlaps": law.overlaps[at][:, at]}


def domain_grids(config: DomainConfig) -> dict[str, Grid]:
    """Draws and the recursion at every rate, exponent and dimension."""
    at = {"lr_over_root_dim": config.rates, "alpha": config.alphas, "dim": config.dims}
    return {"iterates": Grid(measure_counts, at | {"seed": draws(config)}), "recursion": Grid(solve_counts, at)}


def domain_summary(config: DomainConfig, results: Results) -> tuple[dict, dict]:
    """Counts of all draws (rates, alphas, dims, draws, looks); of the recursion (rates, alphas, dims, looks).

    overlaps: cosines of the updates at the looks, means over the draws, (rates, alphas, dims, looks, looks).
    """
    law = {key: results.array("recursion", key) for key in ("count", "error", "before", "overlaps")}
    return {"counts": results.array("iterates", "count"), "overlaps": results.array("iterates", "overlaps").mean(3)}, {
        "counts": law["count"],
        "count_errors": law["error"],
        "before": law["before"],
        "overlaps": law["overlaps"],
    }


def judge_domain(config: DomainConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """At every rate and step the items of all exponents and dimensions together, and every place as a guard.

    The recursion is made for these sizes and has nothing to converge to. Of cosines the largest error at every rate is
    judged; a record without them, or without late steps, has no such verdict.
    """
    looks = np.array(config.looks)
    asked = {"early": (looks <= EARLY).any(), "late": (looks > EARLY).any(), "overlaps": "overlaps" in measured}
    verdicts = {name: equivalence([]) for name, held in asked.items() if held}
    outside = min(config.dims) < JUDGED_DIM or config.n_items < ITEMS_PER_DIM * max(config.dims)
    if outside or config.seeds < 2:
        return verdicts
    # (rates, looks, alphas, dims), and the draws last
    counts = np.moveaxis(measured["counts"], -1, 1)
    law, before = (np.moveaxis(predicted[key], -1, 1) for key in ("counts", "before"))
    rivals = {"one step later": before, "the rate does not matter": law[:1] + 0 * law}
    groups = lambda values, kept: values[:, kept].reshape(-1, *values.shape[2:])
    for name, kept, band in (("early", looks <= EARLY, EARLY_BAND), ("late", looks > EARLY, LATE_BAND)):
        if kept.any():
            at = [f"η/√d = {rate:g}, T = {t}" for rate in config.rates for t in looks[kept]]
            cut = {other: groups(values, kept) for other, values in rivals.items()}
            held_to = {"law": groups(law, kept), "band": band, "rivals": cut, "at": at}
            verdicts[name] = equivalence(family("items", groups(counts, kept), **held_to))
    if "overlaps" in measured:
        off = np.abs(measured["overlaps"] - predicted["overlaps"]).max((1, 2, 3, 4))
        held_to = {"law": 0.0, "band": OVERLAP_BAND, "scale": DIFFERENCE, "at": [f"η/√d = {c:g}" for c in config.rates]}
        made = numbers("largest error of a cosine,", off, draws=config.seeds, rivals={"a tenth": 0.1}, **held_to)
        verdicts["overlaps"] = equivalence(made)
    return verdicts


EXPERIMENT = Experiment(
    name="iterates-domain",
    purpose=headline(__doc__),
    profiles={
        "smoke": DomainConfig(alphas=(1.5,), dims=(24, 32), n_items=512, rates=(1.0, 2.0), looks=(1, 2, 4), seeds=2),
        "cpu": DomainConfig(),
        "confirm": DomainConfig(first_seed=4000),
        # the ends of a wider domain in α, rate and N = 20 d, a dimension a record; T to 20 where that can be afforded;
        # draws by what counts need
        "many-96": DomainConfig(dims=(96,), n_items=1920, first_seed=57_000, **ENDS | {"seeds": 40}),
        "many-192": DomainConfig(dims=(192,), n_items=3840, first_seed=57_100, **ENDS | {"seeds": 24}),
        "many-384": DomainConfig(dims=(384,), n_items=7680, first_seed=59_000, **ENDS | FIVE_STEPS | {"seeds": 12}),
        "many-768": DomainConfig(dims=(768,), n_items=15_360, first_seed=59_050, **ENDS | FIVE_STEPS),
        "twenty-384": DomainConfig(dims=(384,), n_items=7680, first_seed=59_200, **ENDS | {"seeds": 20}),
        "gpu": DomainConfig(dims=(128, 192, 256), n_items=16_384, looks=(1, 2, 3, 4, 5, 10, 20), first_seed=22_500),
    },
    grids=domain_grids,
    summarise=domain_summary,
    judge=judge_domain,
    unseen_from=3000,
)
