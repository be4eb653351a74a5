"""Muon against gradient descent, both predicted: the closure of descent, its limits, its verdicts."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest

import amemlib as am
from amemlib.equivalents import descent_iterates, sgd_recovery_probabilities
from amemlib.experiments.iterates import normalised
from amemlib.experiments.race import EXPERIMENT, RaceConfig, level
from amemlib.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED, word

PROBLEM = am.Problem.power_law(512, 64, 1.5)


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


def test_a_summary_is_plain_and_says_where_descent_draws_level():
    config = dataclasses.replace(EXPERIMENT.profiles["smoke"], alphas=(1.5,), steps=2)
    results = [cell.function(**cell.arguments) for cell in EXPERIMENT.cells(config, "cpu")]
    measured, predicted = json.loads(json.dumps(EXPERIMENT.read(config, results)))
    for side in (measured, predicted):
        assert np.shape(side["descent"]) == np.shape(side["muon"]) == (1, config.steps)
        assert side["level"] == [level(side["muon"][0], side["descent"][0])]
    assert level([10, 10, 10], [1, 8, 9]) == 3 and level([10, 10], [1, 2]) is None


def test_every_verdict_can_be_right_and_can_be_wrong():
    config = RaceConfig(alphas=(1.25, 2.0), first_seed=EXPERIMENT.unseen_from)
    muon = np.array([100.0 * np.arange(1, 21) ** 0.5] * 2)
    law = np.array([[20.0 * 1.3**t if t < 15 else 20.0 * 1.3**15 for t in range(20)], 12.0 * 1.25 ** np.arange(20)])
    errors = 0.01 * law
    reached = [level(*pair) for pair in zip(muon, law, strict=True)]
    predicted = {"muon": muon, "descent": law, "descent_errors": errors, "level": reached}

    def words(descent, steps=None, seeds=8):
        measured = {"descent": descent, "descent_errors": errors, "level": steps or reached}
        verdicts = EXPERIMENT.verdicts(dataclasses.replace(config, seeds=seeds), measured, predicted)
        return {name: word(one) for name, one in verdicts.items()}

    assert set(words(law).values()) == {REPRODUCED}
    assert set(words(law, seeds=2).values()) == {UNDECIDED}
    early, late = law.copy(), law.copy()
    early[0, 3] *= 1.2
    late[1, 19] *= 0.8
    assert words(early) == {"early": NOT_REPRODUCED, "late": REPRODUCED, "level": REPRODUCED}
    assert words(late)["late"] == NOT_REPRODUCED
    assert words(law, [step + 3 for step in reached])["level"] == NOT_REPRODUCED
