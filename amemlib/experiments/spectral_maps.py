"""`spectral-maps`: capacity of one population step with Newton–Schulz maps as shipped, beside polar and SGD."""

from dataclasses import dataclass

import numpy as np
import torch

from amemlib import runtime, theory
from amemlib.equivalents import SpectralLaw, expected_capacity, expected_map_capacity
from amemlib.experiments.base import Cell, Experiment, Summary, capacity_verdict, check_dims
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.scaling import fit_exponent
from amemlib.spectral import newton_schulz, newton_schulz_scalar, polar, smoothed_sign

ITERATIONS = {"muon5": (5, "muon"), "muon10": (10, "muon"), "cubic5": (5, "cubic"), "cubic15": (15, "cubic")}
"""Steps and coefficients of the Newton–Schulz maps by name; `muon5` is what torch and optax ship."""

_LIMITED_BY = {"polar": "muon", "smoothed_sign": "muon"}


@dataclass(frozen=True)
class SpectralMapsConfig:
    """Capacity of one population step against d for polar, h_λ, SGD and Newton–Schulz of a fixed length.

    alpha, dims, n_items, seeds: the power law, the dimensions, N, and how many draws (seeds 0 … seeds − 1).
    lam_over_t0: λ of h_λ in units of the bulk scale t₀.
    first_seed: where the seeds start; the numbers of the ledger come from 1000 on.
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (64, 128, 256, 512, 1024)
    n_items: int = 16_384
    seeds: int = 3
    lam_over_t0: float = 1.0
    first_seed: int = 0

    def __post_init__(self):
        theory.check_alpha(self.alpha)
        check_dims("dims", self.dims)
        theory.check_count("n_items", self.n_items, least=2)
        theory.check_count("seeds", self.seeds)
        theory.check_count("first_seed", self.first_seed, least=0)
        theory.check_positive("lam_over_t0", self.lam_over_t0)


def measure_spectral_maps(alpha: float, n_items: int, dim: int, lam_over_t0: float, seed: int, device: str) -> dict:
    """Recovered items after one population step with every map, and the share of singular values left below 1/2."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    rank, lam = gradient_rank(emb, problem.frequencies), lam_over_t0 * theory.bulk_scale(alpha, n_items, dim)
    memories = {"polar": polar(G, rank), "smoothed_sign": smoothed_sign(G, lam, rank), "sgd": G}
    counts = {name: capacity(W, emb) for name, W in memories.items()}
    s, shares = torch.linalg.svdvals(G) / torch.linalg.norm(G), {}
    for name, (steps, coefficients) in ITERATIONS.items():
        counts[name] = capacity(newton_schulz(G, steps, coefficients), emb)
        shares[name] = (newton_schulz_scalar(s, steps, coefficients) < 0.5).double().mean().item()
    return {"counts": counts, "shares": shares}


def spectral_maps_cells(config: SpectralMapsConfig, device: str) -> list[Cell]:
    """Every draw, small dimensions first."""
    common = {"alpha": config.alpha, "n_items": config.n_items, "lam_over_t0": config.lam_over_t0, "device": device}
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    return [Cell(measure_spectral_maps, common | {"dim": dim, "seed": seed}) for dim in config.dims for seed in seeds]


def spectral_maps_summary(config: SpectralMapsConfig, results: list[dict]) -> Summary:
    """Counts, exponents and shares below 1/2 by map, all lists aligned with `dims`, beside the sharp predictions.

    A Newton–Schulz map of a fixed number of steps is linear below ‖G‖_F / a^steps, which does not shrink with d: its
    limiting exponent is SGD's.
    """
    names = ["polar", "smoothed_sign", "sgd", *ITERATIONS]
    shape = (len(config.dims), config.seeds)
    seed_counts = {name: np.array([r["counts"][name] for r in results]).reshape(shape) for name in names}
    shares = {name: np.array([r["shares"][name] for r in results]).reshape(shape).mean(1) for name in ITERATIONS}
    predicted_counts, predicted_shares = {name: [] for name in names}, {name: [] for name in ITERATIONS}
    for dim in config.dims:
        problem = Problem.power_law(config.n_items, dim, config.alpha)
        norm = torch.linalg.vector_norm(problem.frequencies)
        law = SpectralLaw.solve(problem.frequencies, dim)
        lam = config.lam_over_t0 * theory.bulk_scale(config.alpha, config.n_items, dim)
        maps = {"polar": torch.ones_like, "smoothed_sign": lambda s, lam=lam: s / torch.hypot(s, s.new_tensor(lam))}
        for name, (steps, coefficients) in ITERATIONS.items():
            maps[name] = lambda s, norm=norm, n=steps, c=coefficients: newton_schulz_scalar(
                (s / norm).clamp(max=1), n, c
            )
            grid = torch.from_numpy(law.singular_values.copy())
            crossing = grid[(maps[name](grid) >= 0.5).nonzero()[0, 0]].item()
            predicted_shares[name].append(float(law.share_below(crossing)))
        for name in names:
            sharp = expected_capacity(problem, name) if name == "sgd" else expected_map_capacity(problem, maps[name])
            predicted_counts[name].append(sharp)
    fits = {name: fit_exponent(config.dims, seed_counts[name], ceiling=float(config.n_items)) for name in names}
    exponents = {name: theory.recovery_exponent(_LIMITED_BY.get(name, "sgd"), config.alpha) for name in names}
    measured = {
        "slope": {name: fit.slope for name, fit in fits.items()},
        "interval": {name: [fit.low, fit.high] for name, fit in fits.items()},
        "counts": {name: counts.mean(1).tolist() for name, counts in seed_counts.items()},
        "seed_counts": {name: counts.tolist() for name, counts in seed_counts.items()},
        "share_below_half": {name: share.tolist() for name, share in shares.items()},
        "doubts": {name: list(fit.doubts) for name, fit in fits.items()},
    }
    predicted = {
        "slope": exponents,
        "sharp_slope": {name: fit_exponent(config.dims, predicted_counts[name]).slope for name in names},
        "counts": predicted_counts,
        "share_below_half": predicted_shares,
    }
    verdicts = {
        name: capacity_verdict(
            config.dims, seed_counts[name], predicted_counts[name], fits[name].slope, exponents[name]
        )
        for name in names
        if name != "sgd"
    }
    return Summary(measured, predicted, verdicts)


SPECTRAL_MAPS = Experiment(
    name="spectral-maps",
    purpose="capacity of one population step with the Newton–Schulz maps that optimizers ship, beside polar and SGD",
    profiles={
        "smoke": SpectralMapsConfig(dims=(32, 64, 128), n_items=2048, seeds=2),
        "cpu": SpectralMapsConfig(),
        "gpu": SpectralMapsConfig(dims=(128, 256, 512, 1024, 2048, 4096), n_items=131_072, seeds=4),
    },
    cells=spectral_maps_cells,
    summarise=spectral_maps_summary,
)
