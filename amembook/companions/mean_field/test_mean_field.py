"""The mathematics of the study `mean-field`: the reduced infinite network, its limit, and the polar step."""

import numpy as np
import pytest
import torch

from amembook.companions.mean_field import dynamics
from amembook.companions.mean_field.judge import STRETCH
from amembook.networks.hermite import squared_norm

LINK = torch.tensor([0.0, 0, 0, 0, 1], dtype=torch.float64)


def test_the_velocity_is_minus_the_gradient_of_the_loss_on_the_sphere():
    u = dynamics.start(5, 6, 0).double().requires_grad_()
    v = u / u.norm(dim=1, keepdim=True)
    directions, masses = torch.cat([torch.eye(1, 6), v]), torch.cat([torch.ones(1), -torch.full((5,), 0.2)]).double()
    loss = squared_norm(directions.double(), masses, LINK) / 2
    (slope,) = torch.autograd.grad(loss, u)
    assert torch.allclose(dynamics.velocity(u.detach()), -5 * slope, atol=1e-5)


def test_the_gap_is_the_squared_norm_of_a_difference():
    """The infinite network stood for by heights on both sides of every axis, which have its second and fourth moments
    but for the axes themselves: a frame rotated many times has those as well."""
    d, u = 5, torch.stack([dynamics.start(6, 5, seed) for seed in (1, 2)])
    grid, generator = dynamics.heights(d)[::8] ** 0.8, np.random.default_rng(0)
    across = generator.standard_normal((40 * len(grid), d - 1))
    across = np.pad(across / np.linalg.norm(across, axis=1, keepdims=True), ((0, 0), (1, 0)))
    signs = generator.choice([-1.0, 1.0], 40 * len(grid))
    many = dynamics._points(np.repeat(grid, 40) * signs, torch.from_numpy(across).float()).double()
    masses = torch.cat([torch.full((6,), 1 / 6), torch.full((len(many),), -1 / len(many))]).double()
    slow = [squared_norm(torch.cat([one.double(), many]), masses, LINK).item() for one in u]
    assert dynamics.gap(u, grid, d) == pytest.approx(slow, rel=0.06)


def test_the_gap_of_independent_neurons_is_one_over_their_number():
    d, m = 6, 20
    u = torch.stack([dynamics.start(m, d, seed) for seed in range(200)])
    assert dynamics.gap(u, dynamics.heights(d), d).mean() == pytest.approx((1 - 3 / (d * (d + 2))) / m, rel=0.05)


def test_the_reduced_pull_is_that_of_very_many_neurons():
    """Heights of an evolved network, meridians drawn at random many times over."""
    d, generator = 7, np.random.default_rng(0)
    grid = np.repeat(dynamics.heights(d) ** 0.7, 6)
    across = generator.standard_normal((len(grid), d - 1))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    many = dynamics._points(grid, torch.nn.functional.pad(torch.from_numpy(across).float(), (1, 0)))
    s = np.array([0.1, 0.5, 0.9])
    some = dynamics._points(s, torch.eye(d)[1:4].float())
    # each among very many: what one of them adds to the others is lost
    moved = torch.stack([dynamics.velocity(torch.cat([one[None], many]))[0] for one in some])
    assert moved[:, 0].numpy() == pytest.approx(dynamics.flow(s, grid, d), abs=0.05)
    assert moved[:, 4:].abs().max() < 0.05


def test_the_reduced_polar_step_is_that_of_very_many_neurons():
    """A network of which every height stands on both sides of every axis has no fluctuation across."""
    d = 5
    grid = dynamics.heights(d)[::4]
    sides = torch.cat([torch.eye(d)[1:], -torch.eye(d)[1:]])
    u = torch.cat([dynamics._points(np.full(len(sides), s), sides) for s in grid])
    G = dynamics.velocity(u)
    force = G[:, 0].numpy() / (1 - u[:, 0].numpy() ** 2)
    second = (G.T @ G / len(u)).double()
    along, across = second[0, 0].sqrt().item(), second[1:, 1:].diagonal().mean().sqrt().item()
    assert np.abs((second - torch.diag(second.diagonal())).numpy()).max() < 1e-6
    s = u[:, 0].numpy()
    expected = (1 - s * s) * force * ((1 - s * s) / along + s * s / across)
    assert dynamics.polar_velocity(u)[:, 0].numpy() == pytest.approx(expected, abs=1e-4)


def test_a_polar_step_has_equal_singular_values_before_it_is_projected():
    u = dynamics.start(40, 6, 0)
    G = dynamics.velocity(u)
    left, _, right = torch.linalg.svd(G, full_matrices=False)
    step = 40**0.5 * left @ right
    step = step - (step * u).sum(1, keepdim=True) * u
    assert torch.allclose(dynamics.polar_velocity(u), step, atol=1e-3)


def test_wider_networks_stay_closer():
    near, far = (dynamics.follow("flow", 8, m, 0.4, (0.4,), range(3)) for m in (128, 8))
    assert near["most"].mean() < far["most"].mean() / 4
    assert near["distance"][0].mean() < far["distance"][0].mean() / 4


def test_the_time_grows_as_the_dimension():
    times = [dynamics.horizon(dynamics.flow, d, 0.5) for d in (16, 32)]
    assert times[1] / times[0] == pytest.approx(2, rel=0.1)


def test_groenwalls_rate_is_the_largest_local_derivative():
    s = np.linspace(0, 1, 10001)
    assert np.gradient((1 - s * s) * 4 * s**3, s).max() == pytest.approx(STRETCH, rel=1e-3)


FLAWS = [
    (("most_interval",), [[-0.8, -0.7]] * 3, "gap", "not reproduced"),
    (("dim_interval",), [0.5, 0.6], "dimension", "not reproduced"),
    (("gap", "flow", 0, 0, 4), 3.0, "shrinks", "not reproduced"),
    (("distance_interval", 0), [-1.1, -0.9], "neurons", "not reproduced"),
    (("gap", "polar", 2, 1, 2), 0.01, "muon", "not reproduced"),
    (("gap", "polar", 2, 1, 1), 0.01, "muon", "not reproduced", "half"),
]
REFUSED = [("marks", (0.5, 0.1))]
