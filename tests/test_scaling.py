"""The ruler: planted exponents come back, a bent curve is called bent, and the interval means what it says."""

import numpy as np
import pytest

from amemlib import fit_exponent

X = np.array([64, 128, 256, 512, 1024])


@pytest.mark.parametrize("slope", [-1.5, 0.25, 1.25, 2.0])
@pytest.mark.parametrize("repetitions", [None, 1, 4])
def test_a_planted_exponent_is_recovered(slope, repetitions):
    y = 3.0 * X**slope
    if repetitions is not None:
        y = np.repeat(y[:, None], repetitions, axis=1)
    fit = fit_exponent(X, y)
    assert fit.slope == pytest.approx(slope, abs=1e-12)
    assert np.exp(fit.intercept) == pytest.approx(3.0)
    assert fit.local_slopes == pytest.approx([slope] * 4)
    assert fit.high - fit.low < 1e-6
    assert fit.doubts == ()


def test_a_curve_that_is_no_power_law_fits_well_reads_wrong_and_is_flagged():
    x = np.array([8, 16, 32, 64, 128, 256, 512, 1024])
    fit = fit_exponent(x, x**1.3 * (1 + 10 / x))
    assert fit.high < 1.3 and fit.high - fit.low < 0.2
    assert fit.doubts == ("curved",)
    assert np.all(np.diff(fit.local_slopes) > 0) and fit.local_slopes[-1] < 1.3
    tail = fit_exponent(x[5:], x[5:] ** 1.3 * (1 + 10 / x[5:]))
    assert tail.doubts == () and tail.slope == pytest.approx(1.3, abs=0.05)


def test_local_slopes_are_those_of_neighbouring_points():
    fit = fit_exponent([1, 2, 8], [1, 4, 4 * 4**0.5])
    assert fit.local_slopes == pytest.approx([2, 0.5])


def test_the_order_of_the_points_does_not_matter():
    y = np.random.default_rng(0).lognormal(size=(5, 3))
    order = [3, 0, 4, 1, 2]
    fit, shuffled = fit_exponent(X, y), fit_exponent(X[order], y[order])
    assert shuffled.local_slopes == pytest.approx(fit.local_slopes)
    assert (shuffled.slope, shuffled.low, shuffled.high) == pytest.approx((fit.slope, fit.low, fit.high))
    assert shuffled.doubts == fit.doubts


@pytest.mark.parametrize("repetitions", [1, 4])
def test_the_interval_covers_the_planted_slope_19_times_in_20(repetitions):
    rng = np.random.default_rng(0)
    trials = 1500
    noise = 0.05 * rng.standard_normal((trials, len(X), repetitions))
    fits = [fit_exponent(X, (X**1.3)[:, None] * np.exp(each)) for each in noise]
    covered = np.mean([fit.low < 1.3 < fit.high for fit in fits])
    # five binomial standard errors; an interval half as wide would cover 0.7 to 0.8, a normal one of 3 freedoms 0.86
    assert covered == pytest.approx(0.95, abs=5 * np.sqrt(0.95 * 0.05 / trials))


@pytest.mark.parametrize("repetitions", [4, 8])
def test_the_interval_covers_where_one_end_scatters_more_than_the_other(repetitions):
    rng = np.random.default_rng(0)
    trials, spread = 4000, 0.05 * np.array([4.0, 2.0, 1.0, 0.5, 0.25])
    noise = spread[:, None] * rng.standard_normal((trials, len(X), repetitions))
    fits = [fit_exponent(X, (X**1.3)[:, None] * (1 + each)) for each in noise]
    covered = np.mean([fit.low < 1.3 < fit.high for fit in fits])
    # with the freedom of all points it covered 89 to 92 of 100
    assert 0.935 < covered < 0.97


def test_the_doubts_are_reported():
    assert fit_exponent([1, 2], [1, 2]).doubts == ("two points",)
    assert fit_exponent([1, 2], [1, 2]).high == np.inf
    assert fit_exponent([1, 2], [[1.0, 1.1], [2.0, 2.1]]).high < np.inf
    assert fit_exponent(X, X, ceiling=2049.0).doubts == ()
    assert fit_exponent(X, X, ceiling=2047.0).doubts == ("saturated",)
