"""What the study measures: samples for half the overlap, in one pass, on the full batch, by neurons under Muon."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from amembook.companions.single_index import batches, expected
from amembook.networks import sphere

_TRUNCATION = 3.0
"""M of min(z², M²): beyond what one label in 400 lies. Ours."""
_LINEAR_STEPS = 60
"""Steps whose span holds the top eigenvector of D to the digits that matter, where the gradient is linear."""
_STEP = np.float32(4.0)
"""Length of a step on the full batch, where w has length one; smaller ones are as good and slower."""
ESCAPED, _RECOVERED = 0.1, 0.01
"""Length of w at which it has left the start, and error |1 − |w|| + sin that counts as exact."""


class Activation(NamedTuple):
    """The labels σ(z) and the slope σ'(q) of the neuron that learns them."""

    value: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]


def _square(z):
    return z * z


def _double(q):
    return 2 * q


def _capped(z):
    return np.minimum(z * z, _TRUNCATION**2)


def _gated(q):
    return 2 * q * (np.abs(q) < _TRUNCATION)


ACTIVATIONS = {
    "quadratic": Activation(_square, _double),
    "labels": Activation(_capped, _double),
    "truncated": Activation(_capped, _gated),
}
"""σ(z) = z²; min(z², M²) in the labels alone; in the labels and in the neuron, which is the paper's."""
LINEAR = ("quadratic", "labels")
"""Those of a linear gradient."""


def measure_one_pass(activation: str, dim: int, rates: list, chains: int, level: float, seed: int) -> dict:
    """n/d after which the median overlap of one-pass SGD is `level`, for every learning rate; NaN beyond the budget."""
    value, slope = ACTIVATIONS[activation]
    pull = lambda q, _: slope(q)
    needed, _ = sphere.samples_needed(value, pull, dim, np.array(rates) / dim, [seed], chains, level, share=0.5)
    return {"ratios": (needed[:, 0] / dim).tolist()}


def measure_passes(
    activation: str, dim: int, rates: list, chains: int, level: float, first_seed: int, seeds: int
) -> dict:
    """The same of many draws in one cell, (draws, rates): a step of all costs little more than one of a single draw."""
    value, slope = ACTIVATIONS[activation]
    draws = range(first_seed, first_seed + seeds)
    pull = lambda q, _: slope(q)
    needed, _ = sphere.samples_needed(value, pull, dim, np.array(rates) / dim, draws, chains, level, share=0.5)
    return {"ratios": (needed.T / dim).tolist()}


def measure_full_batch(activation: str, dim: int, level: float, steps_per_log: float, seed: int) -> dict:
    """n/d at which full-batch descent on the correlation loss ends with the overlap `level`.

    Of a linear gradient, where it ends: the top eigenvector in the span of `_LINEAR_STEPS` steps. Else after
    steps_per_log · log d steps.
    """
    value, slope = ACTIVATIONS[activation]
    linear = activation in LINEAR
    steps = _LINEAR_STEPS if linear else round(steps_per_log * np.log(dim))

    def pull(q, z):
        return value(z) * slope(q)

    def move(w, G):
        w = G if linear else w + _STEP * G
        return w / np.linalg.norm(w)

    def overlap(ratio: float) -> float:
        n = round(ratio * dim)
        path = batches.descend(pull, move, n, dim, steps, 1.0, seed)
        if not linear:
            return path.overlaps[-1]
        A = path.basis.astype(float)
        return abs(np.linalg.eigh(A.T @ (A * value(A[:, :1])) / n)[1][0, -1])

    return {"ratio": expected.crossing(overlap, level)}


def measure_muon(neurons: list, muon_dim: int, level: float, seed: int) -> dict:
    """n/d at which neurons under Muon hold the direction: its part in the top eigenvectors of D is `level`.

    One ratio for each number of neurons, all from the same data, of which a larger n sees more.
    """
    generator = np.random.default_rng([seed, muon_dim])
    X = generator.standard_normal((int(expected.MOST * muon_dim) + 1, muon_dim))

    @functools.cache
    def parts(ratio: float) -> np.ndarray:
        rows = X[: round(ratio * muon_dim)]
        first = np.linalg.eigh(rows.T @ (rows * rows[:, :1] ** 2))[1][0, ::-1]
        return np.sqrt(np.cumsum(first**2))

    return {"ratios": [expected.crossing(lambda ratio, m=m: float(parts(ratio)[m - 1]), level) for m in neurons]}


def measure_squared(dim: int, exact_ratio: float, rate: float, squared_steps: int, seed: int) -> dict:
    """Descent on the squared loss from |w| = 1/d: the step at which it leaves the start, and its last error."""
    pull, move = lambda q, z: (z * z - q * q) * q, lambda w, G: w + np.float32(rate) * G
    path = batches.descend(pull, move, round(exact_ratio * dim), dim, squared_steps, 1 / dim, seed)
    out = np.flatnonzero(path.norms >= ESCAPED)
    error = abs(path.norms[-1] - 1) + np.sqrt(max(0.0, 1 - min(1.0, path.overlaps[-1]) ** 2))
    return {"escape": float(out[0]) if len(out) else float("nan"), "recovered": float(error < _RECOVERED)}
