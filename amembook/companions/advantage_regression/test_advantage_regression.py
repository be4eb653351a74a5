"""The mathematics of the study `advantage-regression`: the objective, its gradient, the floor, variances, teachers."""

import math

import numpy as np
import pytest
import torch
from scipy.special import softmax

from amembook.companions.advantage_regression import measure, policies, teachers


def test_the_optimal_policy_has_the_optimal_value_and_none_has_more():
    log_ref, reward = policies.sample_table(5, 7, 0)
    for beta in (0.2, 1.0):
        best = policies.optimal_value(log_ref, reward, beta)
        logits = policies.optimal_logits(log_ref, reward, beta)
        assert policies.objective(logits, log_ref, reward, beta) == pytest.approx(best)
        # its advantage is the same for every answer: nothing to learn, whatever the group
        policy = policies.policy_of(logits)
        assert reward - beta * (np.log(policy) - log_ref) == pytest.approx(np.tile(best[:, None], 7))
        noise = np.random.default_rng(0).standard_normal((20, 5, 7))
        assert (policies.objective(logits + noise, log_ref, reward, beta) <= best).all()


def test_regression_is_policy_gradient_at_a_fixed_baseline():
    measured = measure.measure_identity(4, 6, 0.3, 0)
    assert measured["error"] < 1e-14 and measured["size"] > 0.1


@pytest.mark.parametrize("group", [1, 3])
def test_a_step_is_the_gradient_on_average(group):
    log_ref, reward = policies.sample_table(2, 3, 1)
    beta, generator = 0.4, np.random.default_rng(0)
    logits = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    log_policy = logits.log_softmax(1)
    J = (log_policy.exp() * (torch.from_numpy(reward) - beta * (log_policy - torch.from_numpy(log_ref)))).sum()
    (ascent,) = torch.autograd.grad(J, logits)
    wide = np.tile(logits.detach().numpy(), (40_000, 1, 1))
    baseline = np.array([0.7, -0.3]) if group == 1 else None
    steps = policies.ascend(wide, log_ref, reward, beta, 1.0, baseline, group, generator) - wide
    assert steps.mean(0) == pytest.approx(ascent.numpy(), abs=5 * steps.std(0).max() / 200)


def test_answers_are_drawn_as_often_as_the_policy_says():
    policy = np.array([[0.1, 0.6, 0.3]])
    answers = policies.draw(policy, 20_000, np.random.default_rng(0))
    assert np.bincount(answers[0]) / 20_000 == pytest.approx(policy[0], abs=0.015)


def test_the_offline_value_tends_to_the_optimal_one():
    log_ref, reward = policies.sample_table(3, 5, 2)
    best = policies.optimal_value(log_ref, reward, 1.0)
    assert policies.estimated_value(log_ref, reward, 1.0, 0, np.random.default_rng(0)) == pytest.approx(best)
    many = policies.estimated_value(log_ref, reward, 1.0, 50_000, np.random.default_rng(0))
    assert many == pytest.approx(best, abs=0.05)


def test_the_floor_is_the_fixed_point_of_the_linear_recursion():
    # two answers of equal weight: π − π* has one direction, and the recursion of its variance is a number
    policy, error, rate, beta = np.full((1, 2), 0.5), np.array([0.2]), 0.4, 0.7
    first, following = policies.floor(policy, error, rate, beta)
    # w = ±(1, −1)/2, so x = (z, −z) has z ← (1 − η β/2) z ± η δ/2
    z = (rate * error / 2) ** 2 / (1 - (1 - rate * beta / 2) ** 2)
    # V* − J = β/2 Var_π*(x) = β z²/2
    assert following == pytest.approx(beta / 2 * z) and first == pytest.approx(rate * error**2 / 8)
    # H has the eigenvalues 0 and 1/2
    assert policies.filled(policy, rate, beta, np.array([0, 3])) == pytest.approx((1 - np.exp(-3 * rate * beta)) / 2)


def test_variances_at_the_start_are_those_of_sampled_estimates():
    log_ref, reward = policies.sample_table(3, 4, 3)
    policy, generator = np.exp(log_ref), np.random.default_rng(1)
    best, group = policies.optimal_value(log_ref, reward, 0.5), 3
    wide = np.tile(log_ref, (40_000, 1, 1))
    exact = policies.start_variance(policy, reward, best, group)
    for law, baseline, size in zip(exact, (best, None), (1, group), strict=True):
        steps = policies.ascend(wide, log_ref, reward, 0.5, 1.0, baseline, size, generator)
        assert size * steps.var(0).sum(1).mean() == pytest.approx(law, rel=0.03)


def test_every_method_of_the_memory_climbs():
    measured = measure.measure_memory(8, 8, 1.0, 4, 0.2, 64, [16.0], [1.0], 0, 0)
    uniform = 1 / 4
    for name in ("sgd", "polar"):
        early, late = (rows[0] for rows in measured[name])
        assert uniform < early < late < measured["best"]


def test_the_flow_is_the_gradient_of_the_expected_reward():
    generator = np.random.default_rng(0)
    reward, logits = generator.random(5), torch.randn(5, dtype=torch.float64).requires_grad_()
    value = logits.softmax(0) @ torch.from_numpy(reward)
    (slope,) = torch.autograd.grad(value, logits)
    policy = softmax(logits.detach().numpy())
    assert slope.numpy() == pytest.approx(policy * (reward - policy @ reward))
    # the squared gradient is at most max π times the variance
    assert (slope**2).sum().item() <= policy.max() * teachers.variance(policy, reward)


def test_no_reward_rises_faster_than_its_limit():
    generator = np.random.default_rng(1)
    for _ in range(50):
        policy = softmax(3 * generator.standard_normal(6))
        taught, reward = generator.random((2, 6))
        speed = policy**2 @ ((taught - policy @ taught) * (reward - policy @ reward))
        assert abs(speed) <= teachers.speed_limit(policy, taught, reward)
    # two answers of equal weight: nothing is lost
    policy, reward = np.full(2, 0.5), np.array([0.0, 1.0])
    assert policy**2 @ (reward - 0.5) ** 2 == pytest.approx(teachers.speed_limit(policy, reward, reward))


def test_the_time_scales_as_the_reward_exactly():
    generator = np.random.default_rng(2)
    reward, policies = teachers.sample_arms(20, 2.0, generator)
    one = teachers.rise_time(policies["low"], reward, reward, 0.1, math.inf)
    assert teachers.rise_time(policies["low"], 0.1 * reward, reward, 0.1, math.inf) == pytest.approx(10 * one)


def test_teachers_rank_as_they_should():
    reward = np.random.default_rng(3).random(200)
    taught = teachers.teachers(reward, np.random.default_rng(4))
    accuracies = [teachers.accuracy(taught[name], reward) for name in teachers.TEACHERS]
    assert accuracies[:2] == [1.0, 1.0] and accuracies[2] == pytest.approx(0.9, abs=0.02) and accuracies[3] > 0.99
    assert 0.6 < accuracies[4] < 0.8
    assert teachers.accuracy(-reward, reward) == 0


def test_a_flow_that_leads_elsewhere_never_arrives():
    assert math.isinf(teachers.rise_time(np.zeros(3), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.1, 1.0]), 0.3, 100.0))


def test_a_concave_teacher_ends_on_an_answer_that_it_pays_and_that_is_poor():
    rng = np.random.default_rng([6350, 5, 0])
    reward, starts = teachers.sample_arms(100, 4.0, rng)
    taught, logits, time = teachers.teachers(reward, rng)["concave"], starts["low"], 0.0
    while time < 5000:
        policy = policies.policy_of(logits)
        drift = policy * (taught - policy @ taught)
        step = 0.02 / np.abs(drift).max()
        logits, time = logits + step * drift, time + step
    likeliest = policy.argmax()
    assert policy[likeliest] > 0.98 and taught[likeliest] > 0.9 and 0.25 < reward[likeliest] < 0.42


def test_the_floor_of_64_samples_is_most_of_what_they_cost_in_the_race():
    laws = []
    for seed in range(6350, 6370):
        log_ref, reward = policies.sample_table(24, 64, seed)
        best = policies.optimal_value(log_ref, reward, 0.5)
        value = policies.estimated_value(log_ref, reward, 0.5, 64, np.random.default_rng([seed, 3]))
        pi = policies.policy_of(policies.optimal_logits(log_ref, reward, 0.5))
        laws.append(policies.floor(pi, value - best, 1.0, 0.5)[1].mean())
    assert np.mean(laws) == pytest.approx(0.0098, abs=1e-4)


FLAWS = [
    (("identity",), 1e-6, "identity", "not reproduced"),
    (("variance", 0, 0), 2.0, "variance", "not reproduced"),
    (("variance", 0, 0), 0.5, "variance", "not reproduced"),
    (("memory", "exact", "polar", 0), [0.1] * 20, "memory", "not reproduced"),
    (("race", "0.5", "star 0"), [1.0] * 20, "oracle", "not reproduced"),
    (("race", "0.5", "star 64"), [1.0] * 20, "realizable", "not reproduced"),
    (("above",), 1.2, "limit", "not reproduced"),
    (("teachers", "low", "eighth power", "times"), [200.0] * 60, "accuracy", "not reproduced"),
    (("teachers", "high", "eighth power", "times"), [500.0] * 60, "accuracy", "not reproduced"),
    (("teachers", "low", "concave", "variance"), 0.01, "enough", "not reproduced"),
    (("filled_ratio", 0, 0), 2.0, "filled", "not reproduced", "long"),
    (("race", "0.1", "star 0"), [0.0] * 600, "oracle", "observed", "decide"),
]
