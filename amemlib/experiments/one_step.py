"""`one-step`: capacity of one population step against d, for polar, h_λ and SGD (Theorems 3 and 5)."""

from dataclasses import dataclass

import numpy as np

from amemlib import runtime, theory
from amemlib.checks import check_alpha, check_count, check_dims, check_non_negative
from amemlib.equivalents import expected_capacity
from amemlib.experiments.base import Cell, Experiment, Summary, capacity_verdict
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity, longest_prefix, recovered
from amemlib.sampling import sample_embeddings, sample_reduced_embeddings
from amemlib.scaling import fit_exponent
from amemlib.spectral import polar, smoothed_sign


@dataclass(frozen=True)
class OneStepConfig:
    """Capacity of one population step against d (Theorems 3 and 5, Figures 1(a) and 2).

    alpha, dims, n_items, seeds: the power law, the dimensions, N, and how many draws (seeds 0 … seeds − 1).
    lam_over_t0: λ of h_λ in units of the bulk scale t₀.
    sgd_dims, sgd_items, sgd_seeds: the same for SGD alone, at dimensions where its exponent can be seen.
    first_seed: where the seeds start; the numbers of the ledger come from 1000 on.
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (128, 256, 512, 1024)
    n_items: int = 50_000
    seeds: int = 3
    lam_over_t0: float = 1.0
    sgd_dims: tuple[int, ...] = (1024, 4096, 16384, 65536)
    sgd_items: int = 2048
    sgd_seeds: int = 32
    first_seed: int = 0

    def __post_init__(self):
        check_alpha(self.alpha)
        for name in ("dims", "sgd_dims"):
            check_dims(name, getattr(self, name))
        for name in ("n_items", "sgd_items"):
            check_count(name, getattr(self, name), least=2)
        for name in ("seeds", "sgd_seeds"):
            check_count(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)
        check_non_negative("lam_over_t0", self.lam_over_t0)


def measure_one_step(alpha: float, n_items: int, dim: int, lam_over_t0: float, seed: int, device: str) -> dict:
    """Recovered items and longest recovered prefix after one population step of polar, h_λ and SGD, on one draw."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    rank = gradient_rank(emb, problem.frequencies)
    lam = lam_over_t0 * theory.bulk_scale(alpha, n_items, dim)
    memories = {"polar": polar(G, rank), "smoothed_sign": smoothed_sign(G, lam, rank), "sgd": G}
    masks = {name: recovered(W, emb) for name, W in memories.items()}
    return {name: {"count": int(mask.sum()), "prefix": longest_prefix(mask)} for name, mask in masks.items()}


def measure_sgd_step(alpha: float, n_items: int, dim: int, seed: int) -> dict:
    """Recovered items after one population SGD step, exact at any d through the two Gram matrices.

    The mean of two independent draws: SGD recovers so few items that one count scatters by 15 to 20 %.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    draws = [sample_reduced_embeddings(problem, 2 * seed + half) for half in (0, 1)]
    return {"sgd": {"count": sum(capacity(initial_gradient(emb, problem.frequencies), emb) for emb in draws) / 2}}


def one_step_cells(config: OneStepConfig, device: str) -> list[Cell]:
    """Every draw of the one-step experiment, the cheap SGD draws first."""
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    sgd_seeds = range(config.first_seed, config.first_seed + config.sgd_seeds)
    common = {"alpha": config.alpha, "n_items": config.n_items, "lam_over_t0": config.lam_over_t0, "device": device}
    sgd_common = {"alpha": config.alpha, "n_items": config.sgd_items}
    return [
        Cell(measure_sgd_step, sgd_common | {"dim": dim, "seed": seed}) for dim in config.sgd_dims for seed in sgd_seeds
    ] + [Cell(measure_one_step, common | {"dim": dim, "seed": seed}) for dim in config.dims for seed in seeds]


def one_step_summary(config: OneStepConfig, results: list[dict]) -> Summary:
    """Slopes and mean counts beside the exponents of Theorems 3 and 5 and the sharp counts.

    Lists of `counts` and `seed_counts` are aligned with `dims` for polar and smoothed_sign and with `sgd_dims` for sgd;
    `sgd_at_dims` is SGD on the draws of `dims`.
    """
    n_sgd = len(config.sgd_dims) * config.sgd_seeds
    shape = (len(config.dims), config.seeds)
    read = lambda name, field: np.array([r[name][field] for r in results[n_sgd:]]).reshape(shape)  # noqa: E731
    seed_counts = {name: read(name, "count") for name in ("polar", "smoothed_sign")}
    seed_counts["sgd"] = np.array([r["sgd"]["count"] for r in results[:n_sgd]]).reshape(len(config.sgd_dims), -1)
    seed_counts["sgd_at_dims"] = read("sgd", "count")
    dims = {"polar": config.dims, "smoothed_sign": config.dims, "sgd": config.sgd_dims, "sgd_at_dims": config.dims}
    n_items = {name: config.n_items for name in dims} | {"sgd": config.sgd_items}

    predicted_counts = {}
    for name, name_dims in dims.items():
        problems = [Problem.power_law(n_items[name], d, config.alpha) for d in name_dims]
        scales = [theory.bulk_scale(config.alpha, p.n_items, p.dim) for p in problems]
        predicted_counts[name] = [
            expected_capacity(p, name.removesuffix("_at_dims"), config.lam_over_t0 * scale)
            for p, scale in zip(problems, scales, strict=True)
        ]
    fits = {name: fit_exponent(dims[name], seed_counts[name], ceiling=float(n_items[name])) for name in dims}
    sharp_fits = {name: fit_exponent(dims[name], predicted_counts[name]) for name in dims}
    exponents = {name: theory.recovery_exponent("sgd" if "sgd" in name else "muon", config.alpha) for name in dims}
    verdicts = {
        name: capacity_verdict(dims[name], seed_counts[name], predicted_counts[name], fits[name].slope, exponents[name])
        for name in ("polar", "smoothed_sign", "sgd")
    }
    measured = {
        "slope": {name: fit.slope for name, fit in fits.items()},
        "interval": {name: [fit.low, fit.high] for name, fit in fits.items()},
        "counts": {name: counts.mean(1).tolist() for name, counts in seed_counts.items()},
        "seed_counts": {name: counts.tolist() for name, counts in seed_counts.items()},
        "prefixes": {name: read(name, "prefix").mean(1).tolist() for name in ("polar", "smoothed_sign", "sgd")},
        "doubts": {name: list(fit.doubts) for name, fit in fits.items()},
    }
    predicted = {
        "slope": exponents,
        "sharp_slope": {name: fit.slope for name, fit in sharp_fits.items()},
        "counts": predicted_counts,
    }
    return Summary(measured, predicted, verdicts)


ONE_STEP = Experiment(
    name="one-step",
    purpose="capacity of one population step against d: polar, h_λ and SGD (Theorems 3 and 5, Figures 1(a) and 2)",
    profiles={
        "smoke": OneStepConfig(
            dims=(32, 64, 128), n_items=2048, seeds=2, sgd_dims=(256, 1024, 4096), sgd_items=512, sgd_seeds=8
        ),
        "cpu": OneStepConfig(),
        "gpu": OneStepConfig(
            dims=(128, 181, 256, 362, 512, 724, 1024, 1448, 2048, 2896, 4096), n_items=131_072, seeds=4
        ),
    },
    cells=one_step_cells,
    summarise=one_step_summary,
)
