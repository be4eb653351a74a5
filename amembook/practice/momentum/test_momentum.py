"""The mathematics of `momentum`."""

import dataclasses

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.practice import momentum

CONFIG = momentum.EXPERIMENT.profiles["cpu"]
FLAWS = [
    (("draws", "1.5 240 256", 2), [0.001] * 5, "rule", "not reproduced"),
    (("draws", "1.5 960 256", 0), [0.05] * 5, "floor", "not reproduced"),
    (("drift", "1.5", 0), -0.1, "drift", "not reproduced"),
    (("draws", "1.5 60 256", 4), [0.05] * 5, "constant", "not reproduced"),
    (("draws", "1.5 240 16", 4), [0.05] * 5, "quotient", "not reproduced"),
    (("draws", "1.5 60 0", 1), [0.1] * 5, "exact", "not reproduced"),
]


def memory(n_items=40, dim=8):
    problem = am.Problem.power_law(n_items, dim, 1.5)
    return problem, am.sample_embeddings(problem, 0)


def test_a_horizon_needs_its_rule_among_the_betas():
    with pytest.raises(ValueError, match="betas must hold 1 − 24/90"):
        dataclasses.replace(CONFIG, steps=(60, 90))


def test_the_dense_gradient_is_the_librarys():
    problem, emb = memory()
    W = torch.randn(8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    q = am.sample_minibatch(problem, 16, 3)
    torch.testing.assert_close(
        momentum.dense_gradient(W, emb, q), am.gradient(W, emb, q), atol=1e-6, rtol=1e-4, check_dtype=False
    )


def test_a_run_is_torchs_muon_with_an_exact_map():
    problem, emb = memory()
    W = torch.nn.Parameter(torch.zeros(8, 8, dtype=torch.float64))
    muon = am.Muon([W], lr=0.3, momentum=0.8, weight_decay=0.0, schedule=am.polar)
    for t in range(5):
        W.grad = -momentum.dense_gradient(W.detach(), emb, am.sample_minibatch(problem, 16, momentum.BATCHES * 4 + t))
        for group in muon.param_groups:
            group["lr"] = 0.3 * (1 - t / 5)
        muon.step()
    value = momentum.run_muon(emb, problem, 5, 16, 0.8, 0.3, 3)
    assert value == pytest.approx(am.loss(W.detach(), emb, problem.frequencies), rel=1e-5)


def test_the_ladder_ends_where_both_neighbours_are_larger():
    tried = []
    value, rate = momentum.best_of_ladder(lambda rate: tried.append(rate) or abs(np.log2(rate) - 3), 0.5)
    assert (value, rate) == (0, 8.0) and set(tried) >= {4.0, 8.0, 16.0} and len(tried) == len(set(tried))


def test_at_the_least_loss_the_gradient_is_none_and_no_run_is_below():
    problem, emb = memory()
    W, least, gradient = momentum.least_loss(emb, problem)
    assert gradient < 1e-4 and float(momentum.dense_gradient(W, emb, problem.frequencies).norm()) < 1e-4
    assert momentum.run_muon(emb, problem, 60, 0, 0.6, 1.0, 0) >= least - 1e-9


def test_the_polar_factor_of_skew_numbers_of_mean_zero_has_another_mean():
    """With d = 1 it is a sign."""
    draws = torch.tensor([3.0, -1.0, -1.0, -1.0], dtype=torch.float64)[:, None, None]
    assert draws.mean() == 0
    assert float(torch.stack([am.polar(one) for one in draws]).mean()) == pytest.approx(-0.5)


def test_an_average_brings_the_mean_polar_factor_to_that_of_the_mean():
    """The bound of prop-pm-average: 2 √(v (1 − β)/(1 + β)) / σ, here with a margin to fail by a factor of ten in β."""
    generator = torch.Generator().manual_seed(0)
    H = torch.diag(torch.tensor([1.0, 0.5, 0.25], dtype=torch.float64))
    noise = torch.randn(4000, 3, 3, generator=generator, dtype=torch.float64) ** 3 * 0.05
    noise -= noise.mean(0)
    v = float(noise.square().sum((1, 2)).mean())
    for beta in (0.0, 0.9):
        steps = 1 + int(40 * beta)
        weights = torch.tensor([(1 - beta) * beta**s for s in range(steps)], dtype=torch.float64)
        weights /= weights.sum()
        picked = torch.randint(4000, (400, steps), generator=generator)
        mean = am.polar(H + torch.einsum("s,bsij->bij", weights, noise[picked])).mean(0)
        away = float((mean - torch.eye(3, dtype=torch.float64)).norm())
        assert away <= 2 * (v * float(weights.square().sum())) ** 0.5 / 0.25
