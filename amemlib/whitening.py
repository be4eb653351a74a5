"""Maps of a gradient that know more than it: second moments, whitening by them, K-FAC, the matched filter, siblings.

Nothing here is a spectral map. All in float64, by factors of the moments and not by the moments themselves: those of a
power law have the condition number d^{2α}, their factors d^α.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_non_negative, check_real, check_sequence
from amemlib.problem import Embeddings, check_embeddings, check_frequencies, check_tensor

_ROWS = 2048
_EPS = torch.finfo(torch.float64).eps


def second_moment(
    x: Float[Tensor, "N d"], weights: Float[Tensor, " N"], centre: Float[Tensor, " d"] | None = None
) -> Float[Tensor, "d d"]:
    """Σ_k a_k (x_k − c)(x_k − c)ᵀ for weights a ≥ 0 over the rows of x, (d, d) float64.

    centre: c, (d,); `None` for 0. Weights q of `emb.V` give Newton's Σ_v, weights q² what `matched_filter` inverts.
    Raises `ValueError` or `TypeError` for weights that are negative, not finite, all zero or of another length.
    """
    check_tensor("x", x, ("N", "d"))
    check_frequencies("weights", weights, len(x))
    if centre is not None:
        check_tensor("centre", centre, (x.shape[1],))
    total = torch.zeros(x.shape[1], x.shape[1], dtype=torch.float64, device=x.device)
    for rows, a in zip(x.split(_ROWS), weights.to(x.device).double().split(_ROWS), strict=True):
        rows = rows.double() if centre is None else rows.double() - centre.to(x.device)
        total.addmm_(rows.T, a[:, None] * rows)
    return total


def whiten(
    G: Float[Tensor, "m n"],
    left: Float[Tensor, "m m"] | None = None,
    right: Float[Tensor, "n n"] | None = None,
    damping: float = 0.0,
) -> Float[Tensor, "m n"]:
    """(L + ϱ_L)⁻¹ G (R + ϱ_R)⁻¹ in float64, for symmetric positive definite L = `left` and R = `right`; `None` is I.

    damping: ϱ ≥ 0 in units of each matrix's mean eigenvalue, ϱ_L = ϱ tr L / m.
    With Σ_v on the right it is Newton's input side, with both sides K-FAC. A power of one half is not offered here.
    Raises `ValueError` for a side that is not symmetric, or not positive definite beyond rounding error.
    """
    check_tensor("G", G, ("m", "n"))
    damping = check_non_negative("damping", damping)
    W = G.double()
    if left is not None:
        W = torch.cholesky_solve(W, _factor("left", left, len(G), damping))
    if right is not None:
        W = torch.cholesky_solve(W.T, _factor("right", right, G.shape[1], damping)).T
    return W


def matched_filter(emb: Embeddings, q: Float[Tensor, " N"]) -> Float[Tensor, "d d"]:
    """W* = G₀ (Σ_k q_k² v_k v_kᵀ)⁻¹, G₀ = Σ_k q_k (u_k − ū) v_kᵀ (chapter "The limit of one gradient").

    q_i W* v_i is what one expects of u_i given G₀ and the inputs: W* is the least-squares fit of u_k to q_k W v_k, all
    items alike. It is solved as that, by a QR factor of the rows q_k v_kᵀ, which has the condition number d^α and not
    the d^{2α} of the moment. With d items seen or fewer it is the fit of least norm, which is exact.
    emb, q: as in `gradients.initial_gradient`. Returns (d, d) float64. Cost about 8 n d² operations for n items seen.
    It knows the inputs and their frequencies, which G₀ does not determine; it does not look at the outputs.
    Raises `ValueError` where the inputs seen span fewer dimensions than there are of them, and than d.
    """
    check_embeddings(emb)
    check_frequencies("q", q, emb.n_items)
    seen = torch.argsort(q, descending=True)[: int((q > 0).sum())].to(emb.U.device)
    q, dim = q.to(emb.U.device, torch.float64), emb.dim
    mean = emb.U.mean(0, dtype=torch.float64)
    if len(seen) <= dim:
        basis, factor = torch.linalg.qr((q[seen, None] * emb.V[seen].double()).T)
        _check_factor("emb.V", factor)
        fit = torch.linalg.solve_triangular(factor.T, emb.U[seen].double() - mean, upper=False)
        return (basis @ fit).T
    # rows in decreasing order: by rows of very different size a QR factor is stable only so
    rows = torch.empty(0, 2 * dim, dtype=torch.float64, device=emb.U.device)
    for block in seen.split(max(_ROWS, 2 * dim)):
        new = torch.cat([q[block, None] * emb.V[block].double(), emb.U[block].double() - mean], 1)
        rows = torch.linalg.qr(torch.cat([rows, new]), mode="r").R[:dim]
    factor, rotated = rows.split(dim, 1)
    _check_factor("emb.V", factor)
    return torch.linalg.solve_triangular(factor, rotated, upper=True).T


def kfac(emb: Embeddings, q: Float[Tensor, " N"], damping: float = 0.0) -> Float[Tensor, "d d"]:
    """Σ_u⁻¹ G₀ Σ_v⁻¹ with Σ_u = Σ_k q_k (u_k − ū)(u_k − ū)ᵀ and Σ_v = Σ_k q_k v_k v_kᵀ: K-FAC by the empirical Fisher.

    The outputs are centred as G₀ is, whose factors on their side are u_k − ū: about 0 it loses the commonest items.
    damping: as in `whiten`. Returns (d, d) float64. Raises `ValueError` where d items or fewer are seen, undamped.
    """
    check_embeddings(emb)
    check_frequencies("q", q, emb.n_items)
    mean = emb.U.mean(0, dtype=torch.float64)
    U, V = (second_moment(x, q, centre) for x, centre in ((emb.U, mean), (emb.V, None)))
    G = (q.to(emb.U.device).double()[:, None] * (emb.U.double() - mean)).T @ emb.V.double()
    return whiten(G, U, V, damping)


def balanced_sum(matrices: Sequence[Float[Tensor, "m n"]], coefficients: Sequence[float]) -> Float[Tensor, "m n"]:
    """Σ_s c_s M_s / ‖M_s‖_F, each at the same Frobenius norm before its coefficient, brought to that of I: √min(m, n).

    W* + 0.6 Newton, which has more items and less loss than the polar map, is the balanced sum of `matched_filter` and
    of G Σ_v⁻¹ with the coefficients 1 and 0.6 (chapter "What beats Muon").
    Raises `ValueError` for shapes that differ, a matrix of zeros, or a sum that is zero.
    """
    matrices, coefficients = check_sequence("matrices", matrices), check_sequence("coefficients", coefficients)
    if not matrices or len(matrices) != len(coefficients):
        raise ValueError(f"matrices and coefficients must be as many, got {len(matrices)} and {len(coefficients)}")
    total = torch.zeros((), dtype=torch.float64)
    for k, (M, c) in enumerate(zip(matrices, coefficients, strict=True)):
        check_tensor(f"matrices[{k}]", M, tuple(matrices[0].shape) if k else ("m", "n"))
        if not M.any():
            raise ValueError(f"matrices[{k}] must not be all zero")
        total = total + check_real(f"coefficients[{k}]", c) * M.double() / torch.linalg.matrix_norm(M.double())
    norm = torch.linalg.matrix_norm(total)
    if not 0 < norm < torch.inf:
        raise ValueError(f"coefficients must give a finite sum that is not 0, got {coefficients}")
    return total * (min(total.shape) ** 0.5 / norm)


def siblings(gradients: Sequence[Float[Tensor, "_ n"]], damping: float = 0.0) -> list[Float[Tensor, "_ n"]]:
    """W_s = G_s (Σ_r G_rᵀG_r + ϱ)⁻¹ for gradients of matrices that read the same inputs, a list of float64.

    With outputs of their own and the same weights, Σ_r G_rᵀG_r stands for r Σ_k q_k² v_k v_kᵀ, and each W_s for
    `matched_filter`, at the cosine √(1 − 1/r). r = 1 is G (GᵀG)⁻¹, a spectral map.
    gradients: r matrices (m_s, n) with one n; m_s may differ. damping: ϱ ≥ 0 in units of the sum's mean eigenvalue.
    Raises `ValueError` for gradients of different n, and where the sum is singular and there is no damping.
    """
    gradients = check_sequence("gradients", gradients)
    if not gradients:
        raise ValueError("gradients must hold at least one matrix, got none")
    for k, G in enumerate(gradients):
        check_tensor(f"gradients[{k}]", G, ("m", "n"))
        if G.shape[1] != gradients[0].shape[1]:
            raise ValueError(f"gradients must have one n, got {gradients[0].shape[1]} and {G.shape[1]}")
    damping, n = check_non_negative("damping", damping), gradients[0].shape[1]
    stack = torch.cat([G.double() for G in gradients])
    sizes = [len(G) for G in gradients]
    if damping:
        ridge = (damping / n) ** 0.5 * torch.linalg.matrix_norm(stack)
        stack = torch.cat([stack, ridge * torch.eye(n, dtype=torch.float64, device=stack.device)])
    if len(stack) < n:
        raise ValueError(f"gradients must have n = {n} rows or more in all without damping, got {len(stack)}")
    basis, factor = torch.linalg.qr(stack)
    _check_factor("gradients", factor)
    whitened = torch.linalg.solve_triangular(factor, basis.T[:, : sum(sizes)], upper=True)
    return list(whitened.T.split(sizes))


def _factor(name: str, moment: Tensor, size: int, damping: float) -> Tensor:
    """The Cholesky factor of a symmetric matrix + damping × its mean eigenvalue, or an error that names it."""
    check_tensor(name, moment, (size, size))
    moment = moment.double()
    if (moment - moment.T).abs().max() > 1e-6 * moment.abs().max():
        raise ValueError(f"{name} must be symmetric, got entries that differ by {(moment - moment.T).abs().max():.3g}")
    ridge = damping * moment.trace() / size
    factor, failed = torch.linalg.cholesky_ex(moment + torch.diag(ridge.expand(size)))
    pivots = factor.diagonal() ** 2
    if failed or not pivots.min() > size * _EPS * pivots.max():
        raise ValueError(f"{name} must be positive definite beyond rounding error; a damping > 0 makes it so")
    return factor


def _check_factor(name: str, factor: Tensor) -> None:
    pivots = factor.diagonal().abs()
    if not pivots.min() > len(factor) * _EPS * pivots.max():
        raise ValueError(
            f"{name} must span as many dimensions as there are, beyond rounding error, "
            f"got a triangular factor with pivots from {pivots.max().item():.3g} down to {pivots.min().item():.3g}"
        )
