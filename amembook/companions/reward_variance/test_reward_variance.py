"""The mathematics of `reward-variance`: flows of a softmax policy, teachers, the memory as a policy."""

import math

import numpy as np
import pytest
import torch
from scipy.special import softmax

from amembook.companions.reward_variance import flows, measure


def test_the_flow_is_the_gradient_of_the_expected_reward():
    generator = np.random.default_rng(0)
    reward, logits = generator.random(5), torch.randn(5, dtype=torch.float64).requires_grad_()
    value = logits.softmax(0) @ torch.from_numpy(reward)
    (slope,) = torch.autograd.grad(value, logits)
    policy = softmax(logits.detach().numpy())
    assert slope.numpy() == pytest.approx(policy * (reward - policy @ reward))
    # the squared gradient is at most max π times the variance
    assert (slope**2).sum().item() <= policy.max() * flows.variance(policy, reward)


def test_no_reward_rises_faster_than_its_limit():
    generator = np.random.default_rng(1)
    for _ in range(50):
        policy = softmax(3 * generator.standard_normal(6))
        taught, reward = generator.random((2, 6))
        speed = policy**2 @ ((taught - policy @ taught) * (reward - policy @ reward))
        assert abs(speed) <= flows.speed_limit(policy, taught, reward)
    # two answers of equal weight: nothing is lost
    policy, reward = np.full(2, 0.5), np.array([0.0, 1.0])
    assert policy**2 @ (reward - 0.5) ** 2 == pytest.approx(flows.speed_limit(policy, reward, reward))


def test_the_time_scales_as_the_reward_exactly():
    generator = np.random.default_rng(2)
    reward, policies = flows.sample_table(20, 2.0, generator)
    one = flows.rise_time(policies["low"], reward, reward, 0.1, math.inf)
    assert flows.rise_time(policies["low"], 0.1 * reward, reward, 0.1, math.inf) == pytest.approx(10 * one)


def test_the_rare_arms_time_is_the_closed_form():
    told = measure.measure_rare(50)
    assert told["time"] == pytest.approx(told["law"], rel=0.01)
    assert told["variance"] == pytest.approx(0.02 * 0.98)


def test_teachers_rank_as_they_should():
    reward = np.random.default_rng(3).random(200)
    taught = flows.teachers(reward, np.random.default_rng(4))
    accuracies = [flows.accuracy(taught[name], reward) for name in flows.TEACHERS]
    assert accuracies[:2] == [1.0, 1.0] and accuracies[2] == pytest.approx(0.9, abs=0.02) and accuracies[3] > 0.99
    assert 0.6 < accuracies[4] < 0.8
    assert flows.accuracy(-reward, reward) == 0


def test_a_flow_that_leads_elsewhere_never_arrives():
    assert math.isinf(flows.rise_time(np.zeros(3), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.1, 1.0]), 0.3, 100.0))


def test_muon_does_not_see_the_scale():
    told = measure.measure_memory(8, 8, 4, [1.0, 0.1], 4.0, 0.5, [64.0], [1.0], 0.6, 500, 0)
    sgd, muon = told["scaled"]["sgd"], told["scaled"]["polar"]
    assert muon[0] == muon[1] and sgd[1] == pytest.approx(10 * sgd[0], rel=0.15)


FLAWS = [
    (("above",), 1.2, "limit", "not reproduced"),
    (("scale_exponent", 1), -0.6, "scale", "not reproduced"),
    (("rare", "time", 0), 40.0, "rare", "not reproduced"),
    (("rare_exponent",), -0.8, "rare", "not reproduced"),
    (("teachers", "low", "eighth power", "times"), [200.0] * 60, "accuracy", "not reproduced"),
    (("teachers", "high", "eighth power", "times"), [500.0] * 60, "accuracy", "not reproduced"),
    (("memory_exponent", "polar", 0), -0.5, "memory", "not reproduced"),
    (("teachers", "low", "concave", "variance"), 0.01, "enough", "not reproduced"),
    (("teachers", "low", "concave", "lost"), 0.0, "enough", "undecided"),
    (("ratio",), [0.1] * 5, "own", "not reproduced"),
]
REFUSED = [("scales", (1.0,)), ("level", 0.1)]
