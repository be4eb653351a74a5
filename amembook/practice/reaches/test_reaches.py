"""The mathematics of `reaches`."""

import numpy as np
import pytest

import amemlib as am
from amembook.practice import reaches
from amembook.practice.reaches import measure
from amembook.run.base import Results

CONFIG = reaches.EXPERIMENT.profiles["smoke"]
FLAWS = [(("batches_exponent", 0, 2), -0.2, "noise", "not reproduced")]


def test_the_first_momentum_is_the_gradient():
    found = measure.measure_reach(100, 16, 1.5, 0, [1], 0.95, 0.1, 0, "cpu")
    problem = am.Problem.power_law(100, 16, 1.5)
    G = am.initial_gradient(am.sample_embeddings(problem, 0), problem.frequencies)
    assert found["reach"] == pytest.approx([am.diagnose(G).reach["jordan"]], rel=1e-4)


def test_the_steps_looked_at_are_those_of_one_run():
    arguments = (100, 16, 1.5, 32, [1, 2, 6], 0.9, 0.1, 0, "cpu")
    found = measure.measure_reach(*arguments)
    assert {len(values) for values in found.values()} == {3} and found == measure.measure_reach(*arguments)


def test_an_exponent_that_was_put_in_is_found():
    grids = reaches.grids(CONFIG)
    cells = [cell.arguments for grid in grids.values() for cell in grid.cells(CONFIG, "cpu")]
    planted = [
        {key: [7.0 * one["dim"] ** -1.3] * len(one["at"]) for key in ("reach", "lifted", "noise", "rank")}
        for one in cells
    ]
    measured, predicted = reaches.summarise(CONFIG, Results.of(grids, planted))
    np.testing.assert_allclose(measured["batches_exponent"], -1.3)
    assert predicted["public"]["most layers"] == [-0.5, -0.75]
