"""The ratio of true and thresholded counts: its rule sees one step less, and its draws are enough to say so."""

import dataclasses

import numpy as np
import pytest

from amembook import read_records
from amembook.paper.iterates.ratio import BAND, EXPERIMENT, RatioConfig, judge_ratio, power
from amembook.run.cache import plain
from amembook.run.claims import NOT_REPRODUCED, OBSERVED, PREDICTED, REPRODUCED, UNDECIDED, word
from amemlib import theory
from amemlib.equivalents import half_recovered_schedule
from amemlib.problem import Problem

CONFIG = EXPERIMENT.profiles["confirm"]


def planted(slopes, config: RatioConfig = CONFIG, scatter: float = 0.01, seed: int = 2000) -> tuple[dict, dict]:
    """Counts whose log₂ R has given slopes over the octaves, (octaves,) or (T, octaves), and what predicts them."""
    rng, octaves = np.random.default_rng(seed), len(config.dims) - 1
    slopes = np.broadcast_to(np.asarray(slopes, dtype=float), (config.steps, octaves)).T
    logs = np.concatenate([np.zeros((1, config.steps)), slopes.cumsum(0)])
    thresholded = 1000.0
    drawn = lambda log, n: thresholded * 2 ** log[None] * np.exp(scatter * rng.standard_normal((n, config.steps)))
    below = np.array([drawn(log, config.seeds) for log in logs[:-1]])
    last = drawn(logs[-1], config.last_seeds)[None]
    measured = {"below_true": below, "last_true": last}
    measured |= {"below_thresholded": 0 * below + thresholded, "last_thresholded": 0 * last + thresholded}
    law = thresholded * 2**logs
    return measured, {"true": law, "error": 0 * law, "thresholded": 0 * law + thresholded}


def words(slopes, **options) -> dict[str, str]:
    config = options.get("config", CONFIG)
    return {name: word(verdict) for name, verdict in judge_ratio(config, *planted(slopes, **options)).items()}


def test_a_ratio_that_settles_meets_the_conjecture_and_one_step_less_does_not():
    assert words([-0.1, 0.0], scatter=0.003) == {"last": REPRODUCED, "falling": OBSERVED, "recursion": PREDICTED}
    kappa = [theory.recovery_exponent("muon", 1.5, t) for t in range(1, 6)]
    behind = np.array([0.0, *np.diff(kappa)])[:, None] * [-1.0, -1.0]
    verdicts = words(behind)
    assert verdicts["last"] == NOT_REPRODUCED and verdicts["falling"] != OBSERVED


def test_the_record_is_what_the_page_says():
    (record,) = read_records("iterates-ratio", "confirm")
    measured = record["measured"]
    ratios = [
        (np.array(true) / thresholded).mean(0)
        for part in ("below", "last")
        for true, thresholded in zip(measured[f"{part}_true"], measured[f"{part}_thresholded"], strict=True)
    ]
    assert round(np.min(ratios), 2) == 0.72 and round(np.max(ratios), 2) == 1.02
    last = record["verdicts"]["last"]["numbers"]
    assert [round(one["measured"], 2) for one in last] == [0.0, -0.04, -0.06, -0.02]
    assert [round(one["rivals"]["one step less"], 2) for one in last] == [-0.22, -0.15, -0.1, -0.07]
    assert all(one["low"] > one["rivals"]["one step less"] for one in last), "not a step behind"
    assert last[2]["high"] < -BAND, "after four steps it still falls"


def test_growing_exponents_do_not_fall():
    assert words([0.1, 0.2])["falling"] == NOT_REPRODUCED


@pytest.mark.parametrize("config", [EXPERIMENT.profiles["cpu"], EXPERIMENT.profiles["smoke"]])
def test_small_dimensions_decide_nothing(config):
    assert set(words([-0.1] * (len(config.dims) - 1), config=config).values()) == {UNDECIDED}


def test_the_draws_are_enough_to_see_the_band():
    """One draw's log R at d = 384 and 768 scatters by one per cent or less in the records of the true iterates."""
    assert power(CONFIG, 0.01) < BAND < power(dataclasses.replace(CONFIG, last_seeds=2), 0.01)
    assert power(EXPERIMENT.profiles["far"], 0.01) < BAND
    met = [words([-0.1, 0.0], seed=seed)["last"] == REPRODUCED for seed in range(2000, 2030)]
    assert np.mean(met) >= 0.8


@pytest.mark.slow
def test_a_small_run_measures_both_and_predicts_them():
    config = dataclasses.replace(EXPERIMENT.profiles["smoke"], first_seed=2000)
    results = [plain(cell.function(**cell.arguments)) for cell in EXPERIMENT.cells(config, "cpu")]
    measured, predicted = EXPERIMENT.read(config, results)
    assert measured["below_true"].shape == (1, 2, 3) and measured["last_thresholded"].shape == (1, 2, 3)
    for key in ("true", "thresholded"):
        np.testing.assert_allclose(measured[f"last_{key}"][0].mean(0), predicted[key][-1], rtol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("config", EXPERIMENT.profiles.values(), ids=EXPERIMENT.profiles)
def test_every_profile_has_items_left_to_threshold(config):
    dim = config.dims[0]
    p = Problem.power_law(config.items(dim), dim, config.alpha).frequencies
    assert half_recovered_schedule(p, dim, config.steps).thresholds[-2] < config.items(dim)


def test_dimensions_double():
    with pytest.raises(ValueError, match=r"^dims must double from one to the next, got \[96, 384\]"):
        RatioConfig(dims=(96, 384))
