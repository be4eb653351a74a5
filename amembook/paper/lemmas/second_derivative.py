"""The second derivative of a spectral map by divided differences (Proposition 11), for matrices of a hundred rows."""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_positive
from amemlib.problem import check_tensor
from amemlib.spectral import divided_difference

_CLOSE = 0.5
_NODES, _WEIGHTS = (torch.from_numpy(x / 2) for x in np.polynomial.legendre.leggauss(12))
"""Gauss's rule on [−1/2, 1/2], exact for polynomials of degree 23."""


def second_divided_difference(
    x: Tensor, y: Tensor, z: Tensor, f: Callable, df: Callable, d2f: Callable, scale: float
) -> Tensor:
    """f[x, y, z] = (f[x, y] − f[y, z]) / (x − z), symmetric in its three points, and f″(x)/2 where all agree.

    Arguments as in `divided_difference`, and the second derivative. The points are sorted first, so that the quotient
    is over the widest gap; where that is below half of `scale`, the Hermite–Genocchi integral of f″ over the simplex
    takes its place.
    """
    points = torch.broadcast_tensors(x.double(), y.double(), z.double())
    low, middle, high = torch.stack(points).sort(0).values
    close = high - low < _CLOSE * check_positive("scale", scale)
    left = divided_difference(low, middle, f, df, scale)
    right = divided_difference(middle, high, f, df, scale)
    result = (right - left) / torch.where(close, 1.0, high - low)
    tau, weights = _NODES.to(low.device) + 0.5, _WEIGHTS.to(low.device)
    a, b, c = (point[close][:, None, None] for point in (low, middle, high))
    inner = b + tau * (c - b)
    # ∫₀¹ (1 − σ) ∫₀¹ f″(…) dτ dσ: the simplex as a square, σ the weight of the lowest point
    result[close] = d2f(inner + tau[:, None] * (a - inner)) @ weights @ (weights * (1 - tau))
    return result


def spectral_second_derivative(
    G: Float[Tensor, "m n"], E: Float[Tensor, "m n"], f: Callable, df: Callable, d2f: Callable, scale: float
) -> Float[Tensor, "m n"]:
    """D²f(G)[E, E] = d²/dt² f(G + tE) at t = 0 for an odd f (Proposition 11, second order), in float64.

    The entry K, L on the dilation is 2 Σ_M f[σ_K, σ_M, σ_L] E_KM E_ML; two different directions by polarisation.
    Arguments as in `spectral_derivative`, and f″. Cost O((2 max(m, n))³) divided differences, in slices over M: for
    d up to about a hundred. The second derivative along u vᵀ, for h_λ at any d, is `signal_curve`.
    """
    sigma, basis, E = _dilated(G, E)
    D = torch.zeros_like(E)
    for value, row in zip(sigma, E, strict=True):
        D += second_divided_difference(sigma[:, None], value, sigma, f, df, d2f, scale) * torch.outer(row, row)
    return (basis @ (2 * D) @ basis.T)[: G.shape[0], len(D) // 2 :][:, : G.shape[1]]


def _dilated(G: Tensor, E: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues ±s_k and eigenvectors of [[0, G], [Gᵀ, 0]], G padded with zeros to a square, and E's dilation there.

    Built from the SVD and not by an eigensolver, so that the eigenvalues come in exact pairs and keep G's accuracy.
    """
    check_tensor("G", G, ("m", "n"))
    check_tensor("E", E, tuple(G.shape))
    G, E = (
        torch.nn.functional.pad(X.double(), (0, max(X.shape) - X.shape[1], 0, max(X.shape) - X.shape[0]))
        for X in (G, E)
    )
    P, s, Qh = torch.linalg.svd(G)
    basis = torch.cat([torch.cat([P, P], 1), torch.cat([Qh.T, -Qh.T], 1)]) / math.sqrt(2)
    E = P.T @ E @ Qh.T
    return (
        torch.cat([s, -s]),
        basis,
        torch.cat([torch.cat([E + E.T, E.T - E], 1), torch.cat([E - E.T, -E - E.T], 1)]) / 2,
    )
