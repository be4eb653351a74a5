"""Embeddings with covariances: the fixed point, its two-resolvent traces, the counts, and what Newton does not see."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import read_records
from amembook.laws import (
    CovarianceEquivalent,
    effective_dimension,
    expected_covariance_capacity,
    expected_table_capacity,
)
from amembook.laws.covariance import solve_two_sided
from amembook.paper.optimality.rotations import sample_rotations
from amemlib.equivalents import SpectralEquivalent, interaction_variances
from amemlib.sampling import power_law_eigenvalues, with_eigenvalues

PROBLEM = am.Problem.power_law(2048, 96, 1.5)
ONES = torch.ones(96, dtype=torch.float64)
SIGMA_U, SIGMA_V = power_law_eigenvalues(96, 0.5), power_law_eigenvalues(96, 0.75)


def drawn(seed: int, sigma_u=SIGMA_U, sigma_v=SIGMA_V) -> am.Embeddings:
    emb = am.sample_embeddings(PROBLEM, seed, dtype=torch.float64)
    return am.Embeddings(emb.U * sigma_u.sqrt(), emb.V * sigma_v.sqrt())


@pytest.mark.parametrize("lam_over_t0", [0.0, 1.0])
def test_without_a_covariance_it_is_the_isotropic_law(lam_over_t0):
    lam = lam_over_t0 * am.theory.bulk_scale(2048, 96, 1.5)
    flat = CovarianceEquivalent.solve(PROBLEM.frequencies, ONES, ONES, lam)
    isotropic = SpectralEquivalent.solve(PROBLEM.frequencies, 96, lam)
    at = torch.as_tensor(flat.values.copy())
    np.testing.assert_allclose(flat.signal, isotropic.signal_of(at), rtol=1e-3)
    np.testing.assert_allclose(flat.variances, interaction_variances(PROBLEM.frequencies, 96, lam, at), atol=3e-3)
    assert flat.rare_variance == pytest.approx(1 - isotropic.unresolved, abs=2e-3)


def test_the_pair_of_equations_is_solved():
    q = np.sort(PROBLEM.frequencies.numpy())[::-1].copy()
    mu = np.array([1e-5, 1e-3, 1e-1])
    M_u, M_v, y = solve_two_sided(mu, q, np.ones(len(q)), SIGMA_U.numpy(), SIGMA_V.numpy())
    x2 = np.square(q)[:, None] * M_u * M_v
    np.testing.assert_allclose(y, (x2 / (1 + x2)).sum(0) / 96, rtol=1e-9)
    for sigma, M in ((SIGMA_U.numpy(), M_u), (SIGMA_V.numpy(), M_v)):
        np.testing.assert_allclose(
            [(sigma / (m * k + z * sigma)).mean() for m, k, z in zip(mu, M, y, strict=True)], 1, rtol=1e-9
        )


def test_traces_of_one_and_of_two_resolvents_meet_matrices():
    equivalent = CovarianceEquivalent.solve(PROBLEM.frequencies, SIGMA_U, SIGMA_V)
    scale = am.theory.bulk_scale(2048, 96, 1.5)
    # the quadrature's own μ, from σ / F = μ + τ σ
    F = equivalent.output_filter
    a, b = SIGMA_U.numpy()[[0, -1]]
    tau = (a / F[:, 0] - b / F[:, -1]) / (a - b)
    mu = b / F[:, -1] - tau * b
    i, j = (int(np.abs(np.log(mu / (k * scale))).argmin()) for k in (1, 3))
    measured = []
    for seed in range(2000, 2006):
        G = am.initial_gradient(drawn(seed), PROBLEM.frequencies)
        eye = torch.eye(96, dtype=torch.float64)
        L = [m * torch.linalg.inv(G @ G.T + m**2 * eye) for m in (mu[i], mu[j])]
        R = [m * torch.linalg.inv(G.T @ G + m**2 * eye) for m in (mu[i], mu[j])]
        X = [resolvent @ G / m for resolvent, m in zip(L, (mu[i], mu[j]), strict=True)]
        D, E = torch.diag(SIGMA_U), torch.diag(SIGMA_V)
        traces = (D @ L[0], E @ R[0], D @ X[0] @ E @ X[1].T, D @ L[0] @ D @ L[1], E @ R[0] @ E @ R[1])
        measured.append([(trace.trace() / 96).item() for trace in traces])
    expected = [F[i].mean(), equivalent.input_filter[i].mean()]
    expected += [table[i, j] for table in (equivalent.cross, equivalent.outputs, equivalent.inputs)]
    np.testing.assert_allclose(np.mean(measured, 0) / expected, 1, atol=0.08)


def test_real_embeddings_counts_with_covariances_are_predicted():
    expected = expected_covariance_capacity(PROBLEM, SIGMA_U, SIGMA_V)
    counts = []
    for seed in range(2000, 2012):
        emb = drawn(seed)
        counts.append(am.capacity(am.polar(am.initial_gradient(emb, PROBLEM.frequencies)), emb))
    error = np.std(counts, ddof=1) / math.sqrt(len(counts))
    assert abs(np.mean(counts) - expected) < 0.06 * expected + 2 * error
    assert expected < 0.9 * am.expected_capacity(PROBLEM, "polar"), "the covariance must cost something visible"


def test_newton_recovers_the_same_items_after_affine_maps():
    emb = am.sample_embeddings(PROBLEM, 2000, dtype=torch.float64)
    A, B = sample_rotations(96, 2, 0) * torch.linspace(0.5, 1.5, 96, dtype=torch.float64)
    moved = am.Embeddings(emb.U @ A + 0.3, emb.V @ B)
    masks = [am.recovered(am.newton_step(e, PROBLEM.frequencies), e) for e in (emb, moved)]
    assert torch.equal(*masks)
    polars = [am.recovered(am.polar(am.initial_gradient(e, PROBLEM.frequencies)), e) for e in (emb, moved)]
    assert not torch.equal(*polars)


def test_effective_dimension_is_the_mean_squared_overlap():
    emb = with_eigenvalues(am.sample_embeddings(PROBLEM, 2000), SIGMA_V)
    overlaps = emb.V[:1000] @ emb.V[1000:].T
    assert (overlaps**2).mean() == pytest.approx(1 / effective_dimension(SIGMA_V), rel=0.05)
    assert effective_dimension(ONES) == pytest.approx(96)


def test_the_reading_of_a_table_is_the_isotropic_count_for_gaussian_vectors():
    emb = am.sample_embeddings(PROBLEM, 2000, dtype=torch.float64)
    unit = am.Embeddings(*(torch.nn.functional.normalize(X) for X in (emb.U, emb.V)))
    expected = am.expected_capacity(PROBLEM, "polar")
    assert expected_table_capacity(unit, PROBLEM.frequencies) == pytest.approx(expected, rel=0.05)
    doubled = am.Embeddings(torch.cat([unit.U[:1024], unit.U[:1024]]), unit.V)
    assert expected_table_capacity(doubled, PROBLEM.frequencies) < 0.7 * expected


def test_what_the_chapter_says_of_the_record():
    record = read_records("vocabulary", "cpu-")[0]
    measured, predicted = record["measured"]["covariance"], record["predicted"]["covariance"]
    wide = np.array(record["predicted"]["effective_dimension"]) >= 30
    off = {name: np.mean(measured[name], -1) / np.array(predicted[name]) - 1 for name in ("polar", "newton")}
    assert max(np.abs(ratio[wide]).max() for ratio in off.values()) < 0.035
    assert off["polar"][~wide][:2] == pytest.approx((0.13, 0.01), abs=0.01)
    energy = np.arange(1, 129) ** -1.5
    assert energy[:3].sum() / energy.sum() > 0.6
