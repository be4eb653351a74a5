"""`spectral-maps`: capacity of one population step with maps as shipped and with the best one, beside polar and SGD."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from amemlib import runtime, theory
from amemlib.checks import check_alpha, check_count, check_dims, check_non_negative, check_positive
from amemlib.equivalents import (
    SpectralLaw,
    best_map,
    best_monotone_map,
    best_smoothing,
    expected_capacity,
    expected_map_capacity,
)
from amemlib.experiments.base import Cell, Experiment, Summary, capacity_verdict
from amemlib.gradients import gradient_rank, initial_gradient, item_losses_along
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.scaling import fit_exponent
from amemlib.spectral import (
    compose_quintics,
    newton_schulz_coefficients,
    polar_express_coefficients,
    spectral_maps,
)

SCHEDULES = {
    "muon5": [newton_schulz_coefficients("muon")] * 5,
    "muon10": [newton_schulz_coefficients("muon")] * 10,
    "cubic5": [newton_schulz_coefficients("cubic")] * 5,
    "cubic15": [newton_schulz_coefficients("cubic")] * 15,
    "polar_express5": polar_express_coefficients(1e-3, 5),
    # the preset "dion" of optax.contrib.muon
    "dion5": [
        (4.0848, -6.8946, 2.9270),
        (3.9505, -6.3029, 2.6377),
        (3.7418, -5.5913, 2.3037),
        (2.8769, -3.1427, 1.2046),
        (2.8366, -3.0525, 1.2012),
    ],
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

_SUMMED = ("polar", "smoothed_sign", "smoothed_best", "best", "best_floored", "best_monotone")


@dataclass(frozen=True)
class SpectralMapsConfig:
    """Capacity of one population step against d for polar, h_λ, SGD, the best map, and iterations of a fixed length.

    alpha, dims, n_items, seeds: the power law, the dimensions, N, and how many draws (seeds 0 … seeds − 1).
    lam_over_t0: λ of h_λ in units of the bulk scale t₀.
    steps, scan_dims: the numbers of steps n and the dimensions at which iterations are scanned; the cubic takes 3n.
    floors: for the losses, the floors of the best map beyond its peak (`equivalents.best_map`).
    loss_dims, loss_items: d and N of the losses at the best learning rate.
    first_seed: where the seeds start; the numbers of the ledger come from 1000 on.
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (64, 128, 256, 512, 1024)
    n_items: int = 16_384
    seeds: int = 3
    lam_over_t0: float = 1.0
    steps: tuple[int, ...] = (4, 6, 8, 10, 12)
    scan_dims: tuple[int, ...] = (64, 128, 256, 512)
    floors: tuple[float, ...] = (0.0, 0.03, 0.1, 0.3, 1.0)
    loss_dims: tuple[int, ...] = (128, 256)
    loss_items: int = 2048
    first_seed: int = 0

    def __post_init__(self):
        check_alpha(self.alpha)
        check_dims("dims", self.dims)
        check_dims("loss_dims", self.loss_dims)
        if not set(self.scan_dims) <= set(self.dims):
            raise ValueError(f"scan_dims must be among dims, {list(self.dims)}, got {list(self.scan_dims)}")
        for name, least in (("n_items", 2), ("loss_items", 2), ("seeds", 1), ("first_seed", 0)):
            check_count(name, getattr(self, name), least)
        check_positive("lam_over_t0", self.lam_over_t0)
        if not self.steps or list(self.steps) != sorted(set(self.steps)):
            raise ValueError(f"steps must be increasing whole numbers, got {list(self.steps)}")
        check_count("steps", self.steps[0])
        if not self.floors:
            raise ValueError("floors must hold at least one number ≥ 0")
        for floor in self.floors:
            check_non_negative("floors", floor)


def update_maps(
    alpha: float, n_items: int, dim: int, norm: float, lam_over_t0: float
) -> dict[str, Callable[[torch.Tensor], torch.Tensor]]:
    """Every map by name as a function of absolute singular values; norm: ‖G‖_F, which the iterations divide by."""
    t0 = theory.bulk_scale(alpha, n_items, dim)
    law = SpectralLaw.power_law(alpha, t0)
    maps = {
        "polar": torch.ones_like,
        "smoothed_sign": _smoothed(lam_over_t0 * t0),
        "smoothed_best": _smoothed(best_smoothing(law)),
        "best": best_map(law),
        "best_floored": best_map(law, FLOOR),
        "best_monotone": best_monotone_map(law),
    }
    return maps | {name: _iterated(norm, schedule) for name, schedule in SCHEDULES.items()}


def scanned_schedules(alpha: float, n_items: int, dim: int, norm: float, steps: Sequence[int]) -> dict[str, list]:
    """For every family the schedules at each number of steps; norm as in `update_maps`."""
    lower = REACH * theory.bulk_scale(alpha, n_items, dim) / norm
    return {
        "muon": [[newton_schulz_coefficients("muon")] * n for n in steps],
        "cubic": [[newton_schulz_coefficients("cubic")] * (3 * n) for n in steps],
        "polar_express": [polar_express_coefficients(lower, n) for n in steps],
    }


def measure_spectral_maps(
    alpha: float, n_items: int, dim: int, lam_over_t0: float, steps: list[int], seed: int, device: str
) -> dict:
    """Recovered items with every map and every scanned schedule, and the share of singular values left below 1/2."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    norm = torch.linalg.norm(G).item()
    maps = update_maps(alpha, n_items, dim, norm, lam_over_t0)
    scans = scanned_schedules(alpha, n_items, dim, norm, steps)
    functions = [*maps.values(), *(_iterated(norm, schedule) for family in FAMILIES for schedule in scans[family])]
    memories = spectral_maps(G, functions, gradient_rank(emb, problem.frequencies))
    counts = [capacity(W, emb) for W in memories]
    s = torch.linalg.svdvals(G)
    by_steps = np.reshape(counts[len(maps) :], (len(FAMILIES), len(steps))).astype(int)
    return {
        "counts": dict(zip(maps, counts, strict=False)) | {"sgd": capacity(G, emb)},
        "by_steps": dict(zip(FAMILIES, by_steps.tolist(), strict=True)),
        "shares": {name: (maps[name](s) < 0.5).double().mean().item() for name in SCHEDULES},
    }


def measure_floors(alpha: float, n_items: int, dim: int, floors: list[float], seed: int, device: str) -> dict:
    """Recovered items and the loss at the best learning rate: the best map at every floor, polar, the shipped steps.

    Learning rates: 2^k √d, k from 0 to 10 in steps of 1/2, for maps whose largest value is 1. `at_edge` says whether
    the best is the first or the last of them.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    p = problem.frequencies.to(emb.U.device)
    G = initial_gradient(emb, p)
    law = SpectralLaw.power_law(alpha, theory.bulk_scale(alpha, n_items, dim))
    maps = {"polar": torch.ones_like, "muon5": _iterated(torch.linalg.norm(G).item(), SCHEDULES["muon5"])}
    maps |= {f"floor_{floor:g}": best_map(law, floor) for floor in floors}
    rates = 2.0 ** np.arange(0, 10.1, 0.5) * math.sqrt(dim)
    result = {}
    for name, W in zip(maps, spectral_maps(G, list(maps.values()), gradient_rank(emb, p)), strict=True):
        losses = (item_losses_along(W, emb, rates) @ p).cpu().numpy()
        best = int(losses.argmin())
        result[name] = {
            "count": capacity(W, emb),
            "loss": float(losses[best]),
            "lr_over_root_dim": float(rates[best]) / math.sqrt(dim),
            "at_edge": best in (0, len(rates) - 1),
        }
    return result


def spectral_maps_cells(config: SpectralMapsConfig, device: str) -> list[Cell]:
    """Every draw, small dimensions first, then the losses."""
    common = {"alpha": config.alpha, "device": device}
    counted = common | {"n_items": config.n_items, "lam_over_t0": config.lam_over_t0}
    lost = common | {"n_items": config.loss_items, "floors": list(config.floors)}
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    cells = []
    for dim in config.dims:
        steps = list(config.steps) if dim in config.scan_dims else []
        cells += [Cell(measure_spectral_maps, counted | {"dim": dim, "seed": seed, "steps": steps}) for seed in seeds]
    return cells + [
        Cell(measure_floors, lost | {"dim": dim, "seed": seed}) for dim in config.loss_dims for seed in seeds
    ]


def spectral_maps_summary(config: SpectralMapsConfig, results: list[dict]) -> Summary:
    """Counts, exponents and shares below 1/2 by map, all lists aligned with `dims`, beside the sharp predictions.

    counts_by_steps: family ↦ one list for each of `scan_dims`, aligned with `steps` (3 × `steps` for the cubic).
    steps_needed: family ↦ the least number of steps, interpolated, that keeps 97 % of polar's count; `None` where none
        of `steps` does, or all do. predicted: `theory.newton_schulz_steps`, for the families with one slope.
    floor_counts, floor_losses: map ↦ one list for each of `loss_dims`; floors are named floor_0.3.
    An iteration of a fixed number of steps is linear below ‖G‖_F / (its slope at 0), which does not shrink with d: its
    limiting exponent is SGD's.
    """
    shape = (len(config.dims), config.seeds)
    drawn, floors = results[: shape[0] * shape[1]], results[shape[0] * shape[1] :]
    names = [*drawn[0]["counts"]]
    seed_counts = {name: np.array([r["counts"][name] for r in drawn]).reshape(shape) for name in names}
    shares = {name: np.array([r["shares"][name] for r in drawn]).reshape(shape).mean(1) for name in SCHEDULES}
    scanned = [r["by_steps"] for r in drawn if r["by_steps"][FAMILIES[0]]]
    by_steps = {
        family: np.array([r[family] for r in scanned]).reshape(len(config.scan_dims), config.seeds, -1)
        for family in FAMILIES
    }
    predicted = _predictions(config, names)
    fits = {name: fit_exponent(config.dims, seed_counts[name], ceiling=float(config.n_items)) for name in names}
    exponents = {name: theory.recovery_exponent("muon" if name in _SUMMED else "sgd", config.alpha) for name in names}
    polar = seed_counts["polar"].mean(1)[np.isin(config.dims, config.scan_dims)]
    loss_shape = (len(config.loss_dims), config.seeds)
    by_floor = {
        key: {name: np.reshape([r[name][key] for r in floors], loss_shape) for name in floors[0]}
        for key in ("count", "loss", "lr_over_root_dim", "at_edge")
    }
    measured = {
        "slope": {name: fit.slope for name, fit in fits.items()},
        "interval": {name: [fit.low, fit.high] for name, fit in fits.items()},
        "counts": {name: counts.mean(1).tolist() for name, counts in seed_counts.items()},
        "seed_counts": {name: counts.tolist() for name, counts in seed_counts.items()},
        "counts_by_steps": {family: counts.mean(1).tolist() for family, counts in by_steps.items()},
        "steps_needed": {
            family: [
                _crossing(_numbers(family, config.steps), row / reference)
                for row, reference in zip(counts.mean(1), polar, strict=True)
            ]
            for family, counts in by_steps.items()
        },
        "share_below_half": {name: share.tolist() for name, share in shares.items()},
        "floor_counts": {name: counts.mean(1).tolist() for name, counts in by_floor["count"].items()},
        "floor_losses": {name: losses.mean(1).tolist() for name, losses in by_floor["loss"].items()},
        "floor_seed_losses": {name: losses.tolist() for name, losses in by_floor["loss"].items()},
        "floor_lr": {name: rates.mean(1).tolist() for name, rates in by_floor["lr_over_root_dim"].items()},
        "doubts": {name: list(fit.doubts) for name, fit in fits.items()}
        | {name: ["edge of the learning rates"] for name, edge in by_floor["at_edge"].items() if edge.any()},
    }
    predicted |= {
        "slope": exponents,
        "sharp_slope": {name: fit_exponent(config.dims, predicted["counts"][name]).slope for name in names},
    }
    verdicts = {
        name: capacity_verdict(
            config.dims, seed_counts[name], predicted["counts"][name], fits[name].slope, exponents[name]
        )
        for name in names
        if name != "sgd"
    }
    return Summary(measured, predicted, verdicts)


def _predictions(config: SpectralMapsConfig, names: list[str]) -> dict:
    counts, shares = {name: [] for name in names}, {name: [] for name in SCHEDULES}
    by_steps = {family: [] for family in FAMILIES}
    for dim in config.dims:
        problem = Problem.power_law(config.n_items, dim, config.alpha)
        norm = problem.frequencies.norm().item()
        law = SpectralLaw.solve(problem.frequencies, dim)
        maps = update_maps(config.alpha, config.n_items, dim, norm, config.lam_over_t0)
        for name in names:
            sgd = name == "sgd"
            counts[name].append(
                expected_capacity(problem, "sgd") if sgd else expected_map_capacity(problem, maps[name])
            )
        grid = torch.from_numpy(law.singular_values.copy())
        for name in SCHEDULES:
            crossing = grid[(maps[name](grid) >= 0.5).nonzero()[0, 0]].item()
            shares[name].append(float(law.share_below(crossing)))
        if dim not in config.scan_dims:
            continue
        scans = scanned_schedules(config.alpha, config.n_items, dim, norm, config.steps)
        for family in FAMILIES:
            row = [expected_map_capacity(problem, _iterated(norm, schedule)) for schedule in scans[family]]
            by_steps[family].append(row)
    rule = {
        family: [
            theory.newton_schulz_steps(config.alpha, config.n_items, dim, newton_schulz_coefficients(family)[0])
            for dim in config.dims
            if dim in config.scan_dims
        ]
        for family in FAMILIES[:2]
    }
    polar = np.array(counts["polar"])[np.isin(config.dims, config.scan_dims)]
    sharp = {
        family: [
            _crossing(_numbers(family, config.steps), np.array(row) / reference)
            for row, reference in zip(by_steps[family], polar, strict=True)
        ]
        for family in FAMILIES
    }
    return {
        "counts": counts,
        "counts_by_steps": by_steps,
        "share_below_half": shares,
        "steps_needed": rule,
        "sharp_steps_needed": sharp,
    }


def _numbers(family: str, steps: tuple[int, ...]) -> np.ndarray:
    return np.array(steps) * (3 if family == "cubic" else 1)


def _crossing(steps: np.ndarray, share: np.ndarray) -> float | None:
    """Where the share of polar's count first rises through 0.97, linear between the scanned numbers of steps."""
    reached = share >= KEPT
    if reached[0] or not reached.any():
        return None
    k = int(reached.argmax())
    part = (KEPT - share[k - 1]) / (share[k] - share[k - 1])
    return float(steps[k - 1] + part * (steps[k] - steps[k - 1]))


def _smoothed(lam: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda s: s / torch.hypot(s, s.new_tensor(lam))


def _iterated(norm: float, schedule: Sequence[Sequence[float]]) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda s: compose_quintics((s / norm).clamp(max=1), schedule)


SPECTRAL_MAPS = Experiment(
    name="spectral-maps",
    purpose="capacity of one population step with the maps that optimizers ship and with the best one, beside polar",
    profiles={
        "smoke": SpectralMapsConfig(
            dims=(32, 64),
            n_items=2048,
            seeds=2,
            steps=(3, 5, 7),
            scan_dims=(32, 64),
            floors=(0.0, 0.3),
            loss_dims=(32, 64),
            loss_items=512,
        ),
        "cpu": SpectralMapsConfig(),
        "gpu": SpectralMapsConfig(
            dims=(128, 256, 512, 1024, 2048, 4096),
            n_items=131_072,
            seeds=4,
            steps=(4, 6, 8, 10, 12, 14, 16),
            scan_dims=(128, 256, 512, 1024, 2048),
            loss_dims=(256, 512, 1024, 2048),
            loss_items=16_384,
        ),
    },
    cells=spectral_maps_cells,
    summarise=spectral_maps_summary,
)
