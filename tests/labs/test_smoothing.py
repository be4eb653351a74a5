"""The mathematics of the lab `smoothing`: the smoothed gradient in closed form, the chain, and the law of its jumps."""

import copy
import dataclasses

import numpy as np
import pytest
import torch

from amemlib.labs import smoothing
from amemlib.labs.smoothing import chains, expected, links
from amemlib.labs.smoothing.measure import pull_of

CONFIG = smoothing.EXPERIMENT.profiles["smoke"]


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
    ours = links.smoothed_pull(q.item(), squared.item(), lam, d) / (1 + lam**2) ** 2
    assert torch.allclose(slope.detach(), ours * (x - q * w).detach(), atol=1e-5)


def test_without_a_radius_it_is_the_plain_gradient():
    q = np.linspace(-2, 2, 5)
    assert links.smoothed_pull(q, np.full(5, 30.0), 0.0, 30) == pytest.approx((4 * q**3 - 12 * q) / 24**0.5)


def test_one_number_is_one_step_of_sgd_on_the_sphere():
    generator = np.random.default_rng(0)
    theta, w, x = generator.standard_normal((3, 9))
    theta, w = theta / np.linalg.norm(theta), w / np.linalg.norm(w)
    m, q, z = w @ theta, w @ x, theta @ x
    pull = pull_of("smoothed", 9)
    squared = x @ x - q**2
    moved = w + 0.1 * pull(z, q, squared) * (x - q * w)
    ours = chains.advance(m, 0.1, pull, q, (z - m * q) / (1 - m**2) ** 0.5, squared)
    assert ours == pytest.approx(moved @ theta / np.linalg.norm(moved), rel=1e-12)


def test_the_length_of_a_normalised_gradient_is_one():
    x, q = np.random.default_rng(0).standard_normal(9), 0.7
    squared = x @ x
    assert abs(pull_of("sign", 10)(1.9, q, squared)) * squared**0.5 == pytest.approx(1)


def test_the_law_keeps_probability_and_is_that_of_the_chain():
    pull = pull_of("smoothed", 64)
    rate = 0.56 / 64**1.5
    L = expected.generator(pull, 64, rate)
    assert np.abs(L.sum(0)).max() < 1e-12 and (L - np.diag(np.diag(L)) >= 0).all()
    found = [chains.samples_needed(pull, 64, np.array([rate]), 128, 0.5, 0.25, k)[0] for k in range(4)]
    assert np.mean(found) == pytest.approx(expected.samples_needed(pull, 64, rate, 0.5, 0.25), rel=0.2)


def made_up():
    """Config, measured and predicted numbers that agree."""
    config = dataclasses.replace(smoothing.EXPERIMENT.profiles["cpu"], first_seed=4800)
    slope = {"plain": 3.05, "smoothed": 2.1, "sign": 1.15}
    samples = {
        kind: (10 * np.array(getattr(config, f"{kind}_dims"), dtype=float) ** b).tolist() for kind, b in slope.items()
    }
    predicted = {"samples": samples, "slope": slope, "radius": [20000.0, 3000.0, 1200.0, 900.0]}
    predicted["local"] = {"plain": [3.1, 3.0], "smoothed": [2.2, 2.1], "sign": [1.2, 1.1]}
    measured = {
        "samples": samples,
        "samples_error": {kind: [1.0] * len(n) for kind, n in samples.items()},
        "inside": dict.fromkeys(slope, True),
        "slope": slope,
        "interval": {kind: [b - 0.03, b + 0.03] for kind, b in slope.items()},
        "radius": predicted["radius"],
        "radius_error": [10.0] * 4,
    }
    return config, copy.deepcopy(measured), predicted


FLAWS = [
    (("slope", "plain"), 2.7, "plain", "not reproduced"),
    (("samples", "plain", 2), 1.0, "plain", "undecided"),
    (("slope", "smoothed"), 2.5, "smoothed", "not reproduced"),
    (("inside", "smoothed"), False, "smoothed", "undecided"),
    (("slope", "sign"), 1.22, "sign", "finite-size"),
    (("slope", "sign"), 1.6, "sign", "not reproduced"),
    (("radius", 3), 300.0, "radius", "not reproduced"),
]
"""Where in the measured numbers of `made_up`, what, and the word that this verdict then has."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plain_dims", (8,)),
        ("sign_rates", (0.0,)),
        ("multiples", (-1.0,)),
        ("share", 1.0),
        ("level", 0.0),
        ("seeds", 0),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        dataclasses.replace(CONFIG, **{name: value})
