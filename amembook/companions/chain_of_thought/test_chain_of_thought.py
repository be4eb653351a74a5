"""The mathematics of the study `chain-of-thought`: the layer, its gradient, the floor, what a polar step writes."""

import math

import numpy as np
import pytest
import torch

from amembook.companions.chain_of_thought import expected, measure, network, prompts
from amemlib import polar


def some_prompts(count=3, n=6, d=3, seed=0):
    return prompts.sample_prompts(count, n, d, np.random.default_rng(seed))


def by_hand(d, rate):
    V, W = (torch.zeros(2 * d + 2, 2 * d + 2, dtype=torch.float64) for _ in range(2))
    V[d + 1 : 2 * d + 1, :d] = -rate * torch.eye(d)
    W[:d, d + 1 : 2 * d + 1] = torch.eye(d)
    W[d, 2 * d + 1] = -1
    return V, W


def test_the_layer_is_that_of_all_tokens_written_out():
    d, n, k, rng = 3, 6, 3, np.random.default_rng(0)
    X, w = torch.from_numpy(rng.standard_normal((n, d))), torch.from_numpy(rng.standard_normal(d))
    task = prompts.Prompts((X.T @ X / n)[None], w[None], n)
    V, W = network.draw_weights(d, 1.0, rng)
    path = torch.from_numpy(rng.standard_normal((1, k, d)))
    fast = network.next_thoughts(V, W, task, path)
    zeros = torch.zeros(n, d + 1, dtype=torch.float64)
    examples = torch.cat([X, (X @ w)[:, None], zeros], 1)
    for i in range(k):
        thoughts = torch.cat([zeros[: i + 1], path[0, : i + 1], torch.ones(i + 1, 1, dtype=torch.float64)], 1)
        Z = torch.cat([examples, thoughts]).T
        whole = Z[:, -1] + V @ Z @ Z.T @ W @ Z[:, -1] / n
        assert torch.allclose(whole[d + 1 : 2 * d + 1], fast[0, i], atol=1e-12)


def test_weights_by_hand_are_gradient_descent():
    task, (V, W) = some_prompts(), by_hand(3, 0.3)
    assert torch.allclose(network.think(V, W, task, 5), prompts.teacher_path(task, 0.3, 5), atol=1e-12)
    measured = network.construction(V, W)
    assert measured["rate"] == pytest.approx(0.3) and measured["deviation"] < 1e-12 and measured["others"] < 1e-12


def test_moments_are_those_of_examples():
    lam = prompts.decaying_eigenvalues(4, 1.0)
    task = prompts.sample_prompts(20_000, 8, 4, np.random.default_rng(0), lam)
    assert torch.allclose(task.S.mean(0), torch.diag(lam), atol=0.02)
    squares = torch.diag(lam**2 * (1 + 1 / 8) + lam * lam.sum() / 8)
    assert torch.allclose((task.S @ task.S).mean(0), squares, atol=0.04)


@pytest.mark.parametrize("thoughts", [1, 4])
def test_the_first_gradient_is_minus_a_positive_sum(thoughts):
    task, (V, W), rate = some_prompts(count=7), by_hand(3, 0.0), 0.3
    V.requires_grad_()
    network.thinking_loss(rate, thoughts)(V, W, task).backward()
    path = prompts.teacher_path(task, rate, thoughts)
    F = torch.cat([prompts.residuals(task, path[:, i]) for i in range(thoughts)])
    first = -V.grad[4:7, :3]
    assert torch.allclose(first, -rate * F.T @ F / 7, atol=1e-12)
    assert torch.allclose(polar(first), -torch.eye(3).double(), atol=1e-9)


def test_nothing_without_thoughts_gets_below_the_floor():
    n, d = 12, 3
    task = prompts.sample_prompts(40_000, n, d, np.random.default_rng(1))
    best = torch.linalg.lstsq(task.answers, task.w).solution
    error = (task.answers @ best - task.w).square().sum() / task.w.square().sum()
    assert error.item() == pytest.approx(expected.floor(n, d), rel=0.02)
    assert best.diagonal().mean().item() == pytest.approx(expected.one_step_rate(n, d), rel=0.02)
    # the other parts of a layer's answer are even in w, and w is odd: they can only add
    assert 1 - expected.floor(n, d) == pytest.approx(expected.one_step_rate(n, d))


@pytest.mark.slow
def test_one_thought_at_the_best_rate_is_the_floor_and_the_limit_is_reached():
    n, d = 16, 8
    (error,) = expected.thinking_errors(n, d, expected.one_step_rate(n, d), (1,))
    assert error == pytest.approx(expected.floor(n, d), rel=0.01)
    assert expected.thinking_limit(2.0, 2 / 3, (1,))[0] == pytest.approx(1 / 3, rel=1e-6)
    near, limit = expected.thinking_errors(120, 60, 0.4, (1, 5)), expected.thinking_limit(2.0, 0.4, (1, 5))
    assert near == pytest.approx(limit, rel=0.03)


@pytest.mark.parametrize(("thoughts", "n", "tolerance"), [(1, 16, 0.03), (6, 4000, 0.03)])
def test_the_first_gradients_eigenvalues(thoughts, n, tolerance):
    lam = prompts.decaying_eigenvalues(4, 1.0)
    task = prompts.sample_prompts(8000, n, 4, np.random.default_rng(2), lam)
    path = prompts.teacher_path(task, 0.8, thoughts)
    G = sum(F.T @ F for F in (prompts.residuals(task, path[:, i]) for i in range(thoughts))) / 8000
    law = expected.first_gradient(lam.numpy(), n, 0.8, thoughts)
    assert G.diagonal().numpy() == pytest.approx(law, rel=tolerance, abs=tolerance * law.max() / 4)


def test_a_batch_too_small_for_the_rank_writes_a_part_of_the_identity():
    assert measure.measure_rank(6, 64, 3, 0)["cosine"] == pytest.approx(math.sqrt(3 / 6))
    assert measure.measure_rank(6, 64, 9, 0)["cosine"] == pytest.approx(1)


FLAWS = [
    (("answer", "error", 1), 0.2, "floor", "not reproduced"),
    (("thinking", "deviation", 1), 0.01, "construction", "not reproduced"),
    (("thinking", "apart_longer", 1), 0.01, "construction", "not reproduced"),
    (("thinking", "apart", 0), 0.02, "thinking", "not reproduced"),
    (("thinking", "apart", 2), 0.02, "thinking", "not reproduced"),
    (("step", "polar", "least_cosine", 0, 1), 0.9, "muon", "not reproduced"),
    (("rank", 0), 0.9, "muon", "not reproduced"),
    (("step", "sgd", "errors", 1, 2, 4), 0.2, "sgd", "not reproduced"),
    (("step", "sgd", "cosine", 1, 2), 0.9, "sgd", "not reproduced"),
]
REFUSED = [("contexts", (4, 8)), ("step_examples", 16)]
