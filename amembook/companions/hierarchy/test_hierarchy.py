"""The mathematics of the study `hierarchy`: features on the sphere, laws of errors and overlaps, fits."""

import math

import numpy as np
import pytest
import torch

from amembook.companions.hierarchy import crossing, expected, features, fits, measure
from amemlib import polar


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
    count, correlations = 150, []
    for seed in range(5):
        generator = np.random.default_rng(seed)
        Z, w = generator.standard_normal((round(ratio * count), count)), np.zeros(count)
        w[0] = 1
        y = math.sqrt(0.5) * (Z @ w + generator.standard_normal(len(Z)))
        fitted = fits.ridge(Z, y)
        correlations.append(fitted[0] ** 2 / (fitted @ fitted))
    assert np.mean(correlations) == pytest.approx(expected.correlation(ratio), abs=0.04)


def test_the_error_of_two_layers_is_that_of_the_best_function_of_a_correlated_feature():
    rho2 = expected.correlation(4.5)
    generator = np.random.default_rng(3)
    p = generator.standard_normal(400_000)
    feature = math.sqrt(rho2) * p + math.sqrt(1 - rho2) * generator.standard_normal(len(p))
    best = (math.sqrt(rho2) * feature + rho2 * (feature**2 - 1) / math.sqrt(2)) / math.sqrt(2)
    assert np.square(best - features.link(p)).mean() == pytest.approx(expected.layerwise_error(4.5), rel=0.02)
    assert expected.layerwise_error(expected.layerwise_ratio(0.3)) == pytest.approx(0.3)
    assert expected.layerwise_ratio(0.3) == pytest.approx(4.43, abs=0.01)


def test_at_a_finite_dimension_it_is_that_of_a_feature_with_the_sphere_s_moments():
    dim, generator = 8, np.random.default_rng(4)
    p = (2 * generator.beta(dim / 4, dim / 4, 400_000) - 1) * math.sqrt((dim + 2) / 2)
    assert np.square(p**2 - 1).mean() / 2 == pytest.approx(expected.square_share(dim), rel=0.01)
    rho2 = expected.correlation(3.2, dim)
    feature = math.sqrt(rho2) * p + math.sqrt(1 - rho2) * generator.standard_normal(len(p))
    columns, y = np.c_[np.ones(len(p)), feature, feature**2], features.link(p)
    left = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    assert left.var() / y.var() == pytest.approx(expected.layerwise_error(3.2, dim), rel=0.01)


def test_layers_with_fresh_samples_follow_the_law_of_their_dimension():
    errors = np.mean([measure.measure_fresh(10, [2.0, 6.0], seed)["error"] for seed in range(12)], 0)
    law, large = ([expected.layerwise_error(ratio, d) for ratio in (2.0, 6.0)] for d in (10, math.inf))
    assert errors == pytest.approx(law, abs=0.07)
    assert abs(errors[1] - law[1]) < abs(errors[1] - large[1])


def test_the_kernel_s_error_is_that_of_its_harmonics():
    errors = [measure.measure_kernel(8, [0.8, 1.3], seed)["error"] for seed in range(8)]
    law = [expected.kernel_error(ratio * features.even_count(8), 8) for ratio in (0.8, 1.3)]
    assert np.mean(errors, 0) == pytest.approx(law, abs=0.04)
    assert expected.kernel_ratio(0.2, 400) == pytest.approx(0.6, abs=0.03)
    free, normal = (expected.kernel_ratio(0.2, 8, **other) for other in ({"free": (2,)}, {"square": 1.0}))
    assert free < 0.9 * expected.kernel_ratio(0.2, 8) and normal > 1.05 * expected.kernel_ratio(0.2, 8)


def test_the_law_of_the_span_is_that_of_gaussian_features():
    count = 200
    for ratio in (4.0, 8.0):
        overlaps = []
        for seed in range(4):
            Z = np.random.default_rng(seed).standard_normal((round(ratio * count), count))
            M = Z.T @ (Z * (Z[:, 0] * Z[:, 1])[:, None])
            overlaps.append(np.square(measure.largest(M, 2)[:2]).sum() / 2)
        assert np.mean(overlaps) == pytest.approx(expected.span_overlap(ratio, count), abs=0.07)


def test_joint_passes_find_the_feature_where_layers_do_not():
    errors = measure.measure_layers(12, [2.5], 0)
    assert errors["joint"][0] < 0.1 < 0.4 < errors["layerwise"][0]


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
    right = sum(int(np.argmax(U @ (W @ k)) == i) for i, k in enumerate(K))
    assert measure.one_step(U, K, p)["polar"] == right


def test_a_crossing_is_found_where_it_was_planted():
    assert crossing([1, 2, 4], [0.9, 0.5, 0.1], 0.3, -1) == pytest.approx(2**1.5)
    assert crossing([1, 2, 4], [0.1, 0.3, 0.6], 0.5, 1) == pytest.approx(2 * 2 ** (2 / 3))
    assert math.isnan(crossing([1, 2], [0.1, 0.2], 0.5, 1))


FLAWS = [
    (("curve", "layerwise", 3, 3), 0.6, "layers", "not reproduced"),
    (("ratio", "span", 3), 12.0, "span", "not reproduced"),
    (("items", "pairs_polar", 3), 100.0, "pairs", "not reproduced"),
    (("items", "pairs_polar", 2), 50.0, "pairs", "not reproduced", "pairs-many"),
    (("transfer_features", 1), 0.9, "transfer", "not reproduced"),
    (("ratio", "joint", 3), 9.0, "joint", "not reproduced"),
    (("harmonics", 2), [1.1, 1.1, 1.1, 1.12] * 18, "harmonics", "not reproduced", "harmonics"),
    (("fresh", 1, 2), [0.3, 0.3, 0.3, 0.31] * 40, "fresh-12", "not reproduced", "fresh"),
    (("fresh", 2, 2), [0.3, 0.3, 0.3, 0.31] * 40, "fresh-16", "not reproduced", "fresh"),
    (("fresh", 0, 2), [0.3, 0.3, 0.3, 0.31] * 100, "fresh-8", "not reproduced", "small"),
]
