"""`trajectory`: the true iterates of Muon against a closed recursion with nothing fitted, count by count."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch

from amemlib import runtime, theory
from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.equivalents import power_law_iterates
from amemlib.experiments.base import Experiment, Grid, Results, draws, standard_error
from amemlib.experiments.iterates import profile_bins
from amemlib.experiments.many_steps import thresholded_counts
from amemlib.gradients import item_losses
from amemlib.optim import trajectory
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar
from amemlib.verdicts import refuse, verdict

EARLY, EARLY_BAND, LATE_BAND = 4, 0.03, 0.05
"""Counts are held to 3 % for the first four steps and to 5 % beyond, each with two standard errors."""
OVERLAP_BAND = 0.1
"""How far the overlap of any two updates may lie from its prediction."""
JUDGED_DIM = 192


@dataclass(frozen=True)
class TrajectoryConfig:
    """Muon's true iterates on the population loss, polar map, and the recursion that predicts them.

    alpha, dims, n_items, seeds: the power law, dimensions, N, and draws. rates: η / √d, each of them for all steps.
    steps: T. far_dims, far_items, far_steps: where the recursion is solved and nothing is simulated, at η = √d.
    threshold_constant: θ of the thresholded iterates, a rival. first_seed: where the seeds start.
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (192,)
    n_items: int = 4096
    seeds: int = 8
    rates: tuple[float, ...] = (0.5, 1.0, 2.0)
    steps: int = 20
    far_dims: tuple[int, ...] = (1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
    far_items: int = 10**9
    far_steps: int = 4
    threshold_constant: float = 0.5
    first_seed: int = 0

    def __post_init__(self):
        check_alpha(self.alpha, above=1.0)
        check_dims("far_dims", self.far_dims)
        for dim in self.dims:
            check_count("dims", dim)
        for name in ("n_items", "far_items"):
            check_count(name, getattr(self, name), least=2)
        for name in ("seeds", "steps", "far_steps"):
            check_count(name, getattr(self, name))
        for rate in self.rates:
            check_positive("rates", rate)
        check_positive("threshold_constant", self.threshold_constant)
        check_count("first_seed", self.first_seed, least=0)


def measure_trajectory(
    alpha: float, n_items: int, dim: int, steps: int, lr_over_root_dim: float, seed: int, device: str
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
    return {key: [row[key] for row in rows] for key in rows[0]} | {"overlaps": (flat @ flat.T / dim).tolist()}


def solve_trajectory(alpha: float, n_items: int, dim: int, steps: int, lr_over_root_dim: float) -> dict:
    """The recursion's numbers for the same, and the standard errors of its own solution."""
    found = power_law_iterates(alpha, n_items, dim, lr_over_root_dim, steps)
    cuts = np.array([0, *profile_bins(n_items), n_items])
    # how many ranks of each stratum lie below each cut
    below = np.clip(cuts[:, None] - found.edges[:-1], 0, np.diff(found.edges))
    shares = np.diff(below, axis=0) / np.diff(cuts)[:, None]
    return {
        "count": found.counts.tolist(),
        "error": found.errors.tolist(),
        "sd": found.interaction_sd.tolist(),
        "overlaps": found.overlaps.tolist(),
        "logit": (found.logits @ shares.T).tolist(),
        "left": (found.left @ shares.T).tolist(),
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
    counts = results.array("iterates", "count")
    measured = {"counts": counts.mean(2).tolist(), "count_errors": standard_error(counts, 2).tolist()}
    for key in ("sd", "overlaps", "logit", "left"):
        measured[key] = results.array("iterates", key).mean(2).tolist()
    predicted = {"counts": results.array("recursion", "count").tolist()}
    predicted["count_errors"] = results.array("recursion", "error").tolist()
    for key in ("sd", "overlaps", "logit", "left"):
        predicted[key] = results.array("recursion", key).tolist()
    problems = [Problem.power_law(config.n_items, dim, config.alpha) for dim in config.dims]
    early = min(config.steps, EARLY)
    predicted |= {
        "thresholded": [thresholded_counts(p, config.threshold_constant, early) for p in problems],
        "large_margin": [dim**2 / (2 * math.log(config.n_items)) for dim in config.dims],
        "far_counts": results.array("far", "count").tolist(),
        "far_errors": results.array("far", "error").tolist(),
        "far_slopes": [theory.recovery_exponent("muon", config.alpha, t) for t in range(1, config.far_steps + 1)],
    }
    return measured, predicted


def judge_trajectory(config: TrajectoryConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Counts of the first steps and of later ones, and overlaps, each at every rate, from `JUDGED_DIM` on.

    The recursion is made for these sizes and has nothing to converge to: one answer to both questions.
    """
    judged = np.array(config.dims) >= JUDGED_DIM
    verdicts = {name: verdict(None, None) for name in ("early", "late", "overlaps")}
    if not judged.any() or config.seeds < 2:
        return verdicts
    counts, law = (np.array(side["counts"])[judged] for side in (measured, predicted))
    error = np.hypot(*(np.array(side["count_errors"])[judged] for side in (measured, predicted)))
    overlaps, overlap_law = (np.array(side["overlaps"])[judged] for side in (measured, predicted))
    thresholded = np.array(predicted["thresholded"])[judged][:, None]
    full = np.array(predicted["large_margin"])[judged][:, None, None] + 0 * law
    parts = {"early": (slice(0, EARLY), EARLY_BAND), "late": (slice(EARLY, None), LATE_BAND)}
    for name, (steps, band) in parts.items():
        if not law[..., steps].size:
            continue

        def meets(values, steps=steps, band=band) -> bool:
            values = np.array(values)[..., steps]
            return bool((np.abs(counts[..., steps] - values) <= band * values + 2 * error[..., steps]).all())

        rivals = {
            "no growth": law[..., :1] + 0 * law,
            "one step later": np.concatenate([law[..., :1], law[..., :-1]], -1),
            "a full memory": full,
            "the rate does not matter": law[:, :1] + 0 * law,
        }
        if name == "early":
            padded = np.broadcast_to(thresholded, law[..., :EARLY].shape)
            rivals["the thresholded iterates"] = np.concatenate([padded, law[..., EARLY:]], -1)
        verdicts[name] = verdict(meets(law), meets(law), refuse(meets, rivals), config.seeds)

    def near(values) -> bool:
        return bool((np.abs(overlaps - np.array(values)) <= OVERLAP_BAND).all())

    identity = np.broadcast_to(np.eye(config.steps), overlaps.shape)
    rivals = {"independent updates": identity, "one direction": np.ones_like(overlaps)}
    as_predicted = near(overlap_law)
    return verdicts | {"overlaps": verdict(as_predicted, as_predicted, refuse(near, rivals), config.seeds)}


EXPERIMENT = Experiment(
    name="trajectory",
    purpose="Muon's true iterates against a closed recursion with nothing fitted (Conjecture, Figure 4)",
    profiles={
        "smoke": TrajectoryConfig(
            dims=(24, 32),
            n_items=512,
            seeds=2,
            rates=(1.0, 2.0),
            steps=5,
            far_dims=(64, 256),
            far_items=10**6,
            far_steps=2,
        ),
        "cpu": TrajectoryConfig(),
        "gpu": TrajectoryConfig(dims=(192, 384, 768), n_items=32_768),
    },
    grids=trajectory_grids,
    summarise=trajectory_summary,
    judge=judge_trajectory,
    unseen_from=3000,
)
