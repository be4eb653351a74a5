"""The mathematics of the study `emergence`: the student's gradients, the decoupled law, the chain of one neuron."""

import math

import numpy as np
import pytest
import torch

from amembook.companions.emergence import expected, measure
from amembook.networks import teacher_student
from amembook.run.base import slope


def test_a_samples_velocity_is_minus_the_gradient_of_its_loss():
    a, W = torch.tensor([0.9, 0.4], dtype=torch.float64), teacher_student.start(3, 4, 0.7, 0).requires_grad_()
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    norms = W.norm(dim=1)
    values = lambda z: (z**4 - 6 * z**2 + 3) / math.sqrt(24)
    error = values(x[:, :2]) @ a - values(x @ (W / norms[:, None]).T) @ norms.square()
    (slope,) = torch.autograd.grad(error.square().mean() / 2, W)
    assert torch.allclose(teacher_student.sample_velocity(W.detach(), a, 4, x), -slope, atol=1e-12)


def test_a_neuron_on_a_direction_captures_it():
    a, W = torch.tensor([0.9, 0.4], dtype=torch.float64), torch.zeros(2, 3, dtype=torch.float64)
    W[0, 0], W[1, 1] = math.sqrt(0.9), math.sqrt(0.4)
    assert torch.allclose(teacher_student.captured(W, 2, 4), a) and abs(teacher_student.loss(W, a, 4)) < 1e-12
    assert teacher_student.flow_velocity(W, a, 4).abs().max() < 1e-12


@pytest.mark.parametrize("degree", [4, 6])
def test_the_decoupled_time_is_that_of_one_neuron_and_one_direction(degree):
    y, init, d = 0.2, 0.01, 5
    W = torch.zeros(1, d, dtype=torch.float64)
    W[0, 0], W[0, 1] = init * math.sqrt(y), init * math.sqrt(1 - y)
    a = torch.ones(1, dtype=torch.float64)
    move = lambda W: teacher_student.flow_velocity(W, a, degree)
    _, run = measure._run(W, move, a, degree, 0.005, 100.0, 1)
    assert run["times"][0] == pytest.approx(expected.learning_times(y, init**2, degree).item(), rel=0.01)


@pytest.mark.parametrize("degree", [4, 6])
def test_euler_times_are_those_of_a_network_of_one_neuron_and_of_the_flow_in_small_steps(degree):
    y, init, a = 0.2, 0.01, torch.ones(1, dtype=torch.float64)
    W = torch.zeros(1, 5, dtype=torch.float64)
    W[0, 0], W[0, 1] = init * math.sqrt(y), init * math.sqrt(1 - y)
    move = lambda W: teacher_student.flow_velocity(W, a, degree)
    _, run = measure._run(W, move, a, degree, 0.2, 200.0, 1)
    assert expected.euler_times(y, init**2, np.ones(()), degree, 0.2) == pytest.approx(run["times"][0], rel=1e-9)
    slow = expected.euler_times(np.full(2, y), init**2, np.array([1.0, 0.5]), degree, 0.01)
    flow = [expected.learning_times(y, init**2 / a, degree).item() / a for a in (1.0, 0.5)]
    assert slow == pytest.approx(flow, rel=0.01)


def test_neurons_that_meet_along_the_directions_alone_are_the_network():
    run = measure.measure_flow(1.5, 4, 16, 32, 4, 0.01, 0.5, 500.0, 4, 0)
    assert run["law"]["times"] == pytest.approx(run["times"], rel=1e-2)
    assert run["law"]["losses"] == pytest.approx(run["losses"], rel=1e-2)
    # and not one neuron and one direction
    assert max(abs(alone / time - 1) for alone, time in zip(run["alone"], run["times"], strict=True)) > 0.2
    # in orthogonal directions it is the network to rounding
    a, V = torch.tensor([0.9, 0.4], dtype=torch.float64), 0.2 * torch.eye(2, dtype=torch.float64)
    law = expected.deflated(np.eye(2), 0.04, a.numpy(), 4, 0.1, 7, 0.7, 1, [7])
    for _ in range(7):
        V = V + 0.1 * teacher_student.flow_velocity(V, a, 4)
    assert law["loss"] == pytest.approx(teacher_student.loss(V, a, 4), rel=1e-12)


def test_each_direction_takes_the_best_neuron_that_is_left():
    u = np.array([[0.9, 0.4], [0.3, 0.2], [0.1, -0.3]])
    assert expected.best_left(u, 2) == pytest.approx([0.81, 0.09])


def test_half_times_are_linear_between_two_steps_and_stay_once_found():
    nan, of = math.nan, lambda *values: torch.tensor(values, dtype=torch.float64)
    before, now = of(0.1, 0.4, 0.2, 0.6, 0.1, 0.5, 0.0), of(0.6, 0.45, 0.9, 0.7, 0.5, 0.5, nan)
    times = of(nan, nan, 1.0, nan, nan, nan, nan)
    times_now = teacher_student.half_times(times, torch.ones_like(times), before, now, 10.0, 2.0)
    # inside, not reached, found before, passed before the step, at its end, a step that did not move, one that diverged
    np.testing.assert_allclose(times_now, [11.6, nan, 1.0, 10.0, 12.0, 10.0, nan])


def test_a_small_overlap_costs_the_search_time():
    y = np.array([1e-3, 5e-4])
    search = 1 / (8 * y)
    late = expected.learning_times(y, 1e-4, 4) - search
    assert (np.abs(late) < 0.05 * search).all()


def test_the_additive_loss_is_half_the_squares_not_yet_learnt():
    a = expected.amplitudes(1.0, 3)
    times = np.tile(np.array([[1.0], [2.0], [3.0]]), (1, 24))
    loss = expected.additive_loss(a, times, [0.5, 1.5, 2.5, 3.5])
    assert loss == pytest.approx([0.5, (a[1:] ** 2).sum() / 2, a[2] ** 2 / 2, 0.0])


def test_with_its_tail_a_truncated_power_law_has_its_exponent():
    ranks = np.arange(4, 20)
    a = expected.amplitudes(0.75, 24)
    left = np.array([(a[p:] ** 2).sum() / 2 for p in ranks]) + expected.loss_tail(0.75, 24)
    assert slope(ranks + 0.5, left) == pytest.approx(1 - 1.5, abs=0.01)


def test_a_race_without_rivals_ends_with_one_neuron_each():
    a = expected.amplitudes(1.0, 6)
    floor, sharing = expected.race(a, 10_000, 1, 0.01, 4, draws=5)
    assert sharing == 1 and floor >= (a[1:] ** 2).sum() / 2 - 1e-12
    floors = [expected.race(a, 64, m, 0.01, 4, draws=50)[0] for m in (2, 4, 8)]
    assert floors == sorted(floors, reverse=True)


def test_samples_needed_are_inverse_squares_of_the_amplitude_and_tend_to_a_power_of_the_dimension():
    one, half = (expected.samples_needed(a, 64, 3, 4.0) for a in (0.2, 0.1))
    assert half == pytest.approx(4 * one, rel=1e-6)
    dims = (4000, 8000, 16_000)
    assert slope(dims, [expected.samples_needed(0.1, d, 3, 4.0) for d in dims]) == pytest.approx(2, abs=0.06)


def test_noise_along_the_direction_takes_a_seventh_of_the_samples_by_either_equation():
    a, d, k, y, chains = 0.03125, 32, 3, 4.0, 41
    law, noisy = expected.samples_needed(a, d, k, y), expected.noisy_samples(a, d, k, y, chains)
    assert noisy / law == pytest.approx(0.857, abs=0.005)
    # the same by its paths, at three of the rates
    rng, paths, steps = np.random.default_rng(0), 2000, 1000
    rates, n, medians = a * d ** (-k / 2) * 2.0 ** np.array([1, 1.5, 2]), 2 * law / steps, []
    for rate in rates:
        m, arrived = np.full(paths, math.sqrt(y / d)), np.full(paths, np.inf)
        for t in range(1, steps + 1):
            drift = k * (rate * a * m ** (k - 1) * (1 - m**2) - rate**2 * (d - 1) * m / 2)
            m = m + drift * n + rate * np.sqrt(k * n * (1 - m**2).clip(0)) * rng.standard_normal(paths)
            arrived = np.where(np.isinf(arrived) & (m**2 >= 0.5), t * n, arrived)
        medians.append(np.median(arrived))
    # of one median, without the best of 15 that are of 41 chains
    assert min(medians) / law == pytest.approx(0.908, abs=0.05)


def test_one_neurons_chain_has_the_drift_of_the_flow():
    needed = measure.measure_samples(0.125, 16, 3, 4.0, 41, 0)["n"]
    assert needed == pytest.approx(expected.samples_needed(0.125, 16, 3, 4.0), rel=0.6)


def test_polar_steps_learn_the_rarest_first():
    run = measure.measure_muon(1.0, 4, 8, 32, 4, 0.01, 0.004, 0)
    law = np.sqrt(expected.amplitudes(1.0, 4) / 2)
    assert run["times"] == pytest.approx(law, rel=0.05) and run["times"] == sorted(run["times"], reverse=True)


FLAWS = [
    (("first", "4", 0), 99.0, "dimension", "not reproduced", "first"),
    (("exponent", "1.0 8"), 1.3, "times", "not reproduced"),
    (("missed", "1.0 8"), 0.2, "times", "not reproduced"),
    (("loss", "1.5 8"), -1.1, "loss", "not reproduced"),
    (("sgd", "gap"), 0.5, "sgd", "not reproduced", "confirm-batch"),
    (("sgd", "exponent"), 1.4, "sgd", "not reproduced", "confirm-batch"),
    (("samples", "dim", "exponent"), 1.5, "samples", "not reproduced"),
    (("samples", "dim", "edge"), 0.2, "samples", "not reproduced"),
    (("floor_exponent",), 5.0, "floor", "not reproduced"),
    (("muon", "times", 0, 3), 0.5, "muon", "not reproduced", "muon"),
    (("ratio", "1.0 8", 5), 1.1, "times", "not reproduced", "starts"),
    (("exponent", "1.5 8"), 1.3, "times", "not reproduced", "starts"),
    (("loss", "1.0 8"), -1.2, "loss", "not reproduced", "starts"),
    (("first_ratio", "6", 2), 1.2, "dimension", "not reproduced", "starts"),
    (("floor", 0), 0.1, "floor", "not reproduced", "starts"),
    (("floor", 0), 0.1, "floor", "not reproduced", "width"),
    (("sgd", "gap"), 0.5, "sgd", "not reproduced", "online"),
    (("sgd", "exponent"), 1.4, "sgd", "not reproduced", "online"),
]
REFUSED = [("dim", 2), ("ratios", (4,))]
