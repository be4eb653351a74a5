"""m neurons on the sphere and the paths that they would have in an infinite network, reduced to one number each.

Student (1/m) Σ_i h_4(⟨x, u_i⟩) with |u_i| = 1, teacher h_4(⟨x, θ⟩), θ the first coordinate vector, all data; a neuron
follows −∇ on the sphere, at m times the gradient's rate. Not the mean field of Muon's iterates on the memory, which is
`amembook.laws.mean_field`.

In the infinite network the law of the neurons is symmetric about θ. A neuron keeps its meridian, and its height
s = ⟨u, θ⟩ moves by s′ = (1 − s²) F′(s), where F(s) = s⁴ − E_v ⟨u, v⟩⁴ needs the moments M₂ = E s² and M₄ = E s⁴ alone.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import beta
from torch import Tensor

_GRID = 400
_SHORT = 0.02
_AT_POLE = 0.8
FAR, _LONGEST = 0.1, 0.4
"""No step is longer than 0.4: neurons that were moved from the pole return to it at rates of a few."""


def start(width: int, dim: int, seed: int) -> Float[Tensor, "m d"]:
    """Independent uniform directions."""
    u = torch.from_numpy(np.random.default_rng([seed, width, dim]).standard_normal((width, dim))).float()
    return u / u.norm(dim=1, keepdim=True)


def heights(dim: int) -> np.ndarray:
    """|s| of the infinite network at the start, middles of parts of equal probability; s² ~ Beta(1/2, (d − 1)/2)."""
    return np.sqrt(beta.ppf((np.arange(_GRID) + 0.5) / _GRID, 0.5, (dim - 1) / 2))


def pull(s: np.ndarray, grid: np.ndarray, dim: int) -> np.ndarray:
    """F′(s): what θ pulls less what the other neurons, of heights `grid`, push.

    With t the first coordinate of a uniform point in d − 1 dimensions, ⟨u, v⟩ = sr + √((1 − s²)(1 − r²)) t, so
    E ⟨u, v⟩⁴ = s⁴M₄ + 6 s²(1 − s²)(M₂ − M₄)/(d − 1) + 3 (1 − s²)²(1 − 2M₂ + M₄)/(d² − 1).
    """
    second, fourth = (grid**2).mean(), (grid**4).mean()
    along, across = (second - fourth) / (dim - 1), (1 - 2 * second + fourth) / (dim**2 - 1)
    return 4 * s**3 * (1 - fourth) - (12 * s - 24 * s**3) * along + 12 * s * (1 - s * s) * across


def flow(s: np.ndarray, grid: np.ndarray, dim: int) -> np.ndarray:
    """s′ under gradient flow."""
    return (1 - s * s) * pull(s, grid, dim)


def polar_flow(s: np.ndarray, grid: np.ndarray, dim: int) -> np.ndarray:
    """s′ under Muon: G (GᵀG/m)^{−1/2}, whose Gram matrix is c∥ along θ and c⊥ in every direction across it.

    With G = F′(θ − su): c∥ = E F′²(1 − s²)², c⊥ = E F′²s²(1 − s²)/(d − 1), and the step is projected on the sphere.
    """
    force, size = pull(grid, grid, dim), np.maximum(1 - grid**2, 0)
    along = np.sqrt((force**2 * size**2).mean())
    across = np.sqrt((force**2 * grid**2 * size).mean() / (dim - 1))
    return (1 - s * s) * pull(s, grid, dim) * ((1 - s * s) / along + s * s / across)


def velocity(u: Float[Tensor, "*n m d"]) -> Float[Tensor, "*n m d"]:
    """−∇ on the sphere of the network's own loss, times m, for each of several sets of neurons."""
    overlap = u @ u.mT
    cubes = overlap * overlap * overlap / u.shape[-2]
    s = u[..., :1]
    step = 4 * ((cubes * overlap).sum(-1, keepdim=True) - _square(_square(s))) * u - 4 * cubes @ u
    step[..., :1] += 4 * s**3
    return step


def polar_velocity(u: Float[Tensor, "*n m d"]) -> Float[Tensor, "*n m d"]:
    """The polar factor of the network's gradient, times √m, on the sphere."""
    G = velocity(u)
    values, vectors = torch.linalg.eigh((G.mT @ G).double() / G.shape[-2])
    root = vectors / values.clamp(min=values[..., -1:] * 1e-12).sqrt()[..., None, :] @ vectors.mT
    step = G @ root.float()
    return step - (step * u).sum(-1, keepdim=True) * u


@functools.cache
def horizon(law, dim: int, until: float) -> float:
    """The time at which the infinite network has captured M₄ = `until` under the law `flow` or `polar_flow`."""
    s, time, before = heights(dim), 0.0, 0.0
    while (fourth := (s**4).mean()) < until:
        before = fourth
        dt = _SHORT / np.abs(law(s, s, dim)).max() / 2
        s, time = _height_step(law, s, s, dim, dt)[1], time + dt
    return time - dt * (fourth - until) / (fourth - before)


def similarity(s: np.ndarray, grid: np.ndarray, dim: int) -> np.ndarray:
    """E_v ⟨u, v⟩⁴ of a neuron of height s and the neurons v of the infinite network, of heights `grid`."""
    second, fourth = (grid**2).mean(), (grid**4).mean()
    square, rest = s**2, 1 - s**2
    along, across = (second - fourth) / (dim - 1), (1 - 2 * second + fourth) / (dim**2 - 1)
    return square**2 * fourth + 6 * square * rest * along + 3 * rest**2 * across


def gap(u: Float[Tensor, "*n m d"], grid: np.ndarray, dim: int) -> np.ndarray:
    """E_x (f_m − f_∞)², the mean square difference of the two networks, for each of several sets of neurons:

    (1/m²) Σ_ij ⟨u_i, u_j⟩⁴ − (2/m) Σ_i E_v ⟨u_i, v⟩⁴ + E_uv ⟨u, v⟩⁴, by Mehler's formula; nothing is sampled.
    """
    own = _square(_square(u @ u.mT)).double().mean((-1, -2)).numpy()
    return own - 2 * similarity(u[..., 0].double().numpy(), grid, dim).mean(-1) + similarity(grid, grid, dim).mean()


def follow(
    kind: str, dim: int, width: int, until: float, marks: Sequence[float], seeds: Sequence[int], far=FAR
) -> dict:
    """A network of m neurons beside the infinite one under the law `kind`, for several draws at once.

    gap: of the two networks, at the start and when the infinite one has captured each of `marks`; most: the largest on
    the way to `until`. distance: the mean square distance of neurons from their paths in the infinite network at the
    marks. turned: there, the share of neurons at the other pole (|height| > 0.8) than the one on whose side their path
    is. By draw; and the `time` at `until`. A step moves no height of the infinite network by more than `far`.
    """
    law, move = {"flow": (flow, velocity), "polar": (polar_flow, polar_velocity)}[kind]
    u = torch.stack([start(width, dim, seed) for seed in seeds])
    across = torch.nn.functional.normalize(u * (torch.arange(dim) > 0), dim=-1)
    s, grid, time, left = u[..., 0].double().numpy(), heights(dim), 0.0, list(marks)
    gaps, distances, turned = [gap(u, grid, dim)], [], []
    most = gaps[0]
    while (captured := (grid**4).mean()) < until or left:
        while left and captured >= left[0]:
            left.pop(0)
            gaps.append(gap(u, grid, dim))
            distances.append((u - _points(s, across)).square().sum(-1).mean(-1).numpy())
            height = u[..., 0].double().numpy()
            turned.append(((height * s < 0) & (np.abs(height) > _AT_POLE)).mean(-1))
        dt = min(_LONGEST, far / np.abs(law(grid, grid, dim)).max())
        middle, after = _height_step(law, grid, grid, dim, dt)
        s, grid, time = _height_step(law, s, (grid, middle, after), dim, dt)[1], after, time + dt
        u = _step(move, u, dt)
        most = np.maximum(most, gap(u, grid, dim))
    return {"gap": gaps, "most": most, "distance": distances, "turned": turned, "time": time}


def _square(x: Tensor) -> Tensor:
    # a power of a float tensor by `**` is a call of pow for every entry
    return x * x


def _points(s: np.ndarray, across: Tensor) -> Tensor:
    """The points of heights s on their meridians."""
    s = torch.from_numpy(s).float()[..., None]
    points = (1 - s * s).clamp(min=0).sqrt() * across
    points[..., :1] = s
    return points


def _height_step(law, s, grid, dim: int, dt: float):
    """Runge and Kutta's step of heights in the field of others, of which a triple says where they are at its parts."""
    first, half, last = grid if isinstance(grid, tuple) else (None,) * 3
    one = law(s, s if first is None else first, dim)
    two = law(v := s + dt / 2 * one, v if half is None else half, dim)
    three = law(v := s + dt / 2 * two, v if half is None else half, dim)
    four = law(w := s + dt * three, w if last is None else last, dim)
    return v, s + dt / 6 * (one + 2 * two + 2 * three + four)


def _step(move: Callable, u: Tensor, dt: float) -> Tensor:
    """Runge and Kutta's step on the sphere."""
    one = move(u)
    two = move(u + dt / 2 * one)
    three = move(u + dt / 2 * two)
    u = u + dt / 6 * (one + 2 * two + 2 * three + move(u + dt * three))
    return torch.nn.functional.normalize(u, dim=-1)
