"""The mathematics of `one-shot`: the inputs, the optimizers, the law, the ledger of flops."""

import math

import numpy as np
import pytest
import torch

from amembook import read_records
from amembook.networks import updates
from amembook.practice.one_shot import expected, measure
from amembook.run.claims import NOT_REPRODUCED
from amemlib import newton_schulz

FLAWS = [
    (("rung", "excess", "adam"), [1.2, 1.21, 1.19, 1.2, 1.2], "adam", NOT_REPRODUCED),
    (("rung", "excess", "sgd"), [1.2, 1.21, 1.19, 1.2, 1.2], "sgd", NOT_REPRODUCED),
    (("rung", "excess", "muon"), [1.2, 1.21, 1.19, 1.2, 1.2], "muon", NOT_REPRODUCED),
    (("shot", "excess", "adam"), [1.2], "shot_adam", NOT_REPRODUCED),
    (("shot", "excess", "sgd"), [1.2], "shot_sgd", NOT_REPRODUCED),
    (("shot", "excess", "muon"), [1.2], "shot_muon", NOT_REPRODUCED),
    (("rung", "excess", "muon"), [0.5, 0.51, 0.49, 0.5, 0.5], "muon_behind", NOT_REPRODUCED),
    (("rung", "excess", "sgd"), [1.5, 1.51, 1.49, 1.5, 1.5], "sgd_level", NOT_REPRODUCED),
]
REFUSED = [("shot", 9.9e12, "shot"), ("rung", 5e12, "rung")]


def test_the_support_ends_where_the_task_cuts():
    count, total = measure.support()
    assert count**-1.2 / total >= measure.LEAST > (count + 1) ** -1.2 / total
    assert total == pytest.approx(5.5607, abs=1e-4), "as the task's author has it"
    assert measure.tail(0) == pytest.approx(1)
    assert measure.tail(100) == pytest.approx(1 - measure.frequencies(np.arange(1, 101)).sum())


def test_ranks_come_as_often_as_they_should():
    ranks = measure.sample_ranks(200_000, torch.Generator().manual_seed(0))
    for rank in (1, 2, 30, 4096, 4100, 10**6, 10**9):
        p = measure.tail(rank)
        assert abs((ranks > rank).mean() - p) < 5 * math.sqrt(p / 200_000)
    far = measure.sample_ranks(20_000, torch.Generator().manual_seed(0), beyond=1000)
    assert far.min() == 1001
    p = measure.tail(10**5) / measure.tail(1000)
    assert abs((far > 10**5).mean() - p) < 5 * math.sqrt(p / 20_000)


def test_targets_have_the_entropies_of_their_inputs_in_every_instance():
    one, other = (measure.make_inputs(np.arange(1, 200), 16, seed) for seed in (0, 1))
    assert torch.equal(one.entropy, other.entropy) and not torch.equal(one.x, other.x)
    entropy = -torch.xlogy(one.targets, one.targets).sum(1)
    torch.testing.assert_close(entropy, one.entropy, atol=2e-3, rtol=0)
    torch.testing.assert_close(torch.linalg.vector_norm(one.x, dim=1), torch.ones(199))
    again = measure.make_inputs(np.array([7, 150]), 16, 0)
    assert torch.equal(again.x, one.x[[6, 149]])
    support = np.exp(measure.entropies(np.arange(1, 200_001)))
    assert support.mean() == pytest.approx(16, rel=0.02)
    assert measure.entropies(np.arange(1, 200_001)).mean() == pytest.approx(measure.mean_entropy(), abs=0.02)


def test_the_optimizers_are_those_of_the_other_studies():
    G = [torch.randn(512, 6, generator=torch.Generator().manual_seed(k)) for k in range(4)]
    W, state = torch.zeros(512, 6), {}
    parameter = torch.nn.Parameter(torch.zeros(512, 6))
    adam = torch.optim.Adam([parameter], lr=0.1)
    for k, gradient in enumerate(G):
        measure.adam(W, gradient, state, 0.1, k + 1, 4)
        parameter.grad = gradient
        adam.step()
    torch.testing.assert_close(W, parameter.detach(), atol=1e-5, rtol=1e-4)
    wanted, M, state, beta = torch.zeros(512, 6), {}, {}, 1 - measure.HORIZON / 48
    W = torch.zeros(512, 6)
    for gradient in G:
        M, average = updates.sgd(M, gradient, beta)
        wanted = wanted - 0.1 * average / torch.linalg.norm(average)
        measure.sgd(W, gradient, state, 0.1, 1, 48)
    torch.testing.assert_close(W, wanted)
    torch.testing.assert_close(measure.quintics(G[0]).double(), newton_schulz(G[0]), atol=1e-4, rtol=1e-4)


def test_the_first_gradient_is_the_mean_of_what_labels_leave(monkeypatch):
    """At W = 0 a large batch has nearly Σ p(x) (1/512 − p(y | x)) xᵀ."""
    seen = []
    monkeypatch.setitem(measure.OPTIMIZERS, "spy", lambda W, G, *rest: seen.append(G.clone()))
    measure.train("spy", 8, 20_000, 1, 1.0, 0, 1024)
    known = measure.common_inputs(1024, 8, 0)
    p = torch.from_numpy(measure.frequencies(np.arange(1, 1025))).float()
    wanted = ((1 / 512 - known.targets) * p[:, None]).mT @ known.x
    assert float(torch.linalg.norm(seen[0] - wanted) / torch.linalg.norm(wanted)) < 0.1


def test_a_memory_that_knows_nothing_pays_the_uniform_loss():
    result = measure.evaluate(torch.zeros(512, 16), 0, 64, 512)
    assert result["loss"] == pytest.approx(math.log(512), abs=4 * result["error"])


def test_the_exponent_is_that_of_the_best_split_of_flops():
    """At C = n D the least of n^{1−γ} + D^{−(γ−1)/γ}, on a grid, falls as the law says."""
    n = np.geomspace(1, 1e12, 200_001)
    least = [np.min(n**-0.2 + (C / n) ** (-0.2 / 1.2)) for C in (1e12, 1e13)]
    assert math.log10(least[1] / least[0]) == pytest.approx(expected.EXPONENT, abs=1e-3)


def test_the_screening_is_within_the_rules_of_the_task():
    for name in measure.OPTIMIZERS:
        own = [row for row in expected.screening() if row["optimizer"] == name]
        assert len({row["round"] for row in own}) <= 3
        assert expected.spent(name) <= expected.BUDGET / 10
        for row in own:
            step = measure.flops_of_step(name, int(row["dim"]), int(row["batch_size"]))
            assert row["steps"] == row["flops"] // step and row["seed"] < 1000


def test_a_recipe_grows_with_its_budget():
    for name in measure.OPTIMIZERS:
        small, large = (expected.recipe(name, flops) for flops in (1e11, 1e12))
        assert large["dim"] / small["dim"] == pytest.approx(10 ** (1 / 2.2), rel=0.02)
        assert large["rate"] < small["rate"]


def test_the_record_says_what_the_chapter_says_of_it():
    (record,) = read_records("one-shot", "confirm")
    measured, numbers = record["measured"], {k: v["numbers"][0] for k, v in record["verdicts"].items()}
    assert record["predicted"]["fitted"]["shot"]["adam"] == pytest.approx(0.769, abs=5e-4)
    assert 1.06 < numbers["muon_behind"]["low"] < numbers["muon_behind"]["high"] < 1.09
    assert 1.007 < numbers["sgd_level"]["low"] < numbers["sgd_level"]["high"] < 1.0275
    assert float(expected.law("adam", 8.826e12)) == pytest.approx(0.790, abs=5e-4), "the author has 0.7977"
    muon, steps = measured["entries"]["shot"]["muon"], measured["shot"]["steps"]["muon"][0]
    samples = 6 * measure.OUTPUTS * muon["dim"] * muon["batch_size"] * steps
    assert samples / record["config"]["shot"] == pytest.approx(0.51, abs=0.01)
    assert float(expected.law("adam", samples)) == pytest.approx(0.838, abs=5e-4)
    assert measured["shot"]["excess"]["muon"][0] == pytest.approx(0.833, abs=5e-4)


def test_sgd_with_steps_of_one_length_is_first_in_the_longest_runs():
    (many,) = read_records("whitened-runs", "confirm")
    for place in ("64 30", "64 100", "128 30"):
        losses = many["measured"]["loss"][place]
        assert min(losses, key=lambda name: np.mean(losses[name])) == "sgd"
