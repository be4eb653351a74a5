"""`spectral-maps`: capacity of one population step with maps as shipped and with the best one, beside polar and SGD.

Caveats: counts are judged from d = 256 on, to 3 %. An iteration of a fixed length has SGD's exponent in the
limit. Enough steps are those that keep 97 % of polar's count.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from amembook.run import runtime
from amembook.run.base import (
    Alpha,
    AscendingCounts,
    Config,
    Count,
    Counts,
    Dims,
    Experiment,
    Grid,
    Natural,
    NonNegatives,
    Positive,
    Results,
    Several,
    draws,
)
from amembook.run.claims import FRESH_SEEDS, capacity_verdicts
from amembook.run.studies import headline
from amemlib import spectral, theory
from amemlib.equivalents import (
    SpectralLaw,
    best_map,
    best_monotone_map,
    best_smoothing,
    expected_capacity,
    expected_map_capacity,
)
from amemlib.gradients import gradient_rank, initial_gradient, item_losses_along
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.scaling import fit_exponent
from amemlib.spectral import (
    compose_quintics,
    newton_schulz_coefficients,
    polar_express_coefficients,
    singular_values,
    smoothed_sign_scalars,
    spectral_maps,
)

SCHEDULES = {
    "muon5": [newton_schulz_coefficients("muon")] * 5,
    "muon10": [newton_schulz_coefficients("muon")] * 10,
    "cubic5": [newton_schulz_coefficients("cubic")] * 5,
    "cubic15": [newton_schulz_coefficients("cubic")] * 15,
    "polar_express5": polar_express_coefficients(1e-3, 5),
    "dion5": list(spectral.SCHEDULES["you"]),
}
"""Fixed schedules of (a, b, c) by name; `muon5` is what torch and optax ship, `polar_express5` is made for s ≥ 10⁻³."""

FAMILIES = ("muon", "cubic", "polar_express")
"""Iterations whose number of steps is scanned: n quintic steps, 3n cubic ones, n of a schedule made for the bulk."""

REACH = 0.3
"""The schedule made for the bulk is the best one for s ≥ 0.3 t₀: lower, it costs steps, higher, it loses the bulk."""

FLOOR = 0.3
"""The floor of the map `best_floored`, beyond its peak."""

KEPT = 0.97
"""Enough steps are those that keep this part of polar's capacity."""

SUMMED = ("polar", "smoothed_sign", "smoothed_best", "best", "best_floored", "best_monotone")
"""Maps on the scale of the bulk, which have Muon's exponent; a fixed number of steps has SGD's in the limit."""
MAPS = (*SUMMED, *SCHEDULES, "sgd")


@dataclass(frozen=True)
class SpectralMapsConfig(Config):
    """Capacity of one population step against d for polar, h_λ, SGD, the best map, and iterations of a fixed length."""

    alpha: Alpha = 1.5
    dims: Dims = (64, 128, 256, 512, 1024)
    n_items: Several = 16_384
    seeds: Count = 3
    lam_over_t0: Positive = 1.0  # λ of h_λ in units of the bulk scale t₀
    # the numbers of steps n and the dimensions at which iterations are scanned; the cubic takes 3n
    steps: AscendingCounts = (4, 6, 8, 10, 12)
    scan_dims: Counts = (64, 128, 256, 512)
    floors: NonNegatives = (0.0, 0.03, 0.1, 0.3, 1.0)  # of the best map beyond its peak, for the losses
    # where the losses at the best learning rate are measured
    loss_dims: Dims = (128, 256)
    loss_items: Several = 2048
    first_seed: Natural = 0

    def limits(self) -> None:
        if not set(self.scan_dims) <= set(self.dims):
            raise ValueError(f"scan_dims must be among dims, {list(self.dims)}, got {list(self.scan_dims)}")


def update_maps(
    n_items: int, dim: int, alpha: float, norm: float, lam_over_t0: float
) -> dict[str, Callable[[torch.Tensor], torch.Tensor]]:
    """Every map by name as a function of absolute singular values; norm: ‖G‖_F, which the iterations divide by."""
    t0 = theory.bulk_scale(n_items, dim, alpha)
    law = SpectralLaw.power_law(alpha, t0)
    maps = {
        "polar": torch.ones_like,
        "smoothed_sign": smoothed_sign_scalars(lam_over_t0 * t0)[0],
        "smoothed_best": smoothed_sign_scalars(best_smoothing(law))[0],
        "best": best_map(law),
        "best_floored": best_map(law, FLOOR),
        "best_monotone": best_monotone_map(law),
    }
    return maps | {name: _iterated(norm, schedule) for name, schedule in SCHEDULES.items()}


def scanned_schedules(n_items: int, dim: int, alpha: float, norm: float, steps: Sequence[int]) -> dict[str, list]:
    """For every family the schedules at each number of steps; norm as in `update_maps`."""
    lower = REACH * theory.bulk_scale(n_items, dim, alpha) / norm
    return {
        "muon": [[newton_schulz_coefficients("muon")] * n for n in steps],
        "cubic": [[newton_schulz_coefficients("cubic")] * (3 * n) for n in steps],
        "polar_express": [polar_express_coefficients(lower, n) for n in steps],
    }


def measure_spectral_maps(
    n_items: int, dim: int, alpha: float, lam_over_t0: float, steps: list[int], seed: int, device: str
) -> dict:
    """Recovered items with every map and every scanned schedule, and the share of singular values left below 1/2."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    norm = torch.linalg.norm(G).item()
    maps = update_maps(n_items, dim, alpha, norm, lam_over_t0)
    scans = scanned_schedules(n_items, dim, alpha, norm, steps)
    functions = [*maps.values(), *(_iterated(norm, schedule) for family in FAMILIES for schedule in scans[family])]
    memories = spectral_maps(G, functions, gradient_rank(emb, problem.frequencies))
    counts = [capacity(W, emb) for W in memories]
    s = singular_values(G)
    by_steps = np.reshape(counts[len(maps) :], (len(FAMILIES), len(steps))).astype(int)
    return {
        "counts": dict(zip(maps, counts, strict=False)) | {"sgd": capacity(G, emb)},
        "by_steps": dict(zip(FAMILIES, by_steps, strict=True)),
        "shares": {name: (maps[name](s) < 0.5).double().mean().item() for name in SCHEDULES},
    }


def measure_floors(n_items: int, dim: int, alpha: float, floors: list[float], seed: int, device: str) -> dict:
    """Recovered items and the loss at the best learning rate: the best map at every floor, polar, the shipped steps.

    Learning rates: 2^k √d, k from 0 to 10 in steps of 1/2, for maps whose largest value is 1. `at_edge` says whether
    the best is the first or the last of them.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    p = problem.frequencies.to(emb.U.device)
    G = initial_gradient(emb, p)
    law = SpectralLaw.power_law(alpha, theory.bulk_scale(n_items, dim, alpha))
    maps = {"polar": torch.ones_like, "muon5": _iterated(torch.linalg.norm(G).item(), SCHEDULES["muon5"])}
    maps |= {f"floor_{floor:g}": best_map(law, floor) for floor in floors}
    rates = 2.0 ** np.arange(0, 10.1, 0.5) * math.sqrt(dim)
    result = {}
    for name, W in zip(maps, spectral_maps(G, list(maps.values()), gradient_rank(emb, p)), strict=True):
        losses = (item_losses_along(W, emb, rates) @ p).cpu().numpy()
        best = int(losses.argmin())
        result[name] = {
            "count": capacity(W, emb),
            "loss": losses[best],
            "lr_over_root_dim": rates[best] / math.sqrt(dim),
            "at_edge": best in (0, len(rates) - 1),
        }
    return result


def spectral_maps_grids(config: SpectralMapsConfig) -> dict[str, Grid]:
    """Every draw, small dimensions first, iterations scanned at some of them; then the losses."""
    scanned = {dim: {"dim": dim, "steps": config.steps if dim in config.scan_dims else ()} for dim in config.dims}
    losses = {"dim": config.loss_dims, "seed": draws(config)}
    return {
        "maps": Grid(measure_spectral_maps, {"dim": scanned, "seed": draws(config)}),
        "floors": Grid(measure_floors, losses, n_items=config.loss_items),
    }


def spectral_maps_summary(config: SpectralMapsConfig, results: Results) -> tuple[dict, dict]:
    """Counts, exponents and shares below 1/2 by map, all lists aligned with `dims`, beside the sharp predictions.

    counts_by_steps: family ↦ one list for each of `scan_dims`, aligned with `steps` (3 × `steps` for the cubic).
    steps_needed: family ↦ the least number of steps, interpolated, that keeps 97 % of polar's count; `None` where none
        of `steps` does, or all do. predicted: `theory.newton_schulz_steps`, for the families with one slope.
    floor_counts, floor_losses: map ↦ one list for each of `loss_dims`; floors are named floor_0.3.
    An iteration of a fixed number of steps is linear below ‖G‖_F / (its slope at 0), which does not shrink with d: its
    limiting exponent is SGD's.
    """
    seed_counts = {name: results.array("maps", "counts", name) for name in MAPS}
    shares = {name: results.array("maps", "shares", name).mean(1) for name in SCHEDULES}
    by_steps = {
        family: np.array([results.array("maps", "by_steps", family, dim=dim).mean(0) for dim in _scan_dims(config)])
        for family in FAMILIES
    }
    fits = {name: fit_exponent(config.dims, seed_counts[name], ceiling=float(config.n_items)) for name in MAPS}
    floored = ("polar", "muon5", *(f"floor_{floor:g}" for floor in config.floors))
    by_floor = {
        key: {name: results.array("floors", name, key) for name in floored}
        for key in ("count", "loss", "lr_over_root_dim", "at_edge")
    }
    measured = {
        "slope": {name: fit.slope for name, fit in fits.items()},
        "interval": {name: [fit.low, fit.high] for name, fit in fits.items()},
        "counts": {name: counts.mean(1) for name, counts in seed_counts.items()},
        "seed_counts": seed_counts,
        "counts_by_steps": by_steps,
        "steps_needed": _steps_needed(config, by_steps, seed_counts["polar"].mean(1)),
        "share_below_half": shares,
        "floor_counts": {name: counts.mean(1) for name, counts in by_floor["count"].items()},
        "floor_losses": {name: losses.mean(1) for name, losses in by_floor["loss"].items()},
        "floor_seed_losses": by_floor["loss"],
        "floor_lr": {name: rates.mean(1) for name, rates in by_floor["lr_over_root_dim"].items()},
        "doubts": {name: fit.doubts for name, fit in fits.items()}
        | {name: ["edge of the learning rates"] for name, edge in by_floor["at_edge"].items() if edge.any()},
    }
    predicted = _predictions(config)
    return measured, predicted | {
        "slope": {name: theory.recovery_exponent(_method(name), config.alpha) for name in MAPS},
        "sharp_slope": {name: fit_exponent(config.dims, predicted["counts"][name]).slope for name in MAPS},
    }


def judge_spectral_maps(config: SpectralMapsConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Counts of every map but SGD's against their sharp predictions, exponents against their limits."""
    return capacity_verdicts(config, measured, predicted, {name: _method(name) for name in (*SUMMED, *SCHEDULES)})


def _method(name: str) -> str:
    """The optimizer whose exponent a map has in the limit."""
    return "muon" if name in SUMMED else "sgd"


def _scan_dims(config: SpectralMapsConfig) -> list[int]:
    return [dim for dim in config.dims if dim in config.scan_dims]


def _predictions(config: SpectralMapsConfig) -> dict:
    """Sharp counts of every map and schedule, shares below 1/2 by the law of the spectrum, and the steps needed."""
    counts, shares = {name: [] for name in MAPS}, {name: [] for name in SCHEDULES}
    by_steps = {family: [] for family in FAMILIES}
    for dim in config.dims:
        problem = Problem.power_law(config.n_items, dim, config.alpha)
        norm = problem.frequencies.norm().item()
        maps = update_maps(config.n_items, dim, config.alpha, norm, config.lam_over_t0)
        for name, f in maps.items():
            counts[name].append(expected_map_capacity(problem, f))
        counts["sgd"].append(expected_capacity(problem, "sgd"))
        law = SpectralLaw.solve(problem.frequencies, dim)
        s = torch.from_numpy(law.singular_values.copy())
        for name in SCHEDULES:
            crossing = s[(maps[name](s) >= 0.5).nonzero()[0, 0]].item()
            shares[name].append(law.share_below(crossing))
        if dim in config.scan_dims:
            scans = scanned_schedules(config.n_items, dim, config.alpha, norm, config.steps)
            for family, schedules in scans.items():
                iterations = [_iterated(norm, schedule) for schedule in schedules]
                by_steps[family].append([expected_map_capacity(problem, f) for f in iterations])
    rule = {
        family: [
            theory.newton_schulz_steps(config.n_items, dim, config.alpha, newton_schulz_coefficients(family)[0])
            for dim in _scan_dims(config)
        ]
        for family in FAMILIES[:2]
    }
    return {
        "counts": counts,
        "counts_by_steps": by_steps,
        "share_below_half": shares,
        "steps_needed": rule,
        "sharp_steps_needed": _steps_needed(config, by_steps, np.array(counts["polar"])),
    }


def _steps_needed(config: SpectralMapsConfig, by_steps: dict, polar: np.ndarray) -> dict[str, list[float | None]]:
    """Family ↦ for each of `scan_dims` the steps that keep `KEPT` of polar's counts, those at `dims`."""
    whole = polar[np.isin(config.dims, config.scan_dims)]
    steps = {family: np.array(config.steps) * (3 if family == "cubic" else 1) for family in FAMILIES}
    return {
        family: [_crossing(steps[family], np.array(row) / full) for row, full in zip(rows, whole, strict=True)]
        for family, rows in by_steps.items()
    }


def _crossing(steps: np.ndarray, share: np.ndarray) -> float | None:
    """Where the share of polar's count first rises through 0.97, linear between the scanned numbers of steps."""
    reached = share >= KEPT
    if reached[0] or not reached.any():
        return None
    k = int(reached.argmax())
    part = (KEPT - share[k - 1]) / (share[k] - share[k - 1])
    return steps[k - 1] + part * (steps[k] - steps[k - 1])


def _iterated(norm: float, schedule: Sequence[Sequence[float]]) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda s: compose_quintics((s / norm).clamp(max=1), schedule)


EXPERIMENT = Experiment(
    name="spectral-maps",
    purpose=headline(__doc__),
    profiles={
        "smoke": SpectralMapsConfig(
            dims=(32, 64), n_items=2048, seeds=2, steps=(3, 5, 7), scan_dims=(32, 64), floors=(0.0, 0.3),
            loss_dims=(32, 64), loss_items=512,
        ),
        "cpu": SpectralMapsConfig(),
        "confirm": SpectralMapsConfig(dims=(64, 128, 256, 512), seeds=8, first_seed=4450),
        "gpu": SpectralMapsConfig(
            dims=(128, 256, 512, 1024, 2048, 4096), n_items=131_072, seeds=4, first_seed=25_500,
            steps=(4, 6, 8, 10, 12, 14, 16), scan_dims=(128, 256, 512, 1024, 2048), loss_dims=(256, 512, 1024, 2048),
            loss_items=16_384,
        ),
    },
    grids=spectral_maps_grids,
    summarise=spectral_maps_summary,
    judge=judge_spectral_maps,
    unseen_from=FRESH_SEEDS,
)  # fmt: skip
