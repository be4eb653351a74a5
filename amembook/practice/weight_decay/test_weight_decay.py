"""The mathematics of `weight-decay`: the bound, its certificate, the limit of strong decay, the optimizer."""

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.networks.long_runs import BATCHES, dense_gradient
from amembook.networks.updates import muon_shipped, muon_without_momentum
from amembook.practice import weight_decay
from amembook.run.claims import NOT_REPRODUCED

PROBLEM = am.Problem.power_law(40, 8, 1.5)
EMB = am.sample_embeddings(PROBLEM, 0)


def least_loss(R, n_steps=400):
    W = weight_decay.decayed_run(muon_without_momentum, EMB, PROBLEM, n_steps, 0, 0.32 * R, 1 / R, 0)
    return W, dense_gradient(W, EMB, PROBLEM.frequencies)


def test_a_run_is_the_librarys_muon_with_decay():
    W = torch.nn.Parameter(torch.zeros(8, 8, dtype=torch.float64))
    muon = am.Muon([W], lr=0.3, momentum=0.8, weight_decay=0.25, schedule=am.polar)
    for t in range(5):
        q = am.sample_minibatch(PROBLEM, 16, BATCHES * 4 + t)
        W.grad = -dense_gradient(W.detach(), EMB, q)
        for group in muon.param_groups:
            group["lr"] = 0.3 * (1 - t / 5)
        muon.step()
    update = lambda state, G: muon_shipped(state, G, 0.8)
    end = weight_decay.decayed_run(update, EMB, PROBLEM, 5, 16, 0.3, 0.25, 3)
    torch.testing.assert_close(end, W.detach(), rtol=1e-5, atol=1e-6)


def test_the_norm_stays_below_the_bound_and_comes_to_it():
    for R in (1.0, 4.0, 16.0):
        W = weight_decay.decayed_run(muon_without_momentum, EMB, PROBLEM, 30, 16, R, 1 / R, 0)
        assert float(torch.linalg.matrix_norm(W, ord=2)) <= R * (1 + 1e-12)
    W = weight_decay.decayed_run(muon_without_momentum, EMB, PROBLEM, 30, 0, 0.5, 1.0, 0)
    assert float(torch.linalg.matrix_norm(W, ord=2)) > 0.99


def test_the_gap_bounds_what_any_matrix_within_the_bound_gains():
    R = 6.0
    W, G = least_loss(R, 40)
    gap = weight_decay.frank_wolfe_gap(W, G, R)
    assert gap > 1e-7, "there is something to bound"
    better = least_loss(R)[0]
    gain = am.loss(W, EMB, PROBLEM.frequencies) - am.loss(better, EMB, PROBLEM.frequencies)
    assert gain <= gap + 1e-6
    generator = torch.Generator().manual_seed(0)
    others = (R * am.polar(torch.randn(8, 8, generator=generator, dtype=torch.float64)) for _ in range(5))
    assert all(am.loss(W, EMB, PROBLEM.frequencies) - gap <= am.loss(one, EMB, PROBLEM.frequencies) for one in others)


def test_strong_decay_is_one_step_within_the_bound_of_the_proposition():
    G = dense_gradient(torch.zeros(8, 8, dtype=torch.float64), EMB, PROBLEM.frequencies)
    U, V = EMB.U.double(), EMB.V.double()
    K = float(U.square().sum(1).max() * (PROBLEM.frequencies @ V.square().sum(1)))
    away = []
    for R in (0.2, 0.02):
        W = least_loss(R, 100)[0]
        away.append(float((W / R - am.polar(G)).square().sum()))
        assert away[-1] <= K * R / float(torch.linalg.svdvals(G)[-1])
    assert away[1] < away[0] / 10, "and goes to 0"


def test_a_doubling_lies_between_its_radii():
    radii = np.array([4.0, 8.0, 16.0])
    assert weight_decay._doubling(radii, np.array([1.0, 1.5, 2.5])) == pytest.approx(8 * 2**0.5)
    assert np.isnan(weight_decay._doubling(radii, np.array([1.0, 1.5, 1.9])))
    assert np.isnan(weight_decay._doubling(radii, np.array([2.1, 3.0, 4.0])))


FLAWS = [
    (("norm",), 1.1, "bound", NOT_REPRODUCED),
    (("gap", "1.5 64", 3), 0.5, "certificate", NOT_REPRODUCED),
    (("one", "1.5 64"), [30.0] * 8, "strong", NOT_REPRODUCED),
    (("exponent",), [0.5 + 0.01 * k for k in range(8)], "double", NOT_REPRODUCED),
    (("runs", "16", "0"), [2.0] * 4, "gain", NOT_REPRODUCED),
]
REFUSED = [("dims", (32, 64), "dims must hold three"), ("run_steps", 10, "run_steps")]
