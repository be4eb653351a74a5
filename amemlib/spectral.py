"""Maps on singular values: f(G) = P f(S) Qᵀ for G = P S Qᵀ and an odd function f (Section 3).

All in float64: relative singular values of a power-law gradient reach 10⁻⁶, where a float32 SVD is 20 % wrong.
The eigenvalues of GᵀG are no short cut, they square the condition number.
"""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.problem import check_square
from amemlib.theory import check_count

NEWTON_SCHULZ_COEFFICIENTS = {
    # z ↦ 3z/2 − z³/2, Lemma 29
    "cubic": (1.5, -0.5, 0.0),
    # K. Jordan et al., https://kellerjordan.github.io/posts/muon/; the defaults of torch.optim.Muon and of
    # optax.contrib.muon
    "muon": (3.4445, -4.7750, 2.0315),
}
"""(a, b, c) of the odd polynomial a z + b z³ + c z⁵, by name."""


def identity(G: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """f(z) = z: the spectral map of gradient descent."""
    check_square("G", G)
    return G.double()


def spectral_map(
    G: Float[Tensor, "m n"], f: Callable[[Tensor], Tensor], rank: int | None = None
) -> Float[Tensor, "m n"]:
    """f(G) = Σ_k f(s_k) p_k q_kᵀ over the singular triples of G, in float64 by LAPACK's SVD.

    f maps a tensor of singular values to a tensor of the same shape; it stands for its odd extension.
    rank: how many of the largest singular values to keep; the rest map to 0 whatever f says. With `None`, those that
        rounding cannot tell from 0 are dropped: s_k ≤ (mn)^{1/4} ε s_1, ε = 2.2·10⁻¹⁶. There is no other relative cut.
    Raises `ValueError` for a G with NaN or infinite entries, or a rank outside [0, min(m, n)].
    """
    check_square("G", G)
    P, s, Qh = torch.linalg.svd(G.double(), full_matrices=False)
    kept = _numerical_rank(s, G.shape) if rank is None else check_count("rank", rank, least=0)
    if kept > len(s):
        raise ValueError(f"rank must be at most min(m, n) = {len(s)}, got {kept}")
    return (P[:, :kept] * f(s[:kept])) @ Qh[:kept]


def polar(G: Float[Tensor, "m n"], rank: int | None = None) -> Float[Tensor, "m n"]:
    """Polar factor P Qᵀ of G = P S Qᵀ: f = sign, the exact Muon update, h_λ at λ = 0 (Section 3).

    For a rank-deficient G it is the partial isometry on the row space of G: null directions are dropped, never
    orthogonalised. `rank` as in `spectral_map`; `gradients.gradient_rank` knows it for a minibatch.
    """
    return spectral_map(G, torch.ones_like, rank)


def smoothed_sign(G: Float[Tensor, "m n"], lam: float, rank: int | None = None) -> Float[Tensor, "m n"]:
    """h_λ(G) with h_λ(z) = z / √(z² + λ²), the stabilised Muon update of Eq. (3): G (GᵀG + λ²)^{−1/2}.

    lam: λ ≥ 0, absolute, in the units of G's singular values (`theory.bulk_scale` is the natural unit).
    λ = 0 is `polar`. Raises `ValueError` for λ < 0 or not finite.
    """
    if not (math.isfinite(lam) and lam >= 0):
        raise ValueError(f"lam must be finite and ≥ 0, got {lam!r}")
    if lam == 0:
        return polar(G, rank)
    return spectral_map(G, lambda s: s / torch.hypot(s, s.new_tensor(lam)), rank)


def newton_schulz(
    G: Float[Tensor, "m n"], steps: int = 5, coefficients: str | Sequence[float] = "cubic"
) -> Float[Tensor, "m n"]:
    """Newton–Schulz iteration X ← a X + b (XXᵀ) X + c (XXᵀ)² X from X = G / ‖G‖_F, in float64 (Section 3).

    coefficients: "cubic" (converges to the polar factor, Lemma 29), "muon" (the tuned quintic that optimizers ship,
        which does not converge: it moves singular values into about [0.7, 1.2]), or any three numbers (a, b, c).
    Returns p^{∘steps}(S/‖G‖_F) on the singular values: near the polar factor only where s_k a^steps ≫ ‖G‖_F.
    Raises `ValueError` for unknown coefficients, `steps` < 1, or a G that is not finite.
    """
    check_square("G", G)
    X = G.double()
    norm = torch.linalg.norm(X)
    if norm == 0:
        return X
    X = X / norm
    a, b, c = newton_schulz_coefficients(coefficients)
    for _ in range(check_count("steps", steps)):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X


def newton_schulz_scalar(s: Tensor, steps: int = 5, coefficients: str | Sequence[float] = "cubic") -> Tensor:
    """What `newton_schulz` does to a singular value s ∈ [0, 1] (already divided by ‖G‖_F): the iterated polynomial."""
    a, b, c = newton_schulz_coefficients(coefficients)
    for _ in range(check_count("steps", steps)):
        s = a * s + b * s**3 + c * s**5
    return s


def newton_schulz_coefficients(coefficients: str | Sequence[float]) -> tuple[float, float, float]:
    """(a, b, c) by name from `NEWTON_SCHULZ_COEFFICIENTS`, or the three numbers given."""
    if isinstance(coefficients, str):
        if coefficients not in NEWTON_SCHULZ_COEFFICIENTS:
            names = ", ".join(map(repr, NEWTON_SCHULZ_COEFFICIENTS))
            raise ValueError(f"coefficients must be three numbers or one of {names}, got {coefficients!r}")
        return NEWTON_SCHULZ_COEFFICIENTS[coefficients]
    numbers = tuple(map(float, coefficients))
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise ValueError(f"coefficients must be three finite numbers (a, b, c), got {coefficients!r}")
    return numbers


def _numerical_rank(s: Tensor, shape: torch.Size) -> int:
    cut = (shape[0] * shape[1]) ** 0.25 * torch.finfo(torch.float64).eps
    return int((s > cut * s[0]).sum())
