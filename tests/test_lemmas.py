"""The experiment `lemmas`: every statement has its number, and every verdict can fail."""

import dataclasses
import json

import pytest

from amemlib.experiments.lemmas import BOUNDS, NEEDS_SMALL_RHO
from amemlib.experiments.lemmas import EXPERIMENT as LEMMAS
from amemlib.verdicts import CONSISTENT, FINITE_SIZE, NOT_REPRODUCED

# at d = 32 one draw in twelve is over the order of Lemma 23, by 0.2 %; the record begins at 64
CONFIG = dataclasses.replace(LEMMAS.profiles["smoke"], dims=(64, 128), seeds=4, first_seed=1000)
ONE_DRAW = dataclasses.replace(CONFIG, seeds=1)


@pytest.fixture(scope="module")
def results():
    """The results of one draw, as if all draws had given them."""
    one = {_but_seed(cell): cell.function(**cell.arguments) for cell in LEMMAS.cells(ONE_DRAW, "cpu")}
    return [one[_but_seed(cell)] for cell in LEMMAS.cells(CONFIG, "cpu")]


def _but_seed(cell):
    return cell.function.__name__, str(cell.arguments | {"seed": None})


def with_one_wrong(results, name):
    """The results with the last number of a statement replaced by one far beyond its bound."""
    last = max(index for index, result in enumerate(results) if name in result)
    wrong = 2 * BOUNDS[name] + 1e-3
    return [result | {name: wrong} if index == last else result for index, result in enumerate(results)]


def test_every_statement_has_a_number_and_a_verdict(results, words):
    measured, predicted = LEMMAS.read(CONFIG, results)
    said = words(LEMMAS, CONFIG, results)
    assert measured["ratio"].keys() == predicted["bound"].keys() == said.keys()
    assert measured["positive_moments"]["lemma_25"] > 0
    assert all(len(row) == len(CONFIG.dims) for row in measured["by_dim"].values())
    json.dumps([measured, predicted], allow_nan=False)
    for name, one in said.items():
        # no computer has met the assumption of the truncated expansion
        assert one == (FINITE_SIZE if name in NEEDS_SMALL_RHO else CONSISTENT), name


@pytest.mark.parametrize("name", BOUNDS)
def test_a_wrong_result_is_no_reproduction(results, words, name):
    said = words(LEMMAS, CONFIG, with_one_wrong(results, name))
    assert [key for key, one in said.items() if one == NOT_REPRODUCED] == [name]


def test_moments_that_are_all_zero_show_nothing(results, words):
    vacuous = [result | {"positive": 0} if "positive" in result else result for result in results]
    assert words(LEMMAS, CONFIG, vacuous)["lemma_25"] == NOT_REPRODUCED


def test_where_the_expansion_may_be_used_its_lemmas_are_plain_bounds(results, words):
    small = [result | {"rho_log_d": 0.5} if "rho_log_d" in result else result for result in results]
    assert set(words(LEMMAS, CONFIG, small).values()) == {CONSISTENT}


@pytest.mark.parametrize("change", [{"dims": (64,)}, {"dims": (8, 64)}, {"n_items": 64}, {"seeds": 0}, {"alpha": 1.0}])
def test_a_config_that_makes_no_sense_is_refused(change):
    with pytest.raises(ValueError):
        dataclasses.replace(LEMMAS.profiles["smoke"], **change)
