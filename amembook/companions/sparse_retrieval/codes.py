"""Sparse retrieval: positions have codes, a query names a position by its code, and the answer is the token there.

A sequence has N tokens x_j ~ N(0, I_d) at positions with codes ω_j ∈ {±1}^m / √m. A label asks for a position t by ω_t,
and is y = ⟨u, x_t⟩ for an unknown unit vector u. Attention scores position j with ω_tᵀ W ω_j.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count

_CHUNK = 4096


def sample_codes(n_positions: int, code_dim: int, generator: np.random.Generator) -> Float[Tensor, "N m"]:
    """N distinct codes, signs over √m. Raises `ValueError` where 2^m is less than 4 N: a draw would seldom do."""
    if 2.0 ** check_count("code_dim", code_dim) < 4 * check_count("n_positions", n_positions):
        raise ValueError(f"code_dim must leave room for {n_positions} distinct codes, got {code_dim}")
    while True:
        signs = generator.choice([-1.0, 1.0], size=(n_positions, code_dim))
        if len(np.unique(signs, axis=0)) == n_positions:
            return torch.from_numpy(signs / code_dim**0.5)


def first_moments(
    n_positions: int, n_sequences: int, labels: int, generator: np.random.Generator
) -> Float[Tensor, "N N"]:
    """H = mean of (y − ā) e_t (a − ā 1)ᵀ over n sequences and their labels, `labels` each, a_j = ⟨u, x_j⟩ ~ N(0, 1).

    −∂L/∂W at W = 0, for squared loss and a reader u that is known, is Ωᵀ H Ω / N: attention is uniform there and
    answers ā, the mean. Only the a_j enter, so they are drawn and not the tokens.
    """
    H = np.zeros((n_positions, n_positions))
    for start in range(0, n_sequences, _CHUNK):
        count = min(_CHUNK, n_sequences - start)
        a = generator.standard_normal((count, n_positions))
        a -= a.mean(1, keepdims=True)
        if labels == 1:
            asked = generator.integers(n_positions, size=count)
            np.add.at(H, asked, a[np.arange(count), asked][:, None] * a)
        else:
            H += (generator.multinomial(labels, np.full(n_positions, 1 / n_positions), size=count) * a).T @ a / labels
    return torch.from_numpy(H / n_sequences)


def found_share(W: Float[Tensor, "m m"], queries: Float[Tensor, "N m"], keys: Float[Tensor, "N m"]) -> float:
    """Share of positions t whose own score, queries_tᵀ W keys_t, is the largest of all positions'."""
    return ((queries @ W @ keys.mT).argmax(1) == torch.arange(len(keys))).double().mean().item()
