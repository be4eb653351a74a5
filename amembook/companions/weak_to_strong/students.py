"""Ridgeless teachers and students on shared directions, and two memories that see different coordinates of an input."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor


def inherited_variance(
    n_labels: int, weak_dim: int, strong_dim: int, overlap: float, n_pseudo: int, noise: float = 1.0
) -> float:
    """Excess risk of a ridgeless student on a ridgeless teacher's labels, both realizable (ours, exact):

        σ²/(n − d_w − 1) · [d_∩ + (d_w − d_∩) d_s/(N − d_s − 1)],   d_∩ = ‖P_s P_w‖_F².

    The teacher's noise in what they share is kept; elsewhere it is the student's label noise. Needs n > d_w + 1 and
    N > d_s + 1, where the mean exists.
    """
    reduced = strong_dim / (n_pseudo - strong_dim - 1)
    return noise**2 / (n_labels - weak_dim - 1) * (overlap + (weak_dim - overlap) * reduced)


def direct_variance(n_labels: int, dim: int, noise: float = 1.0) -> float:
    """Excess risk of ridgeless regression on n true labels with independent noise: σ² d/(n − d − 1)."""
    return noise**2 * dim / (n_labels - dim - 1)


def teach(n_labels: int, weak_dim: int, generator: np.random.Generator) -> np.ndarray:
    """(d_w,) what a teacher learns of pure label noise of variance one: its error, whatever the target is."""
    X = generator.standard_normal((n_labels, weak_dim))
    return np.linalg.lstsq(X, generator.standard_normal(n_labels))[0]


def learn(
    teacher: np.ndarray, strong_dim: int, shared: int, cosine: float, n_pseudo: int, generator: np.random.Generator
) -> np.ndarray:
    """(d_s,) what a student learns of a teacher's labels. Its first `shared` directions have this cosine with the
    teacher's first, all others are orthogonal to them; so d_∩ = shared · cosine²."""
    X = generator.standard_normal((n_pseudo, len(teacher)))
    Z = generator.standard_normal((n_pseudo, strong_dim))
    Z[:, :shared] = cosine * X[:, :shared] + np.sqrt(1 - cosine**2) * Z[:, :shared]
    return np.linalg.lstsq(Z, X @ teacher)[0]


def paraphrases(
    V: Float[Tensor, "N D"], count: int, spread: float, generator: torch.Generator
) -> tuple[Float[Tensor, "M D"], Int[Tensor, " M"]]:
    """`count` noisy copies of every key, v + s ξ with ξ of a key's law, and the number of each one's item."""
    X = V.repeat(count, 1)
    noise = torch.randn(X.shape, generator=generator, dtype=V.dtype) / V.shape[1] ** 0.5
    return X + spread * noise, torch.arange(len(V)).repeat(count)


def gradient(U: Float[Tensor, "N m"], X: Float[Tensor, "M n"], labels: Int[Tensor, " M"]) -> Float[Tensor, "m n"]:
    """−∇L at W = 0 of inputs X with answers among the rows of U: the mean of (u_label − ū) xᵀ."""
    sums = X.new_zeros(len(U), X.shape[1]).index_add(0, labels, X)
    return (U - U.mean(0)).T @ sums / len(X)


def answers(W: Float[Tensor, "m n"], U: Float[Tensor, "N m"], X: Float[Tensor, "M n"]) -> Int[Tensor, " M"]:
    """argmax_j u_jᵀ W x for every input."""
    return (X @ W.T @ U.T).argmax(1)
