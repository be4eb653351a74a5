"""Semiautomata whose letters are permutations: how two of them agree, and what words show of one.

A machine with N states is a table P(σ, s): where the letter σ takes the state s. The letters of a random one are lazy
transpositions: the identity with probability 1/2, else a random transposition. Words are uniform, and so is the first
state.
"""

import numpy as np
from jaxtyping import Float, Int

from amemlib.checks import check_count

_CHUNK = 100_000


def sample_machine(n_states: int, letters: int, generator: np.random.Generator) -> Int[np.ndarray, "A N"]:
    """A machine with independent letters."""
    check_count("n_states", n_states, least=3)
    P = np.tile(np.arange(n_states), (check_count("letters", letters), 1))
    moves = np.flatnonzero(generator.random(letters) < 0.5)
    first = generator.integers(n_states, size=len(moves))
    second = (first + generator.integers(1, n_states, size=len(moves))) % n_states
    P[moves, first], P[moves, second] = second, first
    return P


def renamed(P: Int[np.ndarray, "A N"], names: Int[np.ndarray, " N"]) -> Int[np.ndarray, "A N"]:
    """The machine with the state s called `names[s]`: π P π⁻¹."""
    return names[P[:, np.argsort(names)]]


def lazy_transpositions(n_states: int) -> Int[np.ndarray, "C N"]:
    """All letters that there may be, the identity first."""
    letters = [np.arange(n_states)]
    for i in range(n_states):
        for j in range(i):
            swap = np.arange(n_states)
            swap[[i, j]] = j, i
            letters.append(swap)
    return np.array(letters)


def mean_letter(P: Int[np.ndarray, "A N"]) -> Float[np.ndarray, "N N"]:
    """P̄ = (1/A) Σ_σ P(σ) as matrices, [to, from]: the walk of the states under uniform letters."""
    letters, n = P.shape
    return np.bincount((P * n + np.arange(n)).ravel(), minlength=n * n).reshape(n, n) / letters


def own_factor(P: Int[np.ndarray, "A N"]) -> float:
    """The second largest eigenvalue of the mean letter, which is symmetric: 1 if letters do not connect all states."""
    return float(np.linalg.eigvalsh(mean_letter(P) - 1 / P.shape[1])[-1])


def agreements(P: Int[np.ndarray, "A N"], other: Int[np.ndarray, "A N"], length: int) -> Float[np.ndarray, " T"]:
    """Pr(both machines are in the same state) − 1/N after words of 1, …, `length` letters, exactly.

    X ← (1/A) Σ_σ P(σ) X P'(σ)ᵀ from the identity; the probability is tr X / N.
    """
    letters, n = P.shape
    back, other_back = np.argsort(P, 1), np.argsort(other, 1)
    at = (back[:, :, None] * n + other_back[:, None, :]).reshape(letters, n * n)
    # letters that do the same to both machines need one look
    at, counts = np.unique(at, axis=0, return_counts=True)
    x, excess = np.eye(n).ravel(), []
    for _ in range(length):
        x = counts @ x[at] / letters
        excess.append(x[:: n + 1].sum() / n - 1 / n)
    return np.array(excess)


def pair_factor(P: Int[np.ndarray, "A N"], other: Int[np.ndarray, "A N"]) -> float:
    """The largest eigenvalue of M = (1/A) Σ_σ P(σ) ⊗ P'(σ) on std ⊗ std: what is left of a pair, a letter."""
    letters, n = P.shape
    M = np.zeros(n**4)
    start = (np.arange(n)[:, None] * n + np.arange(n)).ravel()
    for k in range(0, letters, 2000):
        to = (P[k : k + 2000, :, None] * n + other[k : k + 2000, None, :]).reshape(-1, n * n)
        M += np.bincount((to * n * n + start).ravel(), minlength=n**4)
    keep = np.eye(n) - 1 / n
    keep = np.kron(keep, keep)
    return float(np.linalg.eigvalsh(keep @ (M.reshape(n * n, n * n) / letters) @ keep)[-1])


def count_words(
    P: Int[np.ndarray, "A N"], n_words: int, length: int, generator: np.random.Generator
) -> Int[np.ndarray, "A N N"]:
    """C_σ[s_T, s_0]: how often a letter stood in a word that took s_0 to s_T. All that a learner by counts keeps."""
    letters, n = P.shape
    C = np.zeros(letters * n * n, dtype=np.int64)
    for start in range(0, n_words, _CHUNK):
        count = min(_CHUNK, n_words - start)
        first = generator.integers(n, size=count)
        words = generator.integers(letters, size=(count, length))
        state = first
        for t in range(length):
            state = P[words[:, t], state]
        C += np.bincount((words * (n * n) + (state * n + first)[:, None]).ravel(), minlength=len(C))
    return C.reshape(letters, n, n)


def best_letters(scores: Float[np.ndarray, "A N N"]) -> Int[np.ndarray, "A N"]:
    """For each letter the lazy transposition g with the largest Σ_s scores[g(s), s]."""
    n = scores.shape[1]
    candidates = lazy_transpositions(n)
    totals = np.stack([scores[:, g, np.arange(n)].sum(1) for g in candidates], 1)
    return candidates[totals.argmax(1)]
