"""Quadratic features of x on the sphere ‖x‖² = d, and functions of them.

A feature is p(x) = xᵀAx, scaled to E p² = 1, of a symmetric A with the eigenvalues ±1 in equal number, in random
directions: tr A = 0, and with A² = I no part of p² is quadratic on the sphere.
"""

import math

import numpy as np

LINK_NOISE = 0.5
"""The part of E g(p)² that is not in p itself, and so noise to a regression on quadratic features."""


def quadratic_count(dim: int) -> int:
    """D = d(d + 1)/2."""
    return dim * (dim + 1) // 2


def even_count(dim: int) -> int:
    """Even polynomials of degree 4 on the sphere, C(d + 3, 4): what a kernel has to learn."""
    return math.comb(dim + 3, 4)


def sample_sphere(count: int, dim: int, generator: np.random.Generator) -> np.ndarray:
    """(count, d) uniform x with ‖x‖² = d."""
    x = generator.standard_normal((count, dim))
    return x * (math.sqrt(dim) / np.linalg.norm(x, axis=1, keepdims=True))


def lift(X: np.ndarray) -> np.ndarray:
    """All quadratic features of x, (n, D): x_a² − 1 and √2 x_a x_b, times √((d + 2)/2d), so that ⟨vec A, z⟩ with
    |vec A| = 1 and tr A = 0 has the variance 1 on the sphere."""
    dim = X.shape[1]
    a, b = np.triu_indices(dim)
    Z = X[:, a] * X[:, b]
    Z[:, a == b] -= 1
    Z[:, a != b] *= math.sqrt(2)
    return Z * math.sqrt((dim + 2) / (2 * dim))


def sample_features(count: int, dim: int, generator: np.random.Generator) -> np.ndarray:
    """Directions of `count` features in the space of `lift`, orthonormal, (count, D).

    Of the first A² = I/d exactly; the others are made orthogonal to those before them, which changes little.
    """
    signs = np.where(np.arange(dim) % 2, -1.0, 1.0)
    a, b = np.triu_indices(dim)
    rows = []
    for _ in range(count):
        Q = np.linalg.qr(generator.standard_normal((dim, dim)))[0]
        A = (Q * signs) @ Q.T
        row = A[a, b] * np.where(a == b, 1.0, math.sqrt(2))
        for other in rows:
            row = row - other * (other @ row)
        rows.append(row / np.linalg.norm(row))
    return np.array(rows)


def link(p: np.ndarray) -> np.ndarray:
    """g(p) = (p + (p² − 1)/√2)/√2: degree 2, half of its variance in p itself."""
    return (p + (p * p - 1) / math.sqrt(2)) / math.sqrt(2)


def new_link(P: np.ndarray) -> np.ndarray:
    """tanh(2p₁) + (p₂² − 1)/2 of (n, 2) features: what is asked after the features were learnt from p₁p₂."""
    return np.tanh(2 * P[:, 0]) + (P[:, 1] ** 2 - 1) / 2
