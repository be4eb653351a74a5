"""Every stored record: its verdicts are what today's rules give its numbers, its commit can be checked out again."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.stats import t as student_t

from amembook.run import records, runtime, studies
from amembook.run.claims import PREDICTED, REPRODUCED, word, worst
from amemlib import fit_exponent

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for path in records.RECORDS.rglob("*.json") if path.name != records.RESOLVED)
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


def raised(value, factor):
    """A record's numbers times a factor."""
    if isinstance(value, dict):
        return {key: raised(inner, factor) for key, inner in value.items()}
    if isinstance(value, list):
        return [raised(inner, factor) for inner in value]
    return value * factor if isinstance(value, (int, float)) and not isinstance(value, bool) else value


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_was_edited_is_refused_by_name(name, tmp_path):
    record, path, parts = load(name), tmp_path / "edited.json", ("config", "measured")
    assert records.read_record(RECORDS[name], parts) == record
    for part in records.HELD:
        changed = {key: raised(values, 1.02) for key, values in record.get(part, {}).items()}
        for key in [key for key in changed if changed[key] != record[part][key]][-1:]:
            edited = record | {part: record[part] | {key: changed[key]}}
            assert records.digest_of(edited) != record["digest"], key
    measured = raised(record["measured"], 1.02)
    for edited in (record | {"measured": measured}, {key: record[key] for key in record if key != "digest"}):
        path.write_text(json.dumps(edited), encoding="utf-8")
        with pytest.raises(ValueError, match=r"edited\.json.*not those of its digest; git restore"):
            records.read_record(path, parts)


def emptied(value):
    """The same names with nothing known."""
    return {key: emptied(inner) for key, inner in value.items()} if isinstance(value, dict) else None


@pytest.mark.parametrize("name", JUDGED)
def test_a_quantity_of_which_nothing_is_known_is_named(name):
    record = load(name)
    experiment = studies.find_experiment(record["experiment"])
    for key in set(record["measured"]) - set(records.NOTES):
        for nothing in (emptied(record["measured"][key]), [], {}):
            with pytest.raises(ValueError, match=f"measured {re.escape(key)} must hold numbers"):
                records.judge(record | {"measured": record["measured"] | {key: nothing}}, experiment)
    with pytest.raises(ValueError, match="measured numbers must hold numbers"):
        records.judge(record | {"measured": {}}, experiment)


def leaves(value, path=()):
    """The lists of a record's nested dicts, with the names on the way there."""
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    return [(path, value)]


FITS = {"slope": "interval", "prefix_slope": "prefix_interval"}
"""Exponents that a study fits to its counts by `fit_exponent`, and where their intervals are."""


def pooled(dims, draws):
    """The interval of an exponent as records from before Welch have it: with the degrees of freedom of all points."""
    means, count = draws.mean(1), draws.shape[1]
    x = np.log(dims)
    weights = (x - x.mean()) / np.square(x - x.mean()).sum()
    error = np.sqrt(weights**2 @ (draws.var(1, ddof=1) / count / means**2))
    half = error * student_t.ppf(0.975, len(dims) * (count - 1))
    slope = weights @ np.log(means)
    return slope - half, slope + half


def derived(record):
    """What follows from the draws that a record stores, by name: as it is stored, and from the draws again.

    Means of every `seed_…` over its second axis, and of the counts' exponents slope and interval.
    """
    measured, config, found = record["measured"], record["config"], {}
    for name in [name for name in measured if "seed_" in name]:
        stored = dict(leaves(measured.get(name.replace("seed_", ""), {})))
        for path, draws in leaves(measured[name]):
            if stored.get(path) is not None:
                again = [np.mean(row, 0) if None not in row else math.nan for row in draws]
                found[name, *path] = stored[path], again
    for slope, interval in FITS.items():
        rows = measured.get("seed_prefixes" if "prefix" in slope else "seed_counts", {})
        for name in set(rows) & set(measured.get(slope, {})):
            sgd = name == "sgd" and "sgd_dims" in config
            dims = config["sgd_dims" if sgd else "dims"]
            draws = np.maximum(rows[name], 1 if "prefix" in slope else 0)
            columns = np.moveaxis(draws, -1, 0) if draws.ndim == 3 else [draws]
            fits = [fit_exponent(dims, column) for column in columns]
            ends = np.array([[fit.low, fit.high] for fit in fits])
            if not np.allclose(np.ravel(ends), np.ravel(measured[interval][name]), rtol=1e-9, atol=0):
                ends = np.array([pooled(dims, column) for column in columns])
            found[slope, name] = np.ravel(measured[slope][name]), [fit.slope for fit in fits]
            found[interval, name] = np.ravel(measured[interval][name]), np.ravel(ends)
    return found


def disagreements(record):
    """The names of what a record does not derive from its own draws."""
    as_numbers = lambda values: np.array(values, dtype=float)
    return [
        ".".join(name)
        for name, (stored, again) in derived(record).items()
        if not np.allclose(as_numbers(stored), as_numbers(again), rtol=1e-9, atol=0, equal_nan=True)
    ]


DERIVED = [name for name in JUDGED if derived(load(name))]


def test_records_that_store_draws_are_derived_from_them():
    studies_of = {name.split("/")[0] for name in DERIVED}
    assert studies_of == {"deflation", "loss", "many-steps", "one-step", "optimality", "recall", "spectral-maps"}


@pytest.mark.parametrize("name", DERIVED)
def test_what_a_record_derives_from_its_draws_is_derived_again(name):
    record = load(name)
    assert disagreements(record) == []
    for key in {name[0] for name in derived(record)}:
        other = raised(record["measured"][key], 1.02)
        assert disagreements(record | {"measured": record["measured"] | {key: other}}), key


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
