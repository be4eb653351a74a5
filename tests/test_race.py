"""Muon against gradient descent, both predicted: the closure of descent, its limits, its verdicts."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import amemlib as am
from amembook.laws import descent_iterates
from amembook.paper.iterates.measure import normalised
from amembook.paper.iterates.race import EXPERIMENT, level
from amembook.run.cache import plain
from amemlib.equivalents import sgd_recovery_probabilities

PROBLEM = am.Problem.power_law(512, 64, 1.5)


@pytest.mark.slow
def test_the_first_step_is_that_of_the_sharp_law():
    found = descent_iterates(PROBLEM, 3.0, 1, streams=16)
    exact = sgd_recovery_probabilities(PROBLEM.frequencies.numpy(), np.ones(512), 64).sum()
    assert found.counts[0] == pytest.approx(exact, abs=3 * found.errors[0] + 0.05 * exact)


def test_a_few_steps_follow_the_true_iterates_and_the_next_step_does_not():
    steps, rate = 4, 3 * math.sqrt(64)
    counts = []
    for seed in range(2000, 2004):
        emb = am.sample_embeddings(PROBLEM, seed)
        iterates = am.trajectory(emb, itertools.repeat(PROBLEM.frequencies, steps), normalised, rate)
        counts.append([am.capacity(W, emb) for W in itertools.islice(iterates, 1, None)])
    found = descent_iterates(PROBLEM, 3.0, steps, streams=4)
    counts = np.array(counts)
    error = np.hypot(counts.std(0, ddof=1) / 2, found.errors)
    off = np.abs(counts.mean(0) - found.counts)
    assert (off <= 0.1 * found.counts + 2 * error).all()
    assert (counts.mean(0)[1:] > 1.2 * found.counts[:-1]).all()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"steps": 0}, "steps"),
        ({"lr_over_root_dim": 0.0}, "lr_over_root_dim"),
        ({"lr_over_root_dim": 1e4}, "lr_over_root_dim"),
        ({"streams": 0}, "streams"),
        ({"problem": am.Problem.power_law(65_537, 8, 1.5)}, "problem"),
    ],
)
def test_bad_input_is_named(change, name):
    arguments = {"problem": am.Problem.power_law(64, 8, 1.5), "lr_over_root_dim": 3.0, "steps": 2} | change
    with pytest.raises((ValueError, TypeError), match=f"^{name} must"):
        descent_iterates(**arguments)


def test_a_summary_says_where_descent_draws_level():
    config = dataclasses.replace(EXPERIMENT.profiles["smoke"], alphas=(1.5,), steps=2)
    results = [plain(cell.function(**cell.arguments)) for cell in EXPERIMENT.cells(config, "cpu")]
    measured, predicted = EXPERIMENT.read(config, results)
    for side in (measured, predicted):
        assert np.shape(side["descent"]) == np.shape(side["muon"]) == (1, config.steps)
        assert side["level"] == [level(side["muon"][0], side["descent"][0])]
    assert level([10, 10, 10], [1, 8, 9]) == 3 and level([10, 10], [1, 2]) is None
