"""Hermite expansions of functions of one Gaussian, and what they make of a network's population loss, without autograd.

Apart, because the studies on feature learning have no items and no embeddings: their data are x ~ N(0, I_d),
and the loss over all of them is a polynomial in the overlaps of unit vectors. With h_k = He_k/√k! and f = Σ_k a_k h_k,
E f(⟨x, u⟩) g(⟨x, v⟩) = Σ_k a_k b_k ⟨u, v⟩^k (Mehler).
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.arithmetic import without_autocast
from amemlib.checks import check_count, check_function
from amemlib.problem import check_tensor

_MOST_NODES = 300
"""Beyond, the outer weights fall below what float64 holds."""
_HIGHEST_DEGREE = 1000


def hermite(z: Float[Tensor, "*shape"], degree: int) -> Float[Tensor, "degrees *shape"]:
    """h_0(z), …, h_degree(z), the probabilists' polynomials of norm one: E h_j(z) h_k(z) = 1{j = k} for z ~ N(0, 1).

    By h_{k+1} = (z h_k − √k h_{k−1})/√(k + 1). Raises `ValueError` for a degree outside 0 … 1000, and for a z whose
    polynomials leave the numbers of its dtype.
    """
    check_tensor("z", z, (...,))
    check_count("degree", degree, least=0, most=_HIGHEST_DEGREE)
    rows = [torch.ones_like(z), z][: degree + 1]
    for k in range(1, degree):
        rows.append((z * rows[k] - math.sqrt(k) * rows[k - 1]) / math.sqrt(k + 1))
    return _finite("z", torch.stack(rows))


def gauss_hermite(count: int) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Nodes and weights of E f(z) ≈ Σ w f(z) for z ~ N(0, 1), exact for polynomials of degree below 2 `count`; float64.

    Raises `ValueError` unless 1 ≤ count ≤ 300.
    """
    check_count("count", count, most=_MOST_NODES)
    nodes, weights = _rule(count)
    return nodes.clone(), weights.clone()


@without_autocast
def coefficients(function: Callable[[Tensor], Tensor], degree: int, count: int = 200) -> Float[Tensor, " degrees"]:
    """E f(z) h_k(z) for k = 0, …, degree, by Gauss–Hermite quadrature with `count` nodes; float64.

    Exact for a polynomial f of degree below 2 count − degree. Where f or its derivative jumps the error falls as a
    power of 1/count alone: this is not the way to the coefficients of a sign.
    """
    nodes, weights = gauss_hermite(count)
    check_function("function", function)
    values = function(nodes)
    check_tensor("function", values, (count,))
    return _finite("function", hermite(nodes, degree) @ (weights * values))


def correlation(
    a: Float[Tensor, " degrees"], b: Float[Tensor, " degrees"], overlap: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """κ(t) = Σ_k a_k b_k t^k = E f(x) g(y) for standard normal x and y of correlation t."""
    return _finite("a, b and overlap", _polynomial(a * b, overlap))


@without_autocast
def field(
    u: Float[Tensor, "n d"],
    theta: Float[Tensor, "P d"],
    masses: Float[Tensor, " P"],
    a: Float[Tensor, " degrees"],
    b: Float[Tensor, " degrees"],
) -> tuple[Float[Tensor, " n"], Float[Tensor, "n d"]]:
    """What neurons f(⟨x, u_i⟩) see of F(x) = Σ_p m_p g(⟨x, θ_p⟩), all vectors of length one:

    the values E f(⟨x, u_i⟩) F(x) = Σ_p m_p κ(⟨u_i, θ_p⟩), and their gradients on the sphere, which are
    (I − u_i u_iᵀ) Σ_p m_p κ′(⟨u_i, θ_p⟩) θ_p.
    """
    check_tensor("u", u, ("n", "d"))
    values, slopes = _field(u, theta, masses, a * b)
    return _finite("u, theta and masses", values), _finite("u, theta and masses", slopes)


@without_autocast
def squared_norm(
    theta: Float[Tensor, "P d"], masses: Float[Tensor, " P"], a: Float[Tensor, " degrees"]
) -> Float[Tensor, ""]:
    """E F(x)² of F(x) = Σ_p m_p f(⟨x, θ_p⟩), directions of length one.

    With teacher and student in one list, the student's masses negative, it is the student's squared error.
    """
    check_tensor("theta", theta, ("P", "d"))
    return _finite("theta and masses", masses @ _polynomial(a * a, theta @ theta.T) @ masses)


@without_autocast
def two_homogeneous_velocity(
    W: Float[Tensor, "m d"],
    theta: Float[Tensor, "P d"],
    masses: Float[Tensor, " P"],
    a: Float[Tensor, " degrees"],
) -> Float[Tensor, "m d"]:
    """−∇L at the neurons w_i, L = ½ E (F(x) − Σ_i ‖w_i‖² f(⟨x, w_i⟩/‖w_i‖))², F(x) = Σ_p m_p f(⟨x, θ_p⟩):

    ‖w_i‖ times 2 u_i (value of F − value of the student) and the difference of their `field`s on the sphere, at
    u_i = w_i/‖w_i‖. A step of gradient descent is W + η · this. Raises `ValueError` for a neuron at 0, which has no
    direction.
    """
    check_tensor("W", W, ("m", "d"))
    norms = W.norm(dim=1, keepdim=True)
    if not (norms > 0).all() or not torch.isfinite(norms).all():
        raise ValueError(f"W must have rows of lengths that are finite and > 0, got {norms.min():g} … {norms.max():g}")
    u = W / norms
    value, slope = _field(u, theta, masses, a * a)
    own_value, own_slope = _field(u, u, norms[:, 0].square(), a * a)
    return _finite("W and a", norms * (2 * u * (value - own_value)[:, None] + slope - own_slope))


def _field(u: Tensor, theta: Tensor, masses: Tensor, products: Tensor) -> tuple[Tensor, Tensor]:
    """`field` of checked arguments, from the products a_k b_k."""
    overlaps = u @ theta.T
    pull = _polynomial(_derivative(products), overlaps) * masses
    values = _polynomial(products, overlaps) @ masses
    return values, pull @ theta - (pull * overlaps).sum(1, keepdim=True) * u


def _derivative(products: Tensor) -> Tensor:
    """The coefficients of κ′ from those of κ."""
    return products[1:] * torch.arange(1, len(products)).to(products)


def _finite(name: str, result: Tensor) -> Tensor:
    if not torch.isfinite(result).all():
        raise ValueError(f"{name} must keep the result within {result.dtype}, got infinite numbers")
    return result


def _polynomial(rising: Tensor, t: Tensor) -> Tensor:
    """Horner's rule from the highest to the lowest degree that there is; torch's own power is many times slower."""
    present = torch.nonzero(rising).flatten().tolist()
    if not present:
        return torch.zeros_like(t)
    first, last = present[0], present[-1]
    total = torch.full_like(t, rising[last].item())
    for k in range(last - 1, first - 1, -1):
        total = total * t + rising[k]
    for _ in range(first):
        total = total * t
    return total


@functools.cache
def _rule(count: int) -> tuple[Tensor, Tensor]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return torch.from_numpy(nodes), torch.from_numpy(weights / weights.sum())
