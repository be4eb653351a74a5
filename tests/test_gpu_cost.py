"""What the gpu profiles cost by the model: its seconds on one core beside those of the records."""

import json
import statistics

import numpy as np
import pytest

from amembook.run import command_line, gpu_cost, records, studies
from amembook.run.base import config_of


@pytest.mark.slow
@pytest.mark.parametrize("name", gpu_cost.CELLS)
def test_the_seconds_of_one_core_suit_the_records(name):
    """To a factor of three at the median: records of the same sizes took 110 and 818 seconds."""
    experiment, ratios = studies.find_experiment(name), []
    for record in records.read_records(name):
        work, _, _ = gpu_cost.study_work(name, config_of(experiment, record["config"]))
        if any(work):  # a record of other parts of its study has no cell that is modelled
            ratios.append(gpu_cost.core_seconds(work) / record["seconds"])
    assert len(ratios) >= 2 and 1 / 3 < statistics.median(ratios) < 3, ratios


@pytest.mark.parametrize("name", gpu_cost.CELLS)
def test_a_modelled_function_is_one_of_the_study(name):
    config = studies.find_experiment(name).profiles["gpu"]
    cells = {cell.function.__name__ for cell in studies.find_experiment(name).cells(config, "cpu")}
    assert set(gpu_cost.CELLS[name]) <= cells


def test_a_draw_is_counted_once_for_all_rules():
    config = studies.find_experiment("deflation").profiles["gpu"]
    work, _, left_out = gpu_cost.study_work("deflation", config)
    assert work[gpu_cost.KINDS.index("normals")] == 2 * config.n_items * config.seeds * sum(config.dims)
    assert left_out == 2 * config.seeds * len(config.batch_sizes) + config.seeds * len(config.dims)


def test_a_gradient_costs_two_operations_an_item_and_an_entry():
    cell = {"n_items": 1000, "dim": 10, "alpha": 1.5, "lam_over_t0": 1.0}
    work = dict(zip(gpu_cost.KINDS, gpu_cost.CELLS["one-step"]["measure_one_step"](cell), strict=True))
    assert work["double"] == 2 * (2 * 1000 * 10**2) and work["normals"] == 2 * 1000 * 10
    assert work["single"] <= 3 * 2 * 1000 * 10 * (10 + 1000)


def test_a_card_that_does_more_is_sooner_and_the_host_stays():
    work = np.ones(len(gpu_cost.KINDS)) * 1e12
    seconds = [gpu_cost.card_seconds(work, card) for card in ("H200", "H100", "T4", "RTX 4060 Laptop")]
    assert seconds == sorted(seconds)
    assert min(seconds) > 1e12 / gpu_cost.CORE[4] / 2 + 1e12 / gpu_cost.CORE[5]


def test_the_command_prints_the_table(capsys):
    assert command_line.main(["power", "--gpu"]) == 0
    assert capsys.readouterr().out == f"{gpu_cost.table()}\n"
    assert command_line.main(["power", "--gpu", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(gpu_cost.CELLS)


@pytest.mark.parametrize("arguments", [[], ["one-step", "--gpu"]])
def test_power_takes_a_study_or_the_gpu(arguments, capsys):
    assert command_line.main(["power", *arguments]) == 2
    assert "power must be given the NAME of a study or --gpu" in capsys.readouterr().err
