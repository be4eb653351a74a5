"""The experiments: what a config accepts, how a grid becomes cells and arrays, and when a verdict is which."""

import dataclasses
import inspect
import json
from dataclasses import dataclass

import numpy as np
import pytest

from amemlib import experiments
from amemlib.experiments import Grid, Results, config_of, configure
from amemlib.experiments.base import by_luck, count_error, draws, exponent_verdict, standard_error
from amemlib.experiments.one_step import EXPERIMENT as ONE_STEP
from amemlib.experiments.one_step import OneStepConfig
from amemlib.problem import Problem
from amemlib.theory import recovery_exponent
from amemlib.verdicts import (
    CONSISTENT,
    FINITE_SIZE,
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    consistency,
    refuse,
    verdict,
    word,
    worst,
)

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


@pytest.mark.parametrize(
    "sizes, limit, refused, said",
    [
        (True, True, ["SGD"], REPRODUCED),
        (None, True, ["SGD"], REPRODUCED),
        (True, True, [], UNDECIDED),
        (False, True, ["SGD"], UNDECIDED),
        (True, False, ["SGD"], FINITE_SIZE),
        (True, None, ["SGD"], FINITE_SIZE),
        (True, None, [], UNDECIDED),
        (True, False, [], UNDECIDED),
        (False, False, ["SGD"], NOT_REPRODUCED),
        (False, None, ["SGD"], NOT_REPRODUCED),
        (None, False, ["SGD"], NOT_REPRODUCED),
        (None, None, [], UNDECIDED),
    ],
)
def test_two_questions_make_one_word(sizes, limit, refused, said):
    assert word(verdict(sizes, limit, refused)) == said


def test_an_inequality_is_a_check_and_hides_no_other_verdict():
    assert [word(consistency(held)) for held in (True, False)] == [CONSISTENT, NOT_REPRODUCED]
    assert word(consistency(True, reached=False)) == FINITE_SIZE, "it holds, where nobody uses it"
    assert [word(consistency(held, draws=3)) for held in (True, False)] == [UNDECIDED, NOT_REPRODUCED]
    assert worst([consistency(True)]) == CONSISTENT
    assert worst([consistency(True), verdict(True, True, ["SGD"])]) == REPRODUCED
    assert worst([verdict(True, False, ["SGD"]), verdict(False, True), verdict(True, True, ["SGD"])]) == UNDECIDED


def test_fewer_than_four_draws_decide_nothing():
    assert word(verdict(True, True, ["SGD"], draws=4)) == REPRODUCED
    assert word(verdict(True, True, ["SGD"], draws=3)) == word(verdict(False, False, [], draws=3)) == UNDECIDED


LAWS = {"another": 1.2, "a third": 1.6}


def exponent(slope=1.34, half=0.02, sharp=1.38, met=True, draws=4, limit=1.33):
    said = exponent_verdict(met, slope, [slope - half, slope + half], sharp, limit, LAWS, draws)
    return word(said), said["refused"]


def test_an_exponent_meets_its_limit_by_its_interval_and_its_sizes_by_the_sharp_counts():
    assert exponent(1.37, half=0.05) == (REPRODUCED, ["another", "a third"])
    assert exponent(1.38) == (FINITE_SIZE, ["another", "a third"]), "the interval leaves the limit out"
    assert exponent(1.34, sharp=1.45)[0] == UNDECIDED, "the limit is met where the sharp counts are missed"
    assert exponent(1.50, sharp=1.40)[0] == NOT_REPRODUCED
    assert exponent(1.38, met=False)[0] == NOT_REPRODUCED
    assert exponent(1.38, draws=3)[0] == UNDECIDED
    assert exponent(1.40, half=0.5) == (UNDECIDED, []), "so wide an interval refuses nobody"


def test_sharp_counts_far_from_their_limit_say_nothing_of_it():
    assert exponent(2.12, sharp=2.09, limit=1.56)[0] == UNDECIDED
    assert exponent(2.12, sharp=1.70, limit=1.56)[0] == NOT_REPRODUCED


@pytest.mark.parametrize("name", LAWS)
def test_an_exponent_that_follows_a_rival_is_refused(name):
    # as steep as the rival's limit, and as the sharp counts would be if it were theirs
    for slope in (LAWS[name], LAWS[name] + 0.05):
        said, refused = exponent(slope)
        assert said == NOT_REPRODUCED and name not in refused


def test_a_count_has_a_floor_to_its_error():
    counts = np.array([[100.0, 100.0, 100.0, 100.0], [90.0, 130.0, 80.0, 100.0]])
    assert count_error(counts, np.array([100.0, 100.0])) == pytest.approx([2.5, standard_error(counts)[1]])
    assert count_error(counts[:, :1], np.array([100.0, 100.0])) == pytest.approx([5.0, 5.0])


def test_unseen_items_are_luck_as_long_as_there_is_about_one():
    assert by_luck(np.full((4, 17), 1.2), 8)
    assert not by_luck(np.r_[np.ones(67), 4.0], 8)


def test_rivals_are_refused_by_the_rule_of_the_law_itself():
    assert refuse(lambda slope: abs(slope - 1.3) < 0.1, {"near": 1.25, "far": 1.0, "none": 0.0}) == ["far", "none"]


def test_a_single_draw_has_no_standard_error():
    assert standard_error(np.array([[1.0, 3.0]])) == pytest.approx([1.0])
    assert np.isnan(standard_error(np.array([[1.0], [2.0]]))).all()


def test_a_record_of_another_config_is_refused():
    stored = json.loads(json.dumps(dataclasses.asdict(SMALL)))
    assert config_of(ONE_STEP, stored) == SMALL
    with pytest.raises(ValueError, match="lam_over_t0"):
        config_of(ONE_STEP, {key: value for key, value in stored.items() if key != "lam_over_t0"})


@pytest.mark.parametrize("name", experiments.names())
def test_every_profile_is_a_grid_of_distinct_plain_calls(name):
    experiment = experiments.find_experiment(name)
    assert experiment.name == name and set(experiment.profiles) >= {"smoke", "cpu", "gpu"}
    for config in experiment.profiles.values():
        cells = experiment.cells(config, "cpu")
        calls = [json.dumps([cell.function.__name__, cell.arguments], sort_keys=True) for cell in cells]
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


def one_step_of(monkeypatch, factor=1.0, sgd_factor=1.0, excess=0.0, config=SMALL, chain=0.7, length=0.7):
    """Measured, predicted and words for counts at `factor` times a stand-in for the sharp prediction.

    Its slope is `excess` above the limit; seeds scatter by one per cent. chain, length: the longest prefix, predicted
    and measured, as a share of the sharp count.
    """

    def sharp(problem, spectral_map, lam=0.0):
        exponent = recovery_exponent("sgd" if spectral_map == "sgd" else "muon", problem.alpha)
        return 3 * problem.dim ** (exponent + excess)

    def prefix(problem, spectral_map, lam=0.0):
        return chain * sharp(problem, spectral_map), 0.05 * sharp(problem, spectral_map)

    monkeypatch.setattr("amemlib.experiments.one_step.expected_capacity", sharp)
    monkeypatch.setattr("amemlib.experiments.one_step.expected_prefix", prefix)
    results = []
    for cell in ONE_STEP.cells(config, "cpu"):
        problem = Problem.power_law(cell.arguments["n_items"], cell.arguments["dim"], config.alpha)
        scatter = 1 + 0.01 * (-1) ** cell.arguments["seed"]
        counts = {name: scatter * factor * sharp(problem, name) for name in ("polar", "smoothed_sign", "sgd")}
        counts["sgd"] *= sgd_factor / factor
        results.append({name: {"count": count, "prefix": length * count} for name, count in counts.items()})
    measured, predicted = json.loads(json.dumps(ONE_STEP.read(config, results), allow_nan=False))
    verdicts = ONE_STEP.verdicts(config, measured, predicted)
    return measured, predicted, {name: word(verdict) for name, verdict in verdicts.items()}


def test_measured_lists_are_aligned_with_the_dimensions(monkeypatch):
    found, expected, _ = one_step_of(monkeypatch, excess=0.01)
    for name, dims in {"polar": SMALL.dims, "smoothed_sign": SMALL.dims, "sgd": SMALL.sgd_dims}.items():
        counts, sharp = found["counts"][name], expected["counts"][name]
        assert len(counts) == len(sharp) == len(dims)
        assert counts == pytest.approx(sharp, rel=1e-9)
        assert np.shape(found["seed_counts"][name])[0] == len(dims)
        low, high = found["interval"][name]
        assert low < found["slope"][name] < high
        assert found["slope"][name] == pytest.approx(expected["slope"][name] + 0.01)
        assert found["slope"][name] == pytest.approx(expected["sharp_slope"][name])
    assert expected["slope"]["polar"] == pytest.approx(1 + 1 / 3)
    assert expected["slope"]["sgd"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("factor, said", [(1.0, REPRODUCED), (0.9, UNDECIDED), (1.1, UNDECIDED)])
def test_counts_at_the_prediction_are_reproduced_and_others_are_not(monkeypatch, factor, said):
    off = one_step_of(monkeypatch, factor=factor)[2]
    assert (off["polar"], off["sgd"]) == (said, REPRODUCED)
    off = one_step_of(monkeypatch, sgd_factor=factor)[2]
    assert (off["polar"], off["sgd"]) == (REPRODUCED, said)


def test_all_items_up_to_a_rank_is_judged_by_the_longest_prefix(monkeypatch):
    good = one_step_of(monkeypatch)
    assert good[2]["prefix_polar"] == good[2]["prefix_smoothed_sign"] == REPRODUCED
    refused = ONE_STEP.verdicts(SMALL, *good[:2])["prefix_polar"]["refused"]
    assert refused == ["SGD", "α + 1/2", "α − 1/2", "a full memory", "as long as the count", "one item a dimension"]
    # every item that is recovered comes first, or one failure ends the prefix early: counts as predicted all the same
    for length in (1.0, 0.4):
        off = one_step_of(monkeypatch, length=length)[2]
        assert (off["polar"], off["prefix_polar"]) == (REPRODUCED, UNDECIDED)
    measured = {key: value for key, value in good[0].items() if key != "seed_prefixes"}
    assert word(ONE_STEP.verdicts(SMALL, measured, good[1])["prefix_polar"]) == UNDECIDED


def test_a_slope_off_its_limit_is_a_finite_size_where_the_counts_are_predicted_and_wrong_where_not(monkeypatch):
    assert set(one_step_of(monkeypatch, excess=0.2)[2].values()) == {FINITE_SIZE}
    off = one_step_of(monkeypatch, excess=0.2, factor=0.9, sgd_factor=0.9)[2]
    assert {off[name] for name in ("polar", "smoothed_sign", "sgd")} == {NOT_REPRODUCED}


def test_dimensions_too_small_for_the_prediction_decide_nothing(monkeypatch):
    config = dataclasses.replace(SMALL, dims=(16, 32, 64))
    assert one_step_of(monkeypatch, config=config)[2]["polar"] == UNDECIDED


@pytest.mark.parametrize("name", ["polar", "smoothed_sign", "sgd"])
def test_a_rival_law_is_refused(monkeypatch, name):
    measured, predicted, _ = one_step_of(monkeypatch)
    refused = ONE_STEP.verdicts(SMALL, measured, predicted)[name]["refused"]
    assert {"α + 1/2", "α − 1/2", "a full memory"} < set(refused)
    steeper = recovery_exponent("sgd" if name == "sgd" else "muon", SMALL.alpha + 0.5)
    measured["slope"][name], measured["interval"][name] = steeper, [steeper - 0.01, steeper + 0.01]
    said = ONE_STEP.verdicts(SMALL, measured, predicted)[name]
    assert said["limit"] == "missed" and "α + 1/2" not in said["refused"]
