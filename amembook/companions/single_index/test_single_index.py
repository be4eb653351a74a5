"""The mathematics of `single-index`: the chain of one pass, a matrix drawn as asked for, top directions."""

import math

import numpy as np
import pytest
import torch

from amembook.companions.single_index import batches, expected
from amembook.companions.single_index.measure import ACTIVATIONS, measure_one_pass
from amemlib import polar

QUADRATIC = ACTIVATIONS["quadratic"]


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
    n, d, tops, laws = 1200, 300, [], []
    for k in range(6):
        X = np.random.default_rng(k).standard_normal((n, d))
        y = ACTIVATIONS[name].value(X[:, 0])
        values, vectors = np.linalg.eigh(X.T @ (X * y[:, None]) / n)
        tops.append([values[-1], vectors[0, -1] ** 2])
        laws.append([x[0] for x in expected.top_directions(y, X[:, 0], d, 1)])
    assert np.mean(tops, 0) == pytest.approx(np.mean(laws, 0), rel=0.06)


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
    rates = [0.15, 0.2]
    ratios = np.mean([measure_one_pass("quadratic", 256, rates, 64, 0.5, k)["ratios"] for k in range(4)], 0) * 256
    laws = [expected.one_pass_samples(*QUADRATIC, 256, c, 0.5) for c in rates]
    assert ratios == pytest.approx(laws, rel=0.08)
    assert math.isnan(expected.one_pass_samples(*QUADRATIC, 256, 0.6, 0.5))


def test_the_rate_of_growth_is_that_of_four_moments():
    """ρ → 4c − 6c² for z²: (E(z² − 1)z²)(E2q²) = 4 and E(2z²q)²/2 = 6."""
    c, d = 0.2, 10**9
    times = [expected.one_pass_samples(*QUADRATIC, dim, c, 0.5) / dim for dim in (d, 7 * d)]
    assert times[1] - times[0] == pytest.approx(math.log(7) / 2 / (4 * c - 6 * c**2), rel=1e-3)


def test_the_crossing_is_found_where_it_was_planted():
    assert expected.crossing(lambda ratio: ratio / 10, 0.5) == pytest.approx(5, rel=0.03)
    assert math.isnan(expected.crossing(lambda ratio: 0.0, 0.5))


FLAWS = [
    (("ratios", "one pass, truncated", 2), 20.0, "one-pass", "not reproduced"),
    (("ratios", "full batch, quadratic"), [4.0] * 5, "quadratic", "not reproduced"),
    (("ratios", "full batch, labels", 1), 4.0, "labels", "not reproduced"),
    (("flat_interval", "full batch, truncated"), [-2.0, 2.0], "truncated", "undecided"),
    (("escape", 4), 60.0, "squared", "not reproduced"),
    (("flat_interval", "full batch, truncated"), [0.3, 0.4], "truncated", "not reproduced", "patient"),
    (("ratios", "one pass, truncated", 2), 20.0, "one-pass", "not reproduced", "one-pass"),
]
REFUSED = [("neurons", (1, 321))]


def test_the_resolvent_counts_what_the_top_eigenvectors_have_of_the_direction():
    d, n, m, off = 160, 200, 12, []
    for seed in range(12):
        x = np.random.default_rng([seed, d, n]).standard_normal((n, d))
        z, y = x[:, 0], x[:, 0] ** 2
        vectors = np.linalg.eigh((x.T * y) @ x / n)[1]
        off.append(expected.part_by_resolvent(y, z, d, m) - (vectors[0, -m:] ** 2).sum())
    assert abs(np.mean(off)) < 3 * np.std(off, ddof=1) / len(off) ** 0.5 < 0.05
    assert expected.part_by_resolvent(y, z, d, 6) < expected.part_by_resolvent(y, z, d, m) < 1
