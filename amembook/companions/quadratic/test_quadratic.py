"""The mathematics of `quadratic`: the Riccati equation's solution, the samples' gradient, the logistic law."""

import math

import numpy as np
import pytest
import torch

from amembook.companions.quadratic import expected, measure
from amembook.networks.hermite import two_homogeneous_velocity

LAM = np.array([0.8, 0.5, 0.3, 0.0, 0.0])


@pytest.mark.slow
def test_the_closed_form_is_the_flow_of_the_network():
    W = torch.from_numpy(measure.start(4, 5, 0.3, 0))
    theta, a = torch.eye(3, 5, dtype=torch.float64), torch.from_numpy(LAM[:3])
    law = measure.propagate(W.numpy(), LAM, 1.0)
    second = torch.eye(3, dtype=torch.float64)[2]
    for _ in range(4000):
        W = W + two_homogeneous_velocity(W, theta, a, second) / 4000
    assert np.allclose(law.T @ law, (W.T @ W).numpy(), atol=2e-3)


def test_the_flow_is_a_semigroup():
    W = measure.start(4, 5, 0.3, 1)
    once = measure.propagate(W, LAM, 2.0)
    twice = measure.propagate(measure.propagate(W, LAM, 0.7), LAM, 1.3)
    assert np.allclose(once.T @ once, twice.T @ twice, atol=1e-12)


def test_orthogonal_columns_follow_logistic_curves():
    W = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 3)))[0] * 0.1
    lam, at = np.array([0.8, 0.5, 0.3]), 2.5
    now = measure.propagate(W, lam, at)
    assert np.allclose(now.T @ now, np.diag(expected.captured(lam, 0.01, [at])[0]), atol=1e-12)
    times = expected.learning_times(lam, 0.01)
    assert np.allclose(np.diag(expected.captured(lam, 0.01, times)), lam / 2)


def test_the_risk_is_the_loss_of_the_functions():
    generator = torch.Generator().manual_seed(0)
    W = measure.start(3, 5, 0.9, 2)
    x = torch.randn(400_000, 5, generator=generator, dtype=torch.float64).numpy()
    gap = ((x**2 - 1) @ LAM - (x @ W.T) ** 2 @ np.ones(3) + np.square(W).sum()) / math.sqrt(2)
    assert np.square(gap).mean() / 2 == pytest.approx(measure.risk(W, LAM), rel=0.02)


def test_online_sgd_with_large_batches_and_small_steps_is_the_flow():
    run = measure.measure_sgd(1.0, 2, 3, 4, 0.1, 0.02, 2000, 4.0, 0)
    assert np.log(np.array(run["losses"]) / run["flow"]) == pytest.approx(0, abs=0.3)


def test_times_are_read_off_between_points():
    lam, mass = expected.coefficients(1.0, 2), expected.start_mass(40, 400, 0.001)
    times = measure.measure_flow(1.0, 2, 40, 400, 0.001, 100.0, 2, 0)["times"]
    assert times == pytest.approx(expected.learning_times(lam, mass), rel=0.03)


def test_a_narrow_student_ends_at_the_best_of_its_rank():
    assert measure.measure_floor(1.0, 6, 8, 2, 0.001, 20.0, 0)["ratio"] == pytest.approx(1, abs=1e-3)


def test_polar_steps_learn_the_rarest_first_and_a_narrow_student_ends_at_its_floor():
    wide = measure.measure_muon(1.0, 4, 8, 32, 0.001, 0.005, 0)
    law = np.sqrt(expected.coefficients(1.0, 4) / 2)
    assert wide["times"] == pytest.approx(law, rel=0.05) and wide["times"] == sorted(wide["times"], reverse=True)
    assert measure.measure_muon(1.0, 6, 8, 2, 0.001, 0.005, 0)["ratio"] == pytest.approx(1, abs=0.05)


def test_the_largest_share_of_one_mass_is_one_and_of_many_small():
    assert expected.largest_share(np.array([1.0])) == pytest.approx(1, abs=0.05)
    assert expected.largest_share(np.ones(200)) < 0.06


FLAWS = [
    (("exponent", "1.0"), 1.2, "times", "not reproduced"),
    (("loss", "1.5"), -2.0, "loss", "not reproduced"),
    (("first", 2), 9.0, "first", "not reproduced"),
    (("first_slope",), 0.6, "first", "not reproduced"),
    (("floor", "1.0", 1), 1.1, "floor", "not reproduced"),
    (("sgd", "gap"), 0.4, "sgd", "not reproduced"),
    (("share",), 0.9, "share", "not reproduced"),
    (("muon", "times", 0, 3), 0.6, "muon", "not reproduced", "muon"),
]
REFUSED = [("dim", 2), ("widths", (2, 128)), ("sgd_until", 33, "sgd_rank")]
