"""Frequencies and embeddings: what a problem is, and that it cannot be changed behind one's back."""

import dataclasses

import numpy as np
import pytest
import torch

import amemlib as am


@pytest.mark.parametrize("alpha", [0.6, 1.0, 1.5, 2.5])
def test_power_law_frequencies_sum_to_one_and_fall_by_rank(alpha):
    p = am.Problem.power_law(10_000, 8, alpha).frequencies
    ranks = torch.arange(1, 10_001, dtype=torch.float64)
    assert p.dtype == torch.float64
    assert p.sum().item() == pytest.approx(1, abs=1e-13)
    torch.testing.assert_close(p[0] / p, ranks**alpha, rtol=1e-12, atol=0)
    assert p[0].item() == pytest.approx(1 / am.theory.power_law_sum(10_000, alpha), rel=1e-12)


@pytest.mark.parametrize(
    "weights",
    [[3, 1, 4, 2], np.array([3, 1, 4, 2]), torch.tensor([3.0, 1.0, 4.0, 2.0]), (0.3, 0.1, 0.4, 0.2)],
    ids=["list", "integers", "float32 tensor", "tuple"],
)
def test_from_frequencies_normalises_and_keeps_the_order(weights):
    problem = am.Problem.from_frequencies(weights, 5)
    expected = torch.tensor([0.3, 0.1, 0.4, 0.2], dtype=torch.float64)
    torch.testing.assert_close(problem.frequencies, expected, rtol=1e-15, atol=0)
    assert (problem.n_items, problem.dim, problem.alpha) == (4, 5, None)


def test_from_frequencies_does_not_share_memory_with_its_argument():
    weights = np.ones(3)
    problem = am.Problem.from_frequencies(weights, 2)
    weights[0] = 7
    assert problem.frequencies[0].item() == pytest.approx(1 / 3)


def test_problem_and_embeddings_are_frozen():
    problem = am.Problem.power_law(4, 3, 1.5)
    emb = am.sample_embeddings(problem, 0)
    assert (emb.n_items, emb.dim) == (4, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.dim = 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        emb.U = emb.V
