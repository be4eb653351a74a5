"""One step of a spectral optimizer: W + η f(−∇L), a function and not a class (Eq. (3))."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from amemlib.problem import check_square
from amemlib.theory import check_positive


def step(
    W: Float[Tensor, "d d"] | int | float, G: Float[Tensor, "d d"], spectral_map: Callable[[Tensor], Tensor], lr: float
) -> Float[Tensor, "d d"]:
    """W + η f(G) for G = −∇L(W): gradient descent with `spectral.identity`, Muon with `spectral.polar` (Eq. (3)).

    W: the current memory (d, d), or 0 for W = 0. lr: η > 0; one step from W = 0 recovers the same items for every η.
    Returns a new tensor; no momentum, no weight decay. Raises `ValueError` for η ≤ 0 or shapes that differ.
    """
    check_positive("lr", lr)
    if isinstance(W, Tensor):
        check_square("W", W)
        if W.shape != G.shape:
            raise ValueError(f"W must have the shape of G, {tuple(G.shape)}, got {tuple(W.shape)}")
    elif W != 0:
        raise TypeError(f"W must be a tensor or the number 0, got {W!r}")
    return W + lr * spectral_map(G)
