"""The mathematics of `reaches`."""

from types import SimpleNamespace

import numpy as np
import pytest

import amemlib as am
from amembook.practice import reaches
from amembook.run.base import Results

CONFIG = reaches.EXPERIMENT.profiles["smoke"]
FLAWS = [(("batches_exponent", 0, 2), -0.2, "noise", "not reproduced")]


def test_the_first_momentum_is_the_gradient():
    config = SimpleNamespace(n_items=100, beta=0.95, rate=0.1)
    first = reaches.measure_reach(config, 1.5, 16, 0, [1], 0, "cpu")
    problem = am.Problem.power_law(100, 16, 1.5)
    G = am.initial_gradient(am.sample_embeddings(problem, 0), problem.frequencies)
    assert first["reach"] == pytest.approx([am.diagnose(G).reach["jordan"]], rel=1e-4)


def test_the_steps_looked_at_are_those_of_one_run():
    arguments = (SimpleNamespace(n_items=100, beta=0.9, rate=0.1), 1.5, 16, 32, [1, 2, 6], 0, "cpu")
    run = reaches.measure_reach(*arguments)
    assert {len(values) for values in run.values()} == {3} and run == reaches.measure_reach(*arguments)


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
