"""The mathematics of the study `lr-transfer`: exact risks of a sketch and their best rates."""

import math

import numpy as np
import pytest

from amembook.companions.lr_transfer import measure


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


FLAWS = [
    (("sketch", "1", "lead"), [-0.5] * 20, "fast", "not reproduced"),
    (("sketch", "64", "lead"), [0.5] * 20, "slow", "not reproduced"),
]
REFUSED = [("decay", 1.0)]
