"""The mathematics of `token-retrieval`: the two gradient steps, their signal and noise, a polar step's gain."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from amembook.companions import token_retrieval
from amembook.companions.token_retrieval import expected, measure, samples
from amembook.companions.token_retrieval.judge import _on_a_chord, sum_of_functions
from amemlib import polar


def test_the_value_gradient_is_that_of_the_loss_and_the_mark_falls_out():
    V, d, L, n = 5, 7, 4, 3
    vectors, tokens = samples.sample_vectors(V, d, 0), samples.sample_sequences(V, L, n, 0)
    x = vectors.E[tokens]
    x[:, 0] += vectors.mark
    W = torch.zeros(d, d, dtype=torch.float64, requires_grad=True)
    logits = x.mean(1) @ W.T @ vectors.U.T
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(tokens[:, 0]), reduction="sum")
    (slope,) = torch.autograd.grad(loss, W)
    counts = np.zeros((V, V))
    np.add.at(counts, (np.repeat(tokens[:, 0], L), tokens.ravel()), 1)
    assert torch.allclose(-slope * L, samples.value_gradient(vectors, torch.from_numpy(counts)), atol=1e-12)


def test_the_attention_step_is_that_of_the_loss():
    V, d, L, n = 5, 7, 4, 3
    vectors, tokens = samples.sample_vectors(V, d, 1), samples.sample_sequences(V, L, n, 1)
    x = vectors.E[tokens]
    x[:, 0] += vectors.mark
    counts = np.zeros((V, V))
    np.add.at(counts, (np.repeat(tokens[:, 0], L), tokens.ravel()), 1)
    # small values: the softmax over labels stays uniform, and the loss is linear in what attention reads
    W = 1e-6 * samples.value_gradient(vectors, torch.from_numpy(counts))
    w = torch.zeros(d, dtype=torch.float64, requires_grad=True)
    read = torch.einsum("nl,nld->nd", (x @ w).softmax(1), x)
    loss = torch.nn.functional.cross_entropy(read @ W.T @ vectors.U.T, torch.from_numpy(tokens[:, 0]), reduction="sum")
    (slope,) = torch.autograd.grad(loss, w)
    ours, _ = samples.attention_step(tokens, vectors)
    assert torch.allclose(-slope * L / 1e-6, ours, rtol=1e-4, atol=1e-4 * ours.abs().max().item())


def test_counts_hold_every_token_of_every_label():
    counts = samples.sample_counts(6, 5, 3, 0)
    assert counts.sum(1).tolist() == [15] * 6 and (counts.diagonal() >= 3).all()
    tokens = samples.sample_sequences(6, 5, 3, 0)
    assert tokens.shape == (18, 5) and tokens[:, 0].tolist() == sorted(list(range(6)) * 3)


def test_signal_and_noise_are_counted_right():
    V, d, L, n = 128, 128, 32, 40
    moments = []
    for seed in range(6):
        vectors = samples.sample_vectors(V, d, seed)
        W = samples.value_gradient(vectors, samples.sample_counts(V, L, n, seed)) / n
        scores = (vectors.E + vectors.mark) @ W.T @ vectors.U.T
        off = scores[~torch.eye(V, dtype=torch.bool)]
        moments.append([scores.diagonal().mean().item(), off.var().item(), scores.diagonal().var().item()])
    mean, rival, own = np.mean(moments, 0)
    laws = expected.logit_variances(V, d, L, n * V)
    assert mean == pytest.approx(1, abs=0.05) and (rival, own) == pytest.approx(laws, rel=0.15)


def recall_shares(V, d, L, n, draws):
    """The share of words that one gradient step recalls, a draw each."""
    vectors = [samples.sample_vectors(V, d, seed) for seed in range(draws)]
    gradients = (samples.value_gradient(one, samples.sample_counts(V, L, n, k)) for k, one in enumerate(vectors))
    return [samples.recall_share(G, one) for G, one in zip(gradients, vectors, strict=True)]


def test_signal_and_noise_share_the_lengths_of_vectors():
    V, d, L, n = 128, 128, 32, 40
    shares = recall_shares(V, d, L, n, draws=40)
    error = np.std(shares, ddof=1) / len(shares) ** 0.5
    shared, apart = expected.recall_by_lengths(V, d, L, n * V), expected.recall_probability(V, d, L, n * V)
    assert abs(np.mean(shares) - shared) < 3 * error < abs(np.mean(shares) - apart)
    # in many dimensions all vectors have one length
    enough = expected.samples_needed(64, 10**6, L, 0.9)
    assert expected.recall_by_lengths(64, 10**6, L, enough) == pytest.approx(0.9, abs=0.01)


def test_a_rivals_count_and_the_words_own_score_are_shared():
    V, d, L, n = 64, 256, 64, 32
    shares = recall_shares(V, d, L, n, draws=200)
    law = expected.recall_by_counts(V, d, L, n * V)
    assert np.mean(shares) == pytest.approx(law, abs=3 * np.std(shares) / 200**0.5)
    # a count of large mean is Gaussian, and in many dimensions it is all that is left
    assert expected.recall_by_counts(64, 10**6, 10**4, 10**6) == pytest.approx(
        expected.recall_by_lengths(64, 10**6, 10**4, 10**6), abs=0.02
    )


def test_draws_move_the_sample_size_as_their_shares_do():
    case, low, high = {"n_tokens": 10, "low": 20, "high": 40}, np.array([0.6, 0.8, 0.85]), np.array([0.95, 0.9, 1.0])
    draws = _on_a_chord(0.9, case, low, high)
    h = 1e-6
    for k in range(3):
        moved = low + h * (np.arange(3) == k)
        change = _on_a_chord(0.9, case, moved, high).mean() / draws.mean() - 1
        at = math.log(draws.mean() / 200) / math.log(2)
        slope = -(1 - at) * math.log(2) / (high.mean() - low.mean()) / 3
        assert change / h == pytest.approx(slope, rel=1e-3)


def test_the_sample_size_grows_as_the_length_and_ends_at_the_capacity():
    one, four = (expected.samples_needed(128, 256, L, 0.9) for L in (17, 65))
    assert four == pytest.approx(4 * one, rel=1e-6)
    assert expected.recall_probability(128, 256, 17, one) == pytest.approx(0.9)
    assert math.isnan(expected.samples_needed(1000, 50, 17, 0.9))


def test_one_hot_recall_against_simulated_counts():
    V, L, n = 30, 20, 4
    shares = []
    for seed in range(300):
        counts = samples.sample_counts(V, L, n, seed)
        own = counts.diagonal().clone()
        shares.append((own > counts.fill_diagonal_(-1).amax(0)).double().mean().item())
    assert np.mean(shares) == pytest.approx(expected._one_hot(V, L, n), abs=4 * np.std(shares) / 300**0.5)


def test_scores_after_attentions_step_scatter_as_counted():
    V, d, L, n = 128, 128, 128, 4
    moments = []
    for seed in range(12):
        vectors = samples.sample_vectors(V, d, seed)
        w, _ = samples.attention_step(samples.sample_sequences(V, L, n, seed), vectors)
        moments.append([(vectors.mark @ w).item() / (n * V), (vectors.E @ w / (n * V)).var().item()])
    (mean, word), (law, _) = np.mean(moments, 0), expected.score_variances(V, d, L, n)
    assert mean == pytest.approx((1 - 1 / L) * (n - 1), rel=0.15) and word == pytest.approx(law, rel=0.25)


def test_finding_takes_more_samples_the_longer_and_none_is_enough_in_few_dimensions():
    needed = [expected.finding_needed(64, 128, L, 0.9) for L in (64, 256, 512)]
    assert needed == sorted(needed) and math.isnan(expected.finding_needed(64, 8, 256, 0.9))


def test_a_crossing_lies_between_its_ends():
    assert expected.crossing(10, 20, 0.5, 0.9, 0.7) == pytest.approx(10 * 2**0.5)
    assert expected.crossing(0, 1, 0.0, 1.0, 0.9) == 1


def test_the_threshold_is_found_where_it_was_planted():
    assert measure._threshold(lambda n: min(1.0, n / 100), 0.9) == pytest.approx(90, rel=0.03)
    assert math.isnan(measure._threshold(lambda n: 0.0, 0.9))


@pytest.mark.parametrize("noise", [0.5, 1.0, 1.6, 4.0])
def test_a_polar_steps_response_is_its_integral_and_that_of_a_large_matrix(noise):
    t = noise**2
    integrand = lambda w: w**2 / (1 + w**2) ** 2 - t * w**2 / (1 + w**2) ** 3
    integral = 4 / math.pi * quad(integrand, math.sqrt(max(0.0, t - 1)), math.inf)[0]
    assert expected.polar_response(noise) == pytest.approx(integral, abs=1e-9)
    X = torch.from_numpy(np.random.default_rng(0).standard_normal((300, 300)) / 300**0.5)
    response = polar(torch.eye(300).double() + noise * X).diagonal().mean().item()
    assert response == pytest.approx(expected.polar_response(noise), abs=0.02)


def test_a_polar_steps_gain_goes_from_two_to_that_of_a_quarter_circle():
    assert expected.polar_gain(1e-3) == pytest.approx(2, abs=1e-4)
    assert expected.polar_gain(300.0) == pytest.approx((8 / (3 * math.pi)) ** 2, abs=1e-3)
    gains = [expected.polar_gain(r) for r in (0.1, 0.5, 0.999, 1.001, 2.0, 5.0)]
    assert gains == sorted(gains, reverse=True) and abs(gains[2] - gains[3]) < 0.01


def test_a_sum_is_not_told_from_a_product_where_length_and_load_never_vary_together():
    cross = token_retrieval.cases(token_retrieval.EXPERIMENT.profiles["cpu"]).values()
    cases = np.array([list(case.values()) for case in cross] + [[128, 256, 512], [512, 256, 512]])
    needed = np.array([expected.samples_needed(*map(int, case), 0.9) for case in cases])
    assert sum_of_functions(needed[:-2], cases[:-2]) == pytest.approx(needed[:-2])
    off = np.log(sum_of_functions(needed, cases) / needed)
    assert np.abs(off - off.mean()).max() > math.log(1.3)


FLAWS = [
    (("product_interval", 1), [0.8, 0.9], "product", "not reproduced", "grid"),
    (("shared", 5), [9000.0, 9100.0] * 24, "shared", "not reproduced", "shared"),
    (("level", 8), [9000.0, 9100.0] * 18, "lengths", "not reproduced", "level"),
    (("level", 8), [9000.0, 9100.0] * 18, "counts", "not reproduced", "level"),
    (("level", 1), [9000.0, 9100.0] * 250, "counts", "not reproduced", "level-64"),
    (("level", 3), [99_000.0, 99_900.0] * 50, "exponents", "not reproduced", "product"),
    (("attention", "weight", 3), 4.0, "attention", "not reproduced", "attention"),
    (("finding", 3), 99.0, "finding", "not reproduced", "grid"),
    (("finding_level",), 1.6, "finding", "not reproduced", "grid"),
    (
        (),
        lambda m: m | {"cases": [[256, 256, 64]] * 11, "samples": {"sgd": m["samples"]["sgd"][::-1]}},
        "multiplicative",
        "not reproduced",
    ),
    (("one_hot", "sgd", 2), 500.0, "orthogonal", "not reproduced"),
    (("one_hot", "sgd", 2), 1e6, "orthogonal", "not reproduced"),
    (("attention", "weight", 3), 4.0, "attention", "not reproduced"),
    (("attention", "hits", 1), 0.6, "attention", "not reproduced"),
    (("gain", "polar", 0), 2.0, "gain", "not reproduced"),
    (("ratio", 4), 1.05, "muon", "undecided"),
    (("ratio", 0), 3.0, "muon", "not reproduced"),
    (("samples", "sgd", 0), 9e5, "multiplicative", "not reproduced"),
    (("gain", "polar", 1), 2.0, "gain", "not reproduced"),
    (("attention", "weight", 4), 5.0, "attention", "not reproduced"),
    (("one_hot", "sgd", 1), 9e5, "orthogonal", "not reproduced"),
]
