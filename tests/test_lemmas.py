"""The experiment `lemmas`: every statement has its number, and every verdict can fail."""

import dataclasses
import json

import pytest

from amemlib.experiments import LEMMAS
from amemlib.experiments.base import FINITE_SIZE, NOT_REPRODUCED, REPRODUCED
from amemlib.experiments.lemmas import BOUNDS, NEEDS_SMALL_RHO, lemmas_cells, lemmas_summary

CONFIG = dataclasses.replace(LEMMAS.profiles["smoke"], first_seed=3000)


@pytest.fixture(scope="module")
def results():
    return [cell.function(**cell.arguments) for cell in lemmas_cells(CONFIG, "cpu")]


def with_one_wrong(results, name):
    """The results with the last number of a statement replaced by one far beyond its bound."""
    last = max(index for index, result in enumerate(results) if name in result)
    wrong = 2 * BOUNDS[name] + 1e-3
    return [result | {name: wrong} if index == last else result for index, result in enumerate(results)]


def test_every_statement_has_a_number_and_a_verdict(results):
    summary = lemmas_summary(CONFIG, results)
    assert summary.measured["ratio"].keys() == summary.predicted["bound"].keys() == summary.verdicts.keys()
    assert summary.measured["positive_moments"]["lemma_25"] > 0
    assert all(len(row) == len(CONFIG.dims) for row in summary.measured["by_dim"].values())
    json.dumps(dataclasses.asdict(summary), allow_nan=False)
    for name, verdict in summary.verdicts.items():
        # no computer has met the assumption of the truncated expansion
        assert verdict == (FINITE_SIZE if name in NEEDS_SMALL_RHO else REPRODUCED), name


@pytest.mark.parametrize("name", BOUNDS)
def test_a_wrong_result_is_no_reproduction(results, name):
    verdicts = lemmas_summary(CONFIG, with_one_wrong(results, name)).verdicts
    assert [key for key, verdict in verdicts.items() if verdict == NOT_REPRODUCED] == [name]


def test_moments_that_are_all_zero_show_nothing(results):
    vacuous = [result | {"positive": 0} if "positive" in result else result for result in results]
    assert lemmas_summary(CONFIG, vacuous).verdicts["lemma_25"] == NOT_REPRODUCED


def test_where_the_expansion_may_be_used_its_lemmas_are_reproduced(results):
    small = [result | {"rho_log_d": 0.5} if "rho_log_d" in result else result for result in results]
    assert set(lemmas_summary(CONFIG, small).verdicts.values()) == {REPRODUCED}


@pytest.mark.parametrize("change", [{"dims": (64,)}, {"dims": (8, 64)}, {"n_items": 64}, {"seeds": 0}, {"alpha": 1.0}])
def test_a_config_that_makes_no_sense_is_refused(change):
    with pytest.raises(ValueError):
        dataclasses.replace(LEMMAS.profiles["smoke"], **change)
