"""Frequencies as far apart as float64 has them: every law says a number that can be a count, or refuses."""

import itertools
import math
import warnings

import pytest
import torch

import amemlib as am

MAPS = ("polar", "smoothed_sign", "sgd", "newton", "matched_filter", "kfac")
WEIGHTS = [[1.0] + [ratio] * rest for ratio, rest in itertools.product((1e-20, 1e-60, 1e-160, 1e-300), (1, 4))]
WEIGHTS += [[1.0, 1e-40, 1e-80], [1.0] * 3 + [1e-160] * 3]
PROBLEMS = [(am.Problem.from_frequencies(p, dim)) for p in WEIGHTS for dim in (1, 3, 32)]
PROBLEMS += [
    am.Problem.power_law(n, dim, alpha) for n, dim, alpha in itertools.product((1, 100), (2, 32), (0.51, 20.0))
]


@pytest.mark.parametrize("spectral_map", MAPS)
def test_a_law_says_a_number_or_refuses(spectral_map):
    answers = 0
    for problem in PROBLEMS:
        for lam in (1e-300, 1e-3, 1e300) if spectral_map == "smoothed_sign" else (0.0,):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    count = am.expected_capacity(problem, spectral_map, lam)
                except ValueError as error:
                    assert "\n" not in str(error)
                    continue
            assert math.isfinite(count) and -1e-9 <= count <= problem.n_items * (1 + 1e-9), (problem, lam)
            answers += 1
    assert answers


def test_numbers_that_are_refused_are_named():
    problem = am.Problem.from_frequencies(torch.tensor([1.0, 1e-160], dtype=torch.float64), 3)
    with pytest.raises(ValueError, match="frequencies must be a factor of 1e.70.*'polar'.*1e.160"):
        am.expected_capacity(problem, "polar")
    assert 0 <= am.expected_capacity(problem, "sgd") <= 2
