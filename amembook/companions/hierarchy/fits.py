"""Layers that are fitted one after another or jointly, and a kernel."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

_PENALTIES = 10.0 ** np.arange(-3, 3)
_SPLIT = 0.8
KERNEL_PENALTIES = (1e-5, 1e-3, 1e-2, 1e-1)
_WIDTH, _REACH, _STEP = 120, 3.0, 1e-3


def ridge(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Ridge regression, its penalty the best of six on the last fifth of the samples, then fitted to all."""
    n = len(y)
    m = int(_SPLIT * n)
    values, vectors = np.linalg.eigh(Z[:m].T @ Z[:m])
    moments, held = vectors.T @ (Z[:m].T @ y[:m]), Z[m:] @ vectors
    penalties = n * _PENALTIES
    errors = [np.square(held @ (moments / (values + penalty)) - y[m:]).mean() for penalty in penalties]
    best = penalties[int(np.argmin(errors))]
    return np.linalg.solve(Z.T @ Z + best * np.eye(Z.shape[1]), Z.T @ y)


def outer_layer(P: np.ndarray, y: np.ndarray, generator: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """A function of (n, r) features: 120 random ReLUs of them and a ridge regression on top."""
    P = P.reshape(len(y), -1)
    scale = P.std(0)
    directions = generator.standard_normal((P.shape[1], _WIDTH))
    directions /= np.linalg.norm(directions, axis=0)
    biases = generator.uniform(-_REACH, _REACH, _WIDTH)

    def hidden(Q: np.ndarray) -> np.ndarray:
        Q = Q.reshape(-1, len(scale)) / scale
        return np.c_[np.maximum(0, Q @ directions - biases), np.ones(len(Q))]

    w = ridge(hidden(P), y)
    return lambda Q: hidden(Q) @ w


def layerwise(Z: np.ndarray, y: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, Callable]:
    """The inner weights, then the outer layer, each from all samples."""
    w = ridge(Z, y)
    return w, outer_layer(Z @ w, y, generator)


def joint(
    Z: np.ndarray, y: np.ndarray, w: np.ndarray, f: Callable, passes: int, generator: np.random.Generator
) -> tuple[np.ndarray, Callable]:
    """From layers (w, f), passes of Gauss and Newton: f(⟨w, z⟩) is made linear in w, and both are fitted again. Of all
    passes the one of the smallest error on its own samples counts."""
    best = (np.square(f(Z @ w) - y).mean(), w, f)
    for _ in range(passes):
        p = Z @ w
        step = _STEP * p.std()
        slope = (f(p + step) - f(p - step)) / (2 * step)
        w = ridge(Z * slope[:, None], y - f(p) + slope * p)
        f = outer_layer(Z @ w, y, generator)
        best = min(best, (np.square(f(Z @ w) - y).mean(), w, f), key=lambda fit: fit[0])
    return best[1:]


def kernel_error(X: np.ndarray, y: np.ndarray, tests: np.ndarray, truth: np.ndarray, degree: int) -> float:
    """Relative error of the kernel (1 + ⟨x, x'⟩/d)^degree, with the penalty that is best on the tests themselves."""
    dim = X.shape[1]
    K, cross = (1 + X @ X.T / dim) ** degree, (1 + tests @ X.T / dim) ** degree
    errors = []
    for penalty in KERNEL_PENALTIES:
        weights = cho_solve(cho_factor(K + penalty * np.eye(len(y)), overwrite_a=True), y)
        errors.append(np.square(cross @ weights - truth).mean())
    return float(min(errors) / truth.var())
