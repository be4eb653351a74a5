"""Every stored record: its verdicts are what today's rules give its numbers, its commit can be checked out again."""

import json
from pathlib import Path

import pytest
import yaml

from amembook.run import records, runtime, studies
from amembook.run.claims import PREDICTED, REPRODUCED, word, worst

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(records.RECORDS.rglob("*.json"))
RECORDS = {path.relative_to(records.RECORDS).with_suffix("").as_posix(): path for path in FILES}
STUDIES = {name for names in studies.names().values() for name in names}
JUDGED = [name for name in RECORDS if name.split("/")[0] in STUDIES]
EXCEPTIONS = yaml.safe_load((ROOT / "tests" / "record_exceptions.yml").read_text(encoding="utf-8"))


def load(name):
    return json.loads(RECORDS[name].read_text(encoding="utf-8"))


def judge_faults(name):
    """What is wrong with a record's verdicts, nothing if they are what its numbers give."""
    record = load(name)
    try:
        again = records.judge(record, studies.find_experiment(record["experiment"]))
    except ValueError as error:
        return [str(error)]
    return [key for key in ("verdict", "verdicts") if again[key] != record[key]]


@pytest.mark.parametrize("name", JUDGED)
def test_a_record_is_judged_as_it_says(name):
    assert bool(judge_faults(name)) == (name in EXCEPTIONS["judged"]), judge_faults(name)


@pytest.mark.parametrize("name", JUDGED)
def test_seeds_seen_before_the_rule_reproduce_nothing(name):
    record = load(name)
    experiment = studies.find_experiment(record["experiment"])
    if record["config"]["first_seed"] < experiment.unseen_from and name not in EXCEPTIONS["judged"]:
        assert not {REPRODUCED, PREDICTED} & {word(verdict) for verdict in record["verdicts"].values()}
        assert record["verdict"] == worst(record["verdicts"].values())


EXPONENTS = {
    "one-step": ("polar", "smoothed_sign", "sgd"),
    "critical-batch": ("polar", "sgd", "lemma_14"),
    "deflation": ("smoothed_sign", "polar", "sgd"),
    "optimality": ("smallest", "inverse_sum"),
    "causal-graph": ("sequences",),
}
"""The verdicts on exponents, by experiment; the Conjecture's wait for the closed recursion."""


@pytest.mark.parametrize("name", [name for name in JUDGED if "/confirm" in name])
def test_the_rule_of_an_exponent_refuses_two_laws_at_least(name):
    if name in EXCEPTIONS["judged"]:
        return
    verdicts = load(name)["verdicts"]
    for key in EXPONENTS.get(name.split("/")[0], ()):
        assert len(verdicts[key]["refused"]) >= 2, key


@pytest.mark.parametrize("name", JUDGED)
def test_what_meets_a_law_refuses_one_and_leaves_none_that_lies_far(name):
    if name not in EXCEPTIONS["judged"]:
        for verdict in load(name)["verdicts"].values():
            if word(verdict) in (REPRODUCED, PREDICTED):
                assert verdict["refused"] and set(verdict["surviving"]) <= set(verdict["near"])


def test_a_record_was_made_from_a_clean_commit_of_this_history(git):
    # a shallow checkout has no history
    commits = git("rev-list", "HEAD").split() if git("rev-parse", "--is-shallow-repository") == "false\n" else []
    faulty = []
    for name in JUDGED:
        commit = load(name)["provenance"]["commit"]
        known = not commits or any(one.startswith(commit or "-") for one in commits)
        if not runtime.is_clean(commit) or not known:
            faulty.append(name)
    assert sorted(faulty) == sorted(EXCEPTIONS["commit"]), "the list of exceptions may only shrink"


def test_the_list_of_exceptions_names_records_that_exist():
    assert all(set(names) <= set(JUDGED) for names in EXCEPTIONS.values())
