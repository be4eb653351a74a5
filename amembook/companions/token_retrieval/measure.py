"""What the study measures: samples that one step needs, with random and one-hot vectors, attention, a polar step."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from amembook.companions.token_retrieval import expected, samples
from amembook.run.base import MAPS

_MOST, _RESOLUTION, _FRESH = 2**16, 0.05, 2000
_MOST_FINDING = 128
"""A draw whose mark scores too little by chance never finds it: it counts with this number."""


def measure_samples(n_tokens: int, dim: int, length: int, level: float, seed: int) -> dict:
    """The N at which one step retrieves the share `level` of the tokens, by map; NaN where 2¹⁶ a label are too few."""
    vectors = samples.sample_vectors(n_tokens, dim, seed)

    def share(per_label: int, step: Callable[[Tensor], Tensor]) -> float:
        counts = samples.sample_counts(n_tokens, length, per_label, seed)
        return samples.recall_share(step(samples.value_gradient(vectors, counts)), vectors)

    return {name: n_tokens * _threshold(lambda n, f=f: share(n, f), level) for name, f in MAPS.items()}


def measure_product(n_tokens: int, dim: int, length: int, level: float, seed: int) -> dict:
    """The N at which one gradient step retrieves the share `level` of the tokens."""
    vectors = samples.sample_vectors(n_tokens, dim, seed)

    def share(per_label: int) -> float:
        counts = samples.sample_counts(n_tokens, length, per_label, seed)
        return samples.recall_share(samples.value_gradient(vectors, counts), vectors)

    return {"count": n_tokens * _threshold(share, level)}


def measure_level(n_tokens: int, dim: int, length: int, low: int, high: int, seed: int) -> dict:
    """The share of tokens that one gradient step names from `low` and from `high` samples of a label."""
    vectors = samples.sample_vectors(n_tokens, dim, seed)
    shares = {}
    for name, per_label in (("low", low), ("high", high)):
        counts = samples.sample_counts(n_tokens, length, per_label, seed)
        shares[name] = samples.recall_share(samples.value_gradient(vectors, counts), vectors)
    return shares


def measure_finding(n_tokens: int, dim: int, length: int, level: float, seed: int) -> dict:
    """The samples of a label at which attention's first step finds the marked place in the share `level` of fresh
    sequences, and 128 where more are too few."""
    vectors = samples.sample_vectors(n_tokens, dim, seed)

    def share(per_label: int) -> float:
        w, _ = samples.attention_step(samples.sample_sequences(n_tokens, length, per_label, seed), vectors)
        return samples.hit_share(w, vectors, length, _FRESH, seed)

    return {"per_label": float(np.nan_to_num(_threshold(share, level, _MOST_FINDING), nan=_MOST_FINDING))}


def measure_one_hot(n_tokens: int, length: int, level: float, seed: int) -> dict:
    """The same for one-hot vectors, one for each token and one for the mark, and the gradient."""

    def share(per_label: int) -> float:
        counts = samples.sample_counts(n_tokens, length, per_label, seed)
        own = counts.diagonal().clone()
        return (own > counts.fill_diagonal_(-1).amax(0)).double().mean().item()

    return {"count": n_tokens * _threshold(share, level)}


def measure_attention(n_tokens: int, dim: int, length: int, per_label: int, seed: int) -> dict:
    """Share of fresh sequences whose informative place attention finds after its first step, and the mark's weight."""
    vectors = samples.sample_vectors(n_tokens, dim, seed)
    tokens = samples.sample_sequences(n_tokens, length, per_label, seed)
    w, weight = samples.attention_step(tokens, vectors)
    return {"hits": samples.hit_share(w, vectors, length, _FRESH, seed), "weight": weight}


def measure_gain(n_tokens: int, length: int, per_label: int, seed: int) -> dict:
    """Signal over noise, squared, of the polar factor of the centred counts over that of the counts themselves."""
    counts = samples.sample_counts(n_tokens, length, per_label, seed)
    centred = counts - counts.mean(0)
    ratios = {}
    for name, step in MAPS.items():
        W = step(centred)
        off = W[~torch.eye(n_tokens, dtype=torch.bool)]
        ratios[name] = ((W.diagonal().mean() - off.mean()).square() / off.var()).item()
    return {"gain": ratios["polar"] / ratios["sgd"]}


def _threshold(share: Callable[[int], float], level: float, most: int = _MOST) -> float:
    """The number at which the share first is `level`: by doubling, then by halving, then between two neighbours."""
    low, low_share, high = 0, 0.0, 1
    while (high_share := share(high)) < level:
        low, low_share, high = high, high_share, 2 * high
        if high > most:
            return float("nan")
    while high - low > max(1, _RESOLUTION * low):
        middle = (low + high) // 2
        reached = share(middle)
        if reached >= level:
            high, high_share = middle, reached
        else:
            low, low_share = middle, reached
    return expected.crossing(low, high, low_share, high_share, level)
