"""The mathematics of the lab `hierarchy`: features on the sphere, laws of errors and overlaps, crosstalk, fits."""

import copy
import dataclasses
import math

import numpy as np
import pytest
import torch

from amemlib import polar
from amemlib.labs import hierarchy
from amemlib.labs.hierarchy import expected, features, fits, measure
from amemlib.labs.hierarchy.judge import crossing

CONFIG = hierarchy.EXPERIMENT.profiles["smoke"]


def matrix_of(row, dim):
    A = np.zeros((dim, dim))
    a, b = np.triu_indices(dim)
    A[a, b] = row / np.where(a == b, 1.0, math.sqrt(2))
    return A + np.triu(A, 1).T


def test_features_are_quadratic_forms_of_variance_one():
    generator = np.random.default_rng(0)
    theta = features.sample_features(3, 10, generator)
    assert theta @ theta.T == pytest.approx(np.eye(3), abs=1e-12)
    A = matrix_of(theta[0], 10)
    assert A @ A == pytest.approx(np.eye(10) / 10) and np.trace(A) == pytest.approx(0, abs=1e-12)
    X = features.sample_sphere(30_000, 10, generator)
    p = features.lift(X) @ theta.T
    assert p[:, 0] == pytest.approx(np.einsum("ni,ij,nj->n", X, A, X) * math.sqrt(12 / 20))
    assert np.cov(p.T) == pytest.approx(np.eye(3), abs=0.05)


def test_on_the_sphere_the_square_of_the_first_feature_has_no_quadratic_part():
    generator = np.random.default_rng(1)
    (theta,) = features.sample_features(1, 6, generator)
    Z = features.lift(features.sample_sphere(200_000, 6, generator))
    assert np.abs(Z.T @ (np.square(Z @ theta) - 1) / len(Z)).max() < 0.03


def test_a_kernel_of_degree_four_has_the_even_polynomials_and_the_odd_ones():
    X = features.sample_sphere(120, 4, np.random.default_rng(2))
    assert np.linalg.matrix_rank((1 + X @ X.T / 4) ** 4) == features.even_count(4) + math.comb(6, 3)


@pytest.mark.parametrize("ratio", [1.0, 4.0])
def test_the_correlation_is_that_of_ridge_regression(ratio):
    count, found = 150, []
    for seed in range(5):
        generator = np.random.default_rng(seed)
        Z, w = generator.standard_normal((round(ratio * count), count)), np.zeros(count)
        w[0] = 1
        y = math.sqrt(0.5) * (Z @ w + generator.standard_normal(len(Z)))
        fitted = fits.ridge(Z, y)
        found.append(fitted[0] ** 2 / (fitted @ fitted))
    assert np.mean(found) == pytest.approx(expected.correlation(ratio), abs=0.04)


def test_the_error_of_two_layers_is_that_of_the_best_function_of_a_correlated_feature():
    rho2 = expected.correlation(4.5)
    generator = np.random.default_rng(3)
    p = generator.standard_normal(400_000)
    found = math.sqrt(rho2) * p + math.sqrt(1 - rho2) * generator.standard_normal(len(p))
    best = (math.sqrt(rho2) * found + rho2 * (found**2 - 1) / math.sqrt(2)) / math.sqrt(2)
    assert np.square(best - features.link(p)).mean() == pytest.approx(expected.layerwise_error(9.0), rel=0.02)
    assert expected.layerwise_error(expected.layerwise_ratio(0.3)) == pytest.approx(0.3)
    assert expected.layerwise_ratio(0.3) == pytest.approx(8.85, abs=0.01)


def test_the_law_of_the_span_is_that_of_gaussian_features():
    count, clip = 200, 1.0
    for ratio in (4.0, 8.0):
        found = []
        for seed in range(4):
            Z = np.random.default_rng(seed).standard_normal((round(ratio * count), count))
            M = Z.T @ (Z * np.clip(Z[:, 0] * Z[:, 1], -clip, clip)[:, None])
            found.append(np.square(measure.largest(M, 2)[:2]).sum() / 2)
        assert np.mean(found) == pytest.approx(expected.span_overlap(ratio, count, clip), abs=0.07)


def test_a_square_disturbs_other_features_by_a_reflection():
    """E[(p² − 1) ⟨B, z⟩⟨E, z⟩] = 2⟨A, B⟩⟨A, E⟩ + 8 tr(A²BE) + 4 tr(ABAE), x Gaussian and z = He₂(x)/√2."""
    dim, generator = 4, np.random.default_rng(4)
    theta = features.sample_features(2, dim, generator)
    A, B = (matrix_of(row, dim) for row in theta)
    X = generator.standard_normal((1_000_000, dim))
    p, b = (np.einsum("ni,ij,nj->n", X, F, X) / math.sqrt(2) for F in (A, B - np.trace(B) / dim * np.eye(dim)))
    b = b - b.mean()
    B = B - np.trace(B) / dim * np.eye(dim)
    law = 2 * np.trace(A @ B) ** 2 + 8 * np.trace(A @ A @ B @ B) + 4 * np.trace(A @ B @ A @ B)
    assert ((np.square(p) - 1) * b * b).mean() == pytest.approx(law, rel=0.1)


def test_crosstalk_ends_what_more_samples_would_find():
    few, many = (expected.crosstalk_count(ratio, 16, 16, 1.0) for ratio in (10.0, 1e9))
    assert few < many < expected.naive_count(160.0, 16, 1.0)
    assert expected.crosstalk_count(1e9, 32, 100, 1.0) / expected.crosstalk_count(1e9, 16, 100, 1.0) == pytest.approx(2)


def test_joint_passes_find_the_feature_where_layers_do_not():
    told = [measure.errors_of(12, [4.0], 0, passes)["error"][0] for passes in (0, 3)]
    assert told[1] < 0.1 < 0.4 < told[0]


def test_pairs_are_stored_by_a_polar_step():
    """Orthonormal pairs: a polar step stores all of them, however rare; the counts are those of the library's polar."""
    eye = np.eye(4)
    K = np.array([np.outer(eye[i], eye[j]).ravel() for i in range(4) for j in range(2)])
    U = np.random.default_rng(5).standard_normal((8, 16)) / 4
    assert measure.one_step(U, K, 0.1 ** np.arange(8.0))["polar"] == 8
    generator = np.random.default_rng(6)
    U, K = generator.standard_normal((60, 5)), generator.standard_normal((60, 25))
    p = np.arange(1, 61.0) ** -1.5
    G = sum(weight * np.outer(u - U.mean(0), k) for weight, u, k in zip(p, U, K, strict=True))
    W = polar(torch.from_numpy(G)).numpy()
    found = sum(int(np.argmax(U @ (W @ k)) == i) for i, k in enumerate(K))
    assert measure.one_step(U, K, p)["polar"] == found


def test_a_crossing_is_found_where_it_was_planted():
    assert crossing([1, 2, 4], [0.9, 0.5, 0.1], 0.3, -1) == pytest.approx(2**1.5)
    assert crossing([1, 2, 4], [0.1, 0.3, 0.6], 0.5, 1) == pytest.approx(2 * 2 ** (2 / 3))
    assert math.isnan(crossing([1, 2], [0.1, 0.2], 0.5, 1))


def made_up():
    """Config, measured and predicted numbers that agree, on the config of the cpu profile."""
    config = dataclasses.replace(hierarchy.EXPERIMENT.profiles["cpu"], first_seed=5900)
    error = [0.62, 0.5, 0.39, 0.3, 0.21, 0.16]

    # by name: samples over D, exponent, curve
    told = {
        "layerwise": (8.9, 0.97, error),
        "joint": (2.0, 1.0, [0.5, 0.2] + [0.01] * 5),
        "kernel": (1.0, 1.0, [0.5] * 7),
        "raw": (6.0, 0.9, [0.5] * 7),
        "clipped": (4.0, 0.9, [0.5] * 7),
    }
    law = [[2.5, 5.0, 10.0], [2.2, 3.4, 4.1], [2.4, 4.0, 5.5], [2.5, 4.5, 6.7]]
    items = {"pairs_polar": [25.0, 48.0, 90.0, 200.0], "alone_polar": [24.0, 48.0, 92.0, 201.0]}
    measured = {
        "curve": {name: [curve] * 4 for name, (*_, curve) in told.items()},
        "curve_error": {name: [[0.01] * len(curve)] * 4 for name, (*_, curve) in told.items()},
        "ratio": {name: [ratio] * 4 for name, (ratio, *_) in told.items()},
        "ratio_error": {name: [0.1] * 4 for name in told},
        "slope": {name: slope for name, (_, slope, _) in told.items()},
        "interval": {name: [slope - 0.05, slope + 0.05] for name, (_, slope, _) in told.items()},
        "transfer_features": [0.1] * 3,
        "transfer_kernel": [0.6] * 3,
        "many": [law[0]] * 3,
        "many_error": [[0.1] * 3] * 3,
        "items": items,
        "items_error": {name: [0.5] * 4 for name in items},
        "gain": 1.05,
    }
    predicted = {
        "curve": {"layerwise": [error] * 4},
        "ratio": {"raw": [6.2] * 4, "clipped": [3.8] * 4},
        "naive": law[0],
        # numbers that both laws meet: which of them is right is the record's to say
        "crosstalk": [law[0]] * 3,
        "gain": 1.0,
    }
    return config, copy.deepcopy(measured), predicted


FLAWS = [
    (("curve", "layerwise", 2, 3), 0.6, "layers", "undecided"),
    (("slope", "layerwise"), 1.6, "layers", "finite-size"),
    (("interval", "layerwise"), [0.1, 2.4], "layers", "undecided"),
    (("ratio", "joint", 2), 6.0, "joint", "not reproduced"),
    (("ratio", "kernel"), [1.0, 0.5, 0.3, 0.1], "kernel", "not reproduced"),
    (("ratio", "raw", 3), 12.0, "span", "undecided"),
    (("slope", "raw"), 2.0, "span", "finite-size"),
    (("interval", "raw"), [0.1, 2.4], "span", "undecided"),
    (("ratio", "clipped", 3), 6.0, "clip", "not reproduced"),
    (("transfer_features", 1), 0.5, "transfer", "not reproduced"),
    (("many", 1, 2), 3.0, "naive", "not reproduced"),
    (("many", 0, 2), 3.0, "crosstalk", "not reproduced"),
    (("many", 0, 2), 8.0, "crosstalk", "finite-size"),
    (("items", "pairs_polar", 3), 100.0, "pairs", "undecided"),
    (("gain",), 0.4, "pairs", "finite-size"),
    (("gain",), 5.0, "pairs", "finite-size"),
]
"""Where in the measured numbers of `made_up`, what, and the word that this verdict then has."""


@pytest.mark.parametrize(
    ("name", "value"),
    [("dims", (8,)), ("dims", (8, 11)), ("ratios", (2.0, 1.0)), ("level", 1.0), ("clip", 0.0), ("seeds", 0)],
)
def test_a_config_that_makes_no_sense_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        dataclasses.replace(CONFIG, **{name: value})
