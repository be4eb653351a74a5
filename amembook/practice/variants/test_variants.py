"""The mathematics of `variants`."""

from types import SimpleNamespace

import pytest
import torch

import amemlib as am
from amembook.practice import variants

FLAWS = [
    (("rows", "top", 1, 1), [150.0 + k for k in range(176)], "rows", "not reproduced", "many"),
    (("rows", "top", 0, 0), [90.0 + k for k in range(176)], "alike", "not reproduced", "many"),
    (("gram", "float16", "gram"), [200.0 + k for k in range(176)], "gram", "not reproduced", "many"),
    (("tokens", "sign", 4), [100.0 + k for k in range(176)], "adam", "not reproduced", "many"),
]


def test_the_iteration_on_the_gram_matrix_is_newton_schulz():
    G = torch.randn(12, 30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    schedule = am.spectral.SCHEDULES[variants.SCHEDULE]
    aim = am.newton_schulz(G, coefficients=variants.SCHEDULE)
    for restarts in ((), (variants.RESTART,), (1, 3)):
        W = variants.gram_newton_schulz(G, schedule, torch.float32, restarts)
        torch.testing.assert_close(W, aim, atol=2e-4, rtol=0)
    torch.testing.assert_close(variants.standard_newton_schulz(G, schedule, torch.float32), aim, atol=1e-5, rtol=0)


def test_the_polar_factor_of_some_rows_is_that_of_a_smaller_matrix():
    G = torch.randn(6, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    W = variants.polar_of_rows(G, torch.tensor([4, 1]))
    torch.testing.assert_close(W[[4, 1]], am.polar(G[[4, 1]]))
    assert not W[[0, 2, 3, 5]].any() and torch.linalg.matrix_norm(W, 2) == pytest.approx(1)


def test_all_rows_are_the_whole():
    items = variants.measure_rows(SimpleNamespace(n_items=128, alpha=1.5), 16, 1.0, 0, "cpu")
    assert items["top"] == items["random"] == items["whole"] and items["length"] == pytest.approx(1)
