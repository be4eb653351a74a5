"""Hermite expansions and the population dynamics that they close: against quadrature, and against autograd."""

import math

import numpy as np
import pytest
import torch

from amembook.networks import hermite as he
from amembook.networks.adam import adam

COEFFICIENTS = torch.tensor([0.3, -0.7, 0.0, 0.5, 0.2], dtype=torch.float64)
OTHER = torch.tensor([-0.1, 0.4, 0.9, 0.0, -0.6], dtype=torch.float64)


def unit(rows, dim, seed):
    points = torch.from_numpy(np.random.default_rng(seed).standard_normal((rows, dim)))
    return points / points.norm(dim=1, keepdim=True)


def planar(function, correlation):
    """E function(x, y) for standard normals of this correlation, by quadrature over the plane."""
    z, w = he.gauss_hermite(40)
    x, y = z[:, None], correlation * z[:, None] + math.sqrt(1 - correlation**2) * z[None, :]
    return w @ function(x.expand_as(y), y) @ w


def series(a, z):
    return torch.tensordot(a, he.hermite(z, len(a) - 1), 1)


def test_the_polynomials_are_the_textbooks_and_have_norm_one():
    z, w = he.gauss_hermite(60)
    rows = he.hermite(z, 20)
    assert torch.allclose(rows * w @ rows.T, torch.eye(21, dtype=torch.float64), atol=1e-9)
    fourth = z**4 - 6 * z**2 + 3
    assert torch.allclose(rows[4], fourth / math.sqrt(24))
    assert he.hermite(z, 0).shape == (1, 60) and torch.equal(he.hermite(z, 1)[1], z)


def test_coefficients_of_a_polynomial_are_its_own_and_an_exponentials_are_known():
    assert torch.allclose(he.coefficients(lambda z: series(COEFFICIENTS, z), 6)[:5], COEFFICIENTS, atol=1e-12)
    # E e^z h_k(z) = √e/√k!, from the generating function
    known = torch.tensor([math.exp(0.5) / math.sqrt(math.factorial(k)) for k in range(8)], dtype=torch.float64)
    assert torch.allclose(he.coefficients(torch.exp, 7), known, atol=1e-10)


@pytest.mark.parametrize("overlap", [-0.8, 0.0, 0.35, 1.0])
def test_correlations_are_those_of_the_plane(overlap):
    t = torch.tensor(overlap, dtype=torch.float64)
    found = planar(lambda x, y: series(COEFFICIENTS, x) * series(OTHER, y), overlap)
    assert he.correlation(COEFFICIENTS, OTHER, t).item() == pytest.approx(found.item(), abs=1e-10)


def test_one_hermite_function_alone_gives_a_power_and_none_gives_zero():
    a, t = torch.eye(5, dtype=torch.float64)[4], torch.linspace(-1, 1, 7, dtype=torch.float64)
    assert torch.allclose(he.correlation(a, a, t), t**4)
    assert torch.equal(he.correlation(a, COEFFICIENTS * 0, t), torch.zeros_like(t))


def test_a_field_is_the_gradient_of_its_values_on_the_sphere():
    theta, masses = unit(3, 5, 0), torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64)
    u = unit(4, 5, 1).requires_grad_()
    values, gradients = he.field(u, theta, masses, COEFFICIENTS, OTHER)
    (slope,) = torch.autograd.grad(values.sum(), u)
    u = u.detach()
    assert torch.allclose(gradients.detach(), slope - (slope * u).sum(1, keepdim=True) * u)
    found = planar(lambda x, y: series(COEFFICIENTS, x) * series(OTHER, y), (u[0] @ theta[1]).item())
    alone, _ = he.field(u[:1], theta[1:2], masses[1:2], COEFFICIENTS, OTHER)
    assert alone.item() == pytest.approx(-0.5 * found.item())


def test_the_velocity_is_minus_the_gradient_of_the_population_loss():
    theta, masses = unit(3, 6, 2), torch.tensor([1.0, 0.6, 0.3], dtype=torch.float64)
    W = (0.7 * unit(5, 6, 3) * torch.arange(1, 6)[:, None] / 5).requires_grad_()
    norms = W.norm(dim=1)
    directions, signed = torch.cat([theta, W / norms[:, None]]), torch.cat([masses, -norms.square()])
    loss = he.squared_norm(directions, signed, COEFFICIENTS) / 2
    (slope,) = torch.autograd.grad(loss, W)
    assert torch.allclose(he.two_homogeneous_velocity(W.detach(), theta, masses, COEFFICIENTS), -slope, atol=1e-12)


def test_the_squared_norm_is_that_of_the_function():
    theta, masses = unit(2, 2, 4), torch.tensor([1.0, -0.8], dtype=torch.float64)

    def squared(x, y):
        points = torch.stack([x, y], -1) @ theta.T
        return (series(COEFFICIENTS, points) @ masses).square()

    found = planar(squared, 0.0).item()
    assert he.squared_norm(theta, masses, COEFFICIENTS).item() == pytest.approx(found)


@pytest.mark.parametrize("count", [0, 301])
def test_a_quadrature_that_float64_cannot_hold_is_refused(count):
    with pytest.raises(ValueError, match="count"):
        he.gauss_hermite(count)


def test_a_negative_degree_is_refused():
    with pytest.raises(ValueError, match="degree"):
        he.hermite(torch.zeros(2), -1)


def test_autocast_changes_no_digit_and_what_has_no_direction_is_refused():
    u, theta = unit(5, 4, 0).float(), unit(3, 4, 1).float()
    masses, a = torch.tensor([1.0, -2.0, 0.5]), COEFFICIENTS.float()
    calls = [
        lambda: he.squared_norm(theta, masses, a),
        lambda: he.field(u, theta, masses, a, a)[1],
        lambda: he.two_homogeneous_velocity(3 * u, theta, masses, a),
    ]
    expected = [call() for call in calls]
    with torch.autocast("cpu", torch.bfloat16):
        assert all(torch.equal(call(), one) for call, one in zip(calls, expected, strict=True))
    with pytest.raises(ValueError, match=r"W must have rows of lengths that are finite and > 0, got 0 …"):
        he.two_homogeneous_velocity(torch.zeros(1, 4), theta, masses, a)


@pytest.mark.parametrize("rows", [1, 4])
def test_adam_refuses_gradients_that_would_be_broadcast(rows):
    steps = adam([torch.ones(4, 2)], lambda step, weights: [torch.ones(rows, 2)], 0.1)
    if rows == 4:
        torch.testing.assert_close(next(steps)[0], torch.full((4, 2), 0.9))
    else:
        with pytest.raises(ValueError, match=r"gradients must have the shapes of the weights, \[\(4, 2\)\], got"):
            next(steps)
