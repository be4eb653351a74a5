"""A prediction is possible: no count above N or the counting limit, no chance outside [0, 1]; or it refuses by name."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import laws
from amembook.tables import make_steps
from amemlib import equivalents, theory

ALPHAS = (0.51, 1.0, 1.5, 6.0)
PLACES = [
    (alpha, n_items, dim)
    for alpha in ALPHAS
    for n_items in ((2, 60, 1000) if alpha in (ALPHAS[0], ALPHAS[-1]) else (60,))
    for dim in (1, 2, 9, 100, 3000)
]
SMALL = [(alpha, n_items, dim) for alpha, n_items, dim in PLACES if n_items <= 60 and dim <= 100]
SLACK = 1 + 1e-9


def placed(places):
    """All of them: few are quick, and those between the least and the largest size are the week's."""
    quick, within = ((2, 1), (60, 9)), lambda n_items, dim: n_items == 1000 or dim in (2, 100)
    marks = lambda size: () if size in quick else pytest.mark.weekly if within(*size) else pytest.mark.slow
    return [pytest.param(*place, marks=marks(place[1:])) for place in places]


def most(n_items: int, dim: int) -> float:
    return min(n_items, theory.counting_limit(dim, n_items))


def answer(prediction, *arguments, **options):
    """What a prediction gives as an array; None where it refuses by name."""
    try:
        return np.asarray(prediction(*arguments, **options), dtype=float)
    except ValueError as error:
        assert " must " in str(error) and "got" in str(error), f"a refusal that names no argument: {error}"
        return None


def prefix(problem, name, lam):
    return equivalents.expected_prefix(problem, name, lam)[0]


def chances_of(problem):
    return equivalents.SpectralEquivalent.solve(problem.frequencies, problem.dim).recovery_probabilities()


def descent(problem):
    return laws.descent_iterates(problem, 1.0, 3, streams=1).counts


def possible(value, highest: float) -> bool:
    if value is None:
        return True
    return bool(np.isfinite(value).all() and (value >= -1e-9).all() and (value <= highest * SLACK).all())


@pytest.mark.parametrize("alpha, n_items, dim", placed(PLACES))
def test_counts_of_one_step_are_possible(alpha, n_items, dim):
    problem, scale = am.Problem.power_law(n_items, dim, alpha), theory.bulk_scale(n_items, dim, alpha)
    maps = [("polar", 0.0), ("newton", 0.0), ("matched_filter", 0.0), ("kfac", 0.0)] + [
        ("smoothed_sign", factor * scale) for factor in (1e-3, 1.0, 1e3)
    ]
    if n_items <= 60:
        maps.append(("sgd", 0.0))
    limit = most(n_items, dim)
    for name, lam in maps:
        assert possible(answer(am.expected_capacity, problem, name, lam), limit), (name, lam)
        assert n_items > 60 or possible(answer(prefix, problem, name, lam), limit), (name, lam)
    ceilings = am.capacity_limit, equivalents.matrix_capacity_limit
    assert all(possible(answer(ceiling, problem), n_items) for ceiling in ceilings)
    assert possible(answer(equivalents.expected_siblings_capacity, problem, 2), limit)


@pytest.mark.parametrize("alpha, n_items, dim", placed(SMALL))
def test_counts_of_a_batch_are_possible(alpha, n_items, dim):
    problem = am.Problem.power_law(n_items, dim, alpha)
    for batch_size in (1, 3, dim, 10**6):
        q = am.sample_minibatch(problem, batch_size, 0)
        for name in ("polar", "newton", "matched_filter", "kfac", "sgd"):
            value = answer(am.expected_capacity, problem, name, frequencies=q)
            assert possible(value, most(n_items, dim)), (name, batch_size)
        distinct = equivalents.expected_distinct_items(problem, batch_size)
        assert possible(np.array(distinct), min(n_items, batch_size))


@pytest.mark.parametrize("alpha, n_items, dim", placed(SMALL))
def test_counts_of_any_map_and_chances_are_possible(alpha, n_items, dim):
    problem, scale = am.Problem.power_law(n_items, dim, alpha), theory.bulk_scale(n_items, dim, alpha)
    limit = most(n_items, dim)
    for spectral_map in (torch.sign, lambda s: torch.tanh(s / scale), lambda s: (s < scale).double()):
        assert possible(answer(equivalents.expected_map_capacity, problem, spectral_map), limit)
    chances = answer(chances_of, problem)
    assert possible(chances, 1)
    for steps in (1, 3):
        assert possible(answer(equivalents.half_recovered_thresholds, problem.frequencies, dim, steps), limit)


def iterated(problem, rate, **options):
    return laws.mean_field_iterates(problem, rate, 3, **options).counts


@pytest.mark.parametrize("alpha, n_items, dim", placed(place for place in SMALL if place[2] > 1))
def test_counts_of_many_steps_are_possible(alpha, n_items, dim):
    problem, limit = am.Problem.power_law(n_items, dim, alpha), most(n_items, dim)
    for rate, options in ((1.0, {}), (4.0, {}), (1.0, {"momentum": 0.9})):
        assert possible(answer(iterated, problem, rate, **options), limit), (rate, options)
    assert possible(answer(descent, problem), limit)


def test_a_recursion_beyond_its_range_says_how_many_steps_it_has():
    with pytest.raises(ValueError, match="steps must be at most [0-4] at these frequencies, dim and rate, got 5"):
        laws.power_law_iterates(1_000_000, 32, 0.75, 1.0, 5, streams=2)


def test_the_stored_steps_are_possible():
    """All that the explorer interpolates."""
    rows = make_steps.counts().reshape(-1, make_steps.STEPS)
    for (n_items, dim, _), row in zip(make_steps.grid(), rows, strict=True):
        assert possible(row, most(n_items, dim)), (dim, n_items, row)


def test_limits_and_exponents_are_possible():
    for alpha, n_items, dim in PLACES:
        assert 0 <= theory.counting_limit(dim, n_items) < math.inf
        assert 0 < theory.bulk_scale(n_items, dim, alpha) < math.inf
        for method in ("sgd", "muon"):
            for steps in (1, 3, 50):
                value = answer(theory.recovery_exponent, method, alpha, steps)
                assert possible(value, 2.0), "no memory holds more than d² items, up to logarithms"
