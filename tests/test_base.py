"""The experiments: what a config accepts, how a grid becomes cells and arrays, and what a count needs."""

import dataclasses
import inspect
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from amembook.paper.one_step import EXPERIMENT as ONE_STEP
from amembook.paper.one_step import OneStepConfig
from amembook.run import base, studies
from amembook.run.base import Grid, Results, arrays, config_of, configure, draws, standard_error
from amembook.run.claims import UNDECIDED, count_error, luck, word

SMALL = OneStepConfig(
    dims=(256, 512, 1024), n_items=50_000, seeds=4, sgd_dims=(1024, 4096), sgd_items=1024, sgd_seeds=32, first_seed=4050
)


@dataclass(frozen=True)
class Config:
    dims: tuple[int, ...] = (2, 3)
    weights: tuple[float, ...] = (0.5, 1.5)
    seeds: int = 4
    first_seed: int = 10


def measure(dim: int, seed: int, scale: float, weights: list[float], device: str) -> dict:
    return {"value": {"row": [scale * dim, seed]}, "on": device}


CONFIG = Config()
GRID = Grid(measure, {"dim": CONFIG.dims, "seed": draws(CONFIG)}, scale=10.0)


def test_a_grid_varies_its_axes_and_takes_the_rest_by_name():
    cells = GRID.cells(CONFIG, "cpu")
    assert [(cell.arguments["dim"], cell.arguments["seed"]) for cell in cells] == [
        (dim, seed) for dim in (2, 3) for seed in (10, 11, 12, 13)
    ]
    assert all(cell.arguments["weights"] == [0.5, 1.5] and cell.arguments["device"] == "cpu" for cell in cells)


def test_a_parameter_that_nothing_gives_is_named():
    with pytest.raises(TypeError, match="measure needs scale"):
        Grid(measure, {"dim": (2,), "seed": (0,)}).cells(CONFIG, "cpu")


def test_arguments_that_vary_together_share_an_axis():
    grid = Grid(measure, {"size": {"small": {"dim": 2, "scale": 1.0}, "large": {"dim": 9, "scale": 5.0}}}, seed=0)
    results = Results.of({"m": grid}, [cell.function(**cell.arguments) for cell in grid.cells(CONFIG, "cpu")])
    assert results.array("m", "value", "row").tolist() == [[2.0, 0], [45.0, 0]]
    assert results.array("m", "value", "row", size="large").tolist() == [45.0, 0]


def test_results_are_arrays_by_measure_and_keys():
    grids = {"first": Grid(measure, {"seed": (7,)}, dim=1, scale=2.0), "second": GRID}
    cells = [cell for grid in grids.values() for cell in grid.cells(CONFIG, "cpu")]
    found = [cell.function(**cell.arguments) for cell in cells]
    results = Results.of(grids, found)
    assert results.array("first", "value", "row").tolist() == [[2.0, 7]]
    assert results.array("second", "value", "row").shape == (2, 4, 2)
    assert results.array("second", "value", "row", dim=3)[:, 0].tolist() == [30.0] * 4
    with pytest.raises(ValueError, match="9 cells, got 8"):
        Results.of(grids, found[1:])


def test_a_count_has_a_floor_to_its_error():
    counts = np.array([[100.0, 100.0, 100.0, 100.0], [90.0, 130.0, 80.0, 100.0]])
    assert count_error(counts, np.array([100.0, 100.0])) == pytest.approx([2.5, standard_error(counts)[1]])
    assert count_error(counts[:, :1], np.array([100.0, 100.0])) == pytest.approx([5.0, 5.0])


def test_unseen_items_are_luck_as_long_as_there_is_about_one():
    assert luck(np.full((4, 17), 1.2), 8) <= 1
    assert luck(np.r_[np.ones(67), 4.0], 8) > 1


def test_the_first_place_at_a_level_lies_between_two_or_is_said_to_be_missing():
    assert base.first_reached([1, 2, 4], [0.1, 0.8, 1.0], 0.9) == pytest.approx(3.0)
    assert math.isnan(base.first_reached([1, 2], [0.1, 0.2], 0.9)) and math.isnan(base.first_reached([1], [1.0], 0.9))
    assert base.first_reached([1, 2], [0.95, 1.0], 0.9, start=1) == 1


def test_a_judge_is_given_arrays():
    record = {"a": [1, None], "b": {"c": [[1.5], [2.5]]}, "d": None, "e": ["x"], "f": [[1], [2, 3]], "g": True}
    found = arrays(record)
    assert np.isnan(found["a"][1]) and found["b"]["c"].shape == (2, 1) and math.isnan(found["d"])
    assert found["e"] == ["x"] and [row.tolist() for row in found["f"]] == [[1], [2, 3]] and found["g"] is True


@dataclass(frozen=True)
class Fields(base.Config):
    count: base.Count = 3
    dims: base.Dims = (4, 8)
    share: base.Share = 0.5
    rate: float = 1.0

    def limits(self) -> None:
        if self.count > self.dims[0]:
            raise ValueError(f"count must be at most {self.dims[0]}, got {self.count}")


@pytest.mark.parametrize(
    "change",
    [{"count": 0}, {"count": 2.5}, {"dims": (4,)}, {"dims": (4, 4)}, {"share": 1.5}, {"rate": math.nan}, {"count": 5}],
)
def test_a_config_checks_what_its_annotations_say(change):
    with pytest.raises((ValueError, TypeError), match=next(iter(change))):
        Fields(**change)


def test_a_single_draw_has_no_standard_error():
    assert standard_error(np.array([[1.0, 3.0]])) == pytest.approx([1.0])
    assert np.isnan(standard_error(np.array([[1.0], [2.0]]))).all()


def test_a_record_of_another_config_is_refused():
    stored = json.loads(json.dumps(dataclasses.asdict(SMALL)))
    assert config_of(ONE_STEP, stored) == SMALL
    with pytest.raises(ValueError, match="lam_over_t0"):
        config_of(ONE_STEP, {key: value for key, value in stored.items() if key != "lam_over_t0"})


@pytest.mark.parametrize("name", [name for names in studies.names().values() for name in names])
def test_every_profile_is_a_grid_of_distinct_plain_calls(name):
    experiment = studies.find_experiment(name)
    assert experiment.name == name and set(experiment.profiles) >= {"smoke", "cpu"}
    for config in experiment.profiles.values():
        cells = experiment.cells(config, "cpu")
        calls = [json.dumps(base.plain([cell.function.__name__, cell.arguments]), sort_keys=True) for cell in cells]
        assert cells and len(set(calls)) == len(calls)
        assert all(list(inspect.signature(cell.function).parameters) == list(cell.arguments) for cell in cells)
        assert config_of(experiment, json.loads(json.dumps(dataclasses.asdict(config)))) == config


def test_any_field_can_be_overridden():
    config = configure(ONE_STEP, "smoke", {"alpha": "1.75", "dims": "64,128", "seeds": "5", "lam_over_t0": "0"})
    assert (config.alpha, config.dims, config.seeds, config.lam_over_t0) == (1.75, (64, 128), 5, 0.0)
    assert config.sgd_dims == ONE_STEP.profiles["smoke"].sgd_dims
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.alpha = 2.0


@pytest.mark.parametrize("index", [0, -1])
def test_a_cell_gives_the_same_plain_result_every_time(index):
    config = dataclasses.replace(SMALL, dims=(16, 24), n_items=300, sgd_dims=(64, 128), sgd_items=100)
    cell = ONE_STEP.cells(config, "cpu")[index]
    result = cell.function(**cell.arguments)
    assert json.loads(json.dumps(result)) == result == cell.function(**cell.arguments)
    for entry in result.values():
        assert entry.get("prefix", 0) <= entry["count"]


@pytest.mark.slow
def test_measured_lists_are_aligned_with_the_dimensions():
    config = dataclasses.replace(SMALL, dims=(16, 24), n_items=300, sgd_dims=(64, 128), sgd_items=100, sgd_seeds=2)
    results = [cell.function(**cell.arguments) for cell in ONE_STEP.cells(config, "cpu")]
    measured, predicted = ONE_STEP.read(config, results)
    for name, dims in {"polar": config.dims, "smoothed_sign": config.dims, "sgd": config.sgd_dims}.items():
        assert len(measured["counts"][name]) == len(predicted["counts"][name]) == len(measured["seed_counts"][name])
        assert len(dims) == len(measured["counts"][name])
        low, high = measured["interval"][name]
        assert low < measured["slope"][name] < high
    assert predicted["slope"]["polar"] == pytest.approx(1 + 1 / 3)
    assert predicted["slope"]["sgd"] == pytest.approx(1 / 3)
    verdicts = ONE_STEP.verdicts(config, measured, predicted)
    assert word(verdicts["polar"]) == UNDECIDED, "no dimension is large enough for the prediction"
