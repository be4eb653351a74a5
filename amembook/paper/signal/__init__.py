"""`signal`: the signal by rank, its slope at 0 and its curvature (Proposition 11, Lemmas 12 and 13).

Caveats: signals are judged by octaves of rank, their sum, to 3 % from d = 256 on.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import torch

from amembook.run import runtime
from amembook.run.base import Alpha, Config, Count, Experiment, Grid, Natural, Positive, Results, Several, draws
from amembook.run.claims import SHARP_DIM, SIZES, check, equivalence, family
from amembook.run.studies import headline
from amemlib import theory
from amemlib.checks import check_dims
from amemlib.equivalents import SpectralEquivalent
from amemlib.gradients import thresholded_gradient
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings
from amemlib.spectral import (
    divided_difference,
    polar,
    signal_curve,
    singular_values,
    smoothed_sign,
    smoothed_sign_scalars,
    stein_slope,
)

CURVATURE_GRID = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Weights t, in units of λ, at which φ″ is looked at; beyond ten λ the signal is flat."""
MAPS = ("polar", "smoothed_sign")


@dataclass(frozen=True)
class SignalConfig(Config):
    """The signal of one population step, item by item (Section 4.1, Appendix A.1)."""

    alpha: Alpha = 1.5
    dims: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (128, 256, 512, 1024)
    n_items: Several = 16_384
    seeds: Count = 4
    lam_over_t0: Positive = 1.0  # λ of h_λ in units of t₀; at λ = 0 φ″ has no bound
    n_probes: Several = 512  # pairs (u, v) that are in no gradient, on which φ(t) is followed from t = 0
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.n_items <= max(self.dims):
            raise ValueError(f"n_items must exceed every dimension, or G has no bulk, got {self.n_items}")


def rank_edges(n_items: int) -> list[int]:
    """Octaves of ranks, 1, 2–3, 4–7, …, the last one up to N: their first ranks and N + 1."""
    return [2**k for k in range(n_items.bit_length()) if 2**k < n_items] + [n_items + 1]


def measure_signal(
    n_items: int, dim: int, alpha: float, lam_over_t0: float, n_probes: int, seed: int, device: str
) -> dict:
    """One draw: own logits by octave of rank, and φ(0), φ′(0), max |φ″| on pairs of weight 0.

    Per octave the sum of u_iᵀ W v_i, of its square, and the number of items; W from the uncentred gradient.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    lam = lam_over_t0 * theory.bulk_scale(n_items, dim, alpha)
    emb = sample_embeddings(Problem.power_law(n_items + n_probes, dim, alpha), seed, runtime.device(device))
    # the probes are rows of the same draw with weight zero: independent of G, as u_i and v_i are of G_{−i}
    G = thresholded_gradient(emb, torch.cat([problem.frequencies, torch.zeros(n_probes, dtype=torch.float64)]), 0)
    edges = rank_edges(n_items)
    result = {}
    for name, W in zip(MAPS, (polar(G, dim), smoothed_sign(G, lam, dim)), strict=True):
        own = ((emb.V[:n_items].double() @ W.T) * emb.U[:n_items].double()).sum(1).cpu()
        bins = [own[a - 1 : b - 1] for a, b in zip(edges[:-1], edges[1:], strict=True)]
        result[name] = {"sum": [float(x.sum()) for x in bins], "square": [float(x.square().sum()) for x in bins]}
    U, V = emb.U[n_items:].double(), emb.V[n_items:].double()
    grid = lam * torch.tensor(CURVATURE_GRID, dtype=torch.float64, device=U.device).repeat(n_probes, 1)
    value, slope, curvature = signal_curve(G, U, V, grid, lam)
    lengths = (U.norm(dim=1) * V.norm(dim=1))[:, None]
    h, dh, _ = smoothed_sign_scalars(lam)
    s = singular_values(G)
    rows = (divided_difference(s[:, None], s, h, dh, lam) + divided_difference(s[:, None], -s, h, dh, lam)).sum(1)
    return result | {
        "start_rms": float(value[:, 0].square().mean().sqrt()) * dim**0.5,
        "lam_slope": float(lam * slope[:, 0].mean()),
        "slope_spread": float(slope[:, 0].std() / slope[:, 0].mean()),
        "least_lam_slope": float(lam * slope.min()),
        "lam_stein": lam * stein_slope(s, h, dh, lam),
        # the slope is ½ Σ T_kl a_k² b_l² to leading order, and each side scatters by the row sums of T
        "row_spread": float(2 * rows.norm() / rows.sum()),
        "curvature": float((curvature.abs() * lam**2 / lengths**3).max()),
        "start_curvature_rms": float(lam**2 * curvature[:, 0].square().mean().sqrt()) * dim**0.5,
    }


def signal_grids(config: SignalConfig) -> dict[str, Grid]:
    """Every draw, the small dimensions first."""
    return {"signal": Grid(measure_signal, {"dim": config.dims, "seed": draws(config)})}


def signal_summary(config: SignalConfig, results: Results) -> tuple[dict, dict]:
    """Signals by octave beside the sharp curve, slopes beside the Stein mean, curvature beside its bound 4/π.

    `signal` and `signal_error` are keyed by map and dimension, "polar_256", with one entry per octave of ranks (see
    `rank_edges`); everything else is aligned with `dims`. `signal_error` is one standard error of the octave's mean.
    """
    edges = np.array(rank_edges(config.n_items))
    sizes = np.diff(edges) * config.seeds
    measured, predicted = {"signal": {}, "signal_error": {}}, {"signal": {}}
    for k, dim in enumerate(config.dims):
        problem = Problem.power_law(config.n_items, dim, config.alpha)
        for name in MAPS:
            mean = results.array("signal", name, "sum")[k].sum(0) / sizes
            square = results.array("signal", name, "square")[k].sum(0) / sizes
            # one item in an octave says nothing of its scatter: a logit's is at least that of an interaction
            scatter = np.maximum(np.sqrt(np.maximum(square - mean**2, 0)), dim**-0.5)
            lam = 0.0 if name == "polar" else config.lam_over_t0 * theory.bulk_scale(config.n_items, dim, config.alpha)
            equivalent = SpectralEquivalent.solve(problem.frequencies, dim, lam)
            sharp = np.add.reduceat(equivalent.signal_of(problem.frequencies), edges[:-1] - 1) / np.diff(edges)
            key = f"{name}_{dim}"
            measured["signal"][key], measured["signal_error"][key] = mean, scatter / np.sqrt(sizes)
            predicted["signal"][key] = sharp
    for field in ("lam_slope", "slope_spread", "start_rms", "start_curvature_rms"):
        measured[field] = {"smoothed_sign": results.array("signal", field).mean(1)}
    measured["curvature"] = {"smoothed_sign": results.array("signal", "curvature").max(1)}
    measured["least_lam_slope"] = {"smoothed_sign": results.array("signal", "least_lam_slope").min(1)}
    predicted["lam_slope"] = {"smoothed_sign": results.array("signal", "lam_stein").mean(1)}
    predicted["slope_spread"] = {"smoothed_sign": results.array("signal", "row_spread").mean(1)}
    predicted["curvature"] = {"smoothed_sign": [theory.SIGNAL_CURVATURE_BOUND] * len(config.dims)}
    return measured, predicted


def judge_signal(config: SignalConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Signals against the sharp curve, which is the statement; the slope's Stein mean and the curvature's bound."""
    slopes, spread, curvature, least = (
        measured[field]["smoothed_sign"] for field in ("lam_slope", "slope_spread", "curvature", "least_lam_slope")
    )
    stein = predicted["lam_slope"]["smoothed_sign"]
    error = spread * stein / math.sqrt(config.n_probes * config.seeds)
    return {
        "polar": _curve_verdict(config, measured, predicted, "polar", "smoothed_sign"),
        "smoothed_sign": _curve_verdict(config, measured, predicted, "smoothed_sign", "polar"),
        # Stein's identity; a draw's own slope is negative nowhere
        "slope": check(
            (np.abs(slopes - stein) / error).max() if least.min() >= 0 else math.nan, 3, config.seeds, "errors off"
        ),
        "curvature": check(curvature.max(), theory.SIGNAL_CURVATURE_BOUND, config.seeds, "largest |φ″| λ²"),
    }


def _curve_verdict(config: SignalConfig, measured: dict, predicted: dict, name: str, other: str) -> dict:
    """The signals of one map by octave against its sharp curve, at every d from `SHARP_DIM` on."""
    judged = [dim for dim in config.dims if dim >= SHARP_DIM]
    if not judged:
        return equivalence([])

    def curves(side: dict, key: str) -> np.ndarray:
        return np.array([side[f"{key}_{dim}"] for dim in judged])

    rivals = {f"the signal of {other}": curves(predicted["signal"], other), "every item alike": 1.0}
    signal, error = curves(measured["signal"], name), curves(measured["signal_error"], name)
    held_to = {"law": curves(predicted["signal"], name), "band": SIZES, "rivals": rivals}
    held_to["at"] = [f"d = {dim}" for dim in judged]
    return equivalence(family("sum over octaves", signal, error, config.seeds, counted=False, **held_to))


EXPERIMENT = Experiment(
    name="signal",
    purpose=headline(__doc__),
    profiles={
        "smoke": SignalConfig(dims=(64, 128), n_items=2048, seeds=2, n_probes=64),
        "cpu": SignalConfig(),
        "gpu": SignalConfig(dims=(128, 256, 512, 1024, 2048, 4096), n_items=131_072, seeds=4, first_seed=26_000),
    },
    grids=signal_grids,
    summarise=signal_summary,
    judge=judge_signal,
)
