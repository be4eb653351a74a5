"""m neurons on the sphere and the paths that they would have in an infinite network, reduced to one number each.

Student (1/m) Σ_i h_4(⟨x, u_i⟩) with |u_i| = 1, teacher h_4(⟨x, θ⟩), θ the first coordinate vector, all data; a neuron
follows −∇ on the sphere, at m times the gradient's rate. Not the mean field of Muon's iterates on the memory, which is
`equivalents.mean_field`.

In the infinite network the law of the neurons is symmetric about θ. A neuron keeps its meridian, and its height
s = ⟨u, θ⟩ moves by s′ = (1 − s²) F′(s), where F(s) = s⁴ − E_v ⟨u, v⟩⁴ needs the moments M₂ = E s² and M₄ = E s⁴ alone.
"""

import functools

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import beta
from torch import Tensor

from amembook.networks.hermite import field

_GRID = 400
_LINK = torch.tensor([0.0, 0, 0, 0, 1])
_SHORT = 0.02
_ONE = torch.ones(1)


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


def velocity(u: Float[Tensor, "m d"], heard: Float[Tensor, "n d"]) -> Float[Tensor, "m d"]:
    """−∇ of neurons u that hear θ and the neurons `heard`; with u itself, the network's own gradient, times m."""
    theta, masses = torch.eye(1, u.shape[1]), torch.full((len(heard),), 1 / len(heard))
    return field(u, theta, _ONE, _LINK, _LINK)[1] - field(u, heard, masses, _LINK, _LINK)[1]


def polar_velocity(u: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
    """The polar factor of the network's gradient, times √m, on the sphere."""
    G = velocity(u, u)
    values, vectors = torch.linalg.eigh((G.T @ G).double() / len(G))
    step = G @ ((vectors / values.clamp(min=values[-1] * 1e-12).sqrt()) @ vectors.T).float()
    return step - (step * u).sum(1, keepdim=True) * u


@functools.cache
def horizon(law, dim: int, until: float) -> float:
    """The time at which the infinite network has captured M₄ = `until` under the law `flow` or `polar_flow`."""
    s, time, before = heights(dim), 0.0, 0.0
    while (fourth := (s**4).mean()) < until:
        before = fourth
        dt = _SHORT / np.abs(law(s, s, dim)).max() / 2
        s, time = _height_step(law, s, s, dim, dt)[1], time + dt
    return time - dt * (fourth - until) / (fourth - before)


def distances(kind: str, dim: int, width: int, until: float, steps: int, seed: int) -> dict:
    """The largest mean square distance of neurons from their paths in the infinite network, up to its `horizon`.

    own: of the network. alone: of neurons that hear, in place of each other, the paths of as many independent ones.
    """
    law = {"flow": flow, "polar": polar_flow}[kind]
    time = horizon(law, dim, until)
    dt = time / steps
    u = start(width, dim, seed)
    across = u.clone()
    across[:, 0] = 0
    across /= across.norm(dim=1, keepdim=True)
    s, grid = u[:, 0].double().numpy(), heights(dim)
    path, alone = _points(s, across), u
    own_most = alone_most = 0.0
    for _ in range(steps):
        grid_middle, grid_next = _height_step(law, grid, grid, dim, dt)
        middle, s = _height_step(law, s, (grid, grid_middle, grid_next), dim, dt)
        halfway, after = _points(middle, across), _points(s, across)
        if kind == "flow":
            u = _step(lambda v, _: velocity(v, v), u, (path, halfway, after), dt)
            alone = _step(_hears_others, alone, (path, halfway, after), dt)
        else:
            u = _step(lambda v, _: polar_velocity(v), u, (path, halfway, after), dt)
        path, grid = after, grid_next
        own_most = max(own_most, (u - path).square().sum(1).mean().item())
        alone_most = max(alone_most, (alone - path).square().sum(1).mean().item())
    found = {"own": own_most, "time": time, "captured": u[:, 0].pow(4).mean().item()}
    return found | ({"alone": alone_most} if kind == "flow" else {})


def _hears_others(u, heard):
    """A neuron does not hear its own path, as in a network it does not hear itself."""
    overlap = (u * heard).sum(1, keepdim=True)
    return velocity(u, heard) + 4 * overlap**3 * (heard - overlap * u) / len(u)


def _points(s: np.ndarray, across: Tensor) -> Tensor:
    """The points of heights s on their meridians."""
    s = torch.from_numpy(s).float()[:, None]
    points = (1 - s * s).clamp(min=0).sqrt() * across
    points[:, :1] = s
    return points


def _height_step(law, s, grid, dim: int, dt: float):
    """Runge and Kutta's step of heights in the field of others, of which a triple says where they are at its parts."""
    first, half, last = grid if isinstance(grid, tuple) else (None,) * 3
    one = law(s, s if first is None else first, dim)
    two = law(v := s + dt / 2 * one, v if half is None else half, dim)
    three = law(v := s + dt / 2 * two, v if half is None else half, dim)
    four = law(w := s + dt * three, w if last is None else last, dim)
    return v, s + dt / 6 * (one + 2 * two + 2 * three + four)


def _step(velocity_of, u: Tensor, heard: tuple, dt: float) -> Tensor:
    """Runge and Kutta's step on the sphere."""
    first, half, last = heard
    one = velocity_of(u, first)
    two = velocity_of(u + dt / 2 * one, half)
    three = velocity_of(u + dt / 2 * two, half)
    u = u + dt / 6 * (one + 2 * two + 2 * three + velocity_of(u + dt * three, last))
    return u / u.norm(dim=1, keepdim=True)
