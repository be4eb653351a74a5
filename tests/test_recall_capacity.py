"""The capacity run of the recall network: its grid, its learning rates, the linear memory beside it."""

import dataclasses

import pytest

from amembook.paper.recall.capacity import COMPARED, CapacityConfig, capacity_grids, predict_counts, rate_name
from amembook.run.records import read_records

CONFIG = CapacityConfig(seeds=5, first_seed=4620)


def test_every_optimizer_runs_at_its_own_rate_on_the_same_seeds():
    config = dataclasses.replace(CONFIG, lr_sgd_fixed=(0.1, 0.2, 0.3))
    grids = capacity_grids(config)
    cells = [cell.arguments for name in ("trained", "fixed", "long") for cell in grids[name].cells(config, "cpu")]
    assert len(cells) == 3 * 5 * (2 + 3) + 5 * 3
    assert sum(cell["unembedding_length"] != 1 for cell in cells) == 15
    rates = {(cell["dim"], cell["lr"]) for cell in cells if cell["optimizer"] == "sgd_fixed"}
    assert rates == {(32, 0.1), (64, 0.2), (128, 0.3)}
    assert {cell["seed"] for cell in cells} == set(range(4620, 4625))


@pytest.mark.parametrize("vectors", ["trained", "fixed"])
def test_the_learning_rates_are_those_of_the_scans(vectors):
    for k, dim in enumerate((32, 64)):
        name = "capacity" + "-fixed" * (vectors == "fixed") + "-dim-32" * (dim == 32)
        (scan,) = [one for one in read_records("recall-rates", "capacity") if one["name"] == name]
        assert (scan["config"]["dim"], scan["config"]["n_items"]) == (dim, CONFIG.n_items)
        assert scan["config"]["fixed_vectors"] == (vectors == "fixed") and not any(scan["measured"]["doubts"].values())
        for optimizer in COMPARED:
            assert getattr(CONFIG, rate_name(optimizer, vectors))[k] == scan["measured"]["lr"][optimizer]


@pytest.mark.slow
def test_the_linear_memory_stands_between_sgd_and_many_steps():
    found = predict_counts(256, 32, 1.5)
    assert 2 * found["sgd"] < found["one_step"] and 1.5 * found["one_step"] < found["many_steps"] < 256


def test_a_config_refuses_what_makes_no_sense():
    for change, message in (
        ({"lr_sgd": (0.1,)}, "lr_sgd must hold a rate for each of"),
        ({"steps": 3001}, "steps must be a multiple of probe_every = 250, got 3001"),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(CONFIG, **change)
