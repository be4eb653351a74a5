"""The mathematics of `knee`."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.networks import language_model
from amembook.networks.text import documentation
from amembook.practice import knee
from amembook.run.records import read_records
from amemlib.training.diagnosis import EARLY, LATE, LOW
from amemlib.training.doctor import _MORE, MEANING

FLAWS = [
    (("share", "jordan 64"), [-0.5 - 0.01 * k for k in range(5)], "order", "not reproduced"),
    (("share", "jordan 4"), [0.5 + 0.01 * k for k in range(5)], "whole", "not reproduced"),
    (("share", "jordan 64"), [0.8 + 0.01 * k for k in range(5)], "part", "not reproduced"),
    (("share", "jordan 256"), [0.4 + 0.01 * k for k in range(5)], "linear", "not reproduced"),
    (("share", "cans 34.6"), [0.5 + 0.01 * k for k in range(5)], "twins", "not reproduced"),
    (("reach", "jordan 64"), 4.0, "place", "not reproduced", "confirm-800"),
    (("test_draws", "frozen"), [4.8 + 0.01 * k for k in range(5)], "matters", "not reproduced"),
]
REFUSED = [("arms", ("jordan 1", "exact"))]
ROWS = torch.randn(2, 6, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_a_dialled_schedule_is_the_schedule_of_a_smaller_matrix():
    s = torch.linspace(0.01, 1, 20, dtype=torch.float64)
    table = am.spectral.SCHEDULES["cans"]
    dialled = am.spectral.compose_quintics(s, knee.dialled(table, 7.0))
    torch.testing.assert_close(dialled, am.spectral.compose_quintics(s / 7, table))
    assert knee.slope("cans 34.6") == pytest.approx(knee.slope("jordan 16"), rel=2e-3)
    assert knee.slope("cans 138.5") == pytest.approx(knee.slope("jordan 64"), rel=2e-3)


def test_arms_are_the_librarys_maps():
    for arm, aim in (("jordan 1", am.newton_schulz), ("exact", am.polar)):
        torch.testing.assert_close(knee.mapped(arm, ROWS), aim(ROWS), rtol=0, atol=1e-10)
    s = torch.linalg.svdvals(ROWS[0])
    s = s / s.norm()
    O = knee.mapped("jordan 64", ROWS)[0]  # noqa: E741
    assert knee.lifts("jordan 64", s)["lift"] == pytest.approx(float(O.square().mean()) * 9)
    assert knee.lifts("jordan 64", s)["plateau"] == knee.lifts("jordan 1", s)["lift"]


def test_every_update_has_one_size_and_is_nesterovs():
    half_time, G = {}, {"wide": ROWS[0], "tall": ROWS[1].mT}
    update = knee.muon_of("jordan 16", 2, half_time)
    first = update(0, G)
    assert not half_time and first["tall"].shape == (9, 6)
    assert [float(move.norm()) for move in first.values()] == pytest.approx([math.sqrt(6)] * 2)
    second = update(1, {name: 2 * X for name, X in G.items()})
    torch.testing.assert_close(second, first)
    assert set(half_time) == {"wide", "tall"}


def test_frozen_matrices_and_fixed_inputs_stay_and_the_halves_are_apart():
    text = documentation(4000, 32)
    run = (text, 32, 8, 8, 2, 3, 0.1)
    frozen = language_model.train_language_model(*run, None, 0, "cpu")
    moved = language_model.train_language_model(*run, knee.muon_of("exact", 3, {}), 0, "cpu")
    start = language_model.initial_weights(language_model.Network(32, 8, 8, 32), 0)
    for name, W in start.items():
        assert torch.equal(frozen[name], W) == (name != "unembedding")
        assert torch.equal(moved[name], W) == (name in ("embedding", "position"))
    held = language_model.held_out_losses(frozen, text, 8)
    assert held["validation"] != held["test"]


def test_longer_runs_are_predicted_by_what_the_short_ones_measured():
    measured = read_records("knee", "confirm")[-1]["measured"]
    reach = {arm: x for arm, x in measured["reach"].items() if arm.startswith("jordan")}
    arms = sorted(reach, key=reach.get)
    kept = {reach[arm]: np.mean(measured["share"].get(arm, 1.0)) for arm in arms}
    assert [*knee.SHORT_SHARES] == pytest.approx([*kept], rel=0.01)
    assert [*knee.SHORT_SHARES.values()] == pytest.approx([*kept.values()], abs=0.001)
    assert knee.reach_of_half(np.log([1.0, 4.0, 16.0]), [0.2, 0.4, 0.6]) == pytest.approx(8.0)


def test_the_doctors_thresholds_are_those_of_the_records():
    """What is lost at each, between the slopes that were tried, in the run that lost more."""
    text = MEANING.replace("\n", " ")
    assert "at 0.9 an eighth, at 0.26 half, at 0.08 nine tenths" in text and LOW == 0.9
    assert [least for least, _ in _MORE] == [0.9, 0.26, 0.08]
    lost = np.zeros(4)
    for record in read_records("knee", "confirm"):
        measured, arms = record["measured"], [f"jordan {c}" for c in (256, 64, 16, 4)]
        assert record["config"]["steps"] / 2 in (EARLY, LATE)
        reach = np.log([measured["reach"][arm] for arm in arms])
        share = [np.mean(measured["share"][arm]) for arm in arms]
        lost = np.maximum(lost, 1 - np.interp(np.log([3, 0.9, 0.26, 0.08]), reach, share))
    assert all(lost < (0.02, 1 / 8, 1 / 2, 0.9)) and lost == pytest.approx((0, 1 / 8, 1 / 2, 0.9), abs=0.04)
    for least, more in _MORE[1:]:
        assert least * 3.4445**more > 3 > 0.9 * least * 3.4445**more
