"""Linear regression in a prompt: what it says of its hidden weights, and the chain of thought that a teacher writes.

A prompt holds n examples (x_j, y_j), x_j ~ N(0, Λ), y_j = ⟨w, x_j⟩, with w ~ N(0, I_d). All that a linear network reads
of it is S = Σ_j x_j x_jᵀ / n and S w = Σ_j y_j x_j / n, so S is drawn and not the examples.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count


@dataclass(frozen=True, eq=False)
class Prompts:
    """B prompts of n examples each: the second moments S (B, d, d), and the weights w (B, d) to be found; float64."""

    S: Float[Tensor, "B d d"]
    w: Float[Tensor, "B d"]
    n_examples: int

    @property
    def answers(self) -> Float[Tensor, "B d"]:
        """S w = Σ_j y_j x_j / n: the answers, stored as a Hebbian memory."""
        return (self.S @ self.w[:, :, None])[:, :, 0]


def sample_prompts(
    n_prompts: int, n_examples: int, dim: int, generator: np.random.Generator,
    eigenvalues: Float[Tensor, " d"] | None = None,
) -> Prompts:  # fmt: skip
    """Fresh prompts, S by Bartlett's triangular factor, at a cost that does not grow with n.

    eigenvalues: those of the diagonal Λ, I where there are none. Raises `ValueError` for n < d, where S has no factor.
    """
    check_count("n_examples", n_examples, least=dim)
    factor = np.tril(generator.standard_normal((n_prompts, dim, dim)), -1)
    diagonal = np.arange(dim)
    factor[:, diagonal, diagonal] = np.sqrt(generator.chisquare(n_examples - diagonal, size=(n_prompts, dim)))
    L = torch.from_numpy(factor) / n_examples**0.5
    if eigenvalues is not None:
        L = eigenvalues.sqrt()[:, None] * L
    return Prompts(L @ L.mT, torch.from_numpy(generator.standard_normal((n_prompts, dim))), n_examples)


def decaying_eigenvalues(dim: int, exponent: float) -> Float[Tensor, " d"]:
    """λ_i = i^−a: the directions that examples show, from the first, of variance 1, to the rarest."""
    return torch.arange(1, dim + 1, dtype=torch.float64) ** -exponent


def residuals(prompts: Prompts, w: Float[Tensor, "B d"]) -> Float[Tensor, "B d"]:
    """F = S (w_i − w): the gradient of the prompt's squared error at w_i."""
    return (prompts.S @ (w - prompts.w)[:, :, None])[:, :, 0]


def teacher_path(prompts: Prompts, rate: float, steps: int) -> Float[Tensor, "B {steps+1} d"]:
    """The chain of thought that the teacher writes: w_0 = 0, w_{i+1} = w_i − η S (w_i − w)."""
    path = [torch.zeros_like(prompts.w)]
    for _ in range(steps):
        path.append(path[-1] - rate * residuals(prompts, path[-1]))
    return torch.stack(path, 1)


def descend(prompts: Prompts, M: Float[Tensor, "d d"], steps: int) -> Float[Tensor, " steps"]:
    """Relative squared errors Σ‖w_i − w‖² / Σ‖w‖² after 1, …, `steps` steps of w ← w − M S (w − w*)."""
    left, errors = -prompts.w, []
    for _ in range(steps):
        left = left - (prompts.S @ left[:, :, None])[:, :, 0] @ M.mT
        errors.append(left.square().sum())
    return torch.stack(errors) / prompts.w.square().sum()
