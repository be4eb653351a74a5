"""The mathematics of the study `lr-transfer`: losses of one step, vertices of parabolas, exact risks of a sketch."""

import math

import numpy as np
import pytest
import torch

from amembook.companions.lr_transfer import expected, measure
from amemlib import Problem, initial_gradient, loss, polar, sample_embeddings


def test_losses_of_one_step_are_the_librarys():
    problem = Problem.power_law(n_items=60, dim=8, alpha=1.5)
    emb = sample_embeddings(problem, 3)
    G = initial_gradient(emb, problem.frequencies)
    told = measure.measure_rates(60, 8, 1.5, [0.0, 1.5], 3)
    for n, c in enumerate((1.0, 2**1.5)):
        W = c * math.sqrt(8) * polar(G)
        assert told["polar"][n] == pytest.approx(float(loss(W, emb, problem.frequencies)), rel=1e-4)
        W = c * math.sqrt(8) * G / torch.linalg.matrix_norm(G, 2)
        assert told["sgd"][n] == pytest.approx(float(loss(W, emb, problem.frequencies)), rel=1e-4)


def test_the_vertex_of_a_parabola_is_found_and_an_edge_is_none():
    x = np.arange(5.0)
    assert expected.vertex(x, (x - 2.3) ** 2 + 1) == pytest.approx((2.3, 1.0))
    assert math.isnan(expected.vertex(x, x)[0])


def test_the_law_knows_the_best_rate_of_one_muon_step():
    problem = Problem.power_law(n_items=512, dim=48, alpha=1.5)
    rates = np.arange(-0.5, 3, 0.5)
    losses = np.mean([measure.measure_rates(512, 48, 1.5, rates.tolist(), s)["polar"] for s in range(3)], 0)
    best, least = expected.muon_best(problem)
    found = expected.vertex(rates, losses)
    assert best == pytest.approx(found[0], abs=0.25) and least == pytest.approx(found[1], rel=0.1)
    assert expected.muon_losses(problem, np.array([best]))[0] == pytest.approx(least)


def test_the_risk_is_that_of_gradient_descent():
    rng = np.random.default_rng(0)
    lam = expected.spectrum(1.5, 12)
    S = rng.standard_normal((5, 12)) / math.sqrt(5)
    C, b = (S * lam) @ S.T, S @ lam
    values, Q = np.linalg.eigh(C)
    parts = (Q.T @ b) ** 2 / values
    theta = np.zeros(5)
    for _ in range(7):
        theta = theta + 0.3 * (b - C @ theta)
    direct = (lam.sum() - 2 * b @ theta + theta @ C @ theta) / 2
    assert expected.risk(0.3, values, parts, lam.sum(), 7) == pytest.approx(direct)
    rate, least = expected.best_rate(values, parts, lam.sum(), 7)
    assert (expected.risk(np.linspace(0.01, 2, 500) / values.max(), values, parts, lam.sum(), 7) >= least - 1e-12).all()
    one = expected.best_rate(values, parts, lam.sum(), 1)[0]
    assert one == pytest.approx(b @ b / (b @ C @ b), rel=1e-5)


def test_a_wide_sketch_is_close_to_none():
    told = measure.measure_sketch(400, 24, 1.5, [1], 3, 0)["1"]
    assert max(told["shift"]) < 0.5 and max(told["transfer"]) < 0.1 and min(told["transfer"]) >= -1e-12


FLAWS = [
    (("polar", "1.5", "best", 1), 2.2, "muon", "not reproduced"),
    (("polar", "1.25", "scaled"), 0.9, "cost", "not reproduced"),
    (("sketch", "1", "lead"), 0.0, "fast", "not reproduced"),
    (("sketch", "64", "lead"), 0.0, "edge", "not reproduced"),
]
REFUSED = [("log_rates", (1.0, 0.0, 2.0, 3.0)), ("decay", 1.0)]
