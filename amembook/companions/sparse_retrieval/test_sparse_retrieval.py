"""The mathematics of `sparse-retrieval`: memories, the first gradient, floors, what a polar step finds."""

import math

import numpy as np
import pytest
import torch

from amembook.companions.sparse_retrieval import codes, expected, measure, networks, recurrent
from amemlib import polar


def some_codes(n=6, m=12, seed=0):
    return codes.sample_codes(n, m, np.random.default_rng(seed))


def test_a_memorys_crosstalk_is_counted_right():
    risks = [measure.measure_memory(40, 16, seed) for seed in range(10)]
    assert np.mean([risk["linear"] for risk in risks]) == pytest.approx(expected.memory_risk(40, 16), abs=0.01)
    assert max(risk["softmax"] for risk in risks) < 1e-3


@pytest.mark.parametrize("labels", [1, 6])
def test_the_first_moments_are_the_gradient_of_the_loss(labels):
    N, n = 6, 5
    C = some_codes(N)
    H = codes.first_moments(N, n, labels, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    a = torch.from_numpy(rng.standard_normal((n, N)))
    if labels == 1:
        counts = torch.nn.functional.one_hot(torch.from_numpy(rng.integers(N, size=n)), N).double()
    else:
        counts = torch.from_numpy(rng.multinomial(labels, np.full(N, 1 / N), size=n)) / labels
    W = torch.zeros(12, 12, dtype=torch.float64, requires_grad=True)
    answers = a @ (C @ W @ C.T).softmax(1).T
    ((a - answers).square() * counts).sum().div(2 * n).backward()
    assert torch.allclose(-W.grad, C.T @ H @ C / N, atol=1e-12)


def test_signal_and_noise_of_one_step_are_counted_right():
    N, m, n = 40, 200, 4000
    own, rivals = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        C = codes.sample_codes(N, m, rng)
        scores = C @ (C.T @ codes.first_moments(N, n, 1, rng) @ C) @ C.T / (1 / N + 1 / m)
        own.append(scores.diagonal().mean().item())
        rivals.append(scores[~torch.eye(N, dtype=torch.bool)].var().item())
    crosstalk = ((2 / N + 1 / m) ** 2 / m + 1 / (N * m**2)) / (1 / N + 1 / m) ** 2
    assert np.mean(own) == pytest.approx(1, abs=0.05)
    assert np.mean(rivals) == pytest.approx(N / n + crosstalk, rel=0.2)


def test_the_law_of_labels():
    # 2 N log N to leading order, which is reached as slowly as extremes of Gaussians reach theirs
    ratios = [expected.needed(N, 4096, 0.9, N) / (2 * N * math.log(N)) for N in (32, 512, 4096)]
    assert 2 > ratios[0] > ratios[1] > ratios[2] > 1
    short, long = (expected.needed(64, m, 0.9, 64) for m in (256, 4096))
    assert long < short < 1.2 * long
    assert expected.found_chance(64, 128, 64 / expected.needed(64, 128, 0.9, 64)) == pytest.approx(0.9)
    assert math.isnan(expected.needed(4096, 4, 0.9, 4096))


def test_with_one_hot_codes_signal_and_noise_share_the_questions():
    N, n, rng = 40, 18, np.random.default_rng(2)
    shares = []
    for _ in range(100):
        H = codes.first_moments(N, n, N, rng)
        shares.append((H.argmax(1) == torch.arange(N)).double().mean().item())
    law, old = expected.shared_chance(N, 2**30, n, N), expected.found_chance(N, 2**30, 2 / n)
    assert np.mean(shares) == pytest.approx(law, abs=0.02)
    assert abs(old - law) > 0.05
    assert expected.shared_chance(N, 2**30, expected.shared_on_grid(N, 2**30, 0.9, N, 4, 1.3, 4000), N) >= 0.88


@pytest.mark.parametrize(("heads", "targets"), [(1, 2), (2, 3), (3, 3)])
def test_heads_leave_their_floor_whatever_they_average(heads, targets):
    risk = measure.measure_heads(heads, targets, 20_000, 0)["risk"]
    assert risk == pytest.approx(expected.heads_floor(heads, targets), abs=0.03)


def test_a_first_layer_in_the_span_of_its_inputs_leaves_its_floor():
    rng, n, size, draws = np.random.default_rng(0), 10, 16, 400
    u = np.eye(size)[0]
    kept = [np.linalg.norm(np.linalg.qr(rng.standard_normal((size, n)))[0].T @ u) ** 2 for _ in range(draws)]
    assert 1 - np.mean(kept) == pytest.approx(expected.span_floor(n, 4, 4), abs=0.03)


def test_a_polar_step_on_shared_codes_is_a_projection_that_finds_all():
    for N, m in ((40, 16), (10, 16)):
        C = codes.sample_codes(N, m, np.random.default_rng(1))
        p = torch.arange(1, N + 1).double() ** -1.5
        P = polar(C.T @ (p[:, None] * C))
        assert torch.allclose(P @ P, P, atol=1e-9) and torch.allclose(P, P.T, atol=1e-9)
        assert P.trace().item() == pytest.approx(min(N, m)) and codes.found_share(P, C, C) == 1


def test_attention_at_zero_answers_the_mean_and_in_place_the_token():
    rng = np.random.default_rng(0)
    C = codes.sample_codes(5, 16, rng)[None]
    tokens, asked, answers = networks.sample_task(1, 7, 5, 5, 3, rng)
    v = torch.tensor([[[1.0], [0.0], [0.0]]]).double()
    uniform = networks.attend([torch.zeros(1, 16, 16).double(), v], tokens, asked, C)
    assert torch.allclose(uniform, tokens[..., 0].mean(2, keepdim=True).expand_as(uniform))
    sharp = networks.attend([1000 * torch.eye(16).double()[None], v], tokens, asked, C)
    assert torch.allclose(sharp, answers, atol=1e-6)


def test_what_is_read_holds_the_question_first_or_last():
    C = some_codes(3, 8)[None]
    for before, place in ((True, 0), (False, -1)):
        inputs, answers = recurrent.sample_reading(5, C, 1, before, np.random.default_rng(0))
        assert inputs.shape == (1, 5, 4, 10) and (inputs[:, :, place, -1] == 1).all()
        tokens = inputs[:, :, 1:] if before else inputs[:, :, :-1]
        asked = (inputs[:, :, place, 1:-1] @ C.float().mT).argmax(-1)
        assert torch.equal(tokens[..., 0].gather(2, asked[..., None])[..., 0], answers)


FLAWS = [
    (("heads", 0), 0.2, "heads", "not reproduced"),
    (("shared_least", "polar", 1, 1), 200.0, "shared", "not reproduced"),
    (("small_least", "feed_forward"), [1e-12] * 7, "forward", "not reproduced"),
    (("recurrent_draws", "after", 1), [1e-9] * 5, "recurrent", "not reproduced"),
    (("needed", 2), 9000.0, "shared_one", "not reproduced", "questions"),
    (("needed", 0), 9000.0, "shared_short", "not reproduced", "short"),
    (("memory", "linear", 0), 2.0, "memory", "not reproduced", "many"),
    (("independent", "polar", 1, 1), 200.0, "independent", "not reproduced", "many"),
]
