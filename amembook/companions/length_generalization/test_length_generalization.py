"""The mathematics of `length-generalization`: what short strings show, aliases, lines, what attention reads."""

import math

import numpy as np
import pytest
import torch

from amembook.companions.length_generalization import expected, measure, readout, transformer
from amembook.companions.length_generalization.judge import median_interval


@pytest.mark.parametrize("theta", [0.02, 0.3, 1.7, 2 * math.pi, 5.0])
def test_the_error_of_lines_is_that_of_lines(theta):
    share = (np.arange(4000) + 0.5) / 4000
    assert expected.line_error(theta) == pytest.approx(
        np.mean(expected.line_amplitude(theta, share) ** 2) / 2, rel=1e-4
    )


@pytest.mark.parametrize("theta", [0.3, 1.7, 3.0, 2 * math.pi])
def test_a_line_is_a_spline_of_order_two(theta):
    assert expected.spline_error(theta, 2) == pytest.approx(expected.line_error(theta), rel=1e-3)


def test_cubics_through_samples_are_a_spline_of_order_four():
    from scipy.interpolate import CubicSpline

    m, w, total = 60, 50, 0.0
    grid, fine = np.linspace(-1, 1, m + 1), np.linspace(-0.5, 0.5, 6001)
    for phase in np.arange(8) * math.pi / 8:
        total += np.mean((CubicSpline(grid, np.sin(w * grid + phase))(fine) - np.sin(w * fine + phase)) ** 2) / 8
    assert total == pytest.approx(expected.spline_error(2 * w / m, 4), rel=0.02)


def test_lines_between_dots_in_a_direct_count():
    points, fine = expected.sampled_points(5, True), np.linspace(-1, 1, 20_001)
    errors = [
        np.interp(fine, points, np.sin(7 * points + phase)) - np.sin(7 * fine + phase)
        for phase in (0.3, 0.3 + math.pi / 2)
    ]
    off = np.square(errors)
    # two phases a quarter apart are as good as all of them
    assert off.mean() == pytest.approx(expected.dots_error(7, points), rel=1e-3)
    assert math.sqrt(off.sum(0).max()) == pytest.approx(expected.dots_worst(7, points), rel=1e-3)


def test_short_strings_leave_the_widest_gap_to_the_longest_of_them():
    for m in (3, 8, 13):
        gaps = np.diff(expected.sampled_points(m, True))
        assert gaps.max() == pytest.approx(2 / m) and len(expected.sampled_points(m, False)) == m + 1
        assert gaps[0] == pytest.approx(2 / m) and gaps.min() == pytest.approx(2 / (m * (m - 1)))


def test_the_course_ends_at_the_plateau():
    points = expected.sampled_points(4, False)
    assert expected.course(6, 4, 1) == 0
    assert expected.course(6, 4, 4096) == pytest.approx(expected.dots_error(6, points), rel=1e-3)


def test_twins_agree_on_what_is_seen_and_differ_by_the_gap():
    m, slope = 5, 3.0
    points, z = expected.sampled_points(m, True), np.linspace(-1, 1, 10_001)
    tent = slope * np.abs(z[:, None] - points).min(1)
    assert np.abs(np.diff(tent) / np.diff(z)).max() <= slope + 1e-6
    assert 2 * tent.max() == pytest.approx(2 * slope / m, rel=1e-3)


def test_attention_reads_what_strings_written_out_give():
    rng, period, t = np.random.default_rng(0), 3, 4
    x = torch.from_numpy(rng.choice([-1.0, 1.0], period * t)).float()
    a = torch.tensor([0.7, -0.2, 0.1])
    classes = torch.arange(period * t) % period
    weights = (a[classes] * math.log(period * t)).softmax(0)
    means = torch.stack([x[classes == r].mean() for r in range(period)])
    fast = transformer.read(a[None], means[None, None], np.array([[t]]))
    # a mean of numbers of size 1 in single precision; here it is 0, so nothing relative would do
    assert (fast[0, 0] - (weights * x).sum()).abs() < 1e-6


def test_a_coin_of_its_own_makes_counts_uniform():
    means = transformer.class_means(np.full((1, 40_000), 3), 2, np.random.default_rng(0))
    values, counts = means[0, :, 1].unique(return_counts=True)
    assert torch.allclose(values, torch.tensor([-1, -1 / 3, 1 / 3, 1])) and (counts / 40_000 - 0.25).abs().max() < 0.01


def test_sharp_attention_and_a_perfect_read_out_leave_no_error_at_any_length():
    rng = np.random.default_rng(0)
    exponents = torch.tensor([[30.0, 0.0], [30.0, 0.0]])
    z = transformer.class_means(np.full((2, 50), 6), 2, rng)
    assert torch.allclose(transformer.read(exponents, z, np.full((2, 50), 6)), z[..., 0], atol=1e-6)


def test_a_trained_read_out_connects_its_dots():
    run = measure.measure_readouts(4, (0.5, 1.0), 0, "adam", 32, 600, 0.003, 0.02, 0)
    laws = [[expected.spline_error(8 / m, order) for m in (2, 4)] for order in (2, 4)]
    assert max(run["loss"]) < 1e-3
    assert all(0.7 * min(ends) <= error <= 1.3 * max(ends) for error, *ends in zip(run["error"], *laws, strict=True))


def test_muon_moves_the_matrix_by_its_rate_and_the_rest_by_adams():
    rng = np.random.default_rng(0)
    weights = readout.start(1, 8, rng)
    z = torch.linspace(-1, 1, 5)[None]
    loss = lambda weights: (readout.answer(weights, z) - z.sin()).square().mean()
    moved = readout.train(weights, loss, "muon", 2, 0.001, 0.01)
    spectral = torch.linalg.matrix_norm(moved[2] - weights[2], 2)
    assert 0.005 < spectral < 0.015
    assert all(
        (new - old).abs().max() <= 0.0012 for k, (new, old) in enumerate(zip(moved, weights, strict=True)) if k != 2
    )


def test_a_medians_interval_holds_it_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for count, most in ((5, 0.06), (20, 0.05), (90, 0.05)):
        draws = rng.standard_normal((count, 4000))
        held = median_interval("x", draws)
        outside = ((held["x_low"] > 0) | (held["x_high"] < 0)).mean()
        assert most / 2 < outside < most + 0.015, (count, outside)


FLAWS = [
    (("exponents", "frequency"), 2.0, "threshold", "not reproduced"),
    (("all", "error", 3), 0.15, "all", "not reproduced", "dense"),
    (("exponents", "period"), 0.0, "transformer", "not reproduced"),
    (("muon", "ratio", 2), 0.3, "muon", "not reproduced", "dense"),
    (("all", "worst", 3), 2.0, "worst", "not reproduced", "dense"),
]
REFUSED = [("ratios", (0.3,)), ("alone_seeds", 6)]
