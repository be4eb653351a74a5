"""Derivatives of spectral maps: divided differences, both orders of Proposition 11, and the signal along u vᵀ."""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count, check_non_negative, check_positive
from amemlib.problem import check_tensor

_CLOSE = 0.5
_LOG_STEP = 0.2
_GAUSS_LEGENDRE = tuple(x / 2 + shift for x, shift in zip(np.polynomial.legendre.leggauss(12), (0.5, 0.0), strict=True))


def smoothed_sign_scalars(lam: float) -> tuple[Callable[[Tensor], Tensor], ...]:
    """(h_λ, h_λ′, h_λ″) as functions of a real tensor: z/c, λ²/c³ and −3λ²z/c⁵ with c = √(z² + λ²); λ > 0."""
    check_positive("lam", lam)
    scaled = lambda z: torch.hypot(z, z.new_tensor(lam))
    return lambda z: z / scaled(z), lambda z: lam**2 / scaled(z) ** 3, lambda z: -3 * lam**2 * z / scaled(z) ** 5


def divided_difference(x: Tensor, y: Tensor, f: Callable, df: Callable, scale: float) -> Tensor:
    """f[x, y] = (f(x) − f(y)) / (x − y), and f′(x) at x = y, entry by entry of two tensors that broadcast; float64.

    f, df: the function and its derivative on the real line. scale: a length on which f is smooth, λ for h_λ; any length
        if f is a polynomial. Below half of it the quotient would lose digits, and f[x, y] = ∫₀¹ f′(x + τ(y − x)) dτ is
        taken by Gauss's rule instead, which is then exact to rounding.
    """
    x, y = torch.broadcast_tensors(x.double(), y.double())
    close = (x - y).abs() < _CLOSE * check_positive("scale", scale)
    result = (f(x) - f(y)) / torch.where(close, 1.0, x - y)
    tau, weights = _gauss_legendre(x)
    near, far = x[close][:, None], y[close][:, None]
    result[close] = df(near + tau * (far - near)) @ weights
    return result


def spectral_derivative(
    G: Float[Tensor, "*batch m n"],
    E: Float[Tensor, "*batch m n"],
    f: Callable,
    df: Callable,
    scale: float,
    rank: int | None = None,
) -> Float[Tensor, "*batch m n"]:
    """Df(G)[E] = d/dt f(G + tE) at t = 0 for an odd f (Proposition 11, first order), in float64.

    Daleckii and Krein's formula: on the symmetric dilation [[0, G], [Gᵀ, 0]], with eigenvalues ±s_k, the matrix of
    f[σ_K, σ_L] times that of E, entry by entry. Repeated and zero singular values are no exception, whatever basis the
    SVD returns for them. Its own adjoint: the gradient of ⟨E, f(G)⟩ with respect to G.
    f, df, scale: as in `divided_difference`; f must be odd and f(G) itself is not needed. Cost O(m n min(m, n)).
    rank: r, of the map that sends all but the r largest singular values to 0; there f jumps, and may jump at 0.
    Raises `ValueError` for a G or E that is not finite or of another shape, or unless s_r > s_{r+1} (0 after the last).
    """
    check_tensor("G", G, (..., "m", "n"))
    check_tensor("E", E, tuple(G.shape))
    if rank is not None:
        check_count("rank", rank, 0, min(G.shape[-2:]))
    return _derivative(G.double(), E.double(), f, df, scale, rank)


def stein_slope(s: Float[Tensor, " d"], f: Callable, df: Callable, scale: float) -> float:
    """E uᵀ Df(G)[u vᵀ] v over independent u, v ~ N(0, I/d), for a d × d G with singular values s (Eq. (6)).

    (1/2d²) Σ_{k≠l} ((f_k + f_l)/(s_k + s_l) + f[s_k, s_l]) + (1/d²) Σ_k f′(s_k): d⁻² times the divergence of f.
    """
    check_tensor("s", s, ("d",))
    s = s.double()
    both = divided_difference(s[:, None], s, f, df, scale) + divided_difference(s[:, None], -s, f, df, scale)
    off_diagonal = both.sum() - both.diagonal().sum()
    return float(off_diagonal / 2 + df(s).sum()) / len(s) ** 2


def signal_slopes(
    G: Float[Tensor, "d d"], U: Float[Tensor, "n d"], V: Float[Tensor, "n d"], f: Callable, df: Callable, scale: float
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """uᵀ Df(G)[u vᵀ] v for n pairs (rows of U and V) and any odd f, and its bound under Assumption 7 (Section 4.3).

    The slope is the formula of Lemma 12, with a = Pᵀu and b = Qᵀv for G = P S Qᵀ:

        φ′(0) = ¼ Σ_{k,l} ((f_k + f_l)/(s_k + s_l) (a_k b_l − a_l b_k)² + f[s_k, s_l] (a_k b_l + a_l b_k)²).

    The bound is ‖b‖² Σ_k r_k a_k² + ‖a‖² Σ_k r_k b_k² with r_k = f(s_k)/s_k; it holds for every pair if f ≥ 0 and
    f(z)/z is nonincreasing, and its mean over independent pairs is (2/d) Σ_k r_k. f, df, scale: as in
    `divided_difference`.
    Returns two (n,) float64 tensors.
    """
    check_tensor("G", G, ("d", "d"))
    check_tensor("U", U, ("n", len(G)))
    check_tensor("V", V, (len(U), len(G)))
    P, s, Qh = torch.linalg.svd(G.double())
    if s[-1] == 0:
        raise ValueError("G must have no singular value 0, where f(s) / s is not defined, got one")
    A, B = U.double() @ P, V.double() @ Qh.T
    plus = divided_difference(s[:, None], -s, f, df, scale)
    minus = divided_difference(s[:, None], s, f, df, scale)
    AB = A * B
    slopes = ((A**2 @ (minus + plus)) * B**2 + (AB @ (minus - plus)) * AB).sum(1) / 2
    r = f(s) / s
    bounds = (B**2).sum(1) * (A**2 @ r) + (A**2).sum(1) * (B**2 @ r)
    return slopes, bounds


def signal_curve(
    G: Float[Tensor, "d d"],
    U: Float[Tensor, "n d"],
    V: Float[Tensor, "n d"],
    t: Float[Tensor, "n T"],
    lam: float,
) -> tuple[Float[Tensor, "n T"], Float[Tensor, "n T"], Float[Tensor, "n T"]]:
    """φ(t) = uᵀ h_λ(G + t u vᵀ) v with φ′ and φ″, for n pairs (rows of U and V) and T values of t each (Eq. (5)).

    One SVD serves all of it: a rank-one step moves the resolvent by a 2 × 2 matrix, which leaves

        φ(t) = (2/π) ∫₀^∞ (c + tD) / (1 + 2tc + t²D) ds,   D = c² + μ² a b,   μ² = λ² + s²,

    a = uᵀ(GGᵀ + μ²)⁻¹u, b = vᵀ(GᵀG + μ²)⁻¹v, c = uᵀG(GᵀG + μ²)⁻¹v; φ′ and φ″ under the integral. The rule in log s is
    exact to about ten digits. λ = 0 is the polar map of a G without zero singular values. For the φ_i of an item that
    is in G with weight q_i, give t − q_i; an item far above λ then loses digits as t falls from q_i to 0.
    Returns three (n, T) float64 tensors. Raises `ValueError` for a λ < 0 or shapes that do not fit.
    """
    check_tensor("G", G, ("d", "d"))
    lam = check_non_negative("lam", lam)
    for name, X in (("U", U), ("V", V), ("t", t)):
        check_tensor(name, X, (...,))
    if U.shape != V.shape or U.ndim != 2 or U.shape[1] != len(G) or t.ndim != 2 or len(t) != len(U):
        raise ValueError(f"U, V and t must be (n, d), (n, d), (n, T), got {[tuple(x.shape) for x in (U, V, t)]}")
    P, sigma, Qh = torch.linalg.svd(G.double())
    floor, top = max(lam, sigma[-1].item()), sigma[0].item() + lam
    if not floor > 0:
        raise ValueError("lam must be > 0 where G has a singular value 0, got 0")
    log_s = torch.arange(math.log(1e-11 * floor), math.log(1e11 * top), _LOG_STEP, dtype=torch.float64).to(G.device)
    s = log_s.exp()
    weights = 2 / math.pi * _LOG_STEP * s
    kernel = 1 / (sigma[:, None] ** 2 + s**2 + lam**2)
    A, B = U.double() @ P, V.double() @ Qh.T
    c = (A * B * sigma) @ kernel
    D = c**2 + (lam**2 + s**2) * (A**2 @ kernel) * (B**2 @ kernel)
    curves = []
    for step in t.double().T:
        step = step[:, None]
        denominator = 1 + step * (2 * c + step * D)
        value = (c + step * D) / denominator
        slope = D / denominator - 2 * value**2
        curves.append(torch.stack([value, slope, -2 * value * (D / denominator + 2 * slope)]) @ weights)
    phi, first, second = torch.stack(curves, -1)
    return phi, first, second


def _derivative(G: Tensor, E: Tensor, f: Callable, df: Callable, scale: float, rank: int | None) -> Tensor:
    P, s, Qh = torch.linalg.svd(G, full_matrices=False)
    kept = torch.arange(s.shape[-1], device=s.device) < (s.shape[-1] if rank is None else rank)
    if rank:
        last, after = torch.nn.functional.pad(s, (0, 1))[..., rank - 1 : rank + 1].unbind(-1)
        if (last - after <= (G.shape[-2] * G.shape[-1]) ** 0.25 * torch.finfo(G.dtype).eps * s[..., 0]).any():
            got = f"{(last - after).min().item():.2g} between these"
            raise ValueError(f"G must have s_r > s_(r+1), 0 after the last, for a derivative at rank {rank}, got {got}")
    pair, jump = kept[:, None] & kept, kept[:, None] != kept
    rows, values = s[..., None], f(s) * kept

    def quotients(sign: int) -> Tensor:
        columns = sign * s[..., None, :]
        jumps = (values[..., None] - sign * values[..., None, :]) / (rows - columns).where(jump, 1.0)
        return divided_difference(rows, columns, f, df, scale).where(pair, jumps)

    zero = divided_difference(s, torch.zeros_like(s), f, df, scale) * kept
    # f[s_k, s_l] for the symmetric part, f[s_k, −s_l] for the antisymmetric one, f[s_k, 0] for what lies outside
    A = P.mT @ E @ Qh.mT
    inside = (quotients(1) * (A + A.mT) + quotients(-1) * (A - A.mT)) / 2
    outside = E - P @ A @ Qh
    # P or Q is a whole basis, and one of the last two terms zero
    return (P @ inside + outside @ Qh.mT * zero[..., None, :]) @ Qh + P @ (zero[..., None] * (P.mT @ outside))


class SpectralFunction(torch.autograd.Function):
    """`value(G)`, a spectral map, and for autograd the derivative of f, df, scale and rank."""

    @staticmethod
    def forward(G: Tensor, value: Callable[[Tensor], Tensor], *odd) -> Tensor:
        return value(G)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:
        G, _, *ctx.odd = inputs
        ctx.save_for_backward(G)

    @staticmethod
    def backward(ctx, E: Tensor) -> tuple:
        (G,) = ctx.saved_tensors
        return _Once.apply(G, E, *ctx.odd).to(G.dtype), *[None] * (1 + len(ctx.odd))


class _Once(torch.autograd.Function):
    """A derivative that refuses to be differentiated: the second one would be silently wrong."""

    generate_vmap_rule = True

    @staticmethod
    def forward(G: Tensor, E: Tensor, *odd) -> Tensor:
        return _derivative(G.double(), E.double(), *odd)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx, *_):
        raise NotImplementedError("polar and smoothed_sign have one derivative for autograd, and no second one")


def _gauss_legendre(like: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights on [0, 1], exact for polynomials of degree 23."""
    nodes, weights = (torch.as_tensor(x, dtype=torch.float64, device=like.device) for x in _GAUSS_LEGENDRE)
    return nodes, weights
