"""The mathematics of the study `lr-transfer`: exact risks of a sketch, their best rates, and laws of wide sketches."""

import math

import numpy as np
import pytest

from amembook.companions.lr_transfer import expected, measure


def test_the_risk_is_that_of_gradient_descent():
    rng = np.random.default_rng(0)
    lam = measure.spectrum(1.5, 12)
    S = rng.standard_normal((5, 12)) / math.sqrt(5)
    C, b = (S * lam) @ S.T, S @ lam
    values, Q = np.linalg.eigh(C)
    parts = (Q.T @ b) ** 2 / values
    theta = np.zeros(5)
    for _ in range(7):
        theta = theta + 0.3 * (b - C @ theta)
    direct = (lam.sum() - 2 * b @ theta + theta @ C @ theta) / 2
    assert measure.risk(0.3, values, parts, lam.sum(), 7) == pytest.approx(direct)
    rate, least = measure.best_rate(values, parts, lam.sum(), 7)
    assert (measure.risk(np.linspace(0.01, 2, 500) / values.max(), values, parts, lam.sum(), 7) >= least - 1e-12).all()
    one = measure.best_rate(values, parts, lam.sum(), 1)[0]
    assert one == pytest.approx(b @ b / (b @ C @ b), rel=1e-5)


def test_a_wide_sketch_is_close_to_none():
    sketch = measure.measure_sketch(400, 24, 1.5, [1], 3, 0)["1"]
    assert max(sketch["shift"]) < 0.5 and max(sketch["transfer"]) < 0.1 and min(sketch["transfer"]) >= -1e-12


def test_a_triangle_has_the_moments_of_a_sketch():
    wide = [measure.measure_wide(40, 16, 1.5, [8], 60, seed)["8"] for seed in range(6)]
    plain = [measure.measure_sketch(40, 16, 1.5, [8], 60, seed)["8"] for seed in range(6)]
    for name in ("gap", "transfer"):
        ours, theirs = (np.median([one[name] for one in runs]) for runs in (wide, plain))
        assert ours == pytest.approx(theirs, rel=0.35)


def test_the_limits_are_those_of_the_largest_eigenvalue_and_of_very_wide_sketches():
    gap, cost = expected.limits(8, 1.5, 16)
    n = 10**7
    assert expected.edge_costs([n], 8, 1.5, 16)[0] * n == pytest.approx(cost, rel=0.01)
    runs = [measure.measure_wide(n, 8, 1.5, [16], 400, seed)["16"] for seed in range(4)]
    assert np.median([run["gap"] for run in runs]) * n**0.5 == pytest.approx(gap, rel=0.12)
    assert np.median([run["transfer"] for run in runs]) * n == pytest.approx(cost, rel=0.25)


def test_the_least_risk_of_a_sketch_has_the_mean_and_the_noise_of_its_law():
    n, lam = 4000, measure.spectrum(1.5, 24)
    _, least = measure.best_rate(lam, lam, lam.sum(), 16)
    rng, pairs = np.random.default_rng(0), []
    for _ in range(200):  # SᵀS and 2 − SᵀS: their mean has no first order
        H = rng.standard_normal((24, 24)) / math.sqrt(2 * n)
        for sign in (1, -1):
            A = np.sqrt(np.outer(lam, lam)) * (np.eye(24) + sign * (H + H.T))
            values, Q = np.linalg.eigh(A)
            pairs.append(measure.best_rate(values, (Q.T @ np.sqrt(lam)) ** 2, lam.sum(), 16)[1] - least)
    pairs = np.array(pairs).reshape(-1, 2)
    shift, noise = expected.gap_moments(24, 1.5, 16)
    assert pairs.mean() * n == pytest.approx(shift, rel=0.1)
    assert pairs.std() * n**0.5 == pytest.approx(noise, rel=0.1)
    assert expected.gaps([1e9], 24, 1.5, 16)[0] * 1e9**0.5 == pytest.approx(noise * 0.6745, rel=0.01)
    assert expected.gaps([1.0], 24, 1.5, 16)[0] == pytest.approx(shift, rel=0.02)
    added, same = expected.gap_moments(24, 1.5, 16, own_rate=False)
    assert same == noise and added > 1.5 * shift  # a sketch's own rate saves a part of what it adds


def test_the_cost_turns_from_a_line_to_a_parabola_at_a_width_of_so_many_squared_steps():
    for steps in (16, 64):
        widths = steps**2 * np.array([1, 4, 400, 1600])
        first, _, last = expected.local_exponents(widths, expected.edge_costs(widths, 64, 1.5, steps))
        assert first == pytest.approx(0.82, abs=0.04) and last == pytest.approx(1, abs=0.01)


FLAWS = [
    (("sketch", "1", "lead"), [-0.5] * 8, "fast", "not reproduced", "medians"),
    (("sketch", "64", "lead"), [0.5] * 8, "slow", "not reproduced", "medians"),
    (("wide", "64", "cost_exponents", 1), [0.5] * 36, "crossover", "not reproduced", "many"),
    (("wide", "64", "gap_exponents", 4), [1.5] * 36, "turn", "not reproduced", "many"),
    (("wide", "64", "gap_exponents", 0), [0.5] * 36, "gap", "not reproduced", "many"),
]
REFUSED = [("decay", 1.0), ("wide_widths", (128, 1024))]
