"""Steps of an optimizer: W + η f(−∇L) for a spectral map f (Eq. (3)), many of them, and Newton's from W = 0."""

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_function, check_non_negative, check_positive, check_real, shown
from amemlib.gradients import gradient, initial_gradient
from amemlib.problem import Embeddings, check_embeddings, check_tensor
from amemlib.whitening import second_moment

_EPS = torch.finfo(torch.float64).eps


def step(
    W: Float[Tensor, "d d"] | int | float, G: Float[Tensor, "d d"], spectral_map: Callable[[Tensor], Tensor], lr: float
) -> Float[Tensor, "d d"]:
    """W + η f(G) for G = −∇L(W): gradient descent with `spectral.identity`, Muon with `spectral.polar` (Eq. (3)).

    W: the current memory (d, d), or 0 for W = 0. lr: η > 0; one step from W = 0 recovers the same items for every η.
    Returns a new tensor; no momentum, no weight decay. Raises `ValueError` for η ≤ 0 or shapes that differ.
    """
    lr = check_positive("lr", lr)
    check_tensor("G", G, (..., "m", "n"))
    check_function("spectral_map", spectral_map)
    if isinstance(W, Tensor):
        check_tensor("W", W, (..., "m", "n"))
        if W.shape != G.shape:
            raise ValueError(f"W must have the shape of G, {tuple(G.shape)}, got {tuple(W.shape)}")
    elif not (isinstance(W, (int, float)) and W == 0):
        raise TypeError(f"W must be a tensor or the number 0, got {shown(W)}")
    update = spectral_map(G)
    check_tensor("spectral_map(G)", update, tuple(G.shape))
    return W + lr * update


def trajectory(
    emb: Embeddings,
    frequencies: Iterable[Float[Tensor, " N"]],
    spectral_map: Callable[[Tensor], Tensor],
    lr: float | Iterable[float],
    momentum: float = 0.0,
) -> Iterator[Float[Tensor, "d d"]]:
    """W_0 = 0, W_1, …, W_T, one after the other: the true iterates, not the thresholded ones of Eq. (7):

        A_t = β A_{t−1} − ∇L_t(W_t),   W_{t+1} = W_t + η_t f(A_t),

    with L_t the cross-entropy under the t-th of `frequencies` (the population's T times over, or a fresh batch each).
    spectral_map: f, or any map of the whole matrix: G ↦ G / ‖G‖_op is gradient descent that sets its own rate.
    lr: η_t > 0, one for all steps or one for each. momentum: β in [0, 1), heavy ball, before the map, as Muon has it.
    A gradient is taken when the next iterate is asked for, 4 n N d operations each; memory O(d²) beside the embeddings.
    Every W is a new float64 tensor. Raises `ValueError` for a β or η out of range, or fewer rates than steps.
    """
    check_embeddings(emb)
    check_function("spectral_map", spectral_map)
    if not 0 <= check_real("momentum", momentum) < 1:
        raise ValueError(f"momentum must lie in [0, 1), got {momentum!r}")
    if not isinstance(frequencies, Iterable):
        raise TypeError(f"frequencies must hold a q for every step, got {shown(frequencies)}")
    rates = iter(lr) if isinstance(lr, Iterable) else repeat(lr)
    W = torch.zeros(emb.dim, emb.dim, dtype=torch.float64, device=emb.U.device)
    M = torch.zeros_like(W)
    yield W
    for t, q in enumerate(frequencies):
        rate = next(rates, None)
        if rate is None:
            raise ValueError(f"lr must hold a rate for every step, got {t} for more steps than that")
        M = momentum * M + (gradient(W, emb, q) if t else initial_gradient(emb, q))
        W = step(W, M, spectral_map, rate)
        yield W


def newton_step(emb: Embeddings, q: Float[Tensor, " N"], damping: float = 0.0) -> Float[Tensor, "d d"]:
    """One Newton step from W = 0 on the loss of frequencies q: (∇²L(0) + ϱ)⁻¹ (−∇L(0)), in float64.

    The Hessian at 0 is Δ ↦ Σ_u Δ Σ_v with Σ_u = (1/N) Σ_j (u_j − ū)(u_j − ū)ᵀ and Σ_v = Σ_i q_i v_i v_iᵀ, exactly, so

        W = Σ_u⁻¹ G₀ Σ_v⁻¹   at ϱ = 0,

    with pseudo-inverses where a batch shows fewer items than dimensions: directions that carry no data stay 0.
    Directions in which the embeddings do not extend at all stay 0 too: eigenvalues of Σ_u and Σ_v below d ε of the
    largest, ε = 2.2·10⁻¹⁶, are rounding error. An eigenvalue x times the largest is known to about ε / x, and so is W.
    damping: ϱ ≥ 0, in the units of the Hessian's eigenvalues, about p_i / d; ϱ → ∞ is gradient descent, ϱ W → G₀.
    emb, q: as in `gradients.initial_gradient`. Returns (d, d). Cost 6 N d² operations and two eigendecompositions.
    It is no spectral map of G₀: it knows Σ_v, which G₀ does not determine. Raises `ValueError` for ϱ < 0 or a bad q.
    """
    damping = check_non_negative("damping", damping)
    G = initial_gradient(emb, q)
    uniform = torch.full_like(q, 1 / len(q))
    mean = uniform.to(emb.U.device).double() @ emb.U.double()
    out_values, out_basis = torch.linalg.eigh(second_moment(emb.U, uniform, mean))
    in_values, in_basis = torch.linalg.eigh(second_moment(emb.V, q))
    # eigenvalues ascend; what lies beyond the rank is rounding error and must not be inverted
    ranks = (emb.n_items - 1, out_values), (int((q > 0).sum()), in_values)
    out_kept, in_kept = (
        (torch.arange(len(x), device=x.device) >= len(x) - rank) & (x > len(x) * _EPS * x[-1]) for rank, x in ranks
    )
    curvature = out_values[:, None] * in_values + damping
    inverse = torch.where(out_kept[:, None] & in_kept, 1 / curvature, 0.0)
    return out_basis @ ((out_basis.T @ G @ in_basis) * inverse) @ in_basis.T
