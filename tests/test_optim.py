"""One step is a function: a new tensor, exactly gradient descent with the identity map."""

import pytest
import torch

import amemlib as am


def instance():
    problem = am.Problem.power_law(400, 24, 1.5)
    emb = am.sample_embeddings(problem, 0)
    return emb, am.initial_gradient(emb, problem.frequencies)


def random_memory():
    return torch.randn(24, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("lr", [0.1, 3.0])
def test_the_identity_map_is_gradient_descent_exactly(lr):
    _, G = instance()
    W = random_memory()
    assert torch.equal(am.step(W, G, am.identity, lr), W + lr * G)
    assert torch.equal(am.step(0, G, am.identity, lr), lr * G)
    assert torch.equal(am.step(0.0, G, am.identity, lr), lr * G)


@pytest.mark.parametrize("spectral_map", [am.identity, am.polar, am.newton_schulz])
def test_a_step_returns_a_new_tensor_and_changes_no_argument(spectral_map):
    _, G = instance()
    W = random_memory()
    W_before, G_before = W.clone(), G.clone()
    new = am.step(W, G, spectral_map, 1.0)
    new += 1
    assert torch.equal(W, W_before) and torch.equal(G, G_before)


def test_a_step_of_lr_adds_lr_times_the_mapped_gradient():
    _, G = instance()
    W = random_memory()
    difference = am.step(W, G, am.polar, 0.5) - W
    torch.testing.assert_close(difference, 0.5 * am.polar(G), rtol=0, atol=1e-14)


@pytest.mark.parametrize("spectral_map", [am.identity, am.polar])
def test_one_step_from_zero_recovers_the_same_items_for_every_lr(spectral_map):
    emb, G = instance()
    expected = am.recovered(spectral_map(G), emb)
    assert 1 < expected.sum() < 400
    for lr in (1e-12, 0.3, 1.0, 1e12):
        assert torch.equal(am.recovered(am.step(0, G, spectral_map, lr), emb), expected)


def test_one_step_descends_the_loss():
    problem = am.Problem.power_law(400, 24, 1.5)
    emb, G = instance()
    zero = torch.zeros(24, 24, dtype=torch.float64)
    for spectral_map in (am.identity, am.polar):
        W = am.step(zero, G, spectral_map, 0.1)
        assert am.loss(W, emb, problem.frequencies) < am.loss(zero, emb, problem.frequencies)
