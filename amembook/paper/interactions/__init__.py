"""`interactions`: rms and maximum of the interactions by blocks of ranks (Proposition 18, Eq. (51)).

Caveats: the law is to leading order. A block's rms is held to 3 % from d = 256 on, its maximum, which scatters by 3 to
5 % in one draw, to at most a tenth above that of as many normals.
"""

import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated

import numpy as np
import torch
from scipy.special import ndtri

from amembook.run import runtime
from amembook.run.base import Alpha, Config, Count, Experiment, Grid, Natural, Positive, Results, draws, standard_error
from amembook.run.claims import MAXIMUM_BAND, SHARP_DIM, SIZES, check, equivalence, numbers
from amembook.run.studies import headline
from amemlib import theory
from amemlib.checks import check_dims
from amemlib.equivalents import SpectralEquivalent, interaction_variances
from amemlib.gradients import thresholded_gradient
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar, smoothed_sign

MAPS = ("polar", "smoothed_sign")
BLOCKS = ("head", "middle", "tail")
PAIRS = tuple(f"{a}-{b}" for k, a in enumerate(BLOCKS) for b in BLOCKS[k:])
"""Unordered pairs of blocks: an interaction of input i and output j has the law of that of j and i."""
_ROWS = 512
_GRID_RANKS = 64


@dataclass(frozen=True)
class InteractionsConfig(Config):
    """Every interaction of one population step, all N² of them, by blocks of ranks (Appendix B).

    Blocks: head i ≤ d/4, middle d/4 < i ≤ 2d, tail i > 2d.
    """

    alpha: Alpha = 1.5
    dims: Annotated[tuple[int, ...], partial(check_dims, count=1, least=8)] = (128, 256, 512, 1024)
    n_items: Count = 4096
    seeds: Count = 3
    lam_over_t0: Positive = 1.0  # λ of h_λ in units of t₀; the polar map is measured on the same draws
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.n_items < 2 * max(self.dims) + 2:
            raise ValueError(f"n_items must exceed twice every dimension by 2, got {self.n_items}")


@dataclass(frozen=True, eq=False)
class PredictedVariances:
    """d · Var γ_ij of all N² pairs as L V Lᵀ: `values` V on a grid of ranks, `weights` L interpolates in log rank."""

    weights: torch.Tensor
    values: torch.Tensor

    @classmethod
    def solve(cls, problem: Problem, lam: float) -> "PredictedVariances":
        """The leading-order law of `interaction_variances` for every pair of items; errors as there."""
        ranks = np.unique(np.geomspace(1, problem.n_items, _GRID_RANKS).astype(int))
        V = interaction_variances(problem.frequencies, problem.dim, lam, problem.frequencies[ranks - 1])
        log_rank = np.log(np.arange(1, problem.n_items + 1))
        hats = np.stack([np.interp(log_rank, np.log(ranks), hat) for hat in np.eye(len(ranks))], 1)
        return cls(torch.from_numpy(hats), torch.from_numpy(V))

    def rms(self, rows: slice, columns: slice) -> float:
        """Root mean square of the predicted √d γ over a block of pairs, i = j left out where the two are one."""
        total = self.weights[rows].sum(0) @ self.values @ self.weights[columns].sum(0)
        count = len(self.weights[rows]) * len(self.weights[columns])
        if rows == columns:
            L = self.weights[rows]
            total, count = total - ((L @ self.values) * L).sum(), count - len(L)
        return float((total / count).sqrt())


def typical_absolute_maximum(n: float) -> float:
    """Median of the largest |g| among n independent standard normals."""
    return float(-ndtri(-math.expm1(-math.log(2) / n) / 2))


def block_ends(n_items: int, dim: int) -> tuple[int, int, int]:
    """Last rank of the head, the middle and the tail: d/4, 2d and N."""
    return dim // 4, 2 * dim, n_items


def measure_interactions(n_items: int, dim: int, alpha: float, lam_over_t0: float, seed: int, device: str) -> dict:
    """One draw, for both maps and each pair of blocks: moments and maximum of √d γ_ij, raw and over its predicted sd.

    `square`: mean of d γ². `largest`: max √d |γ|. `z_square`, `z_fourth`, `z_largest`: the same and the fourth moment,
    after division by the predicted standard deviation of each pair. `count`: how many pairs.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = thresholded_gradient(emb, problem.frequencies, 0)
    lam = lam_over_t0 * theory.bulk_scale(n_items, dim, alpha)
    blocks = torch.bucketize(torch.arange(1, n_items + 1), torch.tensor(block_ends(n_items, dim))).to(G.device)
    result = {}
    for name, map_lam, W in (("polar", 0.0, polar(G, dim)), ("smoothed_sign", lam, smoothed_sign(G, lam, dim))):
        law = PredictedVariances.solve(problem, map_lam)
        L, V = law.weights.to(G.device), law.values.to(G.device)
        totals = torch.zeros(4, 9, dtype=torch.float64, device=G.device)
        largest = torch.zeros(2, 9, dtype=torch.float64, device=G.device)
        for start in range(0, n_items, _ROWS):
            rows = slice(start, min(start + _ROWS, n_items))
            logits = math.sqrt(dim) * (emb.V[rows].double() @ W.T) @ emb.U.double().T
            logits.diagonal(start).zero_()
            z = logits / (L[rows] @ V @ L.T).sqrt()
            pair = (3 * blocks[rows, None] + blocks).flatten()
            ones = torch.ones_like(logits)
            ones.diagonal(start).zero_()
            for k, values in enumerate((ones, logits.square(), z.square(), z**4)):
                totals[k].index_add_(0, pair, values.flatten())
            for k, values in enumerate((logits, z)):
                largest[k].scatter_reduce_(0, pair, values.abs().flatten(), "amax")
        result[name] = _by_pair(totals.cpu(), largest.cpu())
    return result


def _by_pair(totals: torch.Tensor, largest: torch.Tensor) -> dict:
    merged = {}
    for name in PAIRS:
        a, b = (BLOCKS.index(block) for block in name.split("-"))
        ordered = list({3 * a + b, 3 * b + a})
        count, square, z_square, z_fourth = totals[:, ordered].sum(1).tolist()
        top, z_top = largest[:, ordered].amax(1).tolist()
        merged[name] = {
            "count": count,
            "square": square / count,
            "largest": top,
            "z_square": z_square / count,
            "z_fourth": z_fourth / count,
            "z_largest": z_top,
        }
    return merged


def interactions_grids(config: InteractionsConfig) -> dict[str, Grid]:
    """Every draw, the small dimensions first."""
    return {"interactions": Grid(measure_interactions, {"dim": config.dims, "seed": draws(config)})}


def interactions_summary(config: InteractionsConfig, results: Results) -> tuple[dict, dict]:
    """rms and maximum of √d γ by block beside the predicted normal law; lists are aligned with `dims`.

    Keys are map and pair of blocks, "polar head-tail". `rms`: root mean square over pairs and seeds. `rms_rare`: what
    1 − λM damping_i damping_j predicts, exact where i or j is rare. `largest`: mean over seeds of the maximum.
    `z_…`: after division by the predicted standard deviation of each pair; `z_largest` stands beside the maximum of as
    many normals whose scale has the spread of a length, z (1 + z²/2d); `z_kurtosis` is the fourth moment over the
    squared second.
    """
    fields = ("rms", "rms_error", "largest", "z_rms", "z_largest", "z_kurtosis")
    measured = {field: {} for field in fields}
    predicted = {field: {} for field in ("rms", "rms_rare", "z_largest", "z_kurtosis")}
    for name in MAPS:
        expected = [_predicted_rms(config, name, dim) for dim in config.dims]
        for pair in PAIRS:
            key = f"{name} {pair}"
            read = lambda field, at=(name, pair): results.array("interactions", *at, field)
            counts, rms, roots = read("count")[:, 0], np.sqrt(read("square").mean(1)), np.sqrt(read("square"))
            tops = np.array([typical_absolute_maximum(count) for count in counts])
            columns = {
                "rms": rms,
                "rms_error": standard_error(roots) if config.seeds > 1 else rms / np.sqrt(counts),
                "largest": read("largest").mean(1),
                "z_rms": np.sqrt(read("z_square").mean(1)),
                "z_largest": read("z_largest").mean(1),
                "z_kurtosis": read("z_fourth").mean(1) / read("z_square").mean(1) ** 2,
            }
            for field, values in columns.items():
                measured[field][key] = values
            predicted["rms"][key], predicted["rms_rare"][key] = ([row[pair][k] for row in expected] for k in (0, 1))
            predicted["z_largest"][key] = tops * (1 + tops**2 / (2 * np.array(config.dims)))
            predicted["z_kurtosis"][key] = [3.0] * len(config.dims)
    return measured, predicted


def judge_interactions(config: InteractionsConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Every block's rms against its predicted law, and its maximum against that of as many normals."""
    others = zip(MAPS, reversed(MAPS), strict=True)
    verdicts = {name: _map_verdict(config, measured, predicted, name, other) for name, other in others}
    return verdicts | {f"largest_{name}": _largest_verdict(config, measured, predicted, name) for name in MAPS}


def _tables(config: InteractionsConfig, values: dict, name: str) -> np.ndarray:
    """One map's numbers, (pairs, d from `SHARP_DIM` on)."""
    return np.array([values[f"{name} {pair}"] for pair in PAIRS])[:, np.array(config.dims) >= SHARP_DIM]


def _map_verdict(config: InteractionsConfig, measured: dict, predicted: dict, name: str, other: str) -> dict:
    dims = [dim for dim in config.dims if dim >= SHARP_DIM]
    if not dims:
        return equivalence([])
    rms, error = (_tables(config, measured[key], name) for key in ("rms", "rms_error"))
    sharp, rival = (_tables(config, predicted["rms"], key) for key in (name, other))
    rivals = {f"the interactions of {other}": rival, "one variance": 1.0}
    at = [f"{pair}, d = {dim}" for pair in PAIRS for dim in dims]
    return equivalence(numbers("rms,", rms, error, config.seeds, law=sharp, band=SIZES, rivals=rivals, at=at))


def _largest_verdict(config: InteractionsConfig, measured: dict, predicted: dict, name: str) -> dict:
    """The largest interaction of a block is that of as many normals, or less."""
    largest, normal = (_tables(config, side["z_largest"], name) for side in (measured, predicted))
    if not largest.size:
        return equivalence([])
    return check((largest / normal).max(), 1 + MAXIMUM_BAND, config.seeds, "largest over the normal maximum")


def _predicted_rms(config: InteractionsConfig, name: str, dim: int) -> dict:
    """Pair of blocks ↦ predicted rms of √d γ: to leading order for all items, and by the formula for rare ones."""
    problem = Problem.power_law(config.n_items, dim, config.alpha)
    lam = 0.0 if name == "polar" else config.lam_over_t0 * theory.bulk_scale(config.n_items, dim, config.alpha)
    law = PredictedVariances.solve(problem, lam)
    unresolved = SpectralEquivalent.solve(problem.frequencies, dim, lam).unresolved if lam else 0.0
    damping = 1 / (1 + (problem.frequencies * unresolved / lam) ** 2) if lam else torch.ones(problem.n_items)
    ends = (0, *block_ends(config.n_items, dim))
    slices = dict(zip(BLOCKS, (slice(a, b) for a, b in pairwise(ends)), strict=True))
    result = {}
    for pair in PAIRS:
        a, b = (slices[block] for block in pair.split("-"))
        result[pair] = law.rms(a, b), float((1 - unresolved * damping[a].mean() * damping[b].mean()) ** 0.5)
    return result


EXPERIMENT = Experiment(
    name="interactions",
    purpose=headline(__doc__),
    profiles={
        "smoke": InteractionsConfig(dims=(64, 128), n_items=1024, seeds=2),
        "cpu": InteractionsConfig(),
        "confirm": InteractionsConfig(seeds=8, first_seed=4400),
        "gpu": InteractionsConfig(dims=(128, 256, 512, 1024, 2048, 4096), n_items=16_384, seeds=4, first_seed=27_000),
    },
    grids=interactions_grids,
    summarise=interactions_summary,
    judge=judge_interactions,
)
