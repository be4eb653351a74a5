"""What the study measures: agreement, what a pair forgets a letter, alphabets, words needed, and steps of a memory."""

import numpy as np
import torch

from amembook.companions.semiautomata import expected
from amembook.companions.semiautomata.machines import (
    agreements,
    best_letters,
    count_words,
    mean_letter,
    own_factor,
    pair_factor,
    renamed,
    sample_machine,
)
from amembook.run.base import MAPS
from amemlib.problem import Problem
from amemlib.spectral import identity

_GROWTH, _MOST = 1.05, 20
_AGREE, _GAP, _CONNECTED, _LEARN, _PRICE, _ZIPF = range(6)


def measure_agreement(n_states: int, per_state: int, turns: int, renamed_turns: int, seed: int) -> dict:
    """Excess agreement of two independent machines, by T; what their mean letters alone say; and of a renamed one.

    Words of 1, …, turns · N letters; renamed_turns: the same for the renamed machine, whose names fix a third.
    """
    generator = np.random.default_rng([seed, n_states, _AGREE])
    P, other = (sample_machine(n_states, per_state * n_states, generator) for _ in range(2))
    lengths = np.arange(1, turns * n_states + 1)
    values, vectors = np.linalg.eigh(mean_letter(P) - 1 / n_states)
    others, other_vectors = np.linalg.eigh(mean_letter(other) - 1 / n_states)
    overlap = (vectors.T @ other_vectors) ** 2
    own = [(values**t) @ overlap @ (others**t) / n_states for t in lengths]
    names = np.arange(n_states)
    moved = np.arange(n_states // 3, n_states)
    names[moved] = np.roll(moved, 1)
    kept = agreements(P, renamed(P, names), renamed_turns * n_states)[-1]
    excess = agreements(P, other, int(lengths[-1])).tolist()
    return {"excess": excess, "own": [float(x) for x in own], "renamed": float(kept)}


def measure_gap(gap_states: int, gap_per_state: int, seed: int) -> dict:
    """(1 − factor a letter)/(1 − λ²): of a pair of machines, and if it were the product of their own."""
    generator = np.random.default_rng([seed, gap_states, gap_per_state, _GAP])
    P, other = (sample_machine(gap_states, gap_per_state * gap_states, generator) for _ in range(2))
    whole = 1 - expected.letter_factor(gap_states) ** 2
    factors = {"pair": pair_factor(P, other), "own": own_factor(P) * own_factor(other)}
    return {name: (1 - factor) / whole for name, factor in factors.items()}


def measure_connected(gap_states: int, few_per_state: int, machines: int, seed: int) -> dict:
    """The share of machines whose states are connected by their letters."""
    generator = np.random.default_rng([seed, gap_states, few_per_state, _CONNECTED])
    factors = [own_factor(sample_machine(gap_states, few_per_state * gap_states, generator)) for _ in range(machines)]
    return {"share": float(np.mean(np.array(factors) < 1 - 1e-9))}


def measure_words(learn_states: int, letters: int, turn: float, level: float, seed: int) -> dict:
    """The number of words of T = 1 + turn · (N − 1) letters after which counts tell the share `level` of the letters.

    By steps of a twentieth from half the law on, then between the last two; NaN if twenty times the law is not enough.
    """
    generator = np.random.default_rng([seed, learn_states, round(100 * turn), _LEARN])
    length = word_length(learn_states, turn)
    P = sample_machine(learn_states, letters, generator)
    law = expected.words_needed(learn_states, letters, length, level)
    n = max(4, int(law / 2))
    C, before, share, last = 0, 0, 0.0, 0.0
    while n < _MOST * law:
        C = C + count_words(P, n - before, length, generator)
        share = right_letters(C, P, length)
        if share >= level:
            break
        before, last, n = n, share, int(np.ceil(_GROWTH * n))
    if share < level:
        return {"needed": float("nan")}
    return {"needed": before * (n / before) ** ((level - last) / (share - last)) if before else float(n)}


def measure_price(price_states: int, price_letters: int, price_dim: int, length: int, looks: float, seed: int) -> dict:
    """Share of the letters that move which one step of a memory with random keys finds, by map, from n words.

    n is where `expected.evidence` is `looks`. Centred: SGD's step with the mean of all letters subtracted by hand.
    """
    generator = np.random.default_rng([seed, length, round(100 * looks), _PRICE])
    P = sample_machine(price_states, price_letters, generator)
    keys = _keys(price_letters, price_dim, generator)
    n = max(1, round(looks / float(expected.evidence(price_states, price_letters, length, 1))))
    C = count_words(P, n, length, generator) * price_letters / (n * length)
    # e_{s_T} less a uniform guess, for every s_0
    scores = C - C.mean(1, keepdims=True)
    shares = {name: _share(scores, P, keys, f, price_states * (price_states - 1)) for name, f in MAPS.items()}
    return shares | {"words": n, "centred": _share(scores - scores.mean(0), P, keys, identity, 0)}


def measure_zipf(price_states: int, price_letters: int, zipf_dim: int, zipf: float, seed: int) -> dict:
    """The same from all words of one letter, letters with p ∝ rank^−zipf."""
    generator = np.random.default_rng([seed, zipf_dim, round(100 * zipf), _ZIPF])
    P = sample_machine(price_states, price_letters, generator)
    keys = _keys(price_letters, zipf_dim, generator)
    p = Problem.power_law(price_letters, zipf_dim, zipf).frequencies.numpy()
    scores = np.zeros((price_letters, price_states, price_states))
    scores[np.arange(price_letters)[:, None], P, np.arange(price_states)] = 1
    scores -= 1 / price_states
    # rows sum to zero as well
    shares = {name: _share(p[:, None, None] * scores, P, keys, f, (price_states - 1) ** 2) for name, f in MAPS.items()}
    mean = np.tensordot(p, scores, 1)
    return shares | {"centred": _share(p[:, None, None] * (scores - mean), P, keys, identity, 0)}


def word_length(n_states: int, turn: float) -> int:
    """T = 1 + turn · (N − 1), a whole number: λ^{2(T−1)} is about e^{−2 turn}."""
    return 1 + round(turn * (n_states - 1))


def right_letters(C: np.ndarray, P: np.ndarray, length: int) -> float:
    """Share of letters told rightly by counts, their mean replaced by what it is for many letters."""
    letters, n = P.shape
    scale = C.sum() / letters
    mean = scale * expected.letter_factor(n) ** length / n * np.eye(n)
    return float((best_letters(C - C.mean(0) + mean) == P).all(1).mean())


def _keys(letters: int, dim: int, generator: np.random.Generator) -> np.ndarray:
    return generator.standard_normal((letters, dim)) / dim**0.5


def _share(scores: np.ndarray, P: np.ndarray, keys: np.ndarray, f, rank: int) -> float:
    """Share of the letters that move which the step f(Σ_σ scores_σ v_σᵀ) answers rightly; rank: of the sum, at most."""
    letters, n = P.shape
    G = torch.from_numpy(scores.reshape(letters, n * n).T @ keys)
    W = G if f is identity else f(G, min(rank, *G.shape))
    answers = best_letters((keys @ W.numpy().T).reshape(letters, n, n))
    moves = (P != np.arange(n)).any(1)
    return float((answers == P).all(1)[moves].mean())
