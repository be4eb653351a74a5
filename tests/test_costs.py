"""Costs: every cell of every gpu profile has one, it grows as the work does, and it is right to a small factor."""

import math
import time
from dataclasses import astuple

import pytest
import torch

from amemlib import costs, experiments, visits
from amemlib.experiments import one_step

WITHIN = 6.0
"""By what factor an estimate may miss a time: a visit corrects it after the first cell of a kind."""


def gpu_cells():
    for name in visits.SECONDS:
        experiment = experiments.find_experiment(name)
        cells = experiment.cells(experiment.profiles["gpu"], "cuda")
        yield from cells
        yield from (call for call, makes in visits.calls(cells, "cuda") if len(makes) > 1)


def test_every_cell_of_every_gpu_profile_has_a_cost():
    used = set()
    for cell in gpu_cells():
        work = astuple(costs.cost(cell.function, cell.arguments))
        assert all(math.isfinite(x) and x >= 0 for x in work) and sum(work[:-1]) > 0
        assert "device" not in cell.arguments or work[-1] > 0, "a cell on a device holds memory there"
        used.add(f"{cell.function.__module__.rpartition('.')[2]}.{cell.function.__name__}")
    assert used == set(costs.COSTS), "a row of the table that no profile uses"


def test_a_function_without_a_row_is_refused_by_name():
    with pytest.raises(ValueError, match="test_costs.gpu_cells"):
        costs.cost(gpu_cells, {})


def test_work_adds_up_and_memory_does_not():
    one, two = costs.Cost(double=1.0, memory=5.0), costs.Cost(double=2.0, entries=3.0, memory=4.0)
    assert one + two == costs.Cost(double=3.0, entries=3.0, memory=5.0)
    assert 3 * one == costs.Cost(double=3.0, memory=5.0)
    rates = costs.Rates(2.0, 1, 1, 1, 6.0, 1, 1, 1)
    assert rates.seconds(one + two) == pytest.approx(3 / 2 + 3 / 6)


@pytest.mark.parametrize(("dim", "factor"), [(512, 1), (4096, 1)])
def test_a_step_costs_what_its_formula_says(dim, factor):
    """The gradient's 2 N d² are the float64 products of a step that dominate, and the draw is 2 N d numbers."""
    arguments = {"alpha": 1.5, "n_items": 2**20, "dim": dim, "lam_over_t0": 1.0, "seed": 0, "device": "cuda"}
    cost = costs.cost(one_step.measure_one_step, arguments)
    assert cost.normals == 2 * 2**20 * dim
    assert cost.double == pytest.approx(2 * 2**20 * dim**2, rel=0.05)
    assert cost.memory > 2 * 4 * 2**20 * dim


def test_the_rates_of_this_machine_are_positive():
    rates = costs.measure_rates(torch.device("cpu"))
    assert all(math.isfinite(rate) and rate > 0 for rate in astuple(rates))


@pytest.mark.weekly
@pytest.mark.parametrize(
    "name", ["one-step", "sharp", "many-steps", "critical-batch", "deflation", "spectral-maps", "recall-rates", "loss"]
)
def test_an_estimate_is_right_to_a_small_factor(name):
    """CPU time over estimate, for the cell of each function whose estimate is nearest to a second."""
    torch.set_num_threads(1)
    rates = costs.measure_rates(torch.device("cpu"), time.process_time)
    experiment = experiments.find_experiment(name)
    cells = {}
    for profile in ("cpu", "smoke"):
        for cell in experiment.cells(experiment.profiles[profile], "cpu"):
            seconds = rates.seconds(costs.cost(cell.function, cell.arguments))
            known = cells.get(cell.function)
            if known is None or abs(math.log(seconds)) < abs(math.log(known[0])):
                cells[cell.function] = seconds, cell
    for seconds, cell in cells.values():
        if 0.2 < seconds < 5:
            began = time.process_time()
            cell.function(**cell.arguments)
            ratio = (time.process_time() - began) / seconds
            assert 1 / WITHIN < ratio < WITHIN, f"{cell.function.__name__} took {ratio:.2f} of its estimate"
