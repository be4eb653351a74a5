"""The exponents of the paper and the scales that go with them."""

import math

import numpy as np
import pytest

from amemlib import theory

ALPHAS = [0.75, 1.0, 1.25, 1.5, 2.0, 3.0]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_muons_closed_form_solves_its_recursion(alpha):
    kappa = 1.0
    for steps in range(1, 8):
        kappa = (1 - 1 / (2 * alpha)) * kappa + 1 / alpha
        assert theory.recovery_exponent("muon", alpha, steps) == pytest.approx(kappa, rel=1e-14)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 2.5, 3.0])
def test_sgd_lags_muon_by_exactly_two_alpha_steps(alpha):
    lag = round(2 * alpha)
    assert theory.recovery_exponent("sgd", alpha, lag) == pytest.approx(1)
    for steps in range(1, 6):
        late = theory.recovery_exponent("sgd", alpha, lag + steps)
        assert late == pytest.approx(theory.recovery_exponent("muon", alpha, steps), rel=1e-14)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_step_exponents_are_those_of_theorems_3_and_5(alpha):
    assert theory.recovery_exponent("muon", alpha) == pytest.approx(1 + 1 / (2 * alpha))
    assert theory.recovery_exponent("sgd", alpha) == pytest.approx(1 / (2 * alpha))


@pytest.mark.parametrize("method", ["muon", "sgd"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_exponents_increase_with_the_steps_towards_the_information_limit(method, alpha):
    exponents = [theory.recovery_exponent(method, alpha, steps) for steps in range(1, 30)]
    assert np.all(np.diff(exponents) > 0)
    assert exponents[-1] < 2


def test_newton_has_muons_exponent_after_one_step_and_no_prediction_elsewhere():
    assert theory.recovery_exponent("newton", 1.5) == theory.recovery_exponent("muon", 1.5)
    with pytest.raises(ValueError, match="steps must be 1 .* got 2"):
        theory.recovery_exponent("newton", 1.5, steps=2)
    with pytest.raises(ValueError, match=r"alpha must be a finite number > 1, got 1\.0"):
        theory.recovery_exponent("newton", 1.0)


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_the_critical_batch_shows_as_many_items_as_are_recovered(alpha):
    assert theory.critical_batch_exponent("muon", alpha) == pytest.approx(alpha + 0.5)
    assert theory.critical_batch_exponent("sgd", alpha) == pytest.approx(0.5)
    for method in ("muon", "sgd"):
        seen = theory.critical_batch_exponent(method, alpha) * theory.observed_exponent(alpha)
        assert seen == pytest.approx(theory.recovery_exponent(method, alpha))


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.01, 1.5, 2.5])
@pytest.mark.parametrize("n_items", [1, 2, 10, 100_000])
def test_power_law_sum_is_the_sum(alpha, n_items):
    direct = math.fsum(i**-alpha for i in range(1, n_items + 1))
    # the difference of two zeta values near their pole at α = 1 loses two digits
    assert theory.power_law_sum(n_items, alpha) == pytest.approx(direct, rel=1e-13)


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.5, 2.5])
def test_bulk_scale_falls_like_d_to_minus_alpha(alpha):
    ratio = theory.bulk_scale(5000, 512, alpha) / theory.bulk_scale(5000, 64, alpha)
    assert ratio == pytest.approx(8**-alpha, rel=1e-13)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_bulk_scale_is_where_d_modes_are_occupied(alpha):
    dim, n_items = 256, 2**19
    p = np.arange(1, n_items + 1) ** -alpha / theory.power_law_sum(n_items, alpha)
    x = (p / theory.bulk_scale(n_items, dim, alpha)) ** 2
    # the sum differs from its integral by half an item in d, and by the cut at N, smaller still
    assert np.sum(x / (1 + x)) == pytest.approx(dim, rel=1 / dim)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 0.9999999, -2.0])
def test_the_far_part_of_a_power_sum_is_that_of_its_terms(alpha):
    n_items = 3 * 2**21
    exact = math.fsum(np.arange(1, n_items + 1, dtype=float) ** -alpha)
    assert theory.power_law_sum(n_items, alpha) == pytest.approx(exact, rel=1e-13)


def test_a_power_sum_takes_any_number_of_terms():
    assert theory.power_law_sum(10**12, 1.0) == pytest.approx(12 * math.log(10) + 0.5772156649015329, rel=1e-13)
