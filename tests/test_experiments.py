"""The experiments: what a config accepts, what a cell gives, and when a verdict is which."""

import dataclasses
import json

import numpy as np
import pytest

from amemlib import experiments
from amemlib.experiments import ONE_STEP, OneStepConfig, configure
from amemlib.experiments.base import FINITE_SIZE, NOT_REPRODUCED, REPRODUCED
from amemlib.problem import Problem
from amemlib.theory import recovery_exponent

SMALL = OneStepConfig(
    dims=(256, 512, 1024), n_items=50_000, seeds=2, sgd_dims=(1024, 4096), sgd_items=1024, sgd_seeds=4
)


@pytest.mark.parametrize("profile", ["smoke", "cpu", "gpu"])
@pytest.mark.parametrize("experiment", experiments.EXPERIMENTS.values(), ids=lambda experiment: experiment.name)
def test_every_profile_can_be_configured(experiment, profile):
    config = configure(experiment, profile, {})
    assert config == experiment.profiles[profile]
    assert list(experiment.cells(config, "cpu"))
    assert experiments.find_experiment(experiment.name) is experiment


def test_any_field_can_be_overridden():
    config = configure(ONE_STEP, "smoke", {"alpha": "1.75", "dims": "64,128", "seeds": "5", "lam_over_t0": "0"})
    assert (config.alpha, config.dims, config.seeds, config.lam_over_t0) == (1.75, (64, 128), 5, 0.0)
    assert config.sgd_dims == ONE_STEP.profiles["smoke"].sgd_dims
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.alpha = 2.0


def test_the_cells_are_the_grid_and_nothing_twice():
    cells = ONE_STEP.cells(SMALL, "cpu")
    assert len(cells) == 3 * 2 + 2 * 4
    keys = {json.dumps([cell.function.__name__, cell.arguments], sort_keys=True) for cell in cells}
    assert len(keys) == len(cells)
    shifted = ONE_STEP.cells(dataclasses.replace(SMALL, first_seed=1000), "cpu")
    assert {cell.arguments["seed"] for cell in shifted} == {1000, 1001, 1002, 1003}


@pytest.mark.parametrize("index", [0, -1])
def test_a_cell_gives_the_same_plain_result_every_time(index):
    config = dataclasses.replace(SMALL, dims=(16, 24), n_items=300, sgd_dims=(64, 128), sgd_items=100)
    cell = ONE_STEP.cells(config, "cpu")[index]
    result = cell.function(**cell.arguments)
    assert json.loads(json.dumps(result)) == result == cell.function(**cell.arguments)
    for entry in result.values():
        assert entry.get("prefix", 0) <= entry["count"]


def summary_of(monkeypatch, factor=1.0, sgd_factor=1.0, excess=0.0, config=SMALL):
    """Counts at `factor` times a stand-in for the sharp prediction, whose slope is `excess` above the limit.

    Seeds scatter by one per cent.
    """

    def sharp(problem, spectral_map, lam=0.0):
        exponent = recovery_exponent("sgd" if spectral_map == "sgd" else "muon", problem.alpha)
        return 3 * problem.dim ** (exponent + excess)

    monkeypatch.setattr("amemlib.experiments.one_step.expected_capacity", sharp)
    results = []
    for cell in ONE_STEP.cells(config, "cpu"):
        problem = Problem.power_law(cell.arguments["n_items"], cell.arguments["dim"], config.alpha)
        scatter = 1 + 0.01 * (-1) ** cell.arguments["seed"]
        counts = {name: scatter * factor * sharp(problem, name) for name in ("polar", "smoothed_sign", "sgd")}
        counts["sgd"] *= sgd_factor / factor
        results.append({name: {"count": count, "prefix": 1} for name, count in counts.items()})
    return ONE_STEP.summarise(config, results)


def test_measured_lists_are_aligned_with_the_dimensions(monkeypatch):
    summary = summary_of(monkeypatch, excess=0.01)
    for name, dims in {"polar": SMALL.dims, "smoothed_sign": SMALL.dims, "sgd": SMALL.sgd_dims}.items():
        measured, sharp = summary.measured["counts"][name], summary.predicted["counts"][name]
        assert len(measured) == len(sharp) == len(dims)
        assert measured == pytest.approx(sharp, rel=1e-9)
        assert np.shape(summary.measured["seed_counts"][name])[0] == len(dims)
        low, high = summary.measured["interval"][name]
        assert low < summary.measured["slope"][name] < high
        assert summary.measured["slope"][name] == pytest.approx(summary.predicted["slope"][name] + 0.01)
        assert summary.measured["slope"][name] == pytest.approx(summary.predicted["sharp_slope"][name])
    assert summary.predicted["slope"]["polar"] == pytest.approx(1 + 1 / 3)
    assert summary.predicted["slope"]["sgd"] == pytest.approx(1 / 3)
    json.dumps(dataclasses.asdict(summary), allow_nan=False)


@pytest.mark.parametrize("factor, verdict", [(1.0, REPRODUCED), (0.9, NOT_REPRODUCED), (1.1, NOT_REPRODUCED)])
def test_counts_at_the_prediction_are_reproduced_and_others_are_not(monkeypatch, factor, verdict):
    off = summary_of(monkeypatch, factor=factor)
    assert (off.verdicts["polar"], off.verdicts["sgd"], off.verdict) == (verdict, REPRODUCED, verdict)
    off = summary_of(monkeypatch, sgd_factor=factor)
    assert (off.verdicts["polar"], off.verdicts["sgd"], off.verdict) == (REPRODUCED, verdict, verdict)


def test_a_slope_off_its_limit_with_counts_on_the_prediction_is_a_finite_size(monkeypatch):
    assert set(summary_of(monkeypatch, excess=0.2).verdicts.values()) == {FINITE_SIZE}


def test_dimensions_too_small_for_the_prediction_are_no_reproduction(monkeypatch):
    config = dataclasses.replace(SMALL, dims=(16, 32, 64))
    assert summary_of(monkeypatch, config=config).verdicts["polar"] == FINITE_SIZE
