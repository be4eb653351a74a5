"""The capacity run of the recall network: its judge on numbers made up for each law, and what its config refuses."""

import dataclasses

import numpy as np
import pytest

from amemlib.experiments.recall_capacity import (
    COMPARED,
    STANDS,
    CapacityConfig,
    capacity_grids,
    judge_capacity,
    predict_counts,
    rate_name,
)
from amemlib.records import read_records
from amemlib.verdicts import word

CONFIG = CapacityConfig(seeds=5, first_seed=4620)
PREDICTED = {"counts": {"sgd": [5.0, 7.0, 10.0], "one_step": [21.0, 60.0, 160.0], "many_steps": [46.0, 180.0, 960.0]}}


def memories(trained, fixed, match=0.6, long=(45, 150, 450)):
    """Counts (dims, seeds) by optimizer that scatter a little about their means; Muon's, the others a fifth of it."""
    luck = np.array([0.97, 1.0, 1.02, 0.99, 1.03])
    counts = {}
    for vectors, means in (("trained", trained), ("fixed", fixed)):
        muon = np.rint(np.outer(means, luck)).astype(int)
        counts[vectors] = {name: (muon if name == "muon" else muon // 5).tolist() for name in COMPARED}
    counts["long"] = {"muon": np.rint(np.outer(long, luck)).astype(int).tolist()}
    attention = {"muon": np.full((len(fixed), 5), match).tolist()}
    return {"counts": counts, "match": {"fixed": attention, "long": attention}}


def judged(measured):
    return judge_capacity(CONFIG, measured, PREDICTED)


def test_a_network_that_stores_like_the_linear_memory_is_reproduced():
    verdicts = judged(memories((300, 500), (30, 100, 300)))
    assert {name: word(one) for name, one in verdicts.items()} == dict.fromkeys(verdicts, "reproduced")
    assert "the rank of the matrix" in verdicts["exponent"]["refused"]
    assert verdicts["learnt_vectors"]["refused"] == ["what fixed vectors hold", "16 steps of a linear memory"]
    assert verdicts["long"]["refused"] == ["what short unembeddings hold", "one step of a linear memory"]


@pytest.mark.parametrize(
    ("fixed", "answers"),
    [
        # as many as dimensions: neither law's counts at the end, and an exponent of one
        ((32, 64, 128), ("missed", "missed")),
        ((5, 7, 10), ("missed", "missed")),
        ((300, 300, 300), ("missed", "missed")),
        # right exponent, twice what many steps hold
        ((100, 360, 2000), ("missed", "missed")),
        ((95, 370, 1150), ("missed", "met")),
    ],
)
def test_another_law_is_not_the_exponent(fixed, answers):
    found = judged(memories((3000, 5000), fixed))["exponent"]
    assert (found["sizes"], found["limit"]) == answers


def test_circuits_that_do_not_stand_have_no_exponent_and_no_gain_by_length():
    found = judged(memories((300, 500), (30, 100, 300), match=STANDS - 0.01))
    assert word(found["exponent"]) == word(found["long"]) == "undecided"


def test_a_seed_without_a_circuit_takes_its_dimension_out():
    measured = memories((300, 500), (5, 100, 300), long=(3, 150, 450))
    measured["match"] = {"fixed": measured["match"]["fixed"], "long": {"muon": [[0.1] + [0.6] * 4] + [[0.6] * 5] * 2}}
    found = judged(measured)
    assert word(found["long"]) == "reproduced", "d = 32 stands in one of the two only"
    assert found["exponent"]["sizes"] == "missed", "it does in the one that the exponent asks for"


def test_another_optimizer_in_front_is_not_refused():
    measured = memories((300, 500), (30, 100, 300))
    counts = measured["counts"]["trained"]
    counts["muon"], counts["adamw"] = counts["adamw"], counts["muon"]
    found = judged(measured)["trained"]
    assert (found["sizes"], found["limit"], found["refused"]) == ("missed", "missed", ["SGD ahead"])


def test_who_is_not_ahead_is_not_ahead():
    measured = memories((300, 500), (30, 100, 300))
    measured["counts"]["fixed"]["sgd"] = measured["counts"]["fixed"]["muon"]
    assert word(judged(measured)["fixed"]) == "not reproduced"
    assert word(judged(measured)["trained"]) == "reproduced"


def test_vectors_that_add_nothing_and_vectors_within_the_linear_memory():
    alike = judged(memories((30, 100), (30, 100, 300)))["learnt_vectors"]
    assert alike["limit"] == "missed"
    within = judged(memories((40, 150), (30, 100, 300)))["learnt_vectors"]
    assert within["limit"] == "met" and within["refused"] == ["what fixed vectors hold"]


def test_long_unembeddings_that_add_nothing():
    alike = judged(memories((300, 500), (30, 100, 300), long=(30, 100, 300)))["long"]
    assert alike["limit"] == "missed" and alike["refused"] == ["one step of a linear memory"]


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


def test_the_linear_memory_stands_between_sgd_and_many_steps():
    found = predict_counts(256, 1.5, 24)
    assert 2 * found["sgd"] < found["one_step"] and 1.5 * found["one_step"] < found["many_steps"] < 256


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dims": ()}, "^dims"),
        ({"fixed_dims": (64, 1)}, "^fixed_dims"),
        ({"alpha": 0.5}, "alpha must be"),
        ({"lr_adamw_fixed": (-1.0, 1.0, 1.0)}, "lr_adamw_fixed"),
        ({"lr_sgd": (0.1,)}, "lr_sgd must hold a rate for each of"),
        ({"pairs": 9}, "pairs must be at most length / 4"),
        ({"seeds": 0}, "^seeds must be"),
        ({"steps": 3001}, "steps must be a multiple of probe_every = 250, got 3001"),
    ],
)
def test_a_config_refuses_what_makes_no_sense(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(CONFIG, **change)
