"""The mathematics of `position-states`: symmetries of states and the law of a hop."""

import numpy as np
import pytest

from amembook.companions.position_states import associations, states

THETA = states.angles(2, 3, 2.0, 10.0)


def test_scores_are_rotary_embeddings_written_out():
    q, k = np.random.default_rng(0).standard_normal((2, 6, 5, 2)) @ [1, 1j]
    score, by_hand = states.scores(q, k, states.phases(THETA, 6))[4, 1], 0.0
    for f, angle in enumerate(3 * THETA):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        a, b = ([one.real, one.imag] for one in (q[4, f], k[1, f]))
        by_hand += b @ turn @ np.array(a)
    assert score == pytest.approx(by_hand)


def test_turning_or_shifting_changes_nothing_and_adding_does():
    planes = {"content_planes": 2, "rotary_planes": 3, "top": 2.0, "ratio": 10.0}
    off = states.measure_exact(6, planes, 0)
    assert max(off["turned"], off["shifted"], off["hop"]) < 1e-12 and off["added"] > 0.01


def test_a_sharp_hop_is_there():
    e, attention = states.phases(THETA, 4), np.eye(4)[[0, 1, 2, 1]]
    assert states.moved(e, attention, 0, 1) == pytest.approx(e[[0, 1, 2, 1]])
    assert e[1:] * states.hop_factors(np.array([0.0, 1.0]), THETA) == pytest.approx(e[:3])


def test_a_polar_step_copies_whatever_the_weights_are():
    for count in (6, 12, 60):
        step = associations.measure_polar(count, 1.5, 12, 0)
        assert step["off"] < 1e-10 and step["lost"] == 0
    assert step["sgd"] < 60


FLAWS = [
    (("exact", "turned"), 1e-3, "exact", "not reproduced"),
    (("exact", "added"), 1e-12, "exact", "not reproduced"),
    (("polar", "off"), 1e-6, "polar", "not reproduced", "identity"),
    (("polar", "lost"), 1.0, "found", "not reproduced", "identity"),
]
