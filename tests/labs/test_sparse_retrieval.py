"""The mathematics of the lab `sparse-retrieval`: memories, the first gradient, floors, what a polar step finds."""

import copy
import dataclasses
import math

import numpy as np
import pytest
import torch

from amemlib import polar
from amemlib.labs import sparse_retrieval
from amemlib.labs.sparse_retrieval import codes, expected, measure, networks, recurrent

CPU = sparse_retrieval.EXPERIMENT.profiles["cpu"]


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


def made_up():
    """Config, measured and predicted numbers that agree, on the config of the cpu profile."""
    config = dataclasses.replace(CPU, first_seed=4900)
    sizes = [list(case.values()) for case in sparse_retrieval.cases(config).values()]
    needed = [expected.needed(N, m, 0.9, N) for N, m in sizes]
    many = [expected.needed(N, config.base_code, 0.9, 2.0) for N in config.positions]
    memory = [expected.memory_risk(N, config.memory_dim) for N in config.memory_positions]
    pairs = [[H, q] for q in config.head_targets for H in range(1, q + 1)]
    heads = [expected.heads_floor(*pair) for pair in pairs]
    N, m = np.transpose(sizes).astype(float)
    forward = [2.0, 1.5, 1.2, 1.0, 0.8, 0.5, 0.15]
    core = {"sgd": [[14.0, 14.0], [7.0, 6.5]], "polar": [[56.0, 55.5], [50.8, 46.8]]}
    shared = {"sgd": [[45.0, 180.0], [19.0, 40.0]], "polar": [[64.0, 256.0]] * 2}
    measured = {
        "memory": {"linear": memory, "softmax": [0.0] * 4},
        "cases": sizes,
        "needed": needed,
        "needed_error": [1.0] * len(needed),
        "many": many,
        "many_error": [0.1] * len(many),
        "many_slope": 0.2,
        "attention": {"one": [64.0, 128.0, 256.0], "many": [8.0, 8.0, 16.0]},
        "attention_slope": {"one": 1.0, "many": 0.5},
        "small": {"feed_forward": forward, "attention": [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]},
        "small_least": {"feed_forward": forward},
        "recurrent": {"before": [0.0, 0.01], "after": [0.0, 0.5]},
        "heads": heads,
        "shared": shared,
        "shared_least": shared,
        "independent": core,
    }
    predicted = {
        "memory": memory,
        "needed": needed,
        "many": many,
        "laws": {
            "ours": needed,
            "2 log N (N + m)": (2 * np.log(N) * (N + m)).tolist(),
            "N m": (N * m).tolist(),
            "log N": np.log(N).tolist(),
        },
        "small": [expected.span_floor(n, 4, 4) for n in config.small_samples],
        "heads": heads,
        "independent": core,
    }
    return config, copy.deepcopy(measured), predicted


FLAWS = [
    (("memory", "linear", 2), 0.5, "memory", "not reproduced"),
    (("needed", 2), 2000.0, "one_step", "not reproduced"),
    (("needed_error", 2), float("nan"), "one_step", "reproduced"),
    (("many", 1), 400.0, "many", "undecided"),
    (("many_slope",), 1.0, "many", "finite-size"),
    (("attention_slope", "one"), 0.1, "attention", "undecided"),
    (("attention", "many", 2), 200.0, "attention", "finite-size"),
    (("small", "feed_forward", 4), 0.05, "forward", "finite-size"),
    (("small_least", "feed_forward", 0), 0.2, "forward", "undecided"),
    (("recurrent", "after", 1), 0.02, "recurrent", "not reproduced"),
    (("heads", 0), 0.2, "heads", "not reproduced"),
    (("shared_least", "polar", 1, 1), 200.0, "shared", "undecided"),
    (("shared", "sgd", 1, 1), 200.0, "shared", "finite-size"),
    (("independent", "polar", 0, 0), 20.0, "independent", "not reproduced"),
]
"""Where in the measured numbers of `made_up`, what, and the word that this verdict then has."""


@pytest.mark.parametrize(
    ("name", "value"),
    [("positions", (8,)), ("code_dims", (0, 8)), ("level", 1.0), ("lr", 0.0), ("alphas", (0.3,)), ("seeds", 0)],
)
def test_a_config_that_makes_no_sense_is_refused(name, value):
    with pytest.raises(ValueError, match=name.removesuffix("s")):
        dataclasses.replace(CPU, **{name: value})
