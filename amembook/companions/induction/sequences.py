"""Trigger and output: the task, the first gradient of a one-layer attention, and what it answers elsewhere.

A sequence of 2l tokens has the trigger at place l and at its end; what follows the first trigger is to be copied. The
rest is noise, uniform on V tokens. Elsewhere the first trigger stands at another place. Our reading of the task of
arXiv:2512.18634, from its abstract.

The score of place j seen from the end is qᵀ A k_j, with q = (1, g e_T) (the trigger, and the length T of the sequence)
and k_j = (token, token before, g e_j). g is the scale of the positions. Token V is the trigger.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from amemlib.checks import check_count


@dataclass(frozen=True, eq=False)
class Pretraining:
    """The lengths l of a training distribution and their probabilities q, (n,) each."""

    lengths: Int[np.ndarray, " n"]
    shares: Float[np.ndarray, " n"]

    @property
    def rates(self) -> Float[np.ndarray, " n"]:
        """q_l / l: how fast uniform attention over 2l places teaches from the length l, up to a factor."""
        return self.shares / self.lengths

    @property
    def max_sum(self) -> float:
        """R = max_l (q_l / l) / Σ_l (q_l / l), between 1/n and 1."""
        return float(self.rates.max() / self.rates.sum())


def power_lengths(first: int, count: int, power: float) -> Pretraining:
    """`count` lengths from `first` ≥ 3 on, with q_l ∝ l^power."""
    lengths = np.arange(check_count("first", first, least=3), first + check_count("count", count))
    weights = lengths.astype(float) ** power
    return Pretraining(lengths, weights / weights.sum())


def new_places(length: int, seen: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
    """Where the first of two triggers can stand in 2l tokens, if it stood there in no training sequence."""
    return np.setdiff1d(np.arange(1, 2 * length - 1), seen)


def sample_tokens(
    total: int, places: Int[np.ndarray, " M"], n_tokens: int, generator: np.random.Generator
) -> Int[np.ndarray, "M T"]:
    """Sequences of `total` tokens with the trigger at the given places, counted from 1, and at the end."""
    tokens = generator.integers(n_tokens, size=(len(places), total))
    tokens[np.arange(len(places)), places - 1] = n_tokens
    tokens[:, -1] = n_tokens
    return tokens


def pulls(
    tokens: Int[np.ndarray, "M T"], answers: Int[np.ndarray, " M"], n_tokens: int, value_scale: float
) -> Float[np.ndarray, "M T"]:
    """−∂ loss/∂(score of place j), over the share 1/T of uniform attention and the value scale:

    h_j = r(x_j) − mean r,   r(v) = 1{v = answer} − softmax(value scale · shares of the tokens)_v.
    """
    M, total = tokens.shape
    counts = np.zeros((M, n_tokens + 1))
    np.add.at(counts, (np.arange(M)[:, None], tokens), 1)
    chances = np.exp(value_scale * counts / total)
    chances /= chances.sum(1, keepdims=True)
    r = (tokens == answers[:, None]) - np.take_along_axis(chances, tokens, 1)
    return r - r.mean(1, keepdims=True)


def sample_moments(
    training: Pretraining, n_tokens: int, n_sequences: int, value_scale: float, generator: np.random.Generator
) -> tuple[Float[np.ndarray, "n K"], Int[np.ndarray, " n"]]:
    """C, one row a length: its part of the sample times 1/(2l) times the mean of Σ_j h_j k_j, at g = 1; and how many
    sequences of each length there were. The first gradient is Σ_l b_l c_lᵀ, b_l the query of that length."""
    counts = generator.multinomial(n_sequences, training.shares)
    rows = []
    for length, count in zip(training.lengths.tolist(), counts, strict=True):
        tokens = sample_tokens(2 * length, np.full(count, length), n_tokens, generator)
        h = pulls(tokens, tokens[:, length], n_tokens, value_scale)
        token = np.bincount(tokens.ravel(), h.ravel(), n_tokens + 1)
        before = np.bincount(tokens[:, :-1].ravel(), h[:, 1:].ravel(), n_tokens + 1)
        place = np.pad(h.sum(0), (0, _places(training) - 2 * length))
        rows.append(np.concatenate([token, before, place]) / (n_sequences * 2 * length))
    return np.array(rows), counts


def first_update(moments: Float[np.ndarray, "n K"], n_tokens: int, scale: float, step) -> Float[np.ndarray, "n1 K"]:
    """What one step adds to A = 0: `step` of Σ_l b_l c_lᵀ, rows (trigger, lengths), columns as in `sample_moments`."""
    n, keys = len(moments), moments.copy()
    keys[:, 2 * n_tokens + 2 :] *= scale
    queries = np.concatenate([np.ones((n, 1)), scale * np.eye(n)], 1)
    return step(queries.T @ keys)


def hits(
    row: Float[np.ndarray, " K"], tokens: Int[np.ndarray, "M T"], answers: Int[np.ndarray, " M"], n_tokens: int,
    scale: float,
) -> Bool[np.ndarray, " M"]:  # fmt: skip
    """Whether the place with the largest score holds the answer, for a query qᵀ A = row: saturated attention."""
    token, before, place = np.split(row, [n_tokens + 1, 2 * n_tokens + 2])
    scores = token[tokens] + scale * place[: tokens.shape[1]]
    scores[:, 1:] += before[tokens[:, :-1]]
    return tokens[np.arange(len(tokens)), scores.argmax(1)] == answers


def _places(training: Pretraining) -> int:
    """Of how many places A knows: those of the longest sequence, and one more."""
    return int(2 * training.lengths.max() + 1)
