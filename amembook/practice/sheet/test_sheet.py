"""The mathematics of `sheet`."""

import math

import pytest
import torch

from amembook.practice import sheet
from amembook.practice.sheet.measure import as_bfloat16, share_kept

FLAWS = []
REFUSED = [("looks", (20, 100)), ("octaves", (0, 1, 3))]


@pytest.mark.parametrize("rate", [0.0005, 0.002])
def test_the_share_that_is_kept_is_that_of_random_weights_and_steps(rate):
    draw = torch.Generator().manual_seed(0)
    W = (torch.randn(1_000_000, generator=draw) / math.sqrt(48)).bfloat16().float()
    step = torch.randn(len(W), generator=draw) * 0.2 * rate
    moved = (W + step).bfloat16().float() - W
    assert share_kept(rate, 48) == pytest.approx(float(moved @ step / (step @ step)), abs=0.01)


def test_the_share_depends_on_the_rate_times_the_root_of_the_width():
    assert share_kept(0.001, 64) == pytest.approx(share_kept(0.00025, 1024), rel=1e-6)


def test_a_parabola_is_found_between_the_rates():
    y = (torch.arange(5) - 1.3).square().numpy()
    assert sheet.lowest(y) == pytest.approx(1.3) and sheet.value_at(y, 3.6) == pytest.approx(2.3**2, rel=1e-5)
    assert sheet.lowest(y[2:]) == 0.0


def test_rounding_passes_the_gradient():
    W = torch.tensor([1.001, -3.14159], requires_grad=True)
    read = as_bfloat16(W)
    read.square().sum().backward()
    assert torch.equal(read.detach(), W.detach().bfloat16().float())
    torch.testing.assert_close(W.grad, 2 * read.detach())
