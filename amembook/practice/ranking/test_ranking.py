"""The mathematics of `ranking`."""

import pytest
import torch

import amemlib as am
from amembook.networks import long_runs, updates
from amembook.practice.ranking import OPTIMIZERS, TRACK

FLAWS = [
    (("draws", "60 16", "muon"), [0.1] * 5, "shampoo", "not reproduced"),
    (("draws", "240 256", "muon_without_momentum"), [0.1] * 5, "momentum", "not reproduced"),
    (("draws", "60 16", "muon"), [0.1] * 5, "steps", "not reproduced"),
]
REFUSED = [("horizon", 100.0, "horizon")]


def test_the_track_has_every_optimizer_of_the_runs():
    assert list(TRACK) == list(OPTIMIZERS)


def test_shipped_muon_is_the_librarys_optimizer_with_an_exact_map():
    problem = am.Problem.power_law(40, 8, 1.5)
    emb = am.sample_embeddings(problem, 0)
    W = torch.nn.Parameter(torch.zeros(8, 8, dtype=torch.float64))
    muon = am.Muon([W], lr=0.3, momentum=0.8, weight_decay=0.0, schedule=am.polar)
    for t in range(5):
        q = am.sample_minibatch(problem, 16, long_runs.BATCHES * 4 + t)
        W.grad = -long_runs.dense_gradient(W.detach(), emb, q)
        for group in muon.param_groups:
            group["lr"] = 0.3 * (1 - t / 5)
        muon.step()
    shipped = lambda state, G: updates.muon_shipped(state, G, 0.8)
    value = long_runs.loss_after(shipped, emb, problem, 5, 16, 0.3, 3)
    assert value == pytest.approx(am.loss(W.detach(), emb, problem.frequencies), rel=1e-5)


def test_the_biased_average_weighs_the_newest_gradient_more():
    first, second = (torch.eye(2, dtype=torch.float64) * scale for scale in (1.0, 0.0))
    state = updates.muon_shipped(updates.muon_shipped({}, first)[0], second)[0]
    assert float(state["M"][0, 0]) == pytest.approx(0.95 * 0.05)
