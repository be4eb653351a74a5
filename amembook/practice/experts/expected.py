"""What a batch, an expert and a layer of experts keep, with nothing fitted."""

import math
import re
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.special import log_ndtr
from scipy.stats import poisson
from torch import Tensor

from amemlib.checks import check_positive
from amemlib.equivalents import ManyStepEquivalent, expected_capacity, sgd_recovery_probabilities
from amemlib.equivalents.fixed_point import GAUSS_HERMITE, binned
from amemlib.equivalents.smoothed_sign import SpectralEquivalent
from amemlib.problem import Problem

SGD_GROUPS = {"random": 4, "item": 8}
"""Groups of experts over which SGD's count of a layer is averaged: those of random routing differ by a few tokens,
those of items by which frequent items they have."""
_SGD_BIN_WIDTH = 0.1
_OFTEN = 4000


def layer_of(name: str, text: str) -> tuple[int, int]:
    """(16, 2) of "16/2", experts and experts a token; `ValueError` for what is no such pair."""
    pair = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,3})", text)
    if not pair or int(pair[2]) > int(pair[1]):
        raise ValueError(f"{name} must hold experts/experts a token such as 16/2, got {text!r}")
    return int(pair[1]), int(pair[2])


def layer_count(
    problem: Problem, spectral_map: str, seen: Float[Tensor, "E N"], read: Int[np.ndarray, "N k"], routing: str
) -> float:
    """Expected items of a layer: of what its experts have seen, and of who is asked about which item.

    random: a group of k experts is asked, any of them. item: the experts that saw all of an item and a part of its
    rivals; with k = 1 every expert keeps items of its own, else the mean over a few groups that items are read from.
    """
    experts, top_k = len(seen), read.shape[1]
    if routing == "item" and top_k == 1:
        own = (torch.from_numpy(read[:, 0] == expert) for expert in range(experts))
        return sum(own_count(problem, spectral_map, q, mine) for q, mine in zip(seen, own, strict=True) if q.any())
    most = SGD_GROUPS[routing] if spectral_map == "sgd" else experts
    if routing == "random":
        groups = [seen[start : start + top_k] for start in range(0, experts - top_k + 1, top_k)][:most]
        return float(np.mean([group_count(problem, spectral_map, group) for group in groups]))
    # rows of `read` are groups that items have: the last ones, so that they are drawn as those of any item
    groups = [seen[torch.from_numpy(group)] for group in read[-min(most, SGD_GROUPS[routing]) :]]
    common = common_sgd_count if spectral_map == "sgd" else common_polar_count
    return float(np.mean([common(seen.amax(0), group, problem.dim) for group in groups if group.any(1).all()]))


def group_count(problem: Problem, spectral_map: str, weights: Float[Tensor, "k N"]) -> float:
    """Expected items of the sum of the steps of k experts that saw items with these weights."""
    weights = weights[weights.any(1)]
    if not len(weights):
        return 1.0
    if spectral_map == "sgd" or len(weights) == 1:
        return expected_capacity(problem, spectral_map, frequencies=weights.sum(0))
    steps = ManyStepEquivalent.solve(weights, problem.dim, [0.0] * len(weights))
    return float(steps.recovery_probabilities()[-1] @ steps.counts)


def own_count(problem: Problem, spectral_map: str, q: Float[Tensor, " N"], mine: Tensor) -> float:
    """Expected items among `mine`, an expert's own, which alone it has seen: the others are asked elsewhere."""
    if spectral_map == "sgd":
        values, counts = binned(q, _SGD_BIN_WIDTH)
        chances = sgd_recovery_probabilities(values, counts, problem.dim)
    else:
        steps = SpectralEquivalent.solve(q, problem.dim, 0.0)
        values, counts, chances = steps.values, steps.counts, steps.recovery_probabilities()
    unseen = values == 0
    luck = chances[unseen] * (int(mine.sum()) - int((q > 0).sum())) if unseen.any() else np.zeros(1)
    return float(counts[~unseen] @ chances[~unseen] + luck.sum())


def common_sgd_count(q: Float[Tensor, " N"], weights: Float[Tensor, "k N"], dim: int) -> float:
    """Expected items if each were read from these k experts and had its whole weight q in all of them, with SGD.

    For such an item the sum of the steps is one SGD step whose rivals have the weights Σ_e w_e, its own being k q.
    """
    values, counts = binned(weights.sum(0), _SGD_BIN_WIDTH)
    chances = sgd_recovery_probabilities(values, counts, dim)
    held = values > 0
    own = np.log(len(weights) * q[q > 0].numpy())
    return float(np.interp(own, np.log(values[held])[::-1], chances[held][::-1]).sum())


def common_polar_count(q: Float[Tensor, " N"], weights: Float[Tensor, "k N"], dim: int) -> float:
    """The same with the polar map: signals add, noise by the overlaps of the steps (`ManyStepEquivalent`)."""
    steps = ManyStepEquivalent.solve(weights, dim, [0.0] * len(weights))
    log_q = np.log(q[q > 0].numpy())
    signal = np.zeros(len(log_q))
    for w, phi in zip(steps.weights, steps.signals, strict=True):
        held = np.flatnonzero(w > 0)
        held = held[np.argsort(w[held])]
        signal += np.interp(log_q, np.log(w[held]), phi[held])
    # an item that all of the steps hold has the noise of all of them: those that have no full rank miss none of it
    variance = len(weights) + steps.overlaps.sum() - np.trace(steps.overlaps)
    g, gauss = GAUSS_HERMITE
    log_wins = (len(q) - 1) * log_ndtr(math.sqrt(dim / variance) * signal[:, None] + g)
    return float((np.exp(log_wins) @ gauss).sum() / math.sqrt(2 * math.pi))


def typical_batch(problem: Problem, batch_size: float) -> Float[Tensor, " N"]:
    """Frequencies of a batch of B as they are expected: how many items are seen k times, rounded; in decreasing order.

    The number of items seen k times is the sum of their Poisson laws; what is seen more than 4000 times keeps its own
    frequency, for its scatter is small. A draw has other numbers, and the same counts to a few per cent.
    """
    check_positive("batch_size", batch_size)
    mean = np.sort(batch_size * problem.frequencies.numpy(force=True))[::-1]
    rare = mean[mean <= _OFTEN]
    # items of nearly one mean share its law
    label = np.floor(np.log(mean[0] / rare) / 0.01).astype(int)
    _, start, number = np.unique(label, return_index=True, return_counts=True)
    exactly = np.zeros(_OFTEN + 10 * int(math.sqrt(_OFTEN)) + 20)
    for m, n in zip(np.add.reduceat(rare, start) / number if len(rare) else [], number, strict=True):
        times = np.arange(max(0, int(m - 8 * math.sqrt(m) - 2)), int(m + 8 * math.sqrt(m) + 13))
        exactly[times] += n * poisson.pmf(times, m)
    at_least = np.round(np.cumsum(exactly[:0:-1])).astype(int)
    times = np.repeat(np.arange(len(exactly) - 1, 0, -1), np.diff(at_least, prepend=0))
    q = np.zeros(problem.n_items)
    both = np.sort(np.r_[mean[mean > _OFTEN], times])[::-1]
    q[: len(both)] = both
    return torch.from_numpy(q / batch_size)


def tokens_of_expert(batch_size: float, experts: int, top_k: int) -> float:
    """b = B k / E, the tokens that an expert sees in a step with a balanced router."""
    return batch_size * top_k / experts


def kept_by_expert(problem: Problem, spectral_map: str, batch_size: float, experts: int = 1, top_k: int = 1) -> float:
    """Expected items of one expert with b = B k / E tokens of a typical batch, as the explorer shows them."""
    b = tokens_of_expert(batch_size, experts, top_k)
    return expected_capacity(problem, spectral_map, frequencies=typical_batch(problem, b))


def gain(problem: Problem, batch_size: float) -> float:
    """Expected items of Muon over those of SGD, one memory and a typical batch."""
    q = typical_batch(problem, batch_size)
    return expected_capacity(problem, "polar", frequencies=q) / expected_capacity(problem, "sgd", frequencies=q)


def rule_of_gain(seen: float, muon: float, sgd: float) -> float:
    """min(D, C_Muon) / min(D, C_SGD): both store the D different items that they see, up to what they hold."""
    return min(seen, muon) / min(seen, sgd)


def crossing_batch(reached: Callable[[float], bool], most: float) -> float:
    """The least b from 2 to `most` at which something is reached that stays reached, to 5 %; NaN beyond."""
    low, high = math.log(2), math.log(most)
    if not reached(most):
        return math.nan
    while high - low > 0.05:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(math.exp(middle)) else (middle, high)
    return math.exp(high)


def half_batch(problem: Problem) -> float:
    """The tokens with which Muon keeps half of what it stores from the population."""
    half = expected_capacity(problem, "polar") / 2
    return crossing_batch(lambda b: kept_by_expert(problem, "polar", b) >= half, 1e9)


def even_batch(problem: Problem, ratio: float) -> float:
    """The tokens from which on Muon stores `ratio` times as much as SGD: below, SGD loses less."""
    return crossing_batch(lambda b: gain(problem, b) >= ratio, 1e4)
