"""Where laws run to: local exponents of the laws that ship, nearer to the theorem's the larger d, and none for free."""

import numpy as np
import pytest

from amembook.paper.limit import EXPERIMENT, MAPS, LimitConfig, one_step_count, step_counts
from amembook.run.claims import CONSISTENT, UNDECIDED, word
from amemlib import theory


@pytest.mark.parametrize(("name", "dims"), [("polar", (2**8, 2**12)), ("sgd", (2**10, 2**20))])
def test_the_law_of_one_step_runs_to_the_theorems_exponent(name, dims):
    n_items = 2**20 if name == "polar" else 2**13
    count = lambda dim: one_step_count(name, n_items, dim, 1.5)["count"]
    away = [abs(np.log2(count(2 * dim) / count(dim)) - theory.recovery_exponent(MAPS[name], 1.5)) for dim in dims]
    assert away[1] < 0.006 < away[0]


def test_the_first_of_several_steps_is_one_step():
    first, second = step_counts("muon_steps", 2**14, 128, 1.5, 2)["count"]
    assert first == pytest.approx(one_step_count("polar", 2**14, 128, 1.5)["count"], rel=0.01) and second > first


def judged(local, slope):
    measured, predicted = {"local": dict.fromkeys(MAPS, np.array(local))}, {"slope": dict.fromkeys(MAPS, slope)}
    return {word(verdict) for verdict in EXPERIMENT.judge(LimitConfig(), measured, predicted).values()}


def test_a_law_that_is_not_at_its_limit_yet_decides_nothing():
    assert judged([[1.4, 1.6], [1.34, 1.55]], [4 / 3, 14 / 9]) == {CONSISTENT}
    assert judged([[1.34, 1.55], [1.34, 1.6]], [4 / 3, 14 / 9]) == {UNDECIDED}
    assert judged([[np.nan, 1.55]], [4 / 3, 14 / 9]) == {UNDECIDED}
