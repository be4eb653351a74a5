"""What the study measures: samples until a subspace is found, statistics that must fail, the memory with noisy keys."""

import dataclasses
import math

import numpy as np
import torch

from amembook.companions.generative_leap import tensors
from amembook.companions.generative_leap.tensors import TASKS
from amemlib.gradients import initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar

_GROWTH = 1.12
_RANGES = {"cubic": (0.8, 25), "quartic": (1.5, 40), "leap": (8, 150), "sign": (1.0, 25), "bump": (0.35, 10)}
"""n/d^(1 ∨ k*/2) from where to where a crossing is sought."""
CONTROLS = {
    "sign, order 1": ("sign", 1, False),
    "sign, order 2": ("sign", 2, False),
    "bump, order 1": ("bump", 1, False),
    "bump, order 2": ("bump", 2, False),
    "leap, order 1": ("leap", 1, False),
    "cubic, raw labels": ("cubic", 1, True),
    "quartic, raw labels": ("quartic", 2, True),
    "leap, one pass": ("leap", 2, False),
    "cubic, order 1": ("cubic", 1, False),
    "quartic, order 2": ("quartic", 2, False),
    "leap, two passes": ("leap", 0, False),
    "sign, order 3": ("sign", 3, False),
    "bump, order 4": ("bump", 4, False),
}
"""Task, order of the statistic (0: two passes of order 2), and whether labels are factors instead of bins. The first
seven must find nothing, the eighth one direction of three, the rest must succeed."""
_ROOM = 4


def measure_samples(task: str, dim: int, bins: int, level: float, seed: int) -> dict:
    """The first n at which the overlap is `level`, among samples that come one after another; NaN beyond the range.

    Looked at whenever n has grown by 12 %, and taken as linear in log n between. The directions are the first
    coordinates, as good as any others: neither x nor the statistics prefer them.
    """
    directions, order = TASKS[task].directions, TASKS[task].order
    low, high = (end * dim ** max(1, order / 2) for end in _RANGES[task])
    z = np.random.default_rng([seed, dim, 0]).standard_normal((int(high) + 1, directions), dtype=np.float32)
    binned = tensors.bins_of(TASKS[task].label(z.astype(float)), bins)
    generator = np.random.default_rng([seed, dim, 1])
    sums, seen = {}, []
    n, before, target = 0, (0.0, 0.0), low
    while target <= high:
        new = slice(n, round(target))
        rest = generator.standard_normal((new.stop - n, dim - directions), dtype=np.float32)
        X = np.hstack([z[new], rest])
        sums = tensors.accumulate(sums, X, binned[new], order)
        V = tensors.top(tensors.statistic(sums), 1 if task == "leap" else directions)
        if task == "leap":
            seen.append(X)
            V = tensors.second_pass(V, np.vstack(seen), binned[: new.stop])
        n, overlap = new.stop, tensors.overlap(V, directions)
        if overlap >= level:
            part = (level - before[1]) / (overlap - before[1]) if before[0] else 1.0
            return {"samples": float(n / (n / before[0]) ** (1 - part)) if before[0] else float(n)}
        before, target = (n, overlap), target * _GROWTH
    return {"samples": math.nan}


def gaussian_samples(dim: int, level: float, seed: int) -> float:
    """What `measure_samples` finds for `sign` if the Hermite tensors in its two bins were Gaussian: of their mean
    (2/π)^{3/2} at (1, 2, 3), and of variance 1, 2 or 6 where no, two or all indices are alike.
    """
    generator = np.random.default_rng([seed, dim, 4])
    first, second = np.triu_indices(dim)
    rows = np.repeat(np.arange(dim), len(first))
    index = np.sort(np.stack([rows, np.tile(first, dim), np.tile(second, dim)]), 0)
    unique, place = np.unique((index[0] * dim + index[1]) * dim + index[2], return_inverse=True)
    a, b, c = unique // dim**2, unique // dim % dim, unique % dim
    deviation = np.sqrt(np.array([1.0, 2.0, 6.0])[(a == b).astype(int) + (b == c)])
    mean = (2 / math.pi) ** 1.5 * ((a == 0) & (b == 1) & (c == 2))
    weight = np.where(first == second, 1.0, math.sqrt(2))
    unfold = lambda values: values[place].reshape(dim, -1) * weight
    own = np.diag((unfold(deviation) ** 2).sum(1))
    noise, n, before, target = np.zeros((2, len(unique))), 0, (0.0, 0.0), dim**1.5
    while True:
        noise += math.sqrt((target - n) / 2) * deviation * generator.standard_normal(noise.shape)
        n, half = target, target / 2
        bins = (unfold(one + sign * half * mean) for one, sign in zip(noise, (1, -1), strict=True))
        M = sum(T @ T.T - half * own for T in bins)
        overlap = tensors.overlap(tensors.top(M, 3), 3)
        if overlap >= level:
            part = (level - before[1]) / (overlap - before[1]) if before[0] else 1.0
            return float(n / (n / before[0]) ** (1 - part)) if before[0] else float(n)
        before, target = (n, overlap), target * _GROWTH


def measure_control(control: str, control_dim: int, control_samples: int, bins: int, seed: int) -> dict:
    """The overlap that a statistic of the given order has, of whatever order the labels are."""
    task, order, raw = CONTROLS[control]
    generator, directions = np.random.default_rng([seed, control_dim, 2]), TASKS[task].directions
    X = generator.standard_normal((control_samples, control_dim), dtype=np.float32)
    labels = TASKS[task].label(X[:, :directions].astype(float))
    if raw:
        T, D = tensors.hermite_sums(X, order, labels)
        V = tensors.top(T @ T.T - D, directions)
    elif order:
        V = tensors.one_pass(X, tensors.bins_of(labels, bins), order, directions)
    else:
        V = tensors.two_passes(X, tensors.bins_of(labels, bins))
    return {"overlap": tensors.overlap(V, directions)}


def measure_memory(dim: int, noise: float, alpha: float, ratios: list, seed: int) -> dict:
    """Items after one step on B = ratio · σ² d^α samples whose keys are v_i + σξ, ξ ~ N(0, I/d), and with the keys v_i.

    Lists over the ratios. The noise of an item's mean key is drawn at once.
    """
    problem = Problem.power_law(round(_ROOM * dim ** (1 + 1 / (2 * alpha))), dim, alpha)
    emb = sample_embeddings(problem, seed)
    xi = np.random.default_rng([seed, dim, 3]).standard_normal(emb.V.shape) / math.sqrt(dim)
    counts = {"polar": [], "polar_clean": [], "sgd": [], "sgd_clean": []}
    for ratio in ratios:
        size = round(ratio * noise**2 * dim**alpha)
        q = sample_minibatch(problem, size, seed)
        mean = noise * torch.from_numpy(xi) / (q * size).clamp(min=1).sqrt()[:, None]
        noisy = dataclasses.replace(emb, V=emb.V + mean.to(emb.V))
        for keys, suffix in ((noisy, ""), (emb, "_clean")):
            G = initial_gradient(keys, q)
            counts["sgd" + suffix].append(capacity(G, emb))
            counts["polar" + suffix].append(capacity(polar(G), emb))
    return counts
