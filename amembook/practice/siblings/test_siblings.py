"""The mathematics of `siblings`."""

import math

import pytest
import torch

import amemlib as am
from amembook.practice import siblings

FLAWS = [
    (("lead", "recall", "siblings"), [-0.1 - 0.01 * k for k in range(5)], "recall", "not reproduced"),
    (("lead", "text"), {"siblings": [-0.1 - 0.01 * k for k in range(5)]}, "text", "not reproduced"),
]
REFUSED = [("updates", ("muon", "own"))]


def draw(shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_matrices_that_read_the_same_rows_are_a_family():
    names = ["query1", "key1", "value1", "output1", "expand1", "query2"]
    assert siblings.families(names) == [["query1", "key1", "value1"], ["output1"], ["expand1"], ["query2"]]


def test_the_first_step_is_that_of_one_gradient():
    G = {name: draw((6, 9), k) for k, name in enumerate(("query1", "key1", "value1", "output1"))}
    whitened = am.whitening.siblings([G[name] for name in ("query1", "key1", "value1")], damping=siblings.DAMPING)
    aim = am.whitening.balanced_sum([whitened[1], am.polar(G["key1"])], [1, siblings.FLOOR])
    moves = siblings.make_update("siblings")(0, G)
    torch.testing.assert_close(moves["key1"].double(), aim * math.sqrt(6) / aim.norm(), rtol=0, atol=1e-3)
    own = siblings.make_update("own")(0, G)
    torch.testing.assert_close(own["output1"], moves["output1"])
    assert (own["key1"] - moves["key1"]).norm() > 0.1
    muon = siblings.make_update("muon")(0, G)["key1"]
    torch.testing.assert_close(muon.double(), am.polar(G["key1"]), rtol=0, atol=1e-4)


def test_every_update_has_one_size_and_nothing_moves_on_no_gradient():
    for name in siblings.UPDATES:
        update = siblings.make_update(name)
        for step in range(2):
            moves = update(step, {"expand1": draw((9, 6), step), "output1": torch.zeros(4, 4)})
            assert float(moves["expand1"].norm()) == pytest.approx(math.sqrt(6), rel=1e-4)
            assert not moves["output1"].any()
