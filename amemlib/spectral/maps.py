"""Maps on singular values: f(G) = P f(S) Qᵀ for G = P S Qᵀ and an odd function f (Section 3).

All in float64: relative singular values of a power-law gradient reach 10⁻⁶, where a float32 SVD is 20 % wrong.
The eigenvalues of GᵀG are no short cut, they square the condition number. The maps take a stack of matrices as well,
(…, m, n): on a GPU a stack takes less time than a loop, and so do products of small matrices anywhere.
"""

from collections.abc import Callable, Iterable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.arithmetic import unit_scale
from amemlib.checks import check_count, check_function, check_instance, check_non_negative
from amemlib.problem import check_tensor
from amemlib.spectral.derivatives import SpectralFunction, smoothed_sign_scalars
from amemlib.spectral.newton_schulz import polar_express

_EPS, _TINY = torch.finfo(torch.float64).eps, torch.finfo(torch.float64).tiny


def identity(G: Float[Tensor, "*batch m n"]) -> Float[Tensor, "*batch m n"]:
    """f(z) = z: the spectral map of gradient descent."""
    check_tensor("G", G, (..., "m", "n"))
    return G.double()


def spectral_map(
    G: Float[Tensor, "*batch m n"], f: Callable[[Tensor], Tensor], rank: int | None = None
) -> Float[Tensor, "*batch m n"]:
    """f(G) = Σ_k f(s_k) p_k q_kᵀ over the singular triples of G, in float64 by LAPACK's SVD.

    f maps a tensor of singular values to a tensor of the same shape; it stands for its odd extension.
    rank: how many of the largest singular values to keep; the rest map to 0 whatever f says. With `None`, those that
        rounding cannot tell from 0 are dropped: s_k ≤ (mn)^{1/4} ε s_1, ε = 2.2·10⁻¹⁶. There is no other relative cut.
    Autograd goes through the SVD and gives NaN where singular values repeat or vanish; `spectral_derivative` does not.
    Raises `ValueError` for a G with NaN or infinite entries, a rank outside [0, min(m, n)], or values of f that are not
    finite or not as many; `TypeError` for others than tensors.
    """
    check_function("f", f)
    return next(spectral_maps(G, [f], rank))


def spectral_maps(
    G: Float[Tensor, "*batch m n"], functions: Iterable[Callable[[Tensor], Tensor]], rank: int | None = None
) -> Iterator[Float[Tensor, "*batch m n"]]:
    """f(G) for each f of `functions`, in turn, from one SVD: a scan over λ costs one matrix product a point.

    Everything else as in `spectral_map`; the SVD is taken when the first map is asked for.
    """
    check_tensor("G", G, (..., "m", "n"))
    P, s, Qh = singular_triples(G)
    if rank is None:
        dropped = s <= (G.shape[-2] * G.shape[-1]) ** 0.25 * _EPS * s[..., :1]
    else:
        dropped = torch.arange(s.shape[-1], device=s.device) >= check_count("rank", rank, least=0)
        if rank > s.shape[-1]:
            raise ValueError(f"rank must be at most min(m, n) = {s.shape[-1]}, got {rank}")
    for f in functions:
        values = f(s)
        check_instance("f(s)", values, Tensor)
        if values.shape != s.shape:
            raise ValueError(f"f(s) must have the shape of s, {tuple(s.shape)}, got {tuple(values.shape)}")
        values = values.masked_fill(dropped, 0)
        check_tensor("f(s)", values, (...,))
        yield (P * values[..., None, :]) @ Qh


def polar(G: Float[Tensor, "*batch m n"], rank: int | None = None) -> Float[Tensor, "*batch m n"]:
    """Polar factor P Qᵀ of G = P S Qᵀ: f = sign, the exact Muon update, h_λ at λ = 0 (Section 3).

    For a rank-deficient G it is the partial isometry on the row space of G: null directions are dropped, never
    orthogonalised. `rank` as in `spectral_map`; `gradients.gradient_rank` knows it for a minibatch.
    Differentiable, as `smoothed_sign` is, where G has full rank; where it has not, with its `rank` r given and s_r > 0.
    """
    return smoothed_sign(G, 0.0, rank)


def smoothed_sign(G: Float[Tensor, "*batch m n"], lam: float, rank: int | None = None) -> Float[Tensor, "*batch m n"]:
    """h_λ(G) with h_λ(z) = z / √(z² + λ²), the stabilised Muon update of Eq. (3): G (GᵀG + λ²)^{−1/2}.

    lam: λ ≥ 0, absolute, in the units of G's singular values (`theory.bulk_scale` is the natural unit).
    λ = 0 is `polar`. Raises `ValueError` for λ < 0 or not finite.
    Autograd's first derivative is `spectral_derivative`; a second one is refused. It exists at every G if λ > 0 without
    a rank, and with a rank r where s_r > s_{r+1}; elsewhere `backward` raises `ValueError`.
    """
    check_tensor("G", G, (..., "m", "n"))
    full = min(G.shape[-2:])
    if check_non_negative("lam", lam) == 0:
        # a constant between any two singular values, a jump at 0
        odd = torch.sign, torch.zeros_like, _TINY, full if rank is None else rank
        return SpectralFunction.apply(G, lambda G: _polar(G, rank), *odd)
    h, dh, _ = smoothed_sign_scalars(lam)
    return SpectralFunction.apply(G, lambda G: spectral_map(G, h, rank), h, dh, lam, None if rank == full else rank)


def _polar(G: Tensor, rank: int | None) -> Tensor:
    by_products = None
    if G.device.type != "cpu" and rank in (None, *G.shape[-1:]):
        by_products = polar_by_products(G)
    return spectral_map(G, torch.ones_like, rank) if by_products is None else by_products


def polar_by_products(G: Float[Tensor, "*batch m n"]) -> Float[Tensor, "*batch m n"] | None:
    """The polar factor of one square matrix of full rank by `polar_express`, None for any other.

    What the iteration needs to know, a lower bound of the singular values, is 1/(2 ‖G⁻¹‖_F): half, for the inverse is
    rounded too. None where that is below √d ε ‖G‖_F, where rounding leaves the rank open.
    """
    check_tensor("G", G, (..., "m", "n"))
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        return None
    # exact, and the norm of the inverse neither overflows nor vanishes
    G = G.double() * unit_scale(G)
    inverse, failed = torch.linalg.inv_ex(G)
    smallest = 0.5 / torch.linalg.norm(inverse).item()
    if failed.item() or not smallest > len(G) ** 0.5 * _EPS * torch.linalg.norm(G).item():
        return None
    return polar_express(G, smallest=smallest)


def singular_triples(
    G: Float[Tensor, "*batch m n"],
) -> tuple[Float[Tensor, "*batch m k"], Float[Tensor, "*batch k"], Float[Tensor, "*batch k n"]]:
    """P, s and Qᵀ of G = P diag(s) Qᵀ in float64, s decreasing, k = min(m, n).

    By LAPACK on the CPU. On another device by products, O = `polar_by_products` and the eigenvalues of OᵀG = Q S Qᵀ
    (Nakatsukasa and Higham, SIAM J. Sci. Comput. 35, 2013): a GPU's own SVD is slower than the host's. Where that needs
    full rank and there is none, a single matrix goes to the host and back.
    """
    check_tensor("G", G, (..., "m", "n"))
    G = G.double()
    if G.device.type == "cpu" or G.ndim > 2:
        return tuple(torch.linalg.svd(G, full_matrices=False))
    O = polar_by_products(G)  # noqa: E741
    if O is None:
        return tuple(part.to(G.device) for part in torch.linalg.svd(G.cpu(), full_matrices=False))
    H = O.mT @ G
    s, Q = torch.linalg.eigh((H + H.mT) / 2)
    s, Q = s.flip(-1).clamp(min=0), Q.flip(-1)
    return O @ Q, s, Q.mT


def singular_values(X: Float[Tensor, "m n"]) -> Float[Tensor, " k"]:
    """The singular values of X alone, decreasing; on a device a tall X is reduced to its triangular factor first."""
    check_tensor("X", X, ("m", "n"))
    if X.device.type == "cpu":
        return torch.linalg.svdvals(X.double())
    return singular_triples(torch.linalg.qr(X, mode="r").R if X.shape[0] > X.shape[1] else X)[1]
