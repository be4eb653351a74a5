"""Token retrieval: the task, and the first two gradient steps of a one-layer transformer on a sample of it.

A sequence has L tokens, uniform on V; one of them, in a random place, is informative: its vector is e_v + t, and the
label is its token v. Embeddings e_v, u_y and the mark t are N(0, I/d). Labels are balanced: n samples of each. Our
reading of arXiv:2603.15923's task; its own model may differ.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from amemlib.checks import check_count


@dataclass(frozen=True, eq=False)
class Vectors:
    """Outputs U and inputs E, (V, d) each, and the mark (d,); float64."""

    U: Float[Tensor, "V d"]
    E: Float[Tensor, "V d"]
    mark: Float[Tensor, " d"]

    @property
    def centred(self) -> Float[Tensor, "V d"]:
        """u_y − ū, what a softmax at zero logits pulls towards."""
        return self.U - self.U.mean(0)


def sample_vectors(n_tokens: int, dim: int, seed: int) -> Vectors:
    """Independent Gaussian vectors of variance 1/d."""
    generator = np.random.default_rng([check_count("seed", seed, least=0), n_tokens, dim])
    U, E, mark = (torch.from_numpy(generator.standard_normal((n, dim)) / dim**0.5) for n in (n_tokens, n_tokens, 1))
    return Vectors(U, E, mark[0])


def sample_counts(n_tokens: int, length: int, per_label: int, seed: int) -> Float[Tensor, "V V"]:
    """How often each token (column) is in the sequences of each label (row): all that the first step sees of a sample.

    One multinomial draw a label, so that the cost does not grow with the sample; the informative token is included.
    """
    generator = np.random.default_rng([check_count("seed", seed, least=0), n_tokens, length, per_label])
    uniform = np.full(n_tokens, 1 / n_tokens)
    counts = generator.multinomial(per_label * (length - 1), uniform, size=n_tokens)
    return torch.from_numpy(counts).double() + per_label * torch.eye(n_tokens, dtype=torch.float64)


def value_gradient(vectors: Vectors, counts: Float[Tensor, "V V"]) -> Float[Tensor, "d d"]:
    """−∂L/∂W_V at W_V = 0 and uniform attention, times N L: (U − ū)ᵀ C E. The mark falls out, for labels are balanced:
    it stands beside every label equally often, and Σ_y (u_y − ū) = 0."""
    return vectors.centred.T @ counts @ vectors.E


def recall_share(W: Float[Tensor, "d d"], vectors: Vectors) -> float:
    """Share of tokens v that argmax_y u_yᵀ W (e_v + t) retrieves: attention reads the informative place alone."""
    scores = (vectors.E + vectors.mark) @ W.T @ vectors.U.T
    return (scores.argmax(1) == torch.arange(len(scores))).double().mean().item()


def sample_sequences(n_tokens: int, length: int, per_label: int, seed: int) -> Int[np.ndarray, "N L"]:
    """The tokens of a sample themselves, label after label; the informative one stands first, where attention without
    positions does not care."""
    generator = np.random.default_rng([check_count("seed", seed, least=0), n_tokens, length, per_label, 1])
    tokens = generator.integers(n_tokens, size=(n_tokens * per_label, length))
    tokens[:, 0] = np.repeat(np.arange(n_tokens), per_label)
    return tokens


def attention_step(tokens: Int[np.ndarray, "N L"], vectors: Vectors) -> tuple[Float[Tensor, " d"], float]:
    """The vector w that the first step of attention adds after the first step of the values, times a constant,

        w = Σ_n Σ_l (x_nl − x̄_n) a_nl,   a_nl = (u_{y_n} − ū)ᵀ W_V x_nl,

    and the coefficient that the mark has in it, over N. The score of a place is wᵀx.
    """
    n_tokens, N = len(vectors.U), len(tokens)
    labels = tokens[:, 0]
    counts = np.bincount((labels[:, None] * n_tokens + tokens).ravel(), minlength=n_tokens**2).reshape(n_tokens, -1)
    W = value_gradient(vectors, torch.from_numpy(counts.astype(float)))
    pull = (vectors.centred @ W @ vectors.E.T).numpy()[labels[:, None], tokens]
    pull[:, 0] += (vectors.centred @ W @ vectors.mark).numpy()[labels]
    pull -= pull.mean(1, keepdims=True)
    weights = np.bincount(tokens.ravel(), weights=pull.ravel(), minlength=n_tokens)
    marked = float(pull[:, 0].sum())
    return vectors.E.T @ torch.from_numpy(weights) + marked * vectors.mark, marked / N


def hit_share(w: Float[Tensor, " d"], vectors: Vectors, length: int, n_sequences: int, seed: int) -> float:
    """Share of fresh sequences in which the informative place has the largest score."""
    generator = np.random.default_rng([check_count("seed", seed, least=0), length, 2])
    tokens = generator.integers(len(vectors.E), size=(n_sequences, length))
    scores = (vectors.E @ w).numpy()[tokens]
    scores[:, 0] += (vectors.mark @ w).item()
    return float((scores.argmax(1) == 0).mean())
