"""The mathematics of `sheet`."""

import math

import pytest
import torch

from amembook.networks.training import raised
from amembook.practice import sheet
from amembook.practice.sheet.measure import as_bfloat16, measure, share_kept
from amembook.run.study import fixed

CONFIG = fixed(sheet.EXPERIMENT.profiles["smoke"], "arms", "octaves", "dims")

HIGH, LOW = ([level + 0.01 * k for k in range(5)] for level in (9.0, 1.0))
OUT = [[2.0 + 0.01 * k, 90.0 + k, 1.12, 6.2, 1200.0] for k in range(5)]
FLAWS = [
    (("best", "48 adamw"), LOW[:4], "ahead", "not reproduced"),
    (("start", "48"), LOW[:4], "cost", "not reproduced"),
    (("rate", "48 muon"), [1e-5 * one for one in LOW[:4]], "factor", "not reproduced"),
    (("rate", "96 muon"), [1e-5 * one for one in LOW[:4]], "wider", "not reproduced"),
    (("rate", "48 original"), lambda rates: [100 * one for one in rates], "units", "not reproduced"),
    (("best", "48 original"), HIGH[:4], "scales", "not reproduced"),
    (("best", "48 cubic5"), HIGH, "cubic", "not reproduced", "confirm-maps"),
    (("best", "48 muon 0.88"), HIGH, "momentum", "not reproduced", "confirm-maps"),
    (("best", "48 plain 0.8"), HIGH, "nesterov", "not reproduced", "confirm-maps"),
    (("best", "48 plain 0.95"), LOW, "sign", "not reproduced", "confirm-maps"),
    (("kept", "48 bfloat16", 0), LOW, "kept", "not reproduced", "confirm-bfloat16"),
    (("test", "48 bfloat16", 0), LOW, "rounding", "not reproduced", "confirm-bfloat16"),
    (("test", "48 master", 0), HIGH, "master", "not reproduced", "confirm-bfloat16"),
    (("early", "48 muon", 0), [one - 2 for one in LOW], "early", "not reproduced", "confirm-early"),
    (("early", "48 muon", 1), [one - 2 for one in LOW], "later", "not reproduced", "confirm-early"),
    (("best", "48 clip 1"), HIGH, "clip", "not reproduced", "confirm-clip"),
    (("best", "48 clip 0.1"), HIGH, "always", "not reproduced", "confirm-clip"),
    (("best", "48 raised"), HIGH, "raised", "not reproduced", "confirm-clip"),
    (("best", "48 raised"), LOW, "below", "not reproduced", "confirm-clip"),
    (("outliers", "48 express", 0), OUT, "outliers", "not reproduced", "confirm-outliers"),
]
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


def test_a_run_is_the_optimizers_that_it_names():
    run = lambda arm, rate=0.004: measure(CONFIG, 8, arm, rate, 0, "cpu")["test"]
    arms = "adamw", "muon", "original", "cubic5", "plain 0.95", "muon 0.8", "clip 1", "clip 0.1", "raised", "express"
    losses = {arm: run(arm) for arm in (*arms, "float32")}
    assert losses.pop("float32") == losses["muon"] and len(set(losses.values())) == len(losses)
    assert run("muon", 1e-9) == pytest.approx(run("adamw", 1e-9), abs=1e-6)


def test_a_run_says_of_each_matrix_how_far_its_momentum_reaches():
    found = measure(CONFIG, 8, "muon", 0.004, 0, "cpu")
    assert [len(row) for row in found["reach"]] == [12, 12] and min(map(min, found["reach"])) > 0
    assert measure(CONFIG, 8, "adamw", 0.004, 0, "cpu")["reach"] == [] and found["kept"] == 1
    kept = [measure(CONFIG, 8, "bfloat16", rate, 0, "cpu")["kept"] for rate in (0.001, 0.03)]
    assert kept[0] < 0.7 < 0.95 < kept[1] <= 1.01


def test_clipped_steps_and_momenta_of_polar_express_are_counted():
    found = {arm: measure(CONFIG, 8, arm, 0.004, 0, "cpu") for arm in ("muon", "clip 0.1", "express")}
    assert found["muon"]["clipped"] == 0 and found["clip 0.1"]["clipped"] == 1
    assert found["muon"]["outliers"] == []
    singular, entry, *float32, count = found["express"]["outliers"]
    assert [singular, entry] == pytest.approx(float32, rel=0.05) and singular != float32[0]
    assert 0.9 < singular < 1.2 and 1 < entry < 32**0.5 * 1.2 and count == 12 * CONFIG.steps


def test_a_momentum_rises_in_a_quarter_of_the_run_and_falls_to_its_end():
    assert [raised(step, 400) for step in (0, 50, 100, 250, 400)] == pytest.approx([0.85, 0.9, 0.95, 0.925, 0.9])
