"""The best rate of one Muon step, by the library's law of the loss; nothing fitted."""

import math

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from torch import Tensor

from amemlib.equivalents import SpectralEquivalent
from amemlib.problem import Problem


def best_step(problem: Problem, q: Float[Tensor, " N"] | None = None) -> tuple[float, float]:
    """log₂ η* and the least loss over all items, in nats, of W = η polar(G), G the gradient at 0 under q.

    q: what a batch has shown, the problem's frequencies by default. Embeddings of length one.
    """
    p = problem.frequencies
    q = p if q is None else q
    law = SpectralEquivalent.solve(q, problem.dim)
    order, seen = np.argsort(law.values), q.numpy(force=True)

    def loss(log_rate: float) -> float:
        of_values = law.expected_losses(2.0**log_rate)
        return float(p.numpy(force=True) @ np.interp(seen, law.values[order], of_values[order]))

    middle = math.log2(problem.dim) / 2
    found = minimize_scalar(loss, bounds=(middle - 3, middle + 4), method="bounded")
    return float(found.x), float(found.fun)


def vertex(x: np.ndarray, y: np.ndarray) -> float:
    """Abscissa of the parabola through the smallest of y and its two neighbours; NaN if it stands at an end."""
    i = int(np.argmin(y))
    if i in (0, len(y) - 1):
        return math.nan
    a, b, _ = np.polyfit(x[i - 1 : i + 2], y[i - 1 : i + 2], 2)
    return float(-b / (2 * a))
