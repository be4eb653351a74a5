"""`trajectory`: Muon's true iterates against a closed recursion with nothing fitted (Conjecture, Figure 4).

Caveats: counts are held to 3 % in the first four steps and to 5 % beyond, cosines of updates to 0.05, from d = 192 on.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch

from amembook.laws import power_law_iterates
from amembook.paper.iterates.many_steps import thresholded_counts
from amembook.run import runtime
from amembook.run.base import (
    Config,
    Count,
    Counts,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Results,
    Several,
    SteepAlpha,
    draws,
    profile_bins,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, SIZES, SMALL, equivalence, family, numbers
from amembook.run.studies import headline
from amemlib import theory
from amemlib.gradients import item_losses
from amemlib.optim import trajectory
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

EARLY, EARLY_BAND, LATE_BAND = 4, SIZES, SMALL
"""Counts of the first four steps have the band of counts, those beyond that of small ones, as descent's in `race`."""
OVERLAP_BAND = SMALL
"""The band of a cosine between two updates, as a difference. It is a mean over d² entries, whose scatter is small."""
JUDGED_DIM = 192


@dataclass(frozen=True)
class TrajectoryConfig(Config):
    """Muon's true iterates on the population loss, polar map, and the recursion that predicts them."""

    alpha: SteepAlpha = 1.5
    dims: Counts = (192,)
    n_items: Several = 4096
    seeds: Count = 8
    rates: Positives = (0.5, 1.0, 2.0)  # η / √d, each of them for all steps
    steps: Count = 20  # T
    # where the recursion is solved and nothing is simulated, at η = √d
    far_dims: Dims = (1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
    far_items: Several = 10**9
    far_steps: Count = 4
    threshold_constant: Positive = 0.5  # θ of the thresholded iterates, a rival
    first_seed: Natural = 0


def measure_trajectory(
    n_items: int, dim: int, alpha: float, steps: int, lr_over_root_dim: float, seed: int, device: str
) -> dict:
    """One draw: counts, ‖W_t‖_F / d, overlaps of the updates, mean own logit and residual share by bins of rank."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    lr = lr_over_root_dim * math.sqrt(dim)
    bins = profile_bins(n_items)
    rows, updates, before = [], [], None
    for W in trajectory(emb, itertools.repeat(problem.frequencies, steps), polar, lr):
        if before is not None:
            updates.append(((W - before) / lr).flatten())
            own = ((emb.V.double() @ W.T) * emb.U.double()).sum(1).cpu()
            left = -torch.expm1(-item_losses(W, emb).cpu())
            rows.append(
                {
                    "count": capacity(W, emb),
                    "sd": float(W.norm()) / dim,
                    "logit": [float(x.mean()) for x in own.tensor_split(bins)],
                    "left": [float(x.mean()) for x in left.tensor_split(bins)],
                }
            )
        before = W
    flat = torch.stack(updates)
    return {key: [row[key] for row in rows] for key in rows[0]} | {"overlaps": flat @ flat.T / dim}


def solve_trajectory(n_items: int, dim: int, alpha: float, steps: int, lr_over_root_dim: float) -> dict:
    """The recursion's numbers for the same, and the standard errors of its own solution."""
    law = power_law_iterates(n_items, dim, alpha, lr_over_root_dim, steps)
    cuts = np.array([0, *profile_bins(n_items), n_items])
    # how many ranks of each stratum lie below each cut
    below = np.clip(cuts[:, None] - law.edges[:-1], 0, np.diff(law.edges))
    shares = np.diff(below, axis=0) / np.diff(cuts)[:, None]
    return {
        "count": law.counts,
        "error": law.errors,
        "sd": law.interaction_sd,
        "overlaps": law.overlaps,
        "logit": law.logits @ shares.T,
        "left": law.left @ shares.T,
    }


def trajectory_grids(config: TrajectoryConfig) -> dict[str, Grid]:
    """Draws and the recursion at every d and rate, then the recursion alone at `far_dims`."""
    at = {"dim": config.dims, "lr_over_root_dim": config.rates}
    far = {"n_items": config.far_items, "steps": config.far_steps, "lr_over_root_dim": 1.0}
    return {
        "iterates": Grid(measure_trajectory, at | {"seed": draws(config)}),
        "recursion": Grid(solve_trajectory, at),
        "far": Grid(solve_trajectory, {"dim": config.far_dims}, **far),
    }


def trajectory_summary(config: TrajectoryConfig, results: Results) -> tuple[dict, dict]:
    """Arrays over `dims` and `rates`: counts (…, T), overlaps (…, T, T), logit and left (…, T, bins), sd (…, T)."""
    counts, shared = results.array("iterates", "count"), ("sd", "overlaps", "logit", "left")
    measured = {"counts": counts.mean(2), "count_errors": standard_error(counts, 2)}
    measured |= {key: results.array("iterates", key).mean(2) for key in shared}
    predicted = {key: results.array("recursion", key) for key in shared}
    problems = [Problem.power_law(config.n_items, dim, config.alpha) for dim in config.dims]
    early = min(config.steps, EARLY)
    return measured, predicted | {
        "counts": results.array("recursion", "count"),
        "count_errors": results.array("recursion", "error"),
        "thresholded": [thresholded_counts(p, config.threshold_constant, early) for p in problems],
        "large_margin": [dim**2 / (2 * math.log(config.n_items)) for dim in config.dims],
        "far_counts": results.array("far", "count"),
        "far_errors": results.array("far", "error"),
        "far_slopes": [theory.recovery_exponent("muon", config.alpha, t) for t in range(1, config.far_steps + 1)],
    }


def judge_trajectory(config: TrajectoryConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Counts of the first steps and of later ones, and overlaps, each at every rate, from `JUDGED_DIM` on.

    The recursion is made for these sizes and has nothing to converge to.
    """
    judged = np.array(config.dims) >= JUDGED_DIM
    verdicts = {name: equivalence([]) for name in ("early", "late", "overlaps")}
    if not judged.any() or config.seeds < 2:
        return verdicts
    # (d, rates, steps)
    counts, law = (side["counts"][judged] for side in (measured, predicted))
    error = np.hypot(*(side["count_errors"][judged] for side in (measured, predicted)))
    thresholded = np.broadcast_to(predicted["thresholded"][judged][:, None], law[..., :EARLY].shape)
    rivals = {
        "one step later": np.concatenate([law[..., :1], law[..., :-1]], -1),
        "the rate does not matter": law[:, :1] + 0 * law,
    }
    early_rivals = rivals | {"the thresholded iterates": np.concatenate([thresholded, law[..., EARLY:]], -1)}
    rates = [f"η/√d = {rate:g}" for rate in config.rates]
    by_rate = lambda values: np.moveaxis(values, 1, 0)
    for name, steps, band, others in (
        ("early", slice(0, EARLY), EARLY_BAND, early_rivals),
        ("late", slice(EARLY, None), LATE_BAND, rivals),
    ):
        if law[..., steps].size:
            cut = {other: by_rate(values[..., steps]) for other, values in others.items()}
            items, spread, expected = (by_rate(values[..., steps]) for values in (counts, error, law))
            held_to = {"law": expected, "band": band, "rivals": cut, "at": rates}
            verdicts[name] = equivalence(family("items", items, spread, config.seeds, **held_to))
    off = np.abs(measured["overlaps"] - predicted["overlaps"])[judged].max((0, 2, 3))
    held_to = {"law": 0.0, "band": OVERLAP_BAND, "scale": DIFFERENCE, "at": rates}
    made = numbers("largest error of a cosine,", off, draws=config.seeds, rivals={"a tenth": 0.1}, **held_to)
    return verdicts | {"overlaps": equivalence(made)}


EXPERIMENT = Experiment(
    name="trajectory",
    purpose=headline(__doc__),
    profiles={
        "smoke": TrajectoryConfig(
            dims=(24, 32), n_items=512, seeds=2, rates=(1.0, 2.0), steps=5, far_dims=(64, 256), far_items=10**6,
            far_steps=2,
        ),
        "cpu": TrajectoryConfig(),
        "late": TrajectoryConfig(
            alpha=1.4, seeds=4, rates=(0.5, 2.0), far_dims=(1000, 3162), far_items=10**6, far_steps=1, first_seed=6550
        ),
        "gpu": TrajectoryConfig(dims=(192, 384, 768), n_items=32_768, first_seed=22_000),
    },
    grids=trajectory_grids,
    summarise=trajectory_summary,
    judge=judge_trajectory,
    unseen_from=3000,
)  # fmt: skip
