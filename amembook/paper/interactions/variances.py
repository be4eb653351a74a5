"""The predicted variance of every interaction, by interpolation between those of some sixty ranks; their maximum."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import ndtri

from amemlib.equivalents import interaction_variances
from amemlib.problem import Problem

_GRID_RANKS = 64


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
