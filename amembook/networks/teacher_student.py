"""A student of 2-homogeneous neurons: its start, a step of the population flow, of online SGD and of Muon.

Teacher Σ_p a_p h_k(⟨x, θ_p⟩) with θ_p the first P coordinate vectors (data are isotropic: any orthonormal ones would
do), student Σ_i ‖w_i‖² h_k(⟨x, w_i⟩/‖w_i‖), loss ½ E (difference)². All float64.
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.networks.hermite import hermite, squared_norm, two_homogeneous_velocity


def check_degree(name: str, value: int) -> None:
    """Raise `ValueError` unless the degree k of h_k is even and above 2."""
    if value < 4 or value % 2:
        raise ValueError(f"{name} must be even and above 2, got {value!r}")


def check_decay(name: str, value: float) -> None:
    """Raise `ValueError` unless amplitudes a_p ∝ p^{−β} have a sum of squares, with β: `value` below 10."""
    if not 0.5 < value < 10:
        raise ValueError(f"{name} must be in (1/2, 10), for Σ p^(−2β) to converge, got {value!r}")


def start(width: int, dim: int, init: float, seed: int) -> Float[Tensor, "m d"]:
    """Neurons of length `init` in independent uniform directions."""
    W = torch.from_numpy(np.random.default_rng([seed, width, dim]).standard_normal((width, dim)))
    return init * W / W.norm(dim=1, keepdim=True)


def link(degree: int) -> Float[Tensor, " degrees"]:
    """The Hermite coefficients of h_k."""
    return torch.eye(degree + 1, dtype=torch.float64)[degree]


def captured(W: Float[Tensor, "m d"], count: int, degree: int) -> Float[Tensor, " P"]:
    """A_p = Σ_i ‖w_i‖² ⟨u_i, θ_p⟩^k: the student's share of direction p, a_p once it is learnt."""
    squares = W.square().sum(1)
    return (W[:, :count] / squares.sqrt()[:, None]).pow(degree).T @ squares


def half_times(
    times: Float[Tensor, " P"],
    a: Float[Tensor, " P"],
    before: Float[Tensor, " P"],
    now: Float[Tensor, " P"],
    time: float,
    step: float,
) -> Float[Tensor, " P"]:
    """When each share first passed a_p/2: `times`, and where they are NaN still, what the step from `time` on says.

    before, now: the shares at both ends of the step; linear between them.
    """
    crossed = times.isnan() & (now >= a / 2)
    part = ((a / 2 - before) / (now - before).clamp(min=1e-300)).clamp(0, 1)
    return torch.where(crossed, time + part * step, times)


def loss(W: Float[Tensor, "m d"], a: Float[Tensor, " P"], degree: int) -> float:
    """½ E (teacher − student)² over all of the data."""
    norms = W.norm(dim=1)
    theta = torch.eye(len(a), W.shape[1], dtype=W.dtype)
    directions, masses = torch.cat([theta, W / norms[:, None]]), torch.cat([a, -norms.square()])
    return squared_norm(directions, masses, link(degree)).item() / 2


def flow_velocity(W: Float[Tensor, "m d"], a: Float[Tensor, " P"], degree: int) -> Float[Tensor, "m d"]:
    """−∇L over all of the data."""
    return two_homogeneous_velocity(W, torch.eye(len(a), W.shape[1], dtype=W.dtype), a, link(degree))


def sample_velocity(
    W: Float[Tensor, "m d"], a: Float[Tensor, " P"], degree: int, x: Float[Tensor, "B d"]
) -> Float[Tensor, "m d"]:
    """−∇ of ½ (teacher − student)², averaged over the samples x."""
    norms = W.norm(dim=1, keepdim=True)
    u = W / norms
    z = x @ u.T
    values = hermite(z, degree)
    error = hermite(x[:, : len(a)], degree)[degree] @ a - values[degree] @ norms[:, 0].square()
    pull = error[:, None] * math.sqrt(degree) * values[degree - 1] / len(x)
    radial = 2 * (error @ values[degree]) / len(x) - (pull * z).sum(0)
    return norms * (radial[:, None] * u + pull.T @ x)
