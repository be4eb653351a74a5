"""The mathematics of the lab `single-index`: the chain of one pass, a matrix drawn as asked for, top directions."""

import copy
import dataclasses
import math

import numpy as np
import pytest
import torch

from amemlib import polar
from amemlib.labs import single_index
from amemlib.labs.single_index import batches, expected, streams
from amemlib.labs.single_index.measure import ACTIVATIONS

CONFIG = single_index.EXPERIMENT.profiles["smoke"]
QUADRATIC = ACTIVATIONS["quadratic"]


@pytest.mark.parametrize("name", ["quadratic", "truncated"])
def test_one_number_is_one_step_of_sgd_on_the_sphere(name):
    value, slope = ACTIVATIONS[name]
    generator = np.random.default_rng(0)
    theta, w, x = generator.standard_normal((3, 9))
    theta, w = theta / np.linalg.norm(theta), w / np.linalg.norm(w)
    m, q, z = w @ theta, w @ x, theta @ x
    moved = w + 0.3 * value(z) * slope(q) * (x - q * w)
    across = (z - m * q) / math.sqrt(1 - m**2)
    ours = streams.advance(m, 0.3, value, slope, q, across, x @ x - q**2)
    assert ours == pytest.approx(moved @ theta / np.linalg.norm(moved), rel=1e-12)


def test_a_matrix_drawn_as_it_is_asked_for_is_a_gaussian_matrix():
    value, slope = ACTIVATIONS["truncated"]
    n, d, steps = 48, 24, 6

    def move(w, G):
        return (w + G) / np.linalg.norm(w + G)

    drawn = [batches.descend(lambda q, z: value(z) * slope(q), move, n, d, steps, 1.0, k).overlaps for k in range(300)]
    whole = []
    for k in range(300):
        generator = np.random.default_rng(k)
        X, w = generator.standard_normal((n, d)), generator.standard_normal(d)
        w, path = w / np.linalg.norm(w), []
        for _ in range(steps):
            path.append(abs(w[0]))
            w = move(w, X.T @ (value(X[:, 0]) * slope(X @ w)) / n)
        whole.append([*path, abs(w[0])])
    means, errors = zip(*((np.mean(x, 0), np.std(x, 0) / 300**0.5) for x in (drawn, whole)), strict=True)
    assert (np.abs(means[0] - means[1]) <= 4 * np.hypot(*errors)).all()


def test_the_directions_are_orthonormal_where_the_matrix_is_known():
    """As many steps as dimensions: then AᵀA/n is the covariance of all of X, whose trace has the mean d."""
    n, d = 400, 12
    path = batches.descend(lambda q, z: np.tanh(q + z), lambda w, G: w + G, n, d, 40, 1.0, 0)
    assert path.basis.shape == (n, d)
    assert np.square(path.basis).sum() / n == pytest.approx(d, rel=0.1)


@pytest.mark.parametrize("name", ["quadratic", "labels"])
def test_top_directions_are_those_of_a_matrix(name):
    n, d, found, laws = 1200, 300, [], []
    for k in range(6):
        X = np.random.default_rng(k).standard_normal((n, d))
        y = ACTIVATIONS[name].value(X[:, 0])
        values, vectors = np.linalg.eigh(X.T @ (X * y[:, None]) / n)
        found.append([values[-1], vectors[0, -1] ** 2])
        laws.append([x[0] for x in expected.top_directions(y, X[:, 0], d, 1)])
    assert np.mean(found, 0) == pytest.approx(np.mean(laws, 0), rel=0.06)


def test_muons_neurons_are_the_top_directions():
    """W ← polar(WD) spans WD: orthogonal iteration."""
    X = np.random.default_rng(0).standard_normal((200, 40))
    D = torch.from_numpy(X.T @ (X * X[:, :1] ** 2) / 200)
    W = torch.from_numpy(np.random.default_rng(1).standard_normal((3, 40)))
    for _ in range(200):
        W = polar(W @ D)
    top = torch.linalg.eigh(D)[1][:, -3:]
    assert torch.allclose(W.T @ W, top @ top.T, atol=1e-6)


def test_the_law_of_one_pass_is_that_of_the_chain():
    rates = np.array([0.15, 0.2])
    found = np.mean([streams.samples_needed(*QUADRATIC, 256, rates, 64, 0.5, k) for k in range(4)], 0)
    laws = [expected.one_pass_samples(*QUADRATIC, 256, c, 0.5) for c in rates]
    assert found == pytest.approx(laws, rel=0.08)
    assert math.isnan(expected.one_pass_samples(*QUADRATIC, 256, 0.6, 0.5))


def test_the_rate_of_growth_is_that_of_four_moments():
    """ρ → 4c − 6c² for z²: (E(z² − 1)z²)(E2q²) = 4 and E(2z²q)²/2 = 6."""
    c, d = 0.2, 10**9
    times = [expected.one_pass_samples(*QUADRATIC, dim, c, 0.5) / dim for dim in (d, 7 * d)]
    assert times[1] - times[0] == pytest.approx(math.log(7) / 2 / (4 * c - 6 * c**2), rel=1e-3)


def test_the_crossing_is_found_where_it_was_planted():
    assert expected.crossing(lambda ratio: ratio / 10, 0.5) == pytest.approx(5, rel=0.03)
    assert math.isnan(expected.crossing(lambda ratio: 0.0, 0.5))


def made_up():
    """Config, measured and predicted numbers that agree."""
    config = dataclasses.replace(single_index.EXPERIMENT.profiles["cpu"], first_seed=4750)
    x = np.log(config.dims)
    line = lambda a, b: (a + b * x).tolist()  # noqa: E731
    ratios = {"one pass, quadratic": line(0, 0.9), "one pass, truncated": line(0, 0.85)}
    ratios |= {"full batch, quadratic": line(-1, 0.75), "full batch, labels": [1.9, 2.5, 2.5, 2.5, 2.5]}
    slope = {"one pass, quadratic": 0.9, "one pass, truncated": 0.85, "full batch, quadratic": 0.75}
    predicted = {"ratios": ratios, "slope": slope, "flat": slope, "muon": [4.0, 3.2, 2.6, 2.0, 1.5]}
    predicted["escape"] = [12.0, 16.0, 21.0, 26.0, 30.0]
    interval = {name: [b - 0.05, b + 0.05] for name, b in slope.items()}
    flat = {"full batch, labels": 0.0, "full batch, truncated": 0.05}
    measured = {
        "ratios": ratios | {"full batch, truncated": [2.0] * 5},
        "errors": {name: [0.05] * 5 for name in (*ratios, "full batch, truncated")},
        "interval": interval,
        "flat": flat,
        "flat_interval": {name: [b - 0.1, b + 0.1] for name, b in flat.items()},
        "escape": predicted["escape"],
        "escape_error": [0.3] * 5,
        "recovered": [1.0] * 5,
        "muon": predicted["muon"],
        "muon_error": [0.05] * 5,
    }
    return config, copy.deepcopy(measured), predicted


FLAWS = [
    (("ratios", "one pass, truncated", 2), 20.0, "one-pass", "undecided"),
    (("interval", "one pass, quadratic", 0), 0.3, "one-pass", "finite-size"),
    (("ratios", "full batch, quadratic"), [4.0] * 5, "quadratic", "undecided"),
    (("interval", "full batch, quadratic", 0), 0.1, "quadratic", "finite-size"),
    (("ratios", "full batch, labels", 1), 4.0, "labels", "undecided"),
    (("flat", "full batch, labels"), 0.4, "labels", "finite-size"),
    (("flat", "full batch, truncated"), 0.5, "truncated", "not reproduced"),
    (("flat_interval", "full batch, truncated"), [-2.0, 2.0], "truncated", "undecided"),
    (("recovered", 3), 0.5, "squared", "finite-size"),
    (("escape", 4), 60.0, "squared", "undecided"),
    (("muon", 4), 4.0, "muon", "not reproduced"),
]
"""Where in the measured numbers of `made_up`, what, and the word that this verdict then has."""


@pytest.mark.parametrize(
    ("name", "value"),
    [("dims", (64,)), ("rates", (0.0, 0.1)), ("neurons", (0,)), ("neurons", (1, 13)), ("level", 1.0), ("seeds", 0)],
)
def test_a_config_that_makes_no_sense_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        dataclasses.replace(CONFIG, **{name: value})
