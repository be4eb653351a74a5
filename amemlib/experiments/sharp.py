"""`sharp`: counts of one step beside their sharp predictions, over α, d, N, λ, batches and optimizers."""

import math
from dataclasses import dataclass

import numpy as np

from amemlib.checks import check_alpha, check_count, check_dims, check_non_negative
from amemlib.equivalents import expected_capacity
from amemlib.experiments.base import Cell, Experiment, Summary
from amemlib.experiments.sharp_counts import measure_batches, measure_population, measure_sgd
from amemlib.problem import Problem
from amemlib.sampling import sample_minibatch
from amemlib.theory import bulk_scale
from amemlib.verdicts import NOT_REPRODUCED, OPEN, REPRODUCED

SHARP_BAND = 0.03
"""How far a mean count may lie from its prediction, beyond two standard errors."""
SGD_BAND = 0.05
"""The same for SGD, whose counts scatter more."""
FEWEST_ITEMS = 50
"""Counts below this are not judged, but for SGD's: the lucky item alone is two per cent of them."""


@dataclass(frozen=True)
class SharpConfig:
    """Counts of one step over a grid of power laws and sizes, each beside its prediction.

    alphas, dims, n_items, lam_over_t0: the grid; every λ in units of t₀, 0 is the polar map; Newton is counted too.
    seeds: how many draws at each of `dims`; a count scatters by about 4, 2 and 1 % at d = 128, 256, 512.
    batch_dims, batch_seeds, batch_alpha, batch_items, batch_sizes: one minibatch step of polar and Newton.
    sgd_dims, sgd_items, sgd_seeds: one population SGD step for every α.
    first_seed: where the seeds start; the numbers of the ledger come from 1000 on.
    """

    alphas: tuple[float, ...] = (1.1, 1.25, 1.5, 2.0, 2.5)
    dims: tuple[int, ...] = (128, 256, 512)
    seeds: tuple[int, ...] = (20, 6, 3)
    n_items: tuple[int, ...] = (5000, 50_000)
    lam_over_t0: tuple[float, ...] = (0.0, 0.1, 1.0, 3.0, 10.0)
    batch_alpha: float = 1.5
    batch_dims: tuple[int, ...] = (128, 256)
    batch_seeds: tuple[int, ...] = (10, 4)
    batch_items: int = 16_384
    batch_sizes: tuple[int, ...] = (256, 1024, 2048, 4096, 16_384, 65_536)
    sgd_dims: tuple[int, ...] = (4096, 16_384, 65_536)
    sgd_items: int = 2048
    sgd_seeds: int = 24
    first_seed: int = 0

    def __post_init__(self):
        for alpha in (*self.alphas, self.batch_alpha):
            check_alpha(alpha, above=1.0)
        for name in ("dims", "batch_dims", "sgd_dims"):
            check_dims(name, getattr(self, name), count=1)
        for name, dims in (("seeds", self.dims), ("batch_seeds", self.batch_dims)):
            if len(getattr(self, name)) != len(dims):
                raise ValueError(f"{name} must hold {len(dims)} numbers of draws, got {list(getattr(self, name))}")
        for name in ("n_items", "batch_sizes", "seeds", "batch_seeds"):
            for value in getattr(self, name):
                check_count(name, value, least=2)
        for name in ("batch_items", "sgd_items", "sgd_seeds"):
            check_count(name, getattr(self, name), least=2)
        if not self.lam_over_t0 or self.lam_over_t0[0] != 0:
            raise ValueError(f"lam_over_t0 must begin with 0, the polar map, got {list(self.lam_over_t0)}")
        for ratio in self.lam_over_t0:
            check_non_negative("lam_over_t0", ratio)
        check_count("first_seed", self.first_seed, least=0)


def sharp_cells(config: SharpConfig, device: str) -> list[Cell]:
    """Every draw: the population grid, the smallest d first, then minibatches, then SGD."""
    seeds = lambda n: range(config.first_seed, config.first_seed + n)  # noqa: E731
    grid = {"lam_over_t0": list(config.lam_over_t0), "device": device}
    population = [
        Cell(measure_population, grid | {"alpha": alpha, "n_items": n_items, "dim": dim, "seed": seed})
        for dim, n in zip(config.dims, config.seeds, strict=True)
        for n_items in config.n_items
        for alpha in config.alphas
        for seed in seeds(n)
    ]
    common = {
        "alpha": config.batch_alpha,
        "n_items": config.batch_items,
        "batch_sizes": list(config.batch_sizes),
        "device": device,
    }
    batches = [
        Cell(measure_batches, common | {"dim": dim, "seed": seed})
        for dim, n in zip(config.batch_dims, config.batch_seeds, strict=True)
        for seed in seeds(n)
    ]
    common = {"alphas": list(config.alphas), "n_items": config.sgd_items}
    return [
        *population,
        *batches,
        *[
            Cell(measure_sgd, common | {"dim": dim, "seed": seed})
            for dim in config.sgd_dims
            for seed in seeds(config.sgd_seeds)
        ],
    ]


def sharp_summary(config: SharpConfig, results: list[dict]) -> Summary:
    """Mean counts, their standard errors and predictions, by map, and how far the two are apart.

    counts, error: polar, smoothed_sign_<λ/t₀> and newton as [dim][n_items][alpha]; batch_polar and batch_newton as
    [dim][batch]; sgd as [dim][alpha]. The error of a batch count is that of counted minus predicted, batch by batch.
    worst: the largest |counted / predicted − 1| over the judged means; noise: the largest relative
    standard error there; within: the share of those means that lie within the band, and their number.
    """
    counts, errors, predicted = {}, {}, {}
    cursor = iter(results)
    shape = (len(config.n_items), len(config.alphas))
    maps = [_name(ratio) for ratio in config.lam_over_t0]
    population = {name: [] for name in (*maps, "newton")}
    for n in config.seeds:
        draws = [next(cursor) for _ in range(shape[0] * shape[1] * n)]
        for k, name in enumerate(maps):
            population[name].append(np.reshape([draw["smoothed_sign"][k] for draw in draws], (*shape, n)))
        population["newton"].append(np.reshape([draw["newton"][0] for draw in draws], (*shape, n)))
    for name, by_dim in population.items():
        counts[name], errors[name] = (np.array(x) for x in zip(*map(_mean_and_error, by_dim), strict=True))
        predicted[name] = np.empty(counts[name].shape)
        for index in np.ndindex(predicted[name].shape):
            dim, n_items, alpha = (
                grid[k] for grid, k in zip((config.dims, config.n_items, config.alphas), index, strict=True)
            )
            problem = Problem.power_law(n_items, dim, alpha)
            lam = 0.0 if name == "newton" else config.lam_over_t0[maps.index(name)] * bulk_scale(alpha, n_items, dim)
            predicted[name][index] = expected_capacity(problem, "newton" if name == "newton" else "smoothed_sign", lam)

    for name in ("batch_polar", "batch_newton"):
        counts[name], errors[name], predicted[name] = [], [], []
    for dim, n in zip(config.batch_dims, config.batch_seeds, strict=True):
        draws = [next(cursor) for _ in range(n)]
        sharp = _expected_batches(config, dim, n)
        for name in ("polar", "newton"):
            counted = np.array([draw[name] for draw in draws]).T
            counts[f"batch_{name}"].append(counted.mean(1))
            predicted[f"batch_{name}"].append(sharp[name].mean(1))
            errors[f"batch_{name}"].append(_mean_and_error(counted - sharp[name])[1])
    sgd = np.array([next(cursor)["sgd"] for _ in range(len(config.sgd_dims) * config.sgd_seeds)])
    sgd = sgd.reshape(len(config.sgd_dims), config.sgd_seeds, -1).swapaxes(1, 2)
    counts["sgd"], errors["sgd"] = _mean_and_error(sgd)
    predicted["sgd"] = [
        [expected_capacity(Problem.power_law(config.sgd_items, dim, alpha), "sgd") for alpha in config.alphas]
        for dim in config.sgd_dims
    ]

    measured = {"counts": {}, "error": {}, "ratio": {}, "worst": {}, "noise": {}, "within": {}, "number": {}}
    verdicts = {}
    for name in counts:
        mean, error, sharp = (np.array(x, dtype=float) for x in (counts[name], errors[name], predicted[name]))
        judged = np.minimum(mean, sharp) >= (0 if name == "sgd" else FEWEST_ITEMS)
        deviation, noise = np.abs(mean / sharp - 1)[judged], (error / sharp)[judged]
        band = SGD_BAND if name == "sgd" else SHARP_BAND
        measured["counts"][name], measured["error"][name] = mean.tolist(), error.tolist()
        measured["ratio"][name] = (mean / sharp).tolist()
        measured["worst"][name], measured["noise"][name] = deviation.max(initial=0.0), noise.max(initial=0.0)
        measured["within"][name] = float((deviation <= band).mean()) if judged.any() else 1.0
        measured["number"][name] = int(judged.sum())
        verdicts[name] = OPEN if not judged.any() else REPRODUCED
        if (deviation > band + 2 * noise).any():
            verdicts[name] = NOT_REPRODUCED
    return Summary(measured, {"counts": {name: np.array(x).tolist() for name, x in predicted.items()}}, verdicts)


def _name(lam_over_t0: float) -> str:
    return "polar" if lam_over_t0 == 0 else f"smoothed_sign_{lam_over_t0:g}"


def _mean_and_error(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the last axis and its standard error."""
    return draws.mean(-1), draws.std(-1, ddof=1) / math.sqrt(draws.shape[-1])


def _expected_batches(config: SharpConfig, dim: int, seeds: int) -> dict[str, np.ndarray]:
    """Sharp counts of the very batches that were drawn, (B, seeds) for polar and Newton."""
    problem = Problem.power_law(config.batch_items, dim, config.batch_alpha)
    expected = {name: np.empty((len(config.batch_sizes), seeds)) for name in ("polar", "newton")}
    for b, batch_size in enumerate(config.batch_sizes):
        for k in range(seeds):
            q = sample_minibatch(problem, batch_size, config.first_seed + k)
            for name, values in expected.items():
                values[b, k] = expected_capacity(problem, name, frequencies=q)
    return expected


SHARP = Experiment(
    name="sharp",
    purpose="counts of one step beside their sharp predictions: polar, h_λ, Newton, SGD, minibatches",
    profiles={
        "smoke": SharpConfig(
            alphas=(1.5,),
            dims=(64,),
            seeds=(4,),
            n_items=(1000,),
            lam_over_t0=(0.0, 1.0),
            batch_dims=(64,),
            batch_seeds=(2,),
            batch_items=1000,
            batch_sizes=(256, 4096),
            sgd_dims=(1024,),
            sgd_items=256,
            sgd_seeds=4,
        ),
        "cpu": SharpConfig(),
        "gpu": SharpConfig(dims=(128, 256, 512, 1024, 2048), seeds=(112, 32, 16, 8, 4), sgd_seeds=64),
    },
    cells=sharp_cells,
    summarise=sharp_summary,
)
