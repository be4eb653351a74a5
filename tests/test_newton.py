"""Newton's method from W = 0: exact identities, leverages, noise, and counts on fresh seeds."""

import math
import time

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

import amemlib as am
from amembook.paper.sharp import SharpConfig
from amemlib import plain
from amemlib.equivalents import NewtonEquivalent, expected_capacity, rare_item_snr

FRESH_SEEDS = range(2000, 2006)


def instance(n_items=40, dim=6, alpha=1.5, seed=2000):
    problem = am.Problem.power_law(n_items, dim, alpha)
    return problem, am.sample_embeddings(problem, seed, dtype=torch.float64)


def covariances(emb, q):
    centred = emb.U - emb.U.mean(0)
    return centred.T @ centred / len(emb.U), emb.V.T @ (q[:, None] * emb.V), centred


@pytest.mark.parametrize("batch_size", [None, 100])
def test_the_hessian_at_zero_is_a_kronecker_product(batch_size):
    problem, emb = instance()
    q = problem.frequencies if batch_size is None else am.sample_minibatch(problem, batch_size, 2000)

    loss, zero = lambda w: plain.loss(w.reshape(6, 6), emb.U, emb.V, q), torch.zeros(36, dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(loss, zero)
    outputs, inputs, _ = covariances(emb, q)
    torch.testing.assert_close(hessian, torch.kron(outputs, inputs), rtol=0, atol=1e-15)
    away = torch.autograd.functional.hessian(loss, torch.full_like(zero, 1.0))
    assert torch.linalg.svdvals(rearranged(away))[1] > 1e-4, "away from 0 it is no Kronecker product"
    assert torch.linalg.svdvals(rearranged(hessian))[1] < 1e-14


def rearranged(hessian):
    """Van Loan's rearrangement: of rank one exactly for a Kronecker product."""
    return hessian.reshape(6, 6, 6, 6).permute(0, 2, 1, 3).reshape(36, 36)


@pytest.mark.parametrize("damping", [0.0, 1e-3, 10.0])
def test_the_step_solves_its_damped_equation(damping):
    problem, emb = instance(300, 20)
    p = problem.frequencies
    outputs, inputs, _ = covariances(emb, p)
    W = am.newton_step(emb, p, damping)
    torch.testing.assert_close(
        outputs @ W @ inputs + damping * W, am.initial_gradient(emb, p), rtol=0, atol=1e-12 * (1 + damping)
    )


def test_the_step_is_a_weighted_least_squares_fit():
    problem, emb = instance(300, 20)
    p = problem.frequencies
    outputs, _, centred = covariances(emb, p)
    targets = torch.linalg.solve(outputs, centred.T).T
    fit = torch.linalg.lstsq(p.sqrt()[:, None] * emb.V, p.sqrt()[:, None] * targets).solution.T
    torch.testing.assert_close(am.newton_step(emb, p), fit, rtol=1e-8, atol=1e-8)


def test_a_batch_with_fewer_items_than_dimensions_is_fitted_perfectly_and_nothing_else_is_touched():
    problem, emb = instance(500, 64)
    q = am.sample_minibatch(problem, 60, 2000)
    seen = q > 0
    assert 5 < seen.sum() < 64
    W = am.newton_step(emb, q)
    outputs, _, centred = covariances(emb, q)
    targets = torch.linalg.solve(outputs, centred[seen].T).T
    torch.testing.assert_close(emb.V[seen] @ W.T, targets, rtol=1e-7, atol=1e-7)
    null = torch.linalg.qr(emb.V[seen].T, mode="complete").Q[:, int(seen.sum()) :]
    assert (W @ null).abs().max() < 1e-8 * W.abs().max()
    assert am.recovered(W, emb)[seen].all()


def test_large_damping_is_gradient_descent():
    problem, emb = instance(300, 20)
    G = am.initial_gradient(emb, problem.frequencies)
    torch.testing.assert_close(1e9 * am.newton_step(emb, problem.frequencies, 1e9), G, rtol=0, atol=1e-9)


def test_the_step_does_not_care_for_the_basis_nor_for_linear_maps_of_the_inputs():
    problem, emb = instance(300, 20)
    p = problem.frequencies
    turn = torch.linalg.qr(torch.randn(20, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).Q
    stretch = turn * torch.linspace(0.1, 3, 20, dtype=torch.float64)
    mask = am.recovered(am.newton_step(emb, p), emb)
    for U, V in ((emb.U @ turn, emb.V), (emb.U, emb.V @ turn), (emb.U, emb.V @ stretch)):
        other = am.Embeddings(U, V)
        assert torch.equal(am.recovered(am.newton_step(other, p), other), mask)


def test_leverages_sum_to_the_dimension_and_solve_the_fixed_point():
    problem, emb = instance(2000, 64)
    p = problem.frequencies
    _, inputs, _ = covariances(emb, p)
    exact = p * ((emb.V @ torch.linalg.inv(inputs)) * emb.V).sum(1)
    assert exact.sum().item() == pytest.approx(64)
    equivalent = NewtonEquivalent.solve(p, 64)
    assert equivalent.counts @ equivalent.leverage == pytest.approx(64)
    ratio = equivalent.leverage / (1 - equivalent.leverage) / equivalent.values
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    octaves = [slice(10, 40), slice(64, 256), slice(500, 2000)]
    predicted = torch.from_numpy(np.repeat(equivalent.leverage, equivalent.counts.astype(int)))
    for part in octaves:
        assert exact[part].mean().item() == pytest.approx(predicted[part].mean().item(), rel=0.08)


@pytest.mark.parametrize("alpha", [1.5, 2.0, 3.0])
def test_leverages_of_a_power_law_have_the_closed_form(alpha):
    dim = 1024
    equivalent = NewtonEquivalent.solve(am.Problem.power_law(2**20, dim, alpha).frequencies, dim)
    c = alpha / math.pi * math.sin(math.pi / alpha)
    ranks = np.cumsum(equivalent.counts) - equivalent.counts / 2 + 0.5
    closed = 1 / (1 + (ranks / (c * dim)) ** alpha)
    middle = (ranks > 0.2 * dim) & (ranks < 5 * dim)
    np.testing.assert_allclose(equivalent.leverage[middle], closed[middle], rtol=0.05)
    assert equivalent.overlap == pytest.approx(1 - 1 / alpha, abs=0.02)


def test_interactions_have_their_predicted_variance_also_where_outputs_are_few():
    # with N = 6 d the whitening of the outputs is worth a sixth
    dim, n_items = 128, 768
    problem = am.Problem.power_law(n_items, dim, 1.5)
    p, equivalent = problem.frequencies, NewtonEquivalent.solve(problem.frequencies, dim)
    leverage = np.repeat(equivalent.leverage, equivalent.counts.astype(int))
    law = np.repeat(equivalent.interaction(leverage), equivalent.counts.astype(int), axis=0)
    squares = np.zeros((n_items, n_items))
    for seed in FRESH_SEEDS:
        emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
        logits = emb.V @ (am.newton_step(emb, p) / dim).T @ emb.U.T
        squares += dim * logits.square().numpy() / len(FRESH_SEEDS)
    for rows, columns in [(slice(384, 768), slice(0, 384)), (slice(64, 384), slice(384, 768))]:
        assert squares[rows, columns].mean() == pytest.approx(law[rows, columns].mean(), rel=0.04)


def test_one_inputs_logits_scatter_together_as_the_spread_says():
    dim, n_items = 128, 6000
    problem = am.Problem.power_law(n_items, dim, 1.25)
    predicted = NewtonEquivalent.solve(problem.frequencies, dim).spread()
    measured = []
    for seed in FRESH_SEEDS:
        emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
        s2 = torch.linalg.svdvals(am.newton_step(emb, problem.frequencies)) ** 2
        measured.append((2 / dim * (s2**2).mean() / s2.mean() ** 2).item())
    assert predicted.variance == pytest.approx(np.mean(measured), rel=0.1)
    rare = predicted.rival_gain[-1], predicted.fading[-1]
    assert rare == (pytest.approx(1, abs=0.02), pytest.approx(1, abs=0.02))


@pytest.mark.parametrize("alpha", [1.1, 1.5])
def test_the_logits_of_frequent_rivals_respond_to_an_inputs_scatter_as_the_spread_says(alpha):
    dim, head, response, size = 128, 16, 0.0, 0.0
    problem = am.Problem.power_law(4000, dim, alpha)
    for seed in FRESH_SEEDS:
        emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
        W = am.newton_step(emb, problem.frequencies)
        C, logit = W.T @ W, emb.U[:head] @ W
        # over a fresh Gaussian input: Cov((a·v)², vᵀ C v) = 2 aᵀ C a / d², and Var(vᵀ C v) = 2 tr C² / d²
        scale = (C.diagonal().sum() / C.square().sum()).item()
        response += scale * ((logit @ C) * logit).sum(1).numpy()
        size += logit.square().sum(1).numpy()
    spread = NewtonEquivalent.solve(problem.frequencies, dim).spread()
    assert (response / size).mean() == pytest.approx(spread.rival_gain[:head].mean(), rel=0.06)


@pytest.mark.parametrize("alpha, n_items", [(1.25, 4096), (2.0, 1024)])
def test_counts_of_one_newton_step_meet_the_prediction(alpha, n_items):
    problem = am.Problem.power_law(n_items, 128, alpha)
    counts = []
    for seed in FRESH_SEEDS:
        emb = am.sample_embeddings(problem, seed)
        counts.append(am.capacity(am.newton_step(emb, problem.frequencies), emb))
    error = np.std(counts, ddof=1) / math.sqrt(len(counts))
    assert np.mean(counts) == pytest.approx(
        expected_capacity(problem, "newton"), abs=0.03 * np.mean(counts) + 2 * error
    )


@pytest.mark.parametrize("batch_size", [200, 1500, 4000])
def test_counts_of_one_newton_minibatch_meet_the_prediction(batch_size):
    problem = am.Problem.power_law(8192, 128, 1.5)
    counts, predicted = [], []
    for seed in FRESH_SEEDS[:4]:
        emb, q = am.sample_embeddings(problem, seed), am.sample_minibatch(problem, batch_size, seed)
        counts.append(am.capacity(am.newton_step(emb, q), emb))
        predicted.append(expected_capacity(problem, "newton", frequencies=q))
    assert np.mean(counts) == pytest.approx(np.mean(predicted), rel=0.05)


@pytest.mark.slow
def test_newton_has_muons_exponent_in_its_sharp_count():
    dims = (2**14, 2**16, 2**18)
    counts = [expected_capacity(am.Problem.power_law(10**7, dim, 2.0), "newton") for dim in dims]
    fit = am.fit_exponent(dims, counts)
    assert fit.slope == pytest.approx(am.theory.recovery_exponent("newton", 2.0), abs=0.03)
    assert am.theory.recovery_exponent("newton", 2.0) == am.theory.recovery_exponent("muon", 2.0)


def test_the_constants_cross_and_the_sharp_counts_cross_later():
    crossing = brentq(lambda a: rare_item_snr("newton", a) - rare_item_snr("polar", a), 1.2, 2.0)
    assert crossing == pytest.approx(1.53, abs=0.01)
    for alpha in (1.7, 2.3):
        problem = am.Problem.power_law(5000, 512, alpha)
        ratio = expected_capacity(problem, "newton") / expected_capacity(problem, "polar")
        assert (ratio > 1) == (alpha > 2)


def test_a_million_items_take_less_than_two_seconds():
    problem = am.Problem.power_law(10**6, 512, 1.5)
    began = time.process_time()
    expected_capacity(problem, "newton")
    assert time.process_time() - began < 2


def test_the_experiments_grid_is_checked():
    with pytest.raises(ValueError, match="seeds must hold 3 numbers"):
        SharpConfig(seeds=(2, 2))
