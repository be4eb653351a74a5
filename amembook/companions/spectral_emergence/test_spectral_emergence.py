"""The mathematics of the study `spectral-emergence`: maps, the decoupled laws, facts at right angles."""

import numpy as np
import pytest
import torch

from amembook.companions.spectral_emergence import expected, measure
from amembook.companions.spectral_emergence.judge import TURN
from amembook.networks import teacher_student
from amembook.run.base import slope
from amemlib import polar


def test_powers_go_from_the_gradient_to_its_polar_factor():
    G = torch.randn(7, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.equal(measure.power_map(1.0)(G), G)
    assert torch.allclose(measure.power_map(0.0)(G), polar(G))
    s = torch.linalg.svdvals(G)
    assert torch.allclose(torch.linalg.svdvals(measure.power_map(0.4)(G)), s**0.4)
    assert measure.by_norm(G).norm().item() == pytest.approx(1)
    assert torch.allclose(measure.by_neuron(G).norm(dim=1), torch.ones(7, dtype=torch.float64))


def test_the_gradient_on_samples_is_that_of_their_loss():
    generator = torch.Generator().manual_seed(1)
    a, x = torch.from_numpy(expected.amplitudes(1.0, 2)), torch.randn(9, 4, generator=generator, dtype=torch.float64)
    W = torch.randn(3, 4, generator=generator, dtype=torch.float64).requires_grad_()
    norms = W.norm(dim=1, keepdim=True)
    h4 = lambda z: (z**4 - 6 * z**2 + 3) / 24**0.5
    student = (h4(x @ (W / norms).T) * norms[:, 0] ** 2).sum(1)
    error = (h4(x[:, :2]) @ a - student).square().mean() / 2
    (gradient,) = torch.autograd.grad(error, W)
    assert torch.allclose(teacher_student.sample_velocity(W.detach(), a, 4, x), -gradient)


def test_growth_alone_is_the_decoupled_law_of_a_start_from_nothing():
    a = expected.amplitudes(1.0, 4)
    for power in (0.0, 0.2, TURN):
        alone = expected.decoupled(a, 256, 4, 1e-7, 4, power, 8)["times"].mean(0)
        assert alone == pytest.approx(expected.growth_times(a, power), rel=0.02)
    assert expected.growth_times(a, 0.0) == pytest.approx(np.sqrt(a / 2))
    assert np.ptp(expected.growth_times(a, TURN)) < 1e-12
    assert np.isinf(expected.growth_times(a, 1.0)).all()
    assert slope(a, expected.growth_times(a, 0.6)) == pytest.approx(-expected.time_exponent(1.0, 0.6))


@pytest.mark.slow
def test_the_search_loses_its_dimension_where_the_power_is_small():
    a, dims = expected.amplitudes(1.0, 1), (1024, 4096)
    for power in (0.0, 0.2, 0.7, 1.0):
        times = [np.median(expected.decoupled(a, d, 2, 1e-6, 4, power, 40)["aligned"]) for d in dims]
        assert slope(dims, times) == pytest.approx(expected.search_exponent(4, power), abs=0.2)


@pytest.mark.slow
def test_one_direction_on_the_flow_follows_its_law():
    law = expected.decoupled(expected.amplitudes(1.0, 1), 12, 8, 0.01, 4, TURN, 40)["times"]
    times = [measure.measure_power(TURN, 1.0, 1, 12, 8, 4, 0.01, 0.02, 10.0, "learnt", s)["times"] for s in range(6)]
    assert np.mean(times) == pytest.approx(law.mean(), rel=0.05)


def test_the_rarest_is_first_below_a_third_and_last_above():
    for power, first in ((0.0, 3), (1.0, 0)):
        run = measure.measure_power(power, 1.0, 4, 16, 32, 4, 0.01, 0.04, 100.0, "learnt", 0)
        assert int(np.argmin(run["times"])) == first and run["share"] == pytest.approx([1] * 4, abs=0.6)


def test_steps_of_one_length_keep_the_flows_order_and_forget_its_plateau():
    a = expected.amplitudes(1.0, 4)
    lengths = [expected.arc_times(a, d, 32, 1e-3, 4, 4).mean(0) for d in (16, 64)]
    assert (np.diff(lengths[0]) > 0).all() and lengths[0] == pytest.approx(lengths[1], rel=0.1)
    assert lengths[0][0] == pytest.approx(np.sqrt(a[0] / 2), rel=0.1)


def test_batches_turn_the_order_around_at_a_batch_of_so_many_dimensions():
    a = expected.amplitudes(1.0, 6)
    slopes = [slope(np.arange(1, 7), expected.batch_times(a, 32, 4, 32 * n)) for n in (1, 8, 10_000)]
    assert slopes[0] > 0.1 and abs(slopes[1]) < 0.1 and slopes[2] == pytest.approx(-0.5, abs=0.02)
    assert expected.batch_times(a, 32, 4, 10**9) == pytest.approx(np.sqrt(a / 2), rel=0.01)


def test_the_noise_of_an_aligned_neuron_is_that_of_samples_and_keeps_the_order_turned():
    rng, own = np.random.default_rng(0), expected.own_noise(4) - 1
    assert expected.own_noise(4) == pytest.approx(213)
    x, delta = rng.standard_normal((400_000, 4)), np.array([0.7, 0.4])
    h4, h3 = (x**4 - 6 * x**2 + 3) / 24**0.5, (x[:, 0] ** 3 - 3 * x[:, 0]) / 6**0.5
    sampled = (h4[:, :2] @ delta * h3 * x[:, 3]).var()
    assert sampled == pytest.approx((delta**2).sum() + own * delta[0] ** 2, rel=0.25)
    a = expected.amplitudes(1.0, 6)
    assert slope(np.arange(1, 7), expected.batch_times(a, 32, 4, 64, own)) == pytest.approx(-0.42, abs=0.02)


def test_a_fact_waits_for_the_power_of_its_frequency():
    p = np.array([0.6, 0.3, 0.1])
    assert expected.fact_times(p, 0.5) * p**0.5 == pytest.approx(expected.fact_times(p, 0.5)[0] * p[0] ** 0.5)
    times = measure.measure_facts(0.5, 1.0, 24, 0.02, 100.0)["times"]
    p = 1 / np.arange(1, 25.0)
    assert times == pytest.approx(expected.fact_times(p / p.sum(), 0.5), rel=0.05)


def test_alone_the_first_direction_is_that_of_a_run_with_one_teacher():
    sizes = {"dim": 12, "width": 8, "degree": 4, "init": 0.01, "pace": 0.05, "horizon": 60.0}
    run = measure.measure_alone(1.0, 1.0, 3, seed=0, **sizes)
    a = torch.from_numpy(expected.amplitudes(1.0, 3))
    first = measure._run(teacher_student.start(8, 12, 0.01, 0), a[:1], 4, measure.power_map(1.0), 0.05, 60.0, "learnt")
    assert run["alone"][0] == first["times"][0]
    assert np.mean(run["together"]) > np.mean(run["alone"])


FLAWS = [
    (("flow", "exponent", "0.000 4 1.0"), -0.3, "times", "not reproduced"),
    (("alone", "1.000", "alone"), [1.2] * 4, "alone", "not reproduced", "alone"),
    (("alone", "1.000", "late"), [-0.1] * 4, "late", "not reproduced", "alone"),
    (("alone", "1.000", "alone"), [1.2] * 9, "alone", "not reproduced", "company"),
    (("alone", "0.667", "late"), [-0.1] * 9, "late", "not reproduced", "company"),
    (("flow", "times", "0.333 4 1.5", 3), 3.0, "times", "not reproduced"),
    (("flow", "times", "0.333 4 1.5", 3), 1.2, "turn", "not reproduced"),
    (("search", "exponent", "0.000"), 0.4, "search", "not reproduced"),
    (("norm", "times", 4), 0.3, "norm", "not reproduced"),
    (("few", "missed"), 0.1, "neuron", "not reproduced"),
    (("few", "polar_missed"), 0.1, "neuron", "not reproduced"),
    (("few", "missed"), 0.2, "neuron", "not reproduced", "rivals-many"),
    (("batch", "exponent"), lambda cases: dict.fromkeys(cases, 3.0), "batch", "not reproduced"),
]
REFUSED = [("dim", 2), ("powers", (0.0, 1.0)), ("other_powers", (TURN, 1.0))]
