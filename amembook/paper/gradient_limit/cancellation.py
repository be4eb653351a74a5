"""What the unordered set of the outputs is worth: decode one item, subtract it from the gradient, decode the next."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from amemlib.problem import Embeddings
from amemlib.whitening import second_moment


def decode_by_cancellation(
    G: Float[Tensor, "d d"], emb: Embeddings, q: Float[Tensor, " N"], n_items: int
) -> Int[Tensor, " n"]:
    """Which outputs are named for the first n items, in the order of their rows, from G = Σ q u vᵀ uncentred, q and V.

    The rows of `emb.U` serve as the list of candidates only: which output belongs to which input is what is looked for.
    For item i the matched filter of what is left of G, among items from i on, is held to all candidates; the best one
    is taken, right or wrong, and q_i u v_iᵀ is subtracted. Returns (n,) int64.
    Cost N d + d³ operations an item, memory n d².
    """
    G, U, V = G.double().clone(), emb.U.double(), emb.V.double()
    # the moments of what is left, summed from the rarest on: taking items away from an inverse loses the digits
    rows = q[:n_items, None] * V[:n_items]
    left = (rows[:, :, None] * rows[:, None, :]).flip(0).cumsum(0).flip(0)
    if n_items < len(q):
        left += second_moment(V[n_items:], q[n_items:] ** 2)
    # what a candidate can use of its length: the likelihood of a Gaussian channel
    energy = (U**2).sum(1) / 2
    named = torch.empty(n_items, dtype=torch.int64)
    for i in range(n_items):
        whitened = torch.linalg.solve(left[i], V[i])
        decoded = G @ whitened / (q[i] * (V[i] @ whitened))
        named[i] = (U @ decoded - energy).argmax()
        G -= q[i] * torch.outer(U[named[i]], V[i])
    return named
