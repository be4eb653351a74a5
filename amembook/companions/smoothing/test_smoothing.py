"""The mathematics of `smoothing`: the smoothed gradient in closed form, the chain, and the law of its jumps."""

import numpy as np
import pytest
import torch

from amembook.companions.smoothing import _best, expected, links
from amembook.companions.smoothing.measure import pull_of
from amembook.networks import sphere


def test_the_smoothed_pull_is_the_gradient_of_the_averaged_loss():
    """By autograd, with the average over the sphere taken as a sum over a design: ± every axis of a random frame gives
    E t² exactly, and Gaussian quadrature over one coordinate gives the fourth moment."""
    d, lam = 7, 1.3
    generator = torch.Generator().manual_seed(0)
    w, x = (torch.randn(d, generator=generator, dtype=torch.float64) for _ in range(2))
    w = (w / w.norm()).requires_grad_()
    q = w @ x
    squared = (x - q / (w @ w) * w).square().sum()
    # one coordinate t of a uniform point on the sphere in d − 1 dimensions has density (1 − t²)^((d−4)/2)
    t = torch.linspace(-1, 1, 20001, dtype=torch.float64)
    weights = (1 - t**2) ** ((d - 4) / 2)
    a = (q / w.norm() + lam * squared.sqrt() * t) / (1 + lam**2) ** 0.5
    loss = (weights * (a**4 - 6 * a**2 + 3) / 24**0.5).sum() / weights.sum()
    (slope,) = torch.autograd.grad(loss, w)
    slope = slope - (slope @ w) * w.detach()
    ours = links.smoothed_pull(np.array([q.item()]), np.array([squared.item()]), lam, d)[0] / (1 + lam**2) ** 2
    assert torch.allclose(slope.detach(), ours * (x - q * w).detach(), atol=1e-5)


def test_without_a_radius_it_is_the_plain_gradient():
    q = np.linspace(-2, 2, 5)
    assert links.smoothed_pull(q, np.full(5, 30.0), 0.0, 30) == pytest.approx((4 * q**3 - 12 * q) / 24**0.5)


def test_one_number_is_one_step_of_sgd_on_the_sphere():
    generator = np.random.default_rng(0)
    theta, w, x = generator.standard_normal((3, 9))
    theta, w = theta / np.linalg.norm(theta), w / np.linalg.norm(w)
    m, q, z = (np.array([a @ b]) for a, b in ((w, theta), (w, x), (theta, x)))
    label, slope = pull_of("smoothed", 9)
    squared = x @ x - q**2
    g = slope(q, squared)
    moved = w + 0.1 * label(z) * g * (x - q * w)
    s = (z - m * q) / (1 - m**2) ** 0.5
    ours = sphere.advance(m, 0.1, label, g, q, s, squared)
    assert ours[0] == pytest.approx(moved @ theta / np.linalg.norm(moved), rel=1e-12)


def test_a_sample_is_what_one_gaussian_vector_has_along_and_across():
    """Means, and E s²r² = k + 2 for r² of k degrees, of which s² is one."""
    q, s, squared = sphere._draw([np.random.default_rng(0)], (1000, 400), 10)
    assert np.abs([q.mean(), s.mean(), (q**2).mean() - 1]).max() < 0.01
    assert squared.mean() == pytest.approx(11, rel=0.01) and (s**2 * squared).mean() == pytest.approx(13, rel=0.01)


def test_the_start_is_uniform_on_the_sphere_a_neuron_in_every_part():
    d, m = 6, sphere._start(np.random.default_rng(0), 4000, 6)
    assert (np.diff(m) > 0).all()
    assert [(m**2).mean(), (m**4).mean()] == pytest.approx([1 / d, 3 / (d * (d + 2))], rel=1e-3)


def test_noise_along_the_direction_is_nine_times_that_of_the_length():
    """E h_4(s)² s² = 9: the label and the component of x along θ are not independent."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    assert weights @ (links.label(nodes) ** 2 * nodes**2) / weights.sum() == pytest.approx(9)


def test_the_length_of_a_normalised_gradient_is_one():
    x, q, z = np.random.default_rng(0).standard_normal(9), np.array([0.7]), np.array([1.9])
    label, slope = pull_of("sign", 10)
    assert np.abs(label(z) * slope(q, np.array([x @ x]))) * np.linalg.norm(x) == pytest.approx(1)


def test_the_law_keeps_probability_and_is_that_of_the_chain():
    pull = pull_of("smoothed", 64)
    rate = 0.56 / 64**1.5
    L = expected.generator(*pull, 64, rate)
    assert np.abs(L.sum(0)).max() < 1e-12 and (L - np.diag(np.diag(L)) >= 0).all()
    samples, _ = sphere.samples_needed(*pull, 64, np.array([rate]), range(4), 96, 0.5, 0.25)
    assert samples.mean() == pytest.approx(expected.samples_needed(*pull, 64, rate, 0.5, 0.25), rel=0.2)


@pytest.mark.parametrize(
    ("kind", "dim", "step", "early"), [("sign", 4096, 0.3 / 64, 0.04), ("sign", 256, 0.3 / 16, 0.017)]
)
def test_the_laws_grid_makes_it_early(kind, dim, step, early):
    """As the chapter says; with 640 cells it moves by 0.3 % more at most."""
    told = pull_of(kind, dim), dim, step, 0.5, 0.25
    stored, finer = (
        expected.samples_needed(*told[0], *told[1:], **more) for more in ({}, {"cells": 320, "growth": 1.005})
    )
    assert finer / stored - 1 == pytest.approx(early, abs=0.005)


def test_the_largest_rate_is_between_two_of_the_grid():
    rates = np.array([1.0, 2.0, 4.0])
    assert expected.largest_rate(rates, np.array([0.9, 0.5, 0.1]), 0.3) == pytest.approx(2 * 2**0.5)
    assert np.isnan(
        [expected.largest_rate(rates, np.array(row), 0.3) for row in ([0.9, 0.8, 0.7], [0.1, 0.1, 0])]
    ).all()


def test_who_is_there_late_is_the_same_of_the_chain_and_of_its_law():
    pull, rate, horizon = pull_of("smoothed", 48), 0.8 / 48**1.5, 2 * 48**2
    share = sphere.late_share(*pull, 48, np.array([rate]), range(6), 96, 0.5, horizon)
    assert share.mean() == pytest.approx(expected.late_share(*pull, 48, rate, 0.5, horizon), abs=0.06)


def test_the_best_rate_is_the_same_for_all_draws_and_one_that_all_reach():
    samples = np.array([[[5, 5], [3, 4], [4, 3.2]], [[5, 5], [3, np.nan], [9, 9]], [[5, 5], [3, np.nan], [4, 4]]])
    best, inside, needed = _best(samples, np.array([6, 6, 9]))
    assert best.tolist() == [1, 1, 2] and inside.tolist() == [True, False, False]
    assert needed.tolist() == [[3, 4], [3, 6], [4, 4]]


FLAWS = [
    (("largest_interval", "plain"), [-1.0, -0.9], "largest_plain", "not reproduced", "largest"),
    (("largest", "smoothed", 2), 9.0, "largest_smoothed", "not reproduced", "largest"),
    (("slope", "plain"), 2.0, "plain", "not reproduced"),
    (("samples", "plain", 2), 1.0, "plain", "not reproduced"),
    (("slope", "smoothed"), 2.5, "smoothed", "not reproduced"),
    (("samples", "sign", 1), 1.0, "sign", "not reproduced"),
    (("slope", "best_plain"), 1.0, "best_plain", "not reproduced"),
    (("slope", "best_smoothed"), 1.7, "best_smoothed", "not reproduced"),
    (("inside", "radius"), False, "radius", "undecided"),
    (("interval", "sign"), [1.9, 2.0], "sign", "not reproduced"),
]
