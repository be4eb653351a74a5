"""What the study measures: the built network, correlations, counted, samples that one step needs, training."""

import itertools
from collections.abc import Sequence
from functools import reduce

import numpy as np
import torch

from amembook.companions.composition import expected, network, permutations, transformer
from amemlib.spectral import polar

_MOST_SAMPLES, _LAST = 200, 20


def measure_built(k: int, n_things: int, n_samples: int, seed: int) -> dict:
    """Of the network built by hand: the share of right k-hops of its last layer, and of the layer before it."""
    generator = np.random.default_rng([seed, k, n_things, 10])
    pi = permutations.sample_permutations(1, k, n_things, generator)[0]
    read, labels = network.batch(pi, n_samples, generator)
    with torch.no_grad():
        written = network.forward(network.hand_built(pi), read)
    shares = network.accuracies(written[-2:], labels[-1:] * 2)
    return {"all": shares[1], "one less": shares[0], "layers": len(written)}


def exact_correlation(k: int, n_things: int) -> dict:
    """The mean square of the correlation of compositions, by counting: of every tuple with the identities, over all
    given permutations and all starts. (Of two tuples: with π'_i moved into σ_i nothing changes.)"""
    group = np.array(list(itertools.permutations(range(n_things))), dtype=np.int8)
    tuples = np.array(list(itertools.product(range(len(group)), repeat=k)))
    given = group[tuples]  # also all σ: (tuples, k, N)
    rows, squares = np.arange(len(tuples))[:, None], []
    start = np.broadcast_to(np.arange(n_things), (len(tuples), n_things))
    ends = lambda pi: reduce(lambda at, i: given[:, i][rows, group[pi[i]][at]], range(k), start)
    own = ends(np.full(k, 0))
    for pi in tuples:
        alike = int((ends(pi) == own).sum())
        squares.append((n_things * alike - own.size) ** 2)
    return {"square": sum(squares) / (len(squares) * ((n_things - 1) * own.size) ** 2)}


def measure_dense(k: int, n_things: int, n_repeats: int, seed: int) -> dict:
    """Mean number of samples, all places answered, after which every right key is alone: no two keys have held the same
    value in all samples, which hidden permutations there are does not matter."""
    generator = np.random.default_rng([seed, k, n_things, 12])
    needed = []
    for _ in range(n_repeats):
        alike = np.zeros(k * n_things, dtype=np.int64)
        for n in range(1, _MOST_SAMPLES):
            held = permutations.sample_permutations(1, k, n_things, generator).ravel()
            alike = np.unique(alike * n_things + held, return_inverse=True)[1]
            if alike.max() == k * n_things - 1:
                needed.append(n)
                break
    return {"needed": float(np.mean(needed))}


def measure_sparse(k: int, n_things: int, per_place: Sequence[int], n_repeats: int, seed: int) -> dict:
    """Share of places whose right key is alone after one step, each sample answering one place, by optimizer and mean
    number of answers a place."""
    generator = np.random.default_rng([seed, k, n_things, 13])
    shares: dict[str, list] = {"sgd": [], "polar": []}
    for per in per_place:
        repeats = []
        for _ in range(n_repeats):
            pi = permutations.sample_permutations(1, k, n_things, generator)[0]
            counts = permutations.one_answer(per * k * n_things, pi, generator)
            steps = counts, polar(torch.from_numpy(counts)).numpy()
            repeats.append([permutations.alone(W, pi).mean() for W in steps])
        for name, share in zip(shares, np.mean(repeats, 0), strict=True):
            shares[name].append(float(share))
    return shares


def measure_training(
    k: int, n_things: int, regime: str, optimizer: str, steps: int, n_samples: int, lr: float, muon_lr: float,
    spread: float, seed: int,
) -> dict:  # fmt: skip
    """By hop the step at which it was learnt, and the accuracies at the end; how many steps were made."""
    pi = permutations.sample_permutations(1, k, n_things, np.random.default_rng([seed, k, n_things, 14]))[0]
    rate = {"adam": lr, "muon": muon_lr}[optimizer]
    history = network.train(pi, regime, optimizer, steps, n_samples, rate, spread, seed)
    return _ends(history, steps)


def measure_transformer(
    k: int, n_things: int, regime: str, steps: int, n_samples: int, dim: int, layers: int, lr: float, seed: int
) -> dict:
    """The same of an ordinary transformer, trained with AdamW."""
    pi = permutations.sample_permutations(1, k, n_things, np.random.default_rng([seed, k, n_things, 16]))[0]
    return _ends(transformer.train(pi, regime, steps, n_samples, dim, layers, lr, seed), steps)


def expected_sparse(k: int, n_things: int, per_place: Sequence[int]) -> dict:
    """The law of the gradient step's share."""
    return {"sgd": [expected.share_alone(k, n_things, per) for per in per_place]}


def pairs_of(sizes: tuple[str, ...]) -> dict[str, dict]:
    """Sizes "k N" as arguments."""
    read = [pair_of("sizes", size) for size in sizes]
    return {f"{k} {N}": {"k": k, "n_things": N} for k, N in dict.fromkeys(read)}


def pair_of(name: str, size: str) -> tuple[int, int]:
    """k and N of a size "k N"; `ValueError` unless these are two whole numbers from 2 on."""
    words = size.split()
    if len(words) != 2 or not all(word.isascii() and word.isdigit() and 2 <= int(word) < 2**31 for word in words):
        raise ValueError(f"{name} must hold pairs k N of whole numbers from 2 on such as '4 8', got {size!r}")
    k, N = map(int, words)
    return k, N


def products(ks: tuple[int, ...], things: tuple[int, ...]) -> dict[str, dict]:
    """All pairs of a k and an N as arguments."""
    return {f"{k} {N}": {"k": k, "n_things": N} for N, k in itertools.product(things, ks)}


def _ends(history: list[list[float]], steps: int) -> dict:
    """By hop the first step at which it was learnt, NaN without one, and the accuracy at the end, of a run that was not
    ended early the mean over its last steps; how many steps were made."""
    last = history[-_LAST:] if len(history) == steps else history[-1:]
    learnt = [network.first_at(history, hop) for hop in range(len(history[0]))]
    return {"learnt": learnt, "accuracy": [float(share) for share in np.mean(last, 0)], "steps": len(history)}
