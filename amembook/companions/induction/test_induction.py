"""The mathematics of `induction`: the first gradient, its mean, critical scales, training, the cheapest law."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from amembook.companions.induction import expected, measure, sequences
from amemlib import polar


def test_the_first_update_is_the_gradient_of_the_loss():
    V, scale, value_scale = 6, 1.7, 3.0
    training = sequences.power_lengths(3, 2, 1.0)
    moments, counts = sequences.sample_moments(training, V, 40, value_scale, np.random.default_rng(0))
    places = moments.shape[1] - 2 * V - 2
    A = torch.zeros(3, moments.shape[1], dtype=torch.float64, requires_grad=True)
    generator = np.random.default_rng(0)
    assert counts.tolist() == generator.multinomial(40, training.shares).tolist()
    loss = 0.0
    for k, (length, count) in enumerate(zip(training.lengths.tolist(), counts, strict=True)):
        tokens = sequences.sample_tokens(2 * length, np.full(count, length), V, generator)
        answers = torch.from_numpy(tokens[:, length])
        query = torch.zeros(3, dtype=torch.float64)
        query[0], query[1 + k] = 1, scale
        for row, answer in zip(tokens, answers, strict=True):
            keys = torch.zeros(2 * length, moments.shape[1], dtype=torch.float64)
            for j, token in enumerate(row):
                keys[j, token] = 1
                keys[j, 2 * V + 2 + j] = scale
                if j:
                    keys[j, V + 1 + row[j - 1]] = 1
            attention = (keys @ (query @ A)).softmax(0)
            logits = value_scale * attention @ torch.nn.functional.one_hot(torch.from_numpy(row), V + 1).double()
            loss = loss + torch.nn.functional.cross_entropy(logits[None], answer[None]) / 40
    (slope,) = torch.autograd.grad(loss, A)
    ours = sequences.first_update(moments, V, scale, lambda G: G)
    assert places == 2 * 4 + 1 and np.allclose(-slope.numpy(), value_scale * ours, atol=1e-12)


def test_the_mean_update_is_that_of_many_sequences():
    training = sequences.power_lengths(4, 3, 0.0)
    moments, _ = sequences.sample_moments(training, 7, 200_000, 1e-3, np.random.default_rng(1))
    law = expected.population_moments(training, 7)
    assert np.abs(moments - law).max() < 5e-4 and np.abs(law).max() > 0.03
    assert np.allclose(law.sum(1)[:, None] * 0, 0) and np.allclose(law[:, 16:].sum(1), 0, atol=1e-15)


@pytest.mark.parametrize("ratio", [1 / 3, 0.21, 0.38])
def test_the_cheapest_shares_are_those_of_a_linear_programme_for_any_cost(ratio):
    lengths = np.arange(4, 20)
    for cost in (2.0 * lengths, lengths**2.0, np.log(lengths)):
        # Σ q = 1 and q_l / l ≤ ratio Σ q / l
        uneven = np.diag(1.0 / lengths) - ratio / lengths
        best = linprog(cost, uneven, np.zeros(16), np.ones((1, 16)), [1], method="highs")
        ours = expected.cheapest(4, ratio)
        assert ours.max_sum <= ratio + 1e-12
        assert ours.shares @ cost[: len(ours.shares)] == pytest.approx(best.fun)


def test_the_least_tokens_are_of_shares_with_which_the_head_wins():
    first, count, V, scale = 5, 4, 30, 1.3
    margins = expected.head_margins(first, count, V, scale)
    generator = np.random.default_rng(0)
    wins = []
    for shares in generator.dirichlet(np.ones(count), 60):
        training = sequences.Pretraining(np.arange(first, first + count), shares)
        moments = expected.population_moments(training, V)
        seen = measure._accuracies(moments, measure._probes(training, V), V, scale, lambda G: G)[0]
        wins.append(seen == 1)
        assert wins[-1] == ((margins @ shares).min() > 0)
        if wins[-1]:
            assert expected.mean_length(training) >= expected.least_tokens(first, count, V, scale)[0]
    assert 0 < sum(wins) < 60


def test_a_polar_step_adds_no_direction_by_rounding():
    training = sequences.power_lengths(32, 4, 1.0)
    moments = expected.population_moments(training, 160)
    for scale in (1.3, 1.5, 1.8):
        step = sequences.first_update(moments, 160, scale, measure.MAPS["polar"])
        assert np.linalg.svd(step, compute_uv=False)[-1] < 1e-9


def test_the_max_sum_ratio_is_least_for_shares_that_grow_as_the_length():
    ratios = [sequences.power_lengths(5, 6, power).max_sum for power in (-1.0, 0.0, 1.0, 2.0)]
    assert ratios[2] == pytest.approx(1 / 6) and min(ratios) == ratios[2]
    assert sequences.power_lengths(5, 1, 0.0).max_sum == 1


def test_critical_scales_are_those_of_the_ratio_and_of_the_number_for_muon():
    for count, power in ((2, 1.0), (4, -2.0), (8, 0.0)):
        scales = measure.expected_transition(20, count, power, 1000)
        R = scales["max_sum"]
        assert scales["sgd"]["seen"] ** 4 * R == pytest.approx(1, abs=0.04)
        assert scales["sgd"]["unseen"] ** 2 * R == pytest.approx(1, abs=0.04)
        assert scales["polar"]["seen"] == pytest.approx(1, abs=0.02)
        assert scales["polar"]["unseen"] ** 2 == pytest.approx(count, rel=0.1)


def test_the_polar_factor_of_the_signal_knows_nothing_of_the_rates():
    n, g = 5, 1.3
    B = torch.cat([torch.ones(n, 1), g * torch.eye(n)], 1).double()
    rates = torch.from_numpy(np.random.default_rng(0).dirichlet(np.ones(n)))
    P = polar(B.T @ torch.diag(rates) @ B)
    assert torch.allclose(P, B.T @ torch.linalg.inv(g**2 * torch.eye(n).double() + 1) @ B, atol=1e-9)
    assert torch.allclose(B @ P, B, atol=1e-9)
    assert P[0, 0].item() == pytest.approx(n / (n + g**2)) and P[0, 1].item() == pytest.approx(g / (n + g**2))


def test_a_sample_gives_what_all_sequences_give():
    measured = measure.measure_transition(8, 4, 0.0, 20, 20_000, 1.0, (1.0, 2.0), seed=0)
    law = measure.expected_transition(8, 4, 0.0, 20)
    for name, where in itertools.product(measure.MAPS, ("seen", "unseen")):
        assert measured[name][where] == pytest.approx(law[name][where], rel=0.03)
    assert measured["accuracy"][0] == 1 and measured["accuracy"][1] < 0.2


def test_training_starts_at_the_first_step_and_forgets_the_rates():
    training = sequences.power_lengths(8, 4, -4.0)
    first = expected.critical_scale(lambda g: measure.train_head(training, g, 1)[-1]["head"], 0.5)
    assert first**4 * training.max_sum == pytest.approx(1, abs=0.1)
    late = expected.critical_scale(lambda g: measure.train_head(training, g, 300)[-1]["head"], 0.5)
    assert first < late < 4**0.25
    history = measure.train_head(training, 1.0, 50)
    assert history[-1]["loss"] < 0.1 * history[0]["loss"]


def test_no_distribution_of_that_ratio_is_cheaper_than_the_linear_one():
    generator = np.random.default_rng(3)
    best = expected.mean_length(sequences.power_lengths(4, 5, 1.0))
    lengths = np.arange(4, 24)
    for _ in range(300):
        rates = generator.dirichlet(np.full(20, generator.choice([0.5, 1, 5])))
        while rates.max() > 0.2:
            rates = np.minimum(rates, 0.2) / np.minimum(rates, 0.2).sum()
            if rates.max() <= 0.2 + 1e-9:
                break
        shares = rates * lengths / (rates @ lengths)
        one = sequences.Pretraining(lengths, shares)
        assert one.max_sum <= 0.2 + 1e-6 and expected.mean_length(one) >= best
    assert expected.fewest_lengths(4, 1.0, 5**0.25 - 1e-6) == 5


def test_places_that_no_training_sequence_used():
    assert sequences.new_places(5, np.arange(4, 7)).tolist() == [1, 2, 3, 7, 8]
    assert np.isnan(expected.critical_scale(lambda g: 1.0, 0.5))
    assert expected.critical_scale(lambda g: float(g < 2), 0.5) == pytest.approx(2, rel=1e-3)


FLAWS = [
    (("critical", "sgd", "seen", 4), 1.1, "transition", "not reproduced"),
    (("exponent",), -0.4, "transition", "not reproduced"),
    (("critical", "sgd", "seen", 4), 1.1, "ratio", "not reproduced"),
    (("accuracy", 12, 0), 0.5, "accuracy", "undecided"),
    (("critical", "sgd", "unseen", 3), 1.1, "unseen", "not reproduced"),
    (("cost_draws", 2, 0), 90.0, "cheapest", "undecided"),
    (("critical", "polar", "seen", 4), 1.4, "muon", "not reproduced"),
    (("critical", "polar", "unseen", 4), 1.0, "muon_unseen", "not reproduced"),
    (("accuracy",), lambda rows: [[1 - share for share in row] for row in rows], "accuracy", "not reproduced"),
    (("cost_draws", 2), [90.0] * 5, "cheapest", "not reproduced"),
    (("samples", "critical", 0), [3.0] * 5, "samples", "not reproduced"),
    (("training", "critical"), [[3.0] * 4] * 5, "training", "not reproduced"),
    (("samples", "critical", 0), [3.0] * 64, "samples", "not reproduced", "exact"),
    (("training", "critical"), [[1.2, 1.2, 1.2, 2.0]] * 64, "late", "not reproduced", "exact"),
    (("far", "sgd", "seen", 2, 4), 1.2, "limits", "not reproduced", "exact"),
    (("far", "polar", "unseen", 2, 4), 1.2, "muon_limits", "not reproduced", "exact"),
    (("least", "tokens", 0, 1), 22.0, "least", "not reproduced", "exact"),
]
REFUSED = [("cost_scale", 0.9)]
