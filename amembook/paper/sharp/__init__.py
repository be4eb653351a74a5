"""`sharp`: counts of one step beside their sharp predictions: polar, h_λ, Newton, SGD, minibatches.

Over α, d, N, λ and batches. Caveats: counts are held to 3 %, SGD's ten to fifty items to 5 %; counts below 50 are not
judged, for the lucky item alone is two per cent of them. The error of a batch's count is that of counted less law.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import torch

from amembook.run import runtime
from amembook.run.base import (
    Config,
    Counts,
    Experiment,
    Grid,
    Natural,
    NonNegatives,
    Results,
    Several,
    Sizes,
    SteepAlpha,
    SteepAlphas,
    draws,
    standard_error,
)
from amembook.run.claims import FEWEST_DRAWS, equivalence, family
from amembook.run.studies import headline
from amemlib.equivalents import evenly_spread_sgd_capacity, expected_capacity
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.optim import newton_step
from amemlib.problem import Problem
from amemlib.recovery import capacity, recovered_by_sgd
from amemlib.sampling import sample_embeddings, sample_minibatch, sample_reduced_embeddings
from amemlib.spectral import polar, smoothed_sign_scalars, spectral_maps
from amemlib.theory import bulk_scale

SHARP_BAND = 0.03
"""The band of counts, that of `claims.SIZES`."""
SGD_BAND = 0.05
"""The same for SGD: of its ten to fifty items the head ones, which differ from their mean, are a large part."""
FEWEST_ITEMS = 50
"""Counts below this are not judged, but for SGD's: the lucky item alone is two per cent of them."""


@dataclass(frozen=True)
class SharpConfig(Config):
    """Counts of one step over a grid of power laws and sizes, each beside its prediction."""

    # the population grid, Newton included; a count scatters by about 4, 2 and 1 % at d = 128, 256, 512
    alphas: SteepAlphas = (1.1, 1.25, 1.5, 2.0, 2.5)
    dims: Sizes = (128, 256, 512)
    seeds: Counts = (20, 6, 3)  # draws at each of `dims`
    n_items: Counts = (5000, 50_000)
    lam_over_t0: NonNegatives = (0.0, 0.1, 1.0, 3.0, 10.0)  # λ in units of t₀; the first is 0, the polar map
    # one minibatch step of polar and Newton
    batch_alpha: SteepAlpha = 1.5
    batch_dims: Sizes = (128, 256)
    batch_seeds: Counts = (10, 4)  # draws at each of `batch_dims`
    batch_items: Several = 16_384
    batch_sizes: Counts = (256, 1024, 2048, 4096, 16_384, 65_536)
    # one population SGD step for every α
    sgd_dims: Sizes = (4096, 16_384, 65_536)
    sgd_items: Several = 2048
    sgd_seeds: Several = 24
    first_seed: Natural = 0

    def limits(self) -> None:
        for name, dims in (("seeds", self.dims), ("batch_seeds", self.batch_dims)):
            if len(getattr(self, name)) != len(dims):
                raise ValueError(f"{name} must hold {len(dims)} numbers of draws, got {list(getattr(self, name))}")
        if self.lam_over_t0[0] != 0:
            raise ValueError(f"lam_over_t0 must begin with 0, the polar map, got {list(self.lam_over_t0)}")


def measure_population(
    n_items: int, dim: int, alpha: float, lam_over_t0: list[float], seed: int, device: str
) -> dict[str, list[int]]:
    """Recovered items after one population step on one draw: h_λ for every λ (0 is the polar map), and Newton."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    t0 = bulk_scale(n_items, dim, alpha)
    maps = [smoothed_sign_scalars(ratio * t0)[0] if ratio else torch.ones_like for ratio in lam_over_t0]
    memories = spectral_maps(G, maps, gradient_rank(emb, problem.frequencies))
    return {
        "smoothed_sign": [capacity(W, emb) for W in memories],
        "newton": [capacity(newton_step(emb, problem.frequencies), emb)],
    }


def measure_batches(
    n_items: int, dim: int, alpha: float, batch_sizes: list[int], seed: int, device: str
) -> dict[str, list[int]]:
    """Recovered items after one step of polar and of Newton on a minibatch of every size, on one draw."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    batches = [sample_minibatch(problem, batch_size, seed) for batch_size in batch_sizes]
    return {
        "polar": [capacity(polar(initial_gradient(emb, q), gradient_rank(emb, q)), emb) for q in batches],
        "newton": [capacity(newton_step(emb, q), emb) for q in batches],
    }


def measure_sgd(n_items: int, dim: int, alphas: list[float], seed: int) -> dict[str, list[int]]:
    """Recovered items after one population SGD step for every α on one draw, exact at any d by the Gram matrices."""
    problems = [Problem.power_law(n_items, dim, alpha) for alpha in alphas]
    emb = sample_reduced_embeddings(problems[0], seed)
    grams = emb.U @ emb.U.T, emb.V @ emb.V.T
    return {"sgd": [int(recovered_by_sgd(*grams, problem.frequencies).sum()) for problem in problems]}


def grids(config: SharpConfig) -> dict[str, Grid]:
    """Every draw: the population grid, the smallest d first, then minibatches, then SGD."""
    sizes = {"n_items": config.n_items, "alpha": config.alphas}
    batch = {"alpha": config.batch_alpha, "n_items": config.batch_items}
    every = {}
    for dim, n in zip(config.dims, config.seeds, strict=True):
        every[f"d{dim}"] = Grid(measure_population, sizes | {"seed": draws(config, n)}, dim=dim)
    for dim, n in zip(config.batch_dims, config.batch_seeds, strict=True):
        every[f"batch_d{dim}"] = Grid(measure_batches, {"seed": draws(config, n)}, dim=dim, **batch)
    sgd = {"dim": config.sgd_dims, "seed": draws(config, config.sgd_seeds)}
    return every | {"sgd": Grid(measure_sgd, sgd, n_items=config.sgd_items)}


def summarise(config: SharpConfig, results: Results) -> tuple[dict, dict]:
    """Mean counts, their standard errors and predictions, by map, and how far the two are apart.

    counts, error: polar, smoothed_sign_<λ/t₀> and newton as [dim][n_items][alpha]; batch_polar and batch_newton as
    [dim][batch]; sgd as [dim][alpha]. The error of a batch count is that of counted minus predicted, batch by batch.
    worst: the largest |counted / predicted − 1| over the judged means; noise: the largest relative
    standard error there; within: the share of those means that lie within the band, and their number.
    """
    tables = {
        **{_name(x): _population(config, results, "smoothed_sign", k) for k, x in enumerate(config.lam_over_t0)},
        "newton": _population(config, results, "newton", 0),
        "batch_polar": _batches(config, results, "polar"),
        "batch_newton": _batches(config, results, "newton"),
        "sgd": _sgd(config, results),
    }
    measured, predicted = {}, {"counts": {}}
    for name, (mean, error, sharp) in tables.items():
        judged = _judged(name, mean, sharp)
        deviation, noise = np.abs(mean / sharp - 1)[judged], (error / sharp)[judged]
        of_map = {
            "counts": mean,
            "error": error,
            "ratio": mean / sharp,
            "worst": deviation.max(initial=0.0),
            "noise": noise.max(initial=0.0),
            "within": (deviation <= _band(name)).mean() if judged.any() else 1.0,
            "number": judged.sum(),
        }
        for field, value in of_map.items():
            measured.setdefault(field, {})[name] = value
        predicted["counts"][name] = sharp
    return measured, predicted


def _name(lam_over_t0: float) -> str:
    return "polar" if lam_over_t0 == 0 else f"smoothed_sign_{lam_over_t0:g}"


def _band(name: str) -> float:
    return SGD_BAND if name == "sgd" else SHARP_BAND


def _judged(name: str, mean: np.ndarray, sharp: np.ndarray) -> np.ndarray:
    return np.minimum(mean, sharp) >= (0 if name == "sgd" else FEWEST_ITEMS)


def _population(config: SharpConfig, results: Results, map_name: str, k: int) -> tuple[np.ndarray, ...]:
    """Means, standard errors and sharp counts of one map, (dim, n_items, alpha): the k-th that a cell lists."""
    counted = [results.array(f"d{dim}", map_name)[..., k] for dim in config.dims]
    means, errors = [c.mean(-1) for c in counted], [standard_error(c, -1) for c in counted]
    lam_over_t0 = config.lam_over_t0[k] if map_name == "smoothed_sign" else 0.0
    sharp = np.empty(np.shape(means))
    for index, (dim, n_items, alpha) in zip(
        np.ndindex(sharp.shape), itertools.product(config.dims, config.n_items, config.alphas), strict=True
    ):
        lam = lam_over_t0 * bulk_scale(n_items, dim, alpha)
        sharp[index] = expected_capacity(Problem.power_law(n_items, dim, alpha), map_name, lam)
    return np.array(means), np.array(errors), sharp


def _batches(config: SharpConfig, results: Results, map_name: str) -> tuple[np.ndarray, ...]:
    """The same for minibatches, (dim, B), beside the sharp counts of the very batches that were drawn."""
    means, errors, predictions = [], [], []
    for dim, n in zip(config.batch_dims, config.batch_seeds, strict=True):
        counted = results.array(f"batch_d{dim}", map_name)
        problem = Problem.power_law(config.batch_items, dim, config.batch_alpha)
        batches = [[sample_minibatch(problem, size, seed) for size in config.batch_sizes] for seed in draws(config, n)]
        sharp = np.array([[expected_capacity(problem, map_name, frequencies=q) for q in row] for row in batches])
        means.append(counted.mean(0))
        errors.append(standard_error(counted - sharp, 0))
        predictions.append(sharp.mean(0))
    return np.array(means), np.array(errors), np.array(predictions)


def _sgd(config: SharpConfig, results: Results) -> tuple[np.ndarray, ...]:
    """The same for SGD, (dim, alpha)."""
    counted = results.array("sgd", "sgd")
    sharp = [[expected_capacity(problem, "sgd") for problem in row] for row in _sgd_problems(config)]
    return counted.mean(1), standard_error(counted), np.array(sharp)


def _sgd_problems(config: SharpConfig) -> list[list[Problem]]:
    return [[Problem.power_law(config.sgd_items, dim, alpha) for alpha in config.alphas] for dim in config.sgd_dims]


def judge(config: SharpConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Counts of every map within its band of the sharp counts: a prediction for these sizes."""
    return {name: _verdict(config, name, measured, predicted["counts"]) for name in predicted["counts"]}


def _verdict(config: SharpConfig, name: str, measured: dict, sharp: dict[str, np.ndarray]) -> dict:
    """The totals at every d, and no single count that misses."""
    mean, error = measured["counts"][name], measured["error"][name]
    draws = np.broadcast_to(_draws(config, name), mean.shape)
    judged = _judged(name, mean, sharp[name]) & (draws >= FEWEST_DRAWS)
    dims = config.sgd_dims if name == "sgd" else config.batch_dims if name.startswith("batch") else config.dims
    held_to = {"law": sharp[name], "band": _band(name), "rivals": _rivals(config, name, sharp), "keep": judged}
    return equivalence(family("items", mean, error, draws, at=[f"d = {dim}" for dim in dims], **held_to))


def _draws(config: SharpConfig, name: str) -> np.ndarray:
    """How many draws each mean count of a map rests on, for the axis of dimensions and one for each further axis."""
    if name == "sgd":
        return np.array(config.sgd_seeds)
    return np.array(config.batch_seeds)[:, None] if name.startswith("batch") else np.array(config.seeds)[:, None, None]


def _rivals(config: SharpConfig, name: str, sharp: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Other laws for the counts of a map, each of the shape of its own: other maps', other sizes', simpler ones."""
    law = sharp[name]
    if name.startswith("batch"):
        other = "batch_newton" if name == "batch_polar" else "batch_polar"
        rivals = {other: sharp[other], "the largest batch for all": np.broadcast_to(law[:, -1:], law.shape)}
    elif name == "sgd":
        even = [[evenly_spread_sgd_capacity(p.frequencies, p.dim) for p in row] for row in _sgd_problems(config)]
        rivals = {"one variance for all rivals": np.array(even)}
    else:
        others = {*map(_name, config.lam_over_t0), "newton"} - {name}
        rivals = {other: counts for other, counts in sharp.items() if other in others}
    if not name.startswith("batch") and len(config.alphas) > 1:
        rivals["another α"] = np.roll(law, 1, axis=-1)
    return rivals


EXPERIMENT = Experiment(
    name="sharp",
    purpose=headline(__doc__),
    profiles={
        "smoke": SharpConfig(
            alphas=(1.5,), dims=(64,), seeds=(4,), n_items=(1000,), lam_over_t0=(0.0, 1.0), batch_dims=(64,),
            batch_seeds=(2,), batch_items=1000, batch_sizes=(256, 4096), sgd_dims=(1024,), sgd_items=256, sgd_seeds=4,
        ),
        "cpu": SharpConfig(),
        "confirm": SharpConfig(seeds=(20, 8, 8), batch_seeds=(10, 8), first_seed=4500),
        "gpu": SharpConfig(
            alphas=(1.25, 1.5, 2.0), dims=(512, 1024, 2048), seeds=(8, 6, 4), n_items=(50_000,), batch_dims=(256, 512),
            batch_seeds=(8, 4), sgd_dims=(16_384, 65_536, 262_144, 1_048_576), sgd_items=1024, first_seed=20_500,
        ),
        "rehearsal": SharpConfig(
            alphas=(1.5, 2.0), dims=(128, 256), seeds=(24, 12), n_items=(8192,), lam_over_t0=(0.0, 1.0),
            batch_dims=(128,), batch_seeds=(8,), batch_items=4096, batch_sizes=(1024, 4096, 16_384),
            sgd_dims=(4096, 16_384), sgd_items=512, sgd_seeds=48, first_seed=30_800,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
)  # fmt: skip
