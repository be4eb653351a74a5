"""Lemmas 30 to 36, one test each: the inequality with the chapter's constants, and that it is not an empty one."""

import math

import pytest
import torch

import amemlib as am
from amembook.paper.deflation import SUPERCONCENTRATION, tail_bounds
from amembook.paper.deflation.bounds import superconcentration_failure, weighted_frobenius_bound, weighted_norm_bound
from amemlib import theory


def normal(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


WEIGHTS = {
    "power law": torch.arange(1, 401, dtype=torch.float64) ** -1.5,
    "flat": torch.ones(300, dtype=torch.float64),
    "one spike": torch.cat([torch.ones(1), torch.full((200,), 0.1)]).double(),
}


@pytest.mark.parametrize("x", WEIGHTS.values(), ids=WEIGHTS)
def test_lemma_30_norm_of_a_weighted_gaussian_matrix(x):
    dim = 64
    norms = torch.stack([torch.linalg.matrix_norm(x[:, None] * normal(len(x), dim, seed=k), 2) for k in range(60)])
    mean_bound = x.norm() + math.sqrt(dim) * x.max()
    # the mean obeys it without s, to within four standard errors, and the deviation is below the Lipschitz constant
    assert 0.5 * mean_bound < norms.mean() < mean_bound + 4 * norms.std() / math.sqrt(60)
    assert norms.std() < 1.3 * x.max()


@pytest.mark.parametrize("x", WEIGHTS.values(), ids=WEIGHTS)
def test_lemma_31_a_weighted_sum_of_products_of_overlaps(x):
    g, h, tau = normal(len(x), 4000, seed=1), normal(len(x), 4000, seed=2), math.log(2 * 20)
    sums = (x[:, None] * g * h).sum(0)
    bound = math.sqrt(2 * tau) * x.norm() + tau * x.max()
    assert (sums.abs() > bound).double().mean() < 1 / 20
    assert sums.std() == pytest.approx(float(x.norm()), rel=0.15)


def test_lemma_32_hanson_wright():
    H = normal(80, 30, seed=3)
    H = H.T @ H
    g, tau = normal(20_000, 30, seed=4), math.log(20)
    deviation = ((g @ H) * g).sum(1) - H.trace()
    frobenius, operator = torch.linalg.matrix_norm(H), torch.linalg.matrix_norm(H, 2)
    up = deviation > 2 * frobenius * math.sqrt(tau) + 2 * operator * tau
    down = deviation < -2 * frobenius * math.sqrt(tau)
    assert up.double().mean() < 1 / 20 and down.double().mean() < 1 / 20
    assert deviation.std() == pytest.approx(float(math.sqrt(2) * frobenius), rel=0.05)


@pytest.mark.parametrize("x", WEIGHTS.values(), ids=WEIGHTS)
def test_lemma_33_norms_of_weighted_second_moments(x):
    dim, ratios = 48, []
    for seed in range(20):
        V = normal(len(x), dim, seed=seed) / math.sqrt(dim)
        H = (x[:, None] ** 2 * V).T @ V
        norm, second, fourth, largest = (float(n) for n in (x.norm(), (x**2).sum(), (x**4).sum(), x.max()))
        bounds = (
            weighted_norm_bound(norm, largest, dim, 7),
            weighted_frobenius_bound(second, fourth, largest, dim, 7),
        )
        norms = torch.linalg.matrix_norm(H, 2), torch.linalg.matrix_norm(H)
        ratios.append([float(norm / bound) for norm, bound in zip(norms, bounds, strict=True)])
    # tau = 7 fails once in a thousand draws
    assert torch.tensor(ratios).max() < 1 and torch.tensor(ratios).min() > 0.1
    # the mean that the proof of the second line computes, exactly: E‖H‖_F²
    squares = []
    for seed in range(400):
        V = normal(len(x), dim, seed=1000 + seed) / math.sqrt(dim)
        squares.append(float(torch.linalg.matrix_norm((x[:, None] ** 2 * V).T @ V)) ** 2)
    mean, error = torch.tensor(squares).mean(), torch.tensor(squares).std() / 20
    assert abs(mean - second**2 / dim - (1 + 1 / dim) * fourth) < 4 * error


def test_lemma_34_superconcentration_of_the_maximum():
    for n in (10.0**k for k in range(2, 9)):
        assert superconcentration_failure(n, SUPERCONCENTRATION) <= 1 / n
    # below C = 3/(2√2) the failure falls more slowly than 1/n, without limit
    assert superconcentration_failure(1e8, 1.0) * 1e8 > 10 * superconcentration_failure(1e4, 1.0) * 1e4
    draws = normal(3000, 1000, seed=5).amax(1)
    below = math.sqrt(2 * math.log(1000)) - math.log(math.log(1000)) / math.sqrt(math.log(1000))
    assert (draws < below).double().mean() == pytest.approx(superconcentration_failure(1000, 1.0), abs=0.03)


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_lemma_35_the_bulk_of_the_thresholded_gradient(alpha):
    scales = []
    for dim in (32, 128):
        problem = am.Problem.power_law(16_384, dim, alpha)
        V, zeta = am.sample_embeddings(problem, 2000, dtype=torch.float64).V, theory.power_law_sum(16_384, alpha)
        row = []
        for first in (dim, 4 * dim, 16 * dim):
            x = problem.frequencies[first:, None]
            unit = first ** (1 - 2 * alpha) / dim / zeta**2
            row.append(float(torch.linalg.matrix_norm((x**2 * V[first:]).T @ V[first:], 2)) / unit)
            root = (2 * alpha - 1) ** -0.5 + (1 + math.sqrt(14 / dim)) * math.sqrt(dim / first)
            assert row[-1] < root**2
        scales.append(row)
    # a factor d^{0.2} would show
    assert all(abs(math.log(b / a)) < 0.2 * math.log(4) for a, b in zip(*scales, strict=True))


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_lemma_36_energy_of_the_sampled_tail(alpha):
    problem = am.Problem.power_law(16_384, 32, alpha)
    zeta = theory.power_law_sum(16_384, alpha)
    for first in (10, 100, 1000):
        unit = first ** (1 - 2 * alpha) / zeta**2
        assert float((problem.frequencies[first:] ** 2).sum()) < unit / (2 * alpha - 1)
        for multiple in (1, 10):
            batch_size = math.ceil(multiple * zeta * first**alpha)
            tail = am.sample_minibatch(problem, batch_size, 2000 + first)[first:]
            item, mass = tail_bounds(problem, batch_size, first)
            assert tail.max() <= item and tail.sum() <= mass and tail @ tail <= item * mass
            assert tail @ tail < 10 * unit, "the order, with a constant of a few units"
