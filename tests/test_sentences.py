"""Sentences that a chapter says on the way, without a cell of their own."""

import pytest
import torch

import amemlib as am
from amembook.paper.optimality.rotations import sample_rotations

PROBLEM = am.Problem.power_law(n_items=4096, dim=128, alpha=1.5)


@pytest.fixture(scope="module")
def emb() -> am.Embeddings:
    return am.sample_embeddings(PROBLEM, seed=0, dtype=torch.float64)


@pytest.fixture(scope="module")
def G(emb) -> torch.Tensor:
    return am.initial_gradient(emb, PROBLEM.frequencies)


@pytest.mark.parametrize("name", ["cubic", "jordan"])
def test_a_spectral_map_turns_with_its_embeddings_and_keeps_its_items(emb, G, name):
    left, right = sample_rotations(128, 2, seed=1)
    turned = am.Embeddings(emb.U @ left.T, emb.V @ right.T)
    W, W_turned = (am.newton_schulz(M, 5, name) for M in (G, am.initial_gradient(turned, PROBLEM.frequencies)))
    assert torch.allclose(W_turned, left @ W @ right.T, rtol=0, atol=1e-9)
    assert torch.equal(am.recovered(W, emb), am.recovered(W_turned, turned))


def test_muons_own_logits_scatter_about_the_signal_like_normals_of_variance_one_over_d(emb, G):
    own = ((emb.V @ am.polar(G).T) * emb.U).sum(1)
    q = PROBLEM.frequencies
    signal = torch.from_numpy(am.equivalents.SpectralEquivalent.solve(q, 128).signal_of(q))
    residual = (128**0.5 * (own - signal))[50:1000]
    assert abs(residual.mean()) < 0.1 and 0.8 < residual.std() < 1.2


def test_the_signal_curves_second_derivative_is_that_of_its_first(emb, G):
    lam, step, at = am.theory.bulk_scale(1.5, 4096, 128), 1e-4, torch.tensor([[-0.1, 0.0, 0.3]], dtype=torch.float64)
    slope = lambda t: am.spectral.signal_curve(G, emb.U[2000:2001], emb.V[2000:2001], t, lam)[1]
    second = am.spectral.signal_curve(G, emb.U[2000:2001], emb.V[2000:2001], at * lam, lam)[2]
    moved = (slope((at + step) * lam) - slope((at - step) * lam)) / (2 * step * lam)
    assert torch.allclose(moved, second, rtol=1e-5, atol=1e-5 * second.abs().max().item())


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_the_smoothed_sign_is_as_near_to_the_polar_map_as_the_least_singular_value_says(emb, G, factor):
    lam = factor * am.theory.bulk_scale(1.5, 4096, 128) / 128
    W, polar, least = am.smoothed_sign(G, lam), am.polar(G), torch.linalg.svdvals(G)[-1]
    distance = torch.linalg.matrix_norm(W - polar, 2)
    assert torch.allclose(distance, 1 - least / torch.hypot(least, torch.tensor(lam)), rtol=1e-6)
    assert distance <= lam**2 / (2 * least**2)
    assert factor > 0.1 or torch.equal(am.recovered(W, emb), am.recovered(polar, emb))
