"""What the errors must be: the floor without thoughts, k steps of gradient descent, one SGD step of the weights.

All of it is derived in the chapter `chain-of-thought`; nothing is fitted.
"""

import math

import numpy as np
import torch
from scipy.integrate import quad

from amembook.companions.chain_of_thought.prompts import sample_prompts

_MATRICES = 160_000


def one_step_rate(n_examples: int, dim: int) -> float:
    """η* = n/(n + d + 1): the best rate of a single step for Λ = I."""
    return n_examples / (n_examples + dim + 1)


def floor(n_examples: int, dim: int) -> float:
    """min_η E‖I − ηS‖²_F / d = (d + 1)/(n + d + 1): what no layer without thoughts gets below, for Λ = I."""
    return (dim + 1) / (n_examples + dim + 1)


def thinking_errors(n_examples: int, dim: int, rate: float, steps: tuple[int, ...]) -> list[float]:
    """E tr(I − ηS)^{2k} / d over 160 000/d fixed draws of S, Λ = I; rarer S, of λ_max > 2/η, would carry the mean."""
    S = sample_prompts(max(2, _MATRICES // dim), n_examples, dim, np.random.default_rng([n_examples, dim])).S
    left = (1 - rate * torch.linalg.eigvalsh(S)).abs()
    return [(left ** (2 * k)).mean().item() for k in steps]


def thinking_limit(ratio: float, rate: float, steps: tuple[int, ...]) -> list[float]:
    """The same as d → ∞ with n = d · `ratio`: the integral of (1 − ηx)^{2k} under Marchenko and Pastur's law."""
    gamma = 1 / ratio
    low, high = (1 - math.sqrt(gamma)) ** 2, (1 + math.sqrt(gamma)) ** 2
    density = lambda x: math.sqrt((high - x) * (x - low)) / (2 * math.pi * gamma * x)
    return [quad(lambda x, k=k: density(x) * (1 - rate * x) ** (2 * k), low, high)[0] for k in steps]


def first_gradient(eigenvalues: np.ndarray, n_examples: int, rate: float, thoughts: int) -> np.ndarray:
    """Eigenvalues of E Σ_i F_i F_iᵀ, the first gradient of V₃₁ over −η.

    One thought, exactly: λ²(1 + 1/n) + λ Σλ / n. More, as n → ∞: λ (1 − (1 − ηλ)^{2k}) / (η (2 − ηλ)).
    """
    if thoughts == 1:
        return eigenvalues**2 * (1 + 1 / n_examples) + eigenvalues * eigenvalues.sum() / n_examples
    remaining = 1 - (1 - rate * eigenvalues) ** (2 * thoughts)
    return eigenvalues * remaining / (rate * (2 - rate * eigenvalues))


def cosine_to_identity(values: np.ndarray) -> float:
    """tr G / (√d ‖G‖_F) of a positive matrix with these eigenvalues: 1 only for a multiple of I."""
    return float(values.sum() / math.sqrt(len(values) * (values**2).sum()))


def descent_error(values: np.ndarray, eigenvalues: np.ndarray, steps: int) -> float:
    """(1/d) Σ_i (1 − c g_i λ_i)^{2k} at the best c: k steps preconditioned with g, as n → ∞."""
    product = values * eigenvalues
    scales = np.geomspace(0.5, 1.999, 400)[:, None] / product.max()
    return float(((1 - scales * product) ** (2 * steps)).mean(1).min())
