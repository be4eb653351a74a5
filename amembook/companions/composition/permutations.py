"""k-fold composition: the task, its labels for every start, and the counts that one gradient step makes of a sample.

k hidden permutations π_i of N things, k given ones σ_i: the h-hop from (i, j) is σ_{i+h−1} π_{i+h−1} … σ_i π_i (j),
with indices modulo k, as in the cyclic form of the task of arXiv:2505.23683; f_π(σ, x) is the k-hop from (1, x).
Arrays of k N places (i, j) are flat, i first.
"""

import numpy as np
from jaxtyping import Bool, Float, Int


def sample_permutations(n: int, k: int, n_things: int, generator: np.random.Generator) -> Int[np.ndarray, "n k N"]:
    """n tuples of k independent uniform permutations."""
    return generator.permuted(np.broadcast_to(np.arange(n_things), (n, k, n_things)), axis=2)


def hops(sigma: Int[np.ndarray, "n k N"], pi: Int[np.ndarray, "k N"], length: int) -> Int[np.ndarray, "n k N"]:
    """The `length`-hop from every place (i, j) of every sample."""
    n, k, N = sigma.shape
    at = np.broadcast_to(np.arange(N), sigma.shape)
    rows, block = np.arange(n)[:, None, None], np.arange(k)[None, :, None]
    for step in range(length):
        i = (block + step) % k
        at = sigma[rows, i, pi[i, at]]
    return at


def values(sigma: Int[np.ndarray, "n k N"]) -> Float[np.ndarray, "n P N"]:
    """σ_i(j) at every place, one-hot: what attention reads in the first layer."""
    n, k, N = sigma.shape
    return np.eye(N)[sigma].reshape(n, k * N, N)


def right_keys(pi: Int[np.ndarray, "k N"]) -> Int[np.ndarray, " P"]:
    """Where each place has to look for its 1-hop: (i, π_i(j))."""
    k, N = pi.shape
    return (np.arange(k)[:, None] * N + pi).ravel()


def all_answers(sigma: Int[np.ndarray, "n k N"], pi: Int[np.ndarray, "k N"]) -> Float[np.ndarray, "P P"]:
    """Samples in which place b holds the 1-hop of place a, (a, b): minus the gradient of A at uniform attention, up to
    constants, where every sample answers all places."""
    return np.einsum("sav,sbv->ab", values(hops(sigma, pi, 1)), values(sigma))


def one_answer(n: int, pi: Int[np.ndarray, "k N"], generator: np.random.Generator) -> Float[np.ndarray, "P P"]:
    """The same where each of n samples answers one place, drawn uniformly, less its mean over keys."""
    k, N = pi.shape
    counts = np.zeros((k * N, k * N))
    for start in range(0, n, _AT_ONCE):
        m = min(_AT_ONCE, n - start)
        sigma, asked = sample_permutations(m, k, N, generator), generator.integers(k * N, size=m)
        answers = hops(sigma, pi, 1).reshape(m, -1)[np.arange(m), asked]
        np.add.at(counts, asked, (sigma.reshape(m, -1) == answers[:, None]) - 1 / N)
    return counts


def alone(scores: Float[np.ndarray, "P P"], pi: Int[np.ndarray, "k N"]) -> Bool[np.ndarray, " P"]:
    """Whether each place's right key has the largest score and no other one has it too, up to rounding."""
    scores, places = scores.copy(), np.arange(len(scores))
    right = scores[places, right_keys(pi)]
    scores[places, right_keys(pi)] = -np.inf
    return right > scores.max(1) + _ROUNDING


_AT_ONCE, _ROUNDING = 2000, 1e-9
