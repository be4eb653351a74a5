"""`sharp`: counts of one step beside their sharp predictions, over α, d, N, λ, batches and optimizers."""

import itertools
from dataclasses import dataclass

import numpy as np

from amemlib.checks import check_alpha, check_count, check_dims, check_non_negative
from amemlib.equivalents import evenly_spread_sgd_capacity, expected_capacity
from amemlib.experiments.base import Experiment, Grid, Results, draws, standard_error
from amemlib.experiments.sharp_counts import measure_batches, measure_population, measure_sgd
from amemlib.problem import Problem
from amemlib.sampling import sample_minibatch
from amemlib.theory import bulk_scale
from amemlib.verdicts import FEWEST_DRAWS, refuse, verdict

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
    first_seed: where the seeds start.
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


def sharp_grids(config: SharpConfig) -> dict[str, Grid]:
    """Every draw: the population grid, the smallest d first, then minibatches, then SGD."""
    sizes = {"n_items": config.n_items, "alpha": config.alphas}
    batch = {"alpha": config.batch_alpha, "n_items": config.batch_items}
    grids = {}
    for dim, n in zip(config.dims, config.seeds, strict=True):
        grids[f"d{dim}"] = Grid(measure_population, sizes | {"seed": draws(config, n)}, dim=dim)
    for dim, n in zip(config.batch_dims, config.batch_seeds, strict=True):
        grids[f"batch_d{dim}"] = Grid(measure_batches, {"seed": draws(config, n)}, dim=dim, **batch)
    sgd = {"dim": config.sgd_dims, "seed": draws(config, config.sgd_seeds)}
    return grids | {"sgd": Grid(measure_sgd, sgd, n_items=config.sgd_items)}


def sharp_summary(config: SharpConfig, results: Results) -> tuple[dict, dict]:
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
        found = {
            "counts": mean.tolist(),
            "error": error.tolist(),
            "ratio": (mean / sharp).tolist(),
            "worst": deviation.max(initial=0.0),
            "noise": noise.max(initial=0.0),
            "within": float((deviation <= _band(name)).mean()) if judged.any() else 1.0,
            "number": int(judged.sum()),
        }
        for field, value in found.items():
            measured.setdefault(field, {})[name] = value
        predicted["counts"][name] = sharp.tolist()
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
        lam = lam_over_t0 * bulk_scale(alpha, n_items, dim)
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


def judge_sharp(config: SharpConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Every mean count within its band of the sharp count, beyond two standard errors: a prediction for these sizes."""
    sharp = {name: np.array(counts) for name, counts in predicted["counts"].items()}
    return {name: _verdict(config, name, measured, sharp) for name in sharp}


def _verdict(config: SharpConfig, name: str, measured: dict, sharp: dict[str, np.ndarray]) -> dict:
    mean, error = np.array(measured["counts"][name]), np.array(measured["error"][name])
    draws = np.broadcast_to(_draws(config, name), mean.shape)
    judged = _judged(name, mean, sharp[name]) & (draws >= FEWEST_DRAWS)
    if not judged.any():
        return verdict(None, None)
    near = lambda law: (np.abs(mean - law) <= _band(name) * law + 2 * error)[judged].all()  # noqa: E731
    return verdict(near(sharp[name]), near(sharp[name]), refuse(near, _rivals(config, name, sharp)))


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
        items = np.full(law.shape, config.batch_items)
    elif name == "sgd":
        even = [[evenly_spread_sgd_capacity(p.frequencies, p.dim) for p in row] for row in _sgd_problems(config)]
        rivals, items = {"one variance for all rivals": np.array(even)}, np.full(law.shape, config.sgd_items)
    else:
        others = {*map(_name, config.lam_over_t0), "newton"} - {name}
        rivals = {other: counts for other, counts in sharp.items() if other in others}
        items = np.broadcast_to(np.array(config.n_items)[:, None], law.shape)
    if not name.startswith("batch") and len(config.alphas) > 1:
        rivals["another α"] = np.roll(law, 1, axis=-1)
    return rivals | {"an empty memory": np.zeros(law.shape), "a full memory": items}


EXPERIMENT = Experiment(
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
        "confirm": SharpConfig(seeds=(20, 8, 8), batch_seeds=(10, 8), first_seed=4500),
        "gpu": SharpConfig(
            alphas=(1.25, 1.5, 2.0),
            dims=(512, 1024, 2048, 4096),
            seeds=(8, 6, 4, 2),
            n_items=(50_000,),
            batch_dims=(256, 512, 1024),
            batch_seeds=(8, 4, 2),
            sgd_dims=(16_384, 65_536, 262_144, 1_048_576),
            sgd_seeds=64,
        ),
    },
    grids=sharp_grids,
    summarise=sharp_summary,
    judge=judge_sharp,
)
