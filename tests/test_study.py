"""What a study says once: the config of its measures, and claims that take their draws."""

from collections import Counter
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from amembook.run import base, cache, study
from amembook.run.claims import DIFFERENCE, equivalence, numbers, order, word

DRAWS = {"small": np.array([1.0, 2.0, 3.0, 2.0]), "large": np.array([5.0, 6.0, 5.0, 7.0, 5.0])}
MEANS, ERRORS = (2.0, 5.6), (np.sqrt(2 / 3) / 2, np.sqrt(0.8 / 5))


@dataclass(frozen=True)
class Sizes(base.Config):
    dims: base.Counts = (2, 3)
    weights: base.Positives = (0.5, 1.5)
    steps: base.Count = 7
    seeds: base.Count = 4
    first_seed: base.Natural = 1000


CALLS = Counter()


def measure(config, dim: int, seed: int) -> dict:
    CALLS[dim, seed] += 1
    return {"loss": config.steps * dim + seed}


def grids(config):
    return {
        "runs": base.Grid(measure, {"dim": config.dims, "seed": base.draws(config)}, config=study.fixed(config, "dims"))
    }


def judge(config, measured, predicted):
    yield "rises", study.above("loss,", {"large less small": measured["loss"][-1] - measured["loss"][0]})
    yield "empty", study.above("loss,", {})


STUDY = base.Experiment(
    name="toy",
    purpose="a study whose judge says a claim a statement",
    profiles={"smoke": Sizes()},
    grids=grids,
    summarise=lambda config, results: ({"loss": results.array("runs", "loss")}, {}),
    judge=judge,
)


def calls_of(folder, **sizes) -> Counter:
    CALLS.clear()
    cache.run(STUDY, Sizes(**sizes), folder, "cpu")
    return Counter(CALLS)


def test_a_claim_works_out_mean_error_and_number_of_its_draws():
    held_to = {"law": [2.0, 5.0], "band": 0.1, "rivals": {"half": [1.0, 2.5]}}
    by_hand = numbers("items", MEANS, np.array(ERRORS), [4, 5], at=list(DRAWS), **held_to)
    assert study.law("items", DRAWS, **held_to) == equivalence(by_hand)
    by_hand = numbers("items", MEANS, np.array(ERRORS), [4, 5], at=list(DRAWS), limit=1, scale=DIFFERENCE)
    assert study.above("items", DRAWS, limit=1) == order(by_hand)
    by_hand = numbers("items", MEANS[0], ERRORS[0], 4, law=2.0, band=0.1)
    assert study.law("items", DRAWS["small"], law=2.0, band=0.1) == equivalence(by_hand)


def test_a_claim_without_draws_is_undecided_and_one_draw_has_no_interval():
    assert study.law("items", {}, law=[], band=0.1) == equivalence([])
    (one,) = study.law("items", {"a": [2.0]}, law=2.0, band=0.1)["numbers"]
    assert (one["measured"], one["low"], one["draws"]) == (2.0, None, 1)


def test_a_finished_cell_outlives_more_seeds_and_other_values_on_its_axes(tmp_path):
    assert len(calls_of(tmp_path)) == 8
    assert calls_of(tmp_path, seeds=5) == Counter([(2, 1004), (3, 1004)])
    assert calls_of(tmp_path, dims=(3, 4), first_seed=1001, seeds=3) == Counter([(4, 1001), (4, 1002), (4, 1003)])
    # the price: the measure does not read them
    assert len(calls_of(tmp_path, weights=(0.5, 2.5))) == 8


def test_a_measure_that_reads_what_is_left_out_fails_and_a_field_that_is_none_is_named():
    config = study.fixed(Sizes(), "dims")
    assert vars(config) == {"weights": [0.5, 1.5], "steps": 7}
    with pytest.raises(AttributeError, match="seeds"):
        _ = config.seeds
    with pytest.raises(ValueError, match="varying must be among dims, weights, .*, got dim"):
        study.fixed(Sizes(), "dim")


def test_a_judge_may_say_a_claim_a_statement(tmp_path):
    record = cache.run(STUDY, Sizes(), tmp_path, "cpu")
    assert {name: word(verdict) for name, verdict in record["verdicts"].items()} == {
        "rises": "observed",
        "empty": "undecided",
    }
    seen = STUDY.verdicts(replace(Sizes(), first_seed=0), record["measured"], {})
    assert word(seen["rises"]) == "undecided"


def test_a_part_is_named_once():
    config = SimpleNamespace(sgd_dim=8, sgd_lr=0.1, first_dim=2, parts=("sgd", "first"))
    assert study.of_part(config, "sgd", "dim", step="lr") == {"dim": 8, "step": 0.1}
    claims = {"sgd": lambda *_: {"online": 1}, "first": lambda *_: [("first", 2)], "floor": lambda *_: {"floor": 3}}
    assert study.claims_by_part(config, {}, {}, claims) == {"online": 1, "first": 2}


def test_means_have_their_errors_beside_them():
    means = study.means({"small": DRAWS["small"], "large": DRAWS["large"]}, 0)
    assert list(means) == ["small", "small_error", "large", "large_error"]
    assert list(means.values()) == pytest.approx([MEANS[0], ERRORS[0], MEANS[1], ERRORS[1]])
