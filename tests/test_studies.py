"""What every study of practice and of companions owes: a claim and its paper, sizes that run in seconds, its record,
verdicts that can fail, its place in the book. `list` finds them by their folders; one that is deleted is not missed.

A study's own test has `REFUSED`: fields that contradict the others of the cpu profile, each with its value and, if that
is not the field, the word that the error names; and `FLAWS`: an address in the measured numbers of its stored record,
what stands there instead (a value, or a function of the old one), the verdict that this changes and the word that it
then has; the name of the record, if it is not `confirm`. A verdict must fail by one of them, or by all of its own
together, unless its record keeps no error of anything that it is judged by: such a verdict is undecided, whatever
stands there.
"""

import dataclasses
import functools
import importlib
import json
import re
import tempfile
import time
from pathlib import Path

import ledger
import notebooks
import pytest
import yaml

from amembook.run import cache, records, studies
from amembook.run.claims import NOT_REPRODUCED, WORDS, word

ROOT = Path(__file__).resolve().parents[1]
SMOKE_SECONDS = 10.0
FRESH, LATER = range(3000, 7000), 10_000
FOLDERS = {name: group for group in ("practice", "companions") for name in studies.names()[group]}
OWN_FOLDER = (
    "safe-list",
    "gradient-limit",
    "trained-map",
    "quieting",
    "whitening",
    "zoo",
    "two-sided",
    "whitened-runs",
)
FOLDERS |= dict.fromkeys(OWN_FOLDER, "paper")


def module(name):
    return importlib.import_module(f"amembook.{FOLDERS[name]}.{name.replace('-', '_')}")


def own_test(name):
    return importlib.import_module(f"{module(name).__name__}.test_{name.replace('-', '_')}")


def draws_of(config: dict) -> int:
    """Draws of a study: its `seeds`, or the fewest at any of its sizes."""
    return config["seeds"] if "seeds" in config else min(config["draws_at"])


def flawed(measured: dict, address: tuple, value) -> dict:
    """Measured numbers with another value at one place, given by its keys and positions; () is all of them."""
    whole = [json.loads(json.dumps(measured))]
    place, (*path, last) = whole, (0, *address)
    for step in path:
        place = place[step]
    place[last] = value(place[last]) if callable(value) else value
    return whole[0]


def is_blind(verdict: dict) -> bool:
    """Whether a verdict has numbers, but no interval of any that it is held to."""
    held = [one for one in verdict.get("numbers", ()) if not one.get("guard")]
    return bool(held) and all(one["low"] is None for one in held)


@functools.cache
def chapters() -> list[tuple[Path, list[str]]]:
    """The chapters, each with the studies that its front matter names, one or a list."""
    found = []
    for path in notebooks.sources(ROOT):
        head = re.match(r"---\n(.*?)\n---\n", path.read_text(encoding="utf-8"), re.S)
        named = yaml.safe_load(head[1]).get("experiment", [])
        found.append((path, [named] if isinstance(named, str) else named))
    return found


rows = functools.cache(ledger.rows)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_study_names_its_claim_and_its_paper(name):
    # in a study's docstring, or as constants
    prose = module(name).__doc__
    claim = getattr(module(name), "CLAIM", prose.partition("\n\nClaim: ")[2])
    assert len(claim) > 40 and re.search(r"arXiv:\d{4}\.\d{5}", getattr(module(name), "PAPER", prose))
    assert module(name).EXPERIMENT.name == name and module(name).EXPERIMENT.unseen_from >= FRESH.start


@pytest.mark.parametrize("name", [name for name in FOLDERS if hasattr(own_test(name), "REFUSED")])
def test_a_config_whose_fields_contradict_each_other_is_refused(name):
    for field, value, *named in own_test(name).REFUSED:
        with pytest.raises(ValueError, match=named[0] if named else field):
            dataclasses.replace(module(name).EXPERIMENT.profiles["cpu"], **{field: value})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.weekly if of == "companions" else ()) for name, of in FOLDERS.items()]
)
def test_a_studys_smoke_profile_runs_in_seconds_and_says_something(name):
    experiment = module(name).EXPERIMENT
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        record = cache.run(experiment, experiment.profiles["smoke"], folder, "cpu")
    assert time.process_time() - began <= SMOKE_SECONDS, "the smoke profile is for tests: make it smaller"
    assert record["verdicts"] and set(map(word, record["verdicts"].values())) <= set(WORDS)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_verdict_of_a_stored_record_can_fail(name):
    experiment = module(name).EXPERIMENT
    stored = {record["name"]: record for record in records.read_records(name)}
    word_of = lambda record, key: word(records.judge(record, experiment)["verdicts"][key])
    can_fail, together = set(), {}
    for address, value, key, expected, *which in own_test(name).FLAWS:
        place = which[0] if which else "confirm"
        record = stored[place]
        worse = record | {"measured": flawed(record["measured"], address, value)}
        assert word_of(worse, key) == expected, (address, key)
        assert expected != word(record["verdicts"][key]), f"{key} is {expected} without the flaw"
        can_fail |= {key} if expected == NOT_REPRODUCED else set()
        so_far = together.get((key, place), record)
        together[key, place] = so_far | {"measured": flawed(so_far["measured"], address, value)}
    # one number may miss the sizes and another the limit
    rest = {key: worse for (key, _), worse in together.items() if key not in can_fail}
    can_fail |= {key for key, worse in rest.items() if word_of(worse, key) == NOT_REPRODUCED}
    failed = {
        key for record in stored.values() for key, one in record["verdicts"].items() if word(one) == NOT_REPRODUCED
    }
    judged = {key for record in stored.values() for key, one in record["verdicts"].items() if not is_blind(one)}
    assert judged <= can_fail | failed, f"nothing makes these fail: {judged - can_fail - failed}"


@pytest.mark.parametrize("name", FOLDERS)
def test_a_study_has_a_fresh_record_a_chapter_and_a_row(name):
    stored = records.read_records(name)
    assert any(
        (record["config"]["first_seed"] in FRESH or record["config"]["first_seed"] >= LATER)
        and draws_of(record["config"]) >= 5
        for record in stored
    )
    # a chapter of the short book and the appendix behind it may show one study
    pages = [path for path, named in chapters() if name in named]
    book = "companions" if FOLDERS[name] == "companions" else ""
    kept = lambda row: any(one.startswith(f"{name}/") for one in ledger.several(row.get("record", [])))
    own = [row for row in rows(ROOT, book) if kept(row)]
    places = {page.relative_to(ROOT / book / "chapters").as_posix() for page in pages}
    assert own and {row["chapter"].partition("#")[0] for row in own} == places
