"""What a cell measures: items of memories that read one space of inputs, their gradients fused or apart."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.run import runtime
from amemlib.problem import Problem
from amemlib.spectral import polar


def sample_stack(
    kind: str, share: float, n_items: int, rows: int, columns: int, parts: int, seed: int, device: str
) -> tuple[Float[Tensor, "h N m"], Float[Tensor, "h N n"]]:
    """Outputs of `rows` dimensions and inputs of each part's items, most frequent first, float64.

    private: every part has inputs of its own. common: a share of the ranks, by chance, has one input for all parts.
    permuted: every part has the same inputs, in an order of its own.
    """
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64) / shape[-1] ** 0.5
    U, V = draw(parts, n_items, rows), draw(parts, n_items, columns)
    if kind == "permuted":
        V = torch.stack([V[0][torch.randperm(n_items, generator=generator)] for _ in range(parts)])
    elif kind == "common":
        one = torch.rand(n_items, generator=generator, dtype=torch.float64) < share
        V[:, one] = V[0, one].clone()
    return U.to(runtime.device(device)), V.to(runtime.device(device))


def recovered_items(W: Float[Tensor, "m n"], U: Float[Tensor, "N m"], V: Float[Tensor, "N n"]) -> int:
    """How many items of one part have the largest logit of its outputs."""
    logits = (V @ W.mT @ U.mT).float()
    return int((logits.argmax(1) == torch.arange(len(U), device=U.device)).sum())


def measure_stack(
    n_items: int,
    rows: int,
    columns: int,
    alpha: float,
    parts: int,
    kind: str,
    share: float,
    scale: float,
    groups: Sequence[int],
    seed: int,
    device: str,
) -> dict:
    """Items of all parts, and of the first, whose gradient is times `scale`, by how many share a polar factor.

    total, first: one number for each of `groups`, sizes that divide the number of parts.
    """
    U, V = sample_stack(kind, share, n_items, rows, columns, parts, seed, device)
    p = Problem.power_law(n_items, 1, alpha).frequencies.to(U.device)
    G = (p[:, None] * (U - U.mean(1, keepdim=True))).mT @ V
    G[0] *= scale
    counts = []
    for size in groups:
        W = polar(G.reshape(parts // size, size * rows, columns)).reshape(parts, rows, columns)
        counts.append([recovered_items(W[b], U[b], V[b]) for b in range(parts)])
    return {"total": [sum(row) for row in counts], "first": [row[0] for row in counts]}
