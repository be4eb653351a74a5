"""The mathematics of `zeroth-order`: estimates from forward passes, slowdowns, counts through noise."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.companions.zeroth_order import expected, measure, passes
from amemlib.equivalents.law import SpectralLaw, expected_map_capacity


def memory(n_items=12, dim=5, seed=0):
    problem = am.Problem.power_law(n_items, dim, 1.5)
    return problem, am.sample_embeddings(problem, seed, dtype=torch.float64)


def test_forward_passes_give_the_gradient_along_the_direction():
    problem, emb = memory()
    W, z = torch.randn(2, 5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    estimate = passes.estimate(lambda X: passes.loss(X, emb, problem.frequencies), W, z[None], 1e-4)
    G = am.gradient(W, emb, problem.frequencies)
    assert torch.allclose(estimate, -(G * z).sum() * z, rtol=1e-6)
    # all entries of W one by one are the gradient
    basis = torch.eye(25, dtype=torch.float64).reshape(25, 5, 5)
    estimate = passes.estimate(lambda X: passes.loss(X, emb, problem.frequencies), W, basis, 1e-4)
    assert torch.allclose(25 * estimate, -G, atol=1e-8)


def test_an_average_of_estimates_has_the_law_that_is_drawn_from():
    G, K, repeats = torch.tensor([[3.0, 0.0], [0.0, 1.0]], dtype=torch.float64), 7, 4000
    z = torch.randn(repeats, K, 2, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    direct = ((z * G).sum((2, 3), keepdim=True) * z).mean(1)
    direct = direct / ((direct * G).sum((1, 2), keepdim=True) / (G**2).sum())
    generator = np.random.default_rng(2)
    drawn = torch.stack([passes.sampled_estimate(G, K, generator) for _ in range(repeats)])
    # along G both are G; beside it a Student law of K degrees of freedom
    assert torch.allclose((drawn * G).sum((1, 2)), (G**2).sum())
    spread = [(X - G).flatten(1).norm(dim=1).quantile(torch.tensor([0.25, 0.5, 0.9]).double()) for X in (direct, drawn)]
    assert torch.allclose(*spread, rtol=0.06)
    assert torch.equal(passes.sampled_estimate(G, math.inf, generator), G)


@pytest.mark.parametrize("n_estimates", [1, 3])
def test_the_slowdown_on_a_quadratic_is_exact(n_estimates):
    generator = np.random.default_rng(3)
    root = generator.standard_normal((4, 4))
    H, g = root @ root.T, generator.standard_normal(4)
    z = generator.standard_normal((200_000, n_estimates, 4))
    average = ((z @ g)[..., None] * z).mean(1)
    curvature = ((average @ H) * average).sum(1).mean()
    h = g @ H @ g / (g @ g)
    # gains |g|⁴/2 E ĝᵀHĝ and |g|²/2h, each at its best rate
    measured = curvature / (g @ g) / h
    assert measured == pytest.approx(passes.slowdown(np.trace(H), h, n_estimates), rel=0.02)


def test_curvatures_are_those_of_the_hessian():
    problem, emb = memory(6, 3)
    p = problem.frequencies
    W = torch.randn(3, 3, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    measured = passes.curvatures(W, emb, p)
    H = torch.autograd.functional.hessian(lambda X: passes.loss(X, emb, p), W).reshape(9, 9)
    g = am.gradient(W, emb, p).flatten()
    assert torch.allclose(measured["G"].flatten(), g)
    assert measured["trace"] == pytest.approx(float(H.trace()))
    assert measured["curvature"] == pytest.approx(float(g @ H @ g / (g @ g)))


def test_steps_of_an_isotropic_quadratic_are_those_of_its_rank():
    level, size = math.exp(-3), 10
    steps = passes.quadratic_steps(np.ones(size), np.array([1 / (size + 2)]), level, 1)
    assert steps == pytest.approx(-3 / math.log(1 - 1 / (size + 2)))
    # directions without curvature cost nothing
    more = np.r_[np.ones(size), np.zeros(90)]
    assert passes.quadratic_steps(more, np.array([1 / (size + 2)]), level, 1) == pytest.approx(steps)
    assert passes.quadratic_steps(np.ones(3), np.array([1.0]), 0.5, math.inf) <= 1


def test_the_noise_shares_no_numbers_with_the_embeddings():
    emb = am.sample_embeddings(am.Problem.power_law(5, 5, 1.5), 0, dtype=torch.float64)
    for place in range(4):
        noise = torch.from_numpy(measure.noise_stream(0, 5, place).standard_normal((5, 5))) / 5**0.5
        assert not any(torch.isclose(noise, X).any() for X in (emb.U, emb.V))


def test_noise_is_a_crowd_of_weightless_items():
    problem = am.Problem.power_law(500, 32, 1.5)
    square = float((problem.frequencies**2).sum())
    for K in (100.0, 1e5, math.inf):
        law = SpectralLaw.solve(problem.frequencies, 32, 0.0 if math.isinf(K) else 32 * square / K)
        known = expected_map_capacity(problem, torch.ones_like, law=law)
        assert expected.polar_count(problem, K) == pytest.approx(known, rel=0.01)


def test_without_noise_counts_are_the_librarys():
    problem = am.Problem.power_law(500, 64, 1.5)
    assert expected.sgd_count(problem, math.inf) == pytest.approx(am.expected_capacity(problem, "sgd"), rel=0.03)
    assert expected.polar_count(problem, math.inf) == pytest.approx(am.expected_capacity(problem, "polar"), rel=0.02)
    # and with nothing but noise one item is right by luck
    assert expected.sgd_count(problem, 1e-6) == pytest.approx(1, abs=0.1)
    assert expected.polar_count(problem, 1e-6) == pytest.approx(1, abs=0.1)


def test_half_of_the_items_takes_the_power_of_the_dimension():
    alpha, halves = 2.0, []
    for dim in (512, 2048):
        problem = am.Problem.power_law(4 * dim, dim, alpha)
        half = expected.polar_count(problem, math.inf) / 2
        grid = dim ** (2 * alpha + 1) * np.array([0.01, 0.02, 0.04, 0.08])
        counts = [expected.polar_count(problem, K) for K in grid]
        halves.append(np.exp(np.interp(math.log(half), np.log(counts), np.log(grid))))
    assert math.log(halves[1] / halves[0], 4) == pytest.approx(2 * alpha + 1, abs=0.15)


FLAWS = [
    (("rank", 0), 60.0, "rank", "not reproduced"),
    (("rank_exponent",), 1.5, "rank", "not reproduced"),
    (("gain", 0, 0), 0.5, "gain", "not reproduced"),
    (("gain", 1, 1), 1.4, "gain", "not reproduced"),
    (("exponent", "1.5"), 3.0, "muon", "not reproduced"),
    (("counts", "sgd", 0, 10), 30.0, "sgd", "not reproduced"),
    (("whole", "polar", 17), 60.0, "counts", "not reproduced"),
    (("quadratic_exponent", "copies"), 0.0, "quadratic", "not reproduced"),
    (("counts", "1.5", 1), [1e5] * 11, "muon", "not reproduced"),
    (("counts", "sgd", 1), [1e5] * 11, "sgd", "not reproduced"),
]
REFUSED = [("alphas", (2.0,)), ("copies", (4, 8, 10_000)), ("lowest", 3)]
