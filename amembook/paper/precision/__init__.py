"""`precision`: recovery decisions that low precision flips, and what a float32 SVD does to the count.

Caveats: all verdicts are checks, which no rival law can fail. The float32 SVD is asked at d up to 512, and at α = 3/2
alone for the count, to one in a hundred.
"""

from dataclasses import dataclass

import numpy as np
import torch

from amembook.paper.precision.formats import FORMATS, recovered_in_format, undecided_in_format
from amembook.run import runtime
from amembook.run.base import Alpha, Config, Count, Experiment, Grid, Natural, Results, Several, Sizes, draws
from amembook.run.claims import check
from amembook.run.studies import headline
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import margins, recovered
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar


@dataclass(frozen=True)
class PrecisionConfig(Config):
    """Recovery decisions and the polar map in low precision, one population step: a power law and equal frequencies."""

    alpha: Alpha = 1.5
    steep: Alpha = 2.5  # a larger α, at which the float32 SVD is asked for the count
    dims: Sizes = (128, 256, 512)
    n_items: Several = 8192
    seeds: Count = 3
    first_seed: Natural = 0


def measure_decisions(n_items: int, dim: int, alpha: float | None, seed: int, device: str) -> dict:
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


def measure_single_svd(n_items: int, dim: int, alpha: float, seed: int, device: str) -> dict:
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


def precision_grids(config: PrecisionConfig) -> dict[str, Grid]:
    """Decisions for the power law and for equal frequencies, then the SVDs at both exponents."""
    axes = {"dim": config.dims, "seed": draws(config)}
    return {
        "decisions": Grid(measure_decisions, {"alpha": (config.alpha, None)} | axes),
        "single": Grid(measure_single_svd, {"alpha": (config.alpha, config.steep)} | axes),
    }


def precision_summary(config: PrecisionConfig, results: Results) -> tuple[dict, dict]:
    """Sums over the seeds, lists aligned with `dims`. decisions: law ↦ counts, flips and undecided items by format.

    single: "alpha 1.5" ↦ median condition number and spectral error, summed counts and flips.
    """
    decisions = {law: _decisions(results, alpha) for law, alpha in (("power law", config.alpha), ("equal", None))}
    single = {f"alpha {alpha:g}": _single(results, alpha) for alpha in (config.alpha, config.steep)}
    return {"decisions": decisions, "single": single}, {}


def _decisions(results: Results, alpha: float | None) -> dict:
    def total(*keys) -> np.ndarray:
        return results.array("decisions", *keys, alpha=alpha).astype(float).sum(1)

    by_format = {key: {name: total(key, name) for name in FORMATS} for key in ("flips", "undecided")}
    return {"counts": total("count")} | by_format


def _single(results: Results, alpha: float) -> dict:
    def read(*keys) -> np.ndarray:
        return results.array("single", *keys, alpha=alpha).astype(float)

    entry = {"counts": read("count").sum(1), "condition": np.median(read("condition"), 1)}
    for name in ("svd", "gradient"):
        entry[name] = {key: read(name, key).sum(1) for key in ("count", "flips")}
        entry[name] |= {key: np.median(read(name, key), 1) for key in ("spectral_error", "mean_square_error")}
    return entry


def judge_precision(config: PrecisionConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """bounds: no format flips more decisions than its bound leaves undecided. float32: the plain scan flips none.

    svd: at `alpha` the float32 SVD changes the count by less than one in a hundred.
    """
    laws = measured["decisions"].values()
    beyond = [law["flips"][name] - law["undecided"][name] for law in laws for name in FORMATS]
    mild = measured["single"][f"alpha {config.alpha:g}"]
    draws = config.seeds * len(config.dims)
    changed = np.abs(mild["svd"]["count"] / mild["counts"] - 1).max()
    return {
        "bounds": check(np.max(beyond), 0, draws, "flips beyond the bound"),
        "float32": check(max(law["flips"]["float32"].max() for law in laws), 0, draws, "flips"),
        "svd": check(changed, 0.01, draws, "change of the count"),
    }


EXPERIMENT = Experiment(
    name="precision",
    purpose=headline(__doc__),
    profiles={
        "smoke": PrecisionConfig(dims=(32, 64), n_items=1024, seeds=2),
        "cpu": PrecisionConfig(),
        "gpu": PrecisionConfig(dims=(128, 512, 1024), n_items=65_536, seeds=4, first_seed=28_000),
    },
    grids=precision_grids,
    summarise=precision_summary,
    judge=judge_precision,
)
