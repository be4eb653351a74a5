"""What one sample pulls with: the plain loss, the loss averaged over a sphere around w, and the sample's sign alone.

All of it for y = h_4(⟨x, θ⟩) and the correlation loss −y h_4(⟨x, w⟩), w on the sphere, h_4 = (z⁴ − 6z² + 3)/√24.
With q = ⟨x, w⟩ and r the length of x outside w, a step is w + η G (x − qw) and then back to the sphere; G = y g(q, r²).
"""

import math

import numpy as np

_NORM = math.sqrt(24)


def label(z: np.ndarray) -> np.ndarray:
    """h_4(z): of norm one, and nothing of degree below four."""
    square = z * z
    return ((square - 6) * square + 3) / _NORM


def label_sign(z: np.ndarray) -> np.ndarray:
    """The sign of h_4(z)."""
    return np.sign(label(z))


def smoothed_pull(q: np.ndarray, squared: np.ndarray, smoothing: float, dim: int) -> np.ndarray:
    """g of the loss averaged over (w + λu)/√(1 + λ²), u uniform on the unit sphere orthogonal to w, times (1 + λ²)²:

    what it averages is ⟨w + λu, x⟩ = q + λrt, where t is one coordinate of a uniform point on the sphere in d − 1
    dimensions, E t² = 1/(d − 1), E t⁴ = 3/((d − 1)(d + 1)). g = ∂f/∂q − (q/r) ∂f/∂r, for r changes with w as well.
    """
    lam2 = smoothing**2
    size = 1 + lam2
    second, fourth = squared / (dim - 1), squared / ((dim - 1) * (dim + 1))
    along = 4 * q**3 + 12 * q * lam2 * second - 12 * q * size
    across = 6 * q**2 * lam2 / (dim - 1) + 6 * lam2**2 * fourth - 6 * lam2 * size / (dim - 1)
    return (along - 2 * q * across) / _NORM


def sign_pull(q: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """sign h_4′(q)/r: with the label's sign all of a gradient that its division by its length leaves."""
    return np.sign(q**3 - 3 * q) / np.sqrt(squared)
