"""`precision`: which decisions of the recovery test low precision flips, and what a float32 SVD does to the count."""

from dataclasses import dataclass

import numpy as np
import torch

from amemlib import runtime
from amemlib.checks import check_alpha, check_count, check_dims
from amemlib.experiments.base import NOT_REPRODUCED, REPRODUCED, Cell, Experiment, Summary
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import FORMATS, margins, recovered, recovered_in_format, undecided_in_format
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar


@dataclass(frozen=True)
class PrecisionConfig:
    """Recovery decisions and the polar map in low precision, one population step: a power law and equal frequencies.

    alpha, dims, n_items, seeds: the power law, the dimensions, N, and how many draws (seeds 0 … seeds − 1).
    steep: a second, larger α, at which the float32 SVD is asked for the count.
    first_seed: where the seeds start; the numbers of the ledger come from 1000 on.
    """

    alpha: float = 1.5
    steep: float = 2.5
    dims: tuple[int, ...] = (128, 256, 512)
    n_items: int = 8192
    seeds: int = 3
    first_seed: int = 0

    def __post_init__(self):
        check_alpha(self.alpha)
        check_alpha(self.steep)
        check_dims("dims", self.dims, count=1)
        check_count("n_items", self.n_items, least=2)
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


def measure_decisions(alpha: float | None, n_items: int, dim: int, seed: int, device: str) -> dict:
    """Recovered items; for every format the decisions it flips and those it leaves undecided. alpha None: equal p."""
    problem = (
        Problem.from_frequencies([1.0] * n_items, dim) if alpha is None else Problem.power_law(n_items, dim, alpha)
    )
    emb = sample_embeddings(problem, seed, runtime.device(device))
    W = polar(initial_gradient(emb, problem.frequencies), gradient_rank(emb, problem.frequencies))
    exact, margin = recovered(W, emb), margins(W, emb)
    return {
        "count": int(exact.sum()),
        "flips": {name: int((recovered_in_format(W, emb, bits) != exact).sum()) for name, bits in FORMATS.items()},
        "undecided": {name: undecided_in_format(W, emb, bits, margin) for name, bits in FORMATS.items()},
    }


def measure_single_svd(alpha: float, n_items: int, dim: int, seed: int, device: str) -> dict:
    """The polar map from float32 SVDs against the float64 one: errors in two norms, counts, decisions that differ.

    "svd": the gradient is exact and its SVD in float32. "gradient": it is summed in float32 and its SVD exact.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    p = problem.frequencies.to(emb.U.device)
    G = initial_gradient(emb, p)
    s = torch.linalg.svdvals(G)
    exact = polar(G)
    mask = recovered(exact, emb)
    P, _, Qh = torch.linalg.svd(G.float())
    summed = (p.float()[:, None] * (emb.U - emb.U.mean(0))).T @ emb.V
    result = {"condition": (s[0] / s[-1]).item(), "count": int(mask.sum())}
    for name, W in (("svd", (P @ Qh).double()), ("gradient", polar(summed))):
        other = recovered(W, emb)
        result[name] = {
            "spectral_error": torch.linalg.matrix_norm(W - exact, 2).item(),
            "mean_square_error": (torch.linalg.norm(W - exact) ** 2 / dim).item(),
            "count": int(other.sum()),
            "flips": int((other != mask).sum()),
        }
    return result


def precision_cells(config: PrecisionConfig, device: str) -> list[Cell]:
    """Decisions for the power law, then for equal frequencies, then the SVDs at both exponents."""
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    cells = []
    for function, alphas in ((measure_decisions, (config.alpha, None)), (measure_single_svd, _exponents(config))):
        for alpha in alphas:
            for dim in config.dims:
                common = {"alpha": alpha, "n_items": config.n_items, "dim": dim, "device": device}
                cells += [Cell(function, common | {"seed": seed}) for seed in seeds]
    return cells


def precision_summary(config: PrecisionConfig, results: list[dict]) -> Summary:
    """Sums over the seeds, lists aligned with `dims`. decisions: law ↦ counts, flips and undecided items by format.

    single: "alpha 1.5" ↦ median condition number and spectral error, summed counts and flips.
    Verdicts: "bounds" that no format flips more decisions than its bound leaves undecided; "float32" that the plain
    float32 scan flips none; "svd" that at `alpha` the float32 SVD changes the count by less than one in a hundred.
    """
    shape = (len(config.dims), config.seeds)
    parts = np.reshape(np.array(results, dtype=object), (4, *shape))
    decisions, single = {}, {}
    for law, rows in zip(("power law", "equal"), parts[:2], strict=True):
        decisions[law] = {"counts": _sums(rows, "count")}
        for key in ("flips", "undecided"):
            decisions[law][key] = {name: _sums(rows, key, name) for name in FORMATS}
    for alpha, rows in zip(_exponents(config), parts[2:], strict=True):
        entry = {"counts": _sums(rows, "count"), "condition": _medians(rows, "condition")}
        for name in ("svd", "gradient"):
            entry[name] = {key: _sums(rows, name, key) for key in ("count", "flips")}
            entry[name] |= {key: _medians(rows, name, key) for key in ("spectral_error", "mean_square_error")}
        single[f"alpha {alpha:g}"] = entry
    flips = [decisions[law]["flips"] for law in decisions]
    held = all(
        flip <= inside
        for law in decisions.values()
        for name in FORMATS
        for flip, inside in zip(law["flips"][name], law["undecided"][name], strict=True)
    )
    mild = single[f"alpha {config.alpha:g}"]
    changed = max(abs(a / b - 1) for a, b in zip(mild["svd"]["count"], mild["counts"], strict=True))
    verdicts = {
        "bounds": REPRODUCED if held else NOT_REPRODUCED,
        "float32": REPRODUCED if not any(sum(law["float32"]) for law in flips) else NOT_REPRODUCED,
        "svd": REPRODUCED if changed < 0.01 else NOT_REPRODUCED,
    }
    return Summary({"decisions": decisions, "single": single}, {}, verdicts)


def _exponents(config: PrecisionConfig) -> tuple[float, float]:
    return config.alpha, config.steep


def _column(rows: np.ndarray, *keys: str) -> np.ndarray:
    def value(result):
        for key in keys:
            result = result[key]
        return float(result)

    return np.array([[value(result) for result in row] for row in rows])


def _sums(rows: np.ndarray, *keys: str) -> list[float]:
    return _column(rows, *keys).sum(1).tolist()


def _medians(rows: np.ndarray, *keys: str) -> list[float]:
    return np.median(_column(rows, *keys), 1).tolist()


PRECISION = Experiment(
    name="precision",
    purpose="recovery decisions that low precision flips, and what a float32 SVD does to the count",
    profiles={
        "smoke": PrecisionConfig(dims=(32, 64), n_items=1024, seeds=2),
        "cpu": PrecisionConfig(),
        "gpu": PrecisionConfig(dims=(128, 512, 1024), n_items=65_536),
    },
    cells=precision_cells,
    summarise=precision_summary,
)
