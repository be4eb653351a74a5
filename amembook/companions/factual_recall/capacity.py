"""How many associations a trained memory holds, and what the geometry of cones says of it.

Item i ↦ output i, unit embeddings, y = W v or y = W_2 relu(W_1 v); recalled where u_iᵀ y is the largest of all u_jᵀ y.
"""

import math
from collections.abc import Callable
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import nnls
from torch import Tensor

from amembook.networks.adam import adam
from amemlib.checks import check_count

_GROWTH = 1.25
_SHIFT, _STATISTICAL, _CHUNK, _PAIRS = 10, 40_000, 2000, 600


def unit_rows(n_rows: int, dim: int, seed: int, stream: int) -> Float[Tensor, "n d"]:
    """Independent rows, uniform on the sphere, float32; the first rows of a larger draw are the smaller one."""
    rows = np.random.default_rng([seed, dim, stream]).standard_normal((n_rows, dim))
    return torch.from_numpy(rows / np.linalg.norm(rows, axis=1, keepdims=True)).float()


def memory_scores(weights: list[Tensor], V: Float[Tensor, "N d"], U: Float[Tensor, "M d"]) -> Float[Tensor, "N M"]:
    """u_jᵀ y(v_i): of a linear memory for one matrix, of an MLP memory for two."""
    first, *second = weights
    hidden = V @ first.T
    for W in second:
        hidden = hidden.relu() @ W.T
    return hidden @ U.T


def gradients(weights: list[Tensor], V: Float[Tensor, "N d"], U: Float[Tensor, "N d"]) -> list[Tensor]:
    """Of the mean cross-entropy, written out: autograd takes three times as long for matrices as small as these."""
    first, *second = weights
    hidden = V @ first.T
    y = hidden.relu() @ second[0].T if second else hidden
    error = (y @ U.T).softmax(1)
    error.diagonal().sub_(1)
    back = error @ U / len(V)
    if not second:
        return [back.T @ V]
    return [((back @ second[0]) * (hidden > 0)).T @ V, back.T @ hidden.relu()]


def is_stored(n_items: int, dim: int, width: int, steps: int, lr: float, seed: int) -> bool:
    """Whether Adam on all items finds, within `steps`, a memory that recalls every one. width: 0 for a linear one."""
    U, V = (unit_rows(n_items, dim, seed, stream) for stream in (0, 1))
    if width:
        draw = np.random.default_rng([seed, dim, width, 2])
        weights = [draw.standard_normal((width, dim)), draw.standard_normal((dim, width)) / math.sqrt(width)]
        weights = [torch.from_numpy(W).float() for W in weights]
    else:
        weights = [torch.zeros(dim, dim)]
    own = torch.arange(n_items)
    with torch.no_grad():
        descent = adam(weights, lambda step, weights: gradients(weights, V, U), lr)
        # looking at every tenth step costs a tenth of the scores
        for trained in islice(descent, 9, check_count("steps", steps, least=10), 10):
            if (memory_scores(trained, V, U).argmax(1) == own).all():
                return True
    return False


def largest_stored(stored: Callable[[int], bool], start: int, resolution: float) -> float:
    """The number of items up to which `stored` holds, to a factor 1 ± `resolution`/2; it is assumed to hold below.

    From `start` up by quarters, then by halving: who succeeds stops early, so growth is cheap and failures are few.
    """
    low, high = 1, start
    while stored(high):
        low, high = high, math.ceil(high * _GROWTH)
    while high - low > max(1, resolution * low):
        middle = min(max(round(math.sqrt(low * high)), low + 1), high - 1)
        low, high = (middle, high) if stored(middle) else (low, middle)
    return (low + high) / 2


def squared_distance(n_items: int, n_draws: int = _STATISTICAL, seed: int = 0) -> float:
    """E dist²(g, C) for g ~ N(0, I_n) and C = {x : x_1 ≥ x_j for all j}; n minus the statistical dimension of C.

    The projection lifts x_1 to a level a and cuts what is above it down to a, where a − x_1 = Σ_j (x_j − a)_+.
    """
    check_count("n_items", n_items, least=2)
    generator, total = np.random.default_rng([seed, n_items]), 0.0
    for start in range(0, n_draws, _CHUNK):
        total += _squared_distances(generator.standard_normal((min(_CHUNK, n_draws - start), n_items))).sum()
    return float(total / n_draws)


def _squared_distances(g: np.ndarray) -> np.ndarray:
    own, rivals = g[:, :1], -np.sort(-g[:, 1:], 1)
    # the level if the k largest rivals are cut, k = 0 … n − 1; right for the first k whose next rival is below it
    levels = np.concatenate([own, (own + rivals.cumsum(1)) / np.arange(2, g.shape[1] + 1)], 1)
    below = np.concatenate([rivals <= levels[:, :-1], np.ones((len(g), 1), bool)], 1)
    level = np.take_along_axis(levels, below.argmax(1)[:, None], 1)
    return (np.maximum(rivals - level, 0) ** 2).sum(1) + ((level - own) ** 2)[:, 0]


def cone_capacity(n_weights: float) -> float:
    """The N with N E dist²(g_N, C) = the number of weights: what a linear memory of so many holds (heuristic, ours)."""
    low, high = math.log(2), math.log(max(n_weights, 4))
    for _ in range(_SHIFT):
        middle = (low + high) / 2
        n = math.exp(middle)
        low, high = (middle, high) if n * squared_distance(max(2, round(n))) < n_weights else (low, middle)
    return math.exp((low + high) / 2)


def cones_distance(n_items: int, dim: int, n_pairs: int, seed: int = 0) -> float:
    """E Σ_i dist²(e, C_i)/d of the cones of all items in d dimensions, C_i = {y : u_iᵀ y ≥ u_jᵀ y for all j}, e a unit
    vector; the draws are those of the outputs. By Moreau dist(e, C_i) is the length of the nearest point to e in the
    cone of all u_j − u_i, which non-negative least squares find."""
    e, total = np.eye(check_count("dim", dim, least=2))[0], 0.0
    for pair in range(n_pairs):
        U = np.random.default_rng([seed, dim, pair]).standard_normal((n_items, dim))
        U /= np.linalg.norm(U, axis=1, keepdims=True)
        for own in range(n_items):
            total += 1 - nnls(np.delete(U - U[own], own, 0).T, e, maxiter=100 * n_items)[1] ** 2
    return total / n_pairs / dim


def cones_capacity(dim: int, n_pairs: int = _PAIRS) -> float:
    """The N at which `cones_distance` is one, by a power law through three N near `cone_capacity` (heuristic, ours)."""
    near = [max(3, round(cone_capacity(dim**2) * factor)) for factor in (0.85, 1.0, 1.15)]
    power, at_one = np.polyfit(np.log(near), np.log([cones_distance(n, dim, n_pairs) for n in near]), 1)
    return math.exp(-at_one / power)
