"""What a cell of the study measures: every schedule in every format on one gradient, and what is added to the rows."""

from collections.abc import Iterable, Sequence
from types import SimpleNamespace

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.run import runtime
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import SCHEDULES, compose_quintics, newton_schulz, singular_values, spectral_map

FORMATS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
ROW_MAPS = ("polar of rescaled rows", "turbo_muon, rows rescaled", "polar, rows equalised", "jordan, rows equalised")
"""What is done to rows besides: AOL's rescaling before the iteration, NorMuon's equal rows after it."""


def newton_schulz_in_format(
    G: Float[Tensor, "m n"], schedule: Iterable[Sequence[float]], dtype: torch.dtype
) -> Float[Tensor, "m n"]:
    """`newton_schulz` as a tensor core runs it: products add up in float32, every stored matrix is rounded to `dtype`.

    G is divided by ‖G‖_F before it is rounded, as NVIDIA's library does; torch.optim.Muon rounds first, which is the
    same up to the last bit of the norm. Returns float64.
    """
    rounded = lambda X: X.to(dtype).float()
    X = rounded((G / torch.linalg.norm(G)).float())
    for a, b, c in schedule:
        A = rounded(X @ X.mT)
        B = rounded(b * A + c * (A @ A)) if c else b * A
        X = rounded(a * X + B @ X)
    return X.double()


def rescaled_rows(G: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """Row i of G over the root of Σ_j |GGᵀ|_ij, AOL's bound (arXiv:2208.03160): no singular value exceeds 1 then.

    Turbo-Muon iterates on it instead of on G / ‖G‖_F. It is no spectral map: polar factors of the two differ.
    """
    return G / (G @ G.mT).abs().sum(1, keepdim=True).sqrt()


def equalised_rows(W: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """Rows of W brought to one length, ‖W‖_F kept: what NorMuon adds after the iteration, in its first step."""
    lengths = torch.linalg.vector_norm(W, dim=1, keepdim=True)
    return W / lengths * (torch.linalg.norm(W) / len(W) ** 0.5)


def torch_muon(G: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """The first step of `torch.optim.Muon` as shipped, momentum, Nesterov and bfloat16 included, from W = 0."""
    W = torch.nn.Parameter(torch.zeros_like(G, dtype=torch.float32))
    W.grad = -G.float()
    torch.optim.Muon([W], lr=1.0, weight_decay=0.0).step()
    return W.detach().double()


def measure_schedules(config: SimpleNamespace, alpha: float, dim: int, seed: int, device: str) -> dict:
    """Recovered items: `polar`; `counts[format][schedule]`; `rows[…]` of `ROW_MAPS`; `torch`, its own Muon.

    torch: 0 where it is not run. norm: ‖G‖_F over the root of Σ p². median: s_{d/2} / ‖G‖_F.
    """
    problem = Problem.power_law(config.n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    norm, rank = torch.linalg.norm(G), gradient_rank(emb, problem.frequencies)
    exact, rescaled = (spectral_map(X, torch.ones_like, rank) for X in (G, rescaled_rows(G)))
    turbo = spectral_map(rescaled_rows(G), lambda s: compose_quintics(s.clamp(max=1), SCHEDULES["turbo_muon"]), rank)
    rows = (rescaled, turbo, equalised_rows(exact), equalised_rows(newton_schulz(G, coefficients="jordan")))
    count = lambda name, dtype: capacity(newton_schulz_in_format(G, SCHEDULES[name], dtype), emb)
    own = dim in config.torch_dims and hasattr(torch.optim, "Muon")
    return {
        "norm": (norm / problem.frequencies.norm()).item(),
        "median": (singular_values(G)[dim // 2] / norm).item(),
        "polar": capacity(exact, emb),
        "counts": {name: {key: count(key, dtype) for key in config.schedules} for name, dtype in FORMATS.items()},
        "rows": {name: capacity(W, emb) for name, W in zip(ROW_MAPS, rows, strict=True)},
        "torch": capacity(torch_muon(G), emb) if own else 0,
    }
