"""The experiments: what a config accepts, what a cell gives, and when a verdict is which."""

import dataclasses
import json

import numpy as np
import pytest

from amemlib import experiments
from amemlib.equivalents import expected_capacity
from amemlib.experiments import ONE_STEP, OneStepConfig, configure
from amemlib.experiments.base import FINITE_SIZE, NOT_REPRODUCED, REPRODUCED
from amemlib.problem import Problem
from amemlib.theory import bulk_scale

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


def planted(factor, config=SMALL, sgd_factor=1.0):
    """Results that lie at `factor` times the sharp prediction, with a seed-to-seed scatter of one per cent."""
    t0 = {dim: bulk_scale(config.alpha, config.n_items, dim) for dim in config.dims}
    sharp = {}
    for cell in ONE_STEP.cells(config, "cpu"):
        dim, n_items = cell.arguments["dim"], cell.arguments["n_items"]
        for name in ("polar", "smoothed_sign", "sgd"):
            if name != "sgd" and n_items == config.sgd_items:
                continue
            if (name, dim, n_items) not in sharp:
                lam = config.lam_over_t0 * t0[dim] if name == "smoothed_sign" else 0.0
                sharp[name, dim, n_items] = expected_capacity(Problem.power_law(n_items, dim, config.alpha), name, lam)
    results = []
    for cell in ONE_STEP.cells(config, "cpu"):
        dim, n_items, seed = (cell.arguments[key] for key in ("dim", "n_items", "seed"))
        scatter = 1 + 0.01 * (-1) ** seed
        results.append(
            {
                name: {"count": count * scatter * (sgd_factor if name == "sgd" else factor), "prefix": 1}
                for (name, d, n), count in sharp.items()
                if (d, n) == (dim, n_items)
            }
        )
    return results


def test_measured_lists_are_aligned_with_the_dimensions():
    summary = ONE_STEP.summarise(SMALL, planted(1.0))
    for name, dims in {"polar": SMALL.dims, "smoothed_sign": SMALL.dims, "sgd": SMALL.sgd_dims}.items():
        measured, sharp = summary.measured["counts"][name], summary.predicted["counts"][name]
        assert len(measured) == len(sharp) == len(dims)
        assert measured == pytest.approx(sharp, rel=1e-9)
        assert np.shape(summary.measured["seed_counts"][name])[0] == len(dims)
        low, high = summary.measured["interval"][name]
        assert low < summary.measured["slope"][name] < high
        assert summary.measured["slope"][name] == pytest.approx(summary.predicted["sharp_slope"][name])
    assert summary.predicted["slope"]["polar"] == pytest.approx(1 + 1 / 3)
    assert summary.predicted["slope"]["sgd"] == pytest.approx(1 / 3)
    json.dumps(dataclasses.asdict(summary), allow_nan=False)


def test_counts_at_the_prediction_are_reproduced_and_others_are_not():
    good = ONE_STEP.summarise(SMALL, planted(1.0))
    assert good.verdicts["polar"] == good.verdict == REPRODUCED
    for factor in (0.9, 1.1):
        bad = ONE_STEP.summarise(SMALL, planted(factor))
        assert bad.verdicts["polar"] == bad.verdict == NOT_REPRODUCED
        assert bad.verdicts["sgd"] == REPRODUCED
    assert ONE_STEP.summarise(SMALL, planted(1.0, sgd_factor=1.3)).verdicts["sgd"] == NOT_REPRODUCED


def test_a_slope_off_its_limit_with_counts_on_the_prediction_is_a_finite_size():
    config = dataclasses.replace(SMALL, dims=(16, 32, 64), n_items=2048)
    assert ONE_STEP.summarise(config, planted(1.0, config)).verdicts["polar"] == FINITE_SIZE
