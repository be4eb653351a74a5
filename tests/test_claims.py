"""The words: one rule of equivalence on planted data, what makes each word, and what a record then holds."""

import json
import math

import numpy as np
import pytest

from amembook.run.claims import (
    CONSISTENT,
    DIFFERENCE,
    EXPONENT,
    NOT_REPRODUCED,
    OBSERVED,
    PREDICTED,
    REPRODUCED,
    SIZES,
    UNDECIDED,
    WORDS,
    check,
    count_band,
    count_error,
    equivalence,
    exponents,
    growth,
    multiplier,
    noticed,
    numbers,
    order,
    seen,
    word,
    worst,
)

LAW, SPREAD, DRAWS = 100.0, 2.5, 16
"""A planted count: its law, the scatter of a draw, and the draws at which the rule must know true from false."""


def counted(samples, law=LAW, limit=None, band=SIZES, rivals=None, **more):
    """The verdict on the mean of samples, (draws,) or (draws, sizes)."""
    draws, (mean, spread) = len(samples), (samples.mean(0), samples.std(0, ddof=1))
    rivals = {"a rival": 1.3 * law} if rivals is None else rivals
    error = spread / math.sqrt(draws)
    return equivalence(numbers("items", mean, error, draws, law=law, limit=limit, band=band, rivals=rivals, **more))


def planted(truth, draws=DRAWS, sizes=None, runs=400):
    shape = (runs, draws) if sizes is None else (runs, draws, sizes)
    return np.random.default_rng(5).normal(truth, SPREAD, shape)


def share(samples, said) -> float:
    return float(np.mean([counted(one)["word"] == said for one in samples]))


@pytest.mark.parametrize("sizes", [None, 12])
def test_a_true_law_is_met_and_one_off_by_twice_the_band_is_missed(sizes):
    draws = DRAWS if sizes is None else 2 * DRAWS
    assert share(planted(LAW, draws, sizes), PREDICTED) >= 0.95
    for factor in (1 + 2 * SIZES, 1 - 2 * SIZES):
        assert share(planted(LAW * factor, draws, sizes), NOT_REPRODUCED) >= 0.95


@pytest.mark.parametrize("sizes", [None, 12])
def test_few_noisy_draws_do_not_meet_a_law_nor_miss_it(sizes):
    assert share(planted(LAW, 4, sizes), UNDECIDED) >= 0.5
    assert share(planted(LAW, 4, sizes), NOT_REPRODUCED) <= 0.01


def test_more_draws_never_turn_a_true_law_into_a_miss():
    for truth in (LAW, LAW * (1 + SIZES / 2)):
        said = np.array(
            [
                [counted(samples[:draws])["word"] for draws in (4, 8, 16, 32, 64, 128, 256)]
                for samples in planted(truth, 256, runs=100)
            ]
        )
        missed, met = ((said == one).mean(0) for one in (NOT_REPRODUCED, PREDICTED))
        assert missed.max() <= 0.05 and not missed[2:].any(), "a miss is an accident of few draws"
        assert (np.diff(met) >= -0.05).all() and met[-1] == 1


def test_the_same_mean_on_more_draws_is_met_more_surely():
    made = [numbers("items", 101.0, 3 / math.sqrt(n), n, law=LAW, band=SIZES, rivals={"a": 150}) for n in (4, 9, 30)]
    assert [equivalence(one)["word"] for one in made] == [UNDECIDED, UNDECIDED, PREDICTED]


def number(measured=1.34, half=0.01, law=1.345, limit=1.333, draws=8, **rivals):
    rivals = rivals or {"another": 1.25}
    return exponents("exponent", measured, [measured - half, measured + half], law, limit, rivals, draws)


@pytest.mark.parametrize(
    ("judged", "said"),
    [
        (number(), REPRODUCED),
        (number(1.38, law=1.376), PREDICTED),
        (number(1.38, law=1.376, limit=None), PREDICTED),
        (number(1.335, law=None), REPRODUCED),
        (number(1.38, law=None), NOT_REPRODUCED),
        (number(1.35, law=None), UNDECIDED),
        (number(1.38), NOT_REPRODUCED),
        (number(half=0.1), UNDECIDED),
        (number(half=math.inf), UNDECIDED),
        (number(draws=3), UNDECIDED),
        (number(near=1.34), UNDECIDED),
        (number(near=1.34, another=1.25), REPRODUCED),
        (number(far=1.355, another=1.25), UNDECIDED),
        ([], UNDECIDED),
    ],
)
def test_law_limit_and_rivals_make_one_word(judged, said):
    if any(one["limit"] is None for one in judged):
        judged = [one | {"rivals": {"another": 1.2}} for one in judged]
    made = equivalence(judged)
    assert made["word"] == word(made) == said


def test_survivors_are_named_and_the_near_ones_told_apart():
    made = equivalence(number(close=1.34, far=1.355, another=1.25))
    assert (made["refused"], made["surviving"], made["near"]) == (["another"], ["close", "far"], ["close"])


def test_one_number_of_many_must_be_far_out_to_miss():
    values = np.full(40, LAW)
    values[7] = 104.5
    made = numbers("items", values, 0.6, 30, law=LAW, band=SIZES, rivals={"a": 150})
    assert equivalence(made)["word"] == UNDECIDED, "its own interval is outside, the widened one is not"
    assert equivalence([made[7]])["word"] == NOT_REPRODUCED
    assert multiplier(8) == pytest.approx(2.365, abs=1e-3) and multiplier(None) == pytest.approx(1.96, abs=1e-3)
    assert multiplier(8, 40) > multiplier(8) and multiplier(1) == math.inf


def test_a_guard_can_miss_and_need_not_be_inside():
    mean = numbers("mean", LAW, 0.1, 30, law=LAW, band=SIZES, rivals={"a": 150})
    for value, said in ((104.0, PREDICTED), (115.0, NOT_REPRODUCED)):
        guard = numbers("one", value, 2.0, 30, law=LAW, band=SIZES, guard=True)
        assert equivalence(mean + guard)["word"] == said


@pytest.mark.parametrize("measured", [98.8, 100.0, 101.5])
def test_a_law_off_by_twice_the_power_loses_its_word_both_ways(measured):
    judge = lambda law: equivalence(numbers("items", measured, 0.4, 20, law=law, band=SIZES, rivals={"a": 150.0}))
    made = judge(LAW)
    assert made["word"] == PREDICTED and 0 < made["power"] < 2 * SIZES and noticed(made) == made["power"]
    for factor in (1 + 2 * made["power"], 1 / (1 + 2 * made["power"])):
        assert judge(LAW * factor)["word"] in (UNDECIDED, NOT_REPRODUCED)


@pytest.mark.parametrize(("looks", "error", "rival"), [(1, 2.0, 150.0), (12, 2.0, 150.0), (3, 0.4, 104.0)])
def test_an_undecided_law_off_by_twice_what_is_noticed_is_missed_both_ways(looks, error, rival):
    given = {"band": SIZES, "rivals": {"a": rival}}
    judge = lambda law: equivalence(numbers("items", [100.0] * looks, error, 20, law=law, **given))
    made = judge(LAW)
    assert made["word"] == UNDECIDED and noticed(made) > SIZES
    for factor in (1 + 2 * noticed(made), 1 / (1 + 2 * noticed(made))):
        assert judge(LAW * factor)["word"] == NOT_REPRODUCED


def test_an_order_is_observed_beyond_its_error():
    judge = lambda ratio, error, draws=8: order(numbers("a over b", ratio, error, draws, limit=1))
    assert judge(1.2, 0.05)["word"] == OBSERVED and judge(1.2, 0.05)["power"] is None
    assert judge(1.2, 0.1)["word"] == judge(1.2, 0.05, 3)["word"] == UNDECIDED
    assert judge([1.2, 0.8], 0.02)["word"] == NOT_REPRODUCED
    assert order(numbers("lead", 0.4, 0.1, 8, limit=0, scale=DIFFERENCE))["word"] == OBSERVED


def test_an_inequality_that_no_rival_can_fail_is_a_check():
    assert [check(value, 1.0, 12)["word"] for value in (0.7, 1.0, 1.1, math.nan)] == [CONSISTENT] * 2 + [
        NOT_REPRODUCED
    ] * 2
    assert [check(value, 1.0, 3)["word"] for value in (0.7, 1.1)] == [UNDECIDED, NOT_REPRODUCED]
    assert check(0)["word"] == CONSISTENT, "exact: nothing is drawn"


def test_draws_that_were_seen_before_decide_nothing_but_a_check():
    assert seen(equivalence(number()))["word"] == UNDECIDED
    assert seen(check(0.5, 1, 8))["word"] == CONSISTENT


def test_a_verdict_is_plain_and_says_its_word_again():
    made = equivalence(number() + numbers("items", np.float64(100), 0.5, np.int64(8), law=101, band=count_band(256)))
    assert json.loads(json.dumps(made)) == made and word(made) == made["word"] and made["draws"] == 8
    keys = {"name", "measured", "low", "high", "law", "limit", "band", "scale", "draws", "rivals"}
    assert all(set(one) == keys for one in made["numbers"])
    assert made["numbers"][0]["band"] == EXPONENT and made["numbers"][1]["limit"] is None


def test_the_worst_word_of_several():
    assert worst([check(0)]) == CONSISTENT and worst([check(0), equivalence(number())]) == REPRODUCED
    assert worst([equivalence(number()), equivalence([])]) == UNDECIDED
    assert WORDS.index(OBSERVED) < WORDS.index(UNDECIDED) < WORDS.index(NOT_REPRODUCED)


def test_bands_of_counts_widen_below_128():
    assert count_band([64, 128, 512]).tolist() == [0.05, 0.03, 0.03]


def grown(counts, law, dims=(256, 1024), rivals=None):
    """The verdict on the growth of one row of draws (d, draws)."""
    counts, law = np.array([counts], float), np.array([law], float)
    given = counts.mean(-1), count_error(counts, law, -1), counts.shape[-1], law, dims
    return equivalence(growth("growth", *given, [4 / 3], rivals or {"flat": [1.0]}))


def test_growth_is_the_ratio_of_the_ends_in_the_smaller_of_two_bands():
    draws = np.array([[99, 100, 101, 100] * 20, [598, 600, 602, 600] * 20])
    (one,) = grown(draws, (100, 600))["numbers"]
    assert one["measured"] == one["law"] == 6 and one["low"] < 6 < one["high"]
    assert one["band"] == pytest.approx(math.expm1(0.02 * math.log(4)), rel=1e-5)
    assert one["limit"] == pytest.approx(4 ** (4 / 3), rel=1e-5)
    assert one["rivals"]["flat"] == pytest.approx(6 * 4 ** (1 - 4 / 3), rel=1e-5)
    wide = growth("growth", *[np.array([[100.0, 600.0]])] * 2, 4, np.array([[100.0, 600.0]]), (2, 2000), [1], {})
    assert wide[0]["band"] == pytest.approx(1.03**2 - 1, rel=1e-5)


@pytest.mark.parametrize(("law", "expected"), [((100, 600), "predicted"), ((100, 560), "not reproduced")])
def test_growth_tells_a_law_from_one_that_is_off(law, expected):
    draws = np.array([[99, 100, 101, 100] * 20, [598, 600, 602, 600] * 20])
    assert grown(draws, law)["word"] == expected


def test_the_interval_of_a_growth_holds_its_ratio_as_often_as_it_says():
    generator = np.random.default_rng(0)
    draws = np.stack([generator.normal(100, 20, (400, 8)), generator.normal(600, 12, (400, 8))], axis=1)
    inside = [one["low"] < 6 < one["high"] for row in draws for one in grown(row, (100, 600))["numbers"]]
    assert 0.93 < np.mean(inside) < 0.98
