"""What every lab owes: a claim and its paper, sizes that run in seconds, verdicts that can fail, its place in the book.

A lab's own tests, `test_<name>.py`, have `made_up()`: a config, measured and predicted numbers for which its judge says
its best; and `FLAWS`: where in the measured numbers what stands instead, and the word that a verdict then has.
"""

import importlib
import re
import tempfile
import time
from pathlib import Path

import ledger
import pytest
import yaml

from amemlib import experiments, records, sweep
from amemlib.verdicts import CONSISTENT, NOT_REPRODUCED, REPRODUCED, WORDS, word

ROOT = Path(__file__).resolve().parents[2]
SMOKE_SECONDS = 3.0
FRESH = range(3000, 7000)
LABS = experiments.labs()


def lab(name):
    return importlib.import_module(f"amemlib.labs.{name.replace('-', '_')}")


def chapters_of(name):
    """The chapters whose front matter names the experiment."""
    found = []
    for path in (ROOT / "chapters").rglob("*.md"):
        head = re.match(r"---\n(.*?)\n---\n", path.read_text(encoding="utf-8"), re.S)
        if head and (yaml.safe_load(head[1]) or {}).get("experiment") == name:
            found.append(path)
    return found


@pytest.mark.parametrize("name", LABS)
def test_a_lab_names_its_claim_and_its_paper(name):
    module = lab(name)
    assert len(module.CLAIM) > 40 and re.search(r"arXiv:\d{4}\.\d{5}", module.PAPER)
    assert module.EXPERIMENT.name == name and module.EXPERIMENT.unseen_from >= FRESH.start


@pytest.mark.parametrize("name", LABS)
def test_a_labs_smoke_profile_runs_in_seconds_and_says_something(name):
    experiment = lab(name).EXPERIMENT
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        record = sweep.run(experiment, experiment.profiles["smoke"], folder, "cpu")
    assert time.process_time() - began <= SMOKE_SECONDS, "the smoke profile is for tests: make it smaller"
    assert record["verdicts"] and set(map(word, record["verdicts"].values())) <= set(WORDS)


@pytest.mark.parametrize("name", LABS)
def test_every_verdict_of_a_lab_can_be_right_and_can_be_wrong(name, flawed):
    tests = importlib.import_module(f"test_{name.replace('-', '_')}")
    config, measured, predicted = tests.made_up()
    experiment = lab(name).EXPERIMENT
    best = {key: word(verdict) for key, verdict in experiment.verdicts(config, measured, predicted).items()}
    assert set(best.values()) <= {REPRODUCED, CONSISTENT}
    reached = {key: {said} for key, said in best.items()}
    for address, value, key, said in tests.FLAWS:
        worse = flawed(measured, address, value)
        assert word(experiment.verdicts(config, worse, predicted)[key]) == said, (address, value)
        reached[key].add(said)
    for key, said in reached.items():
        assert len(said) >= 2 and (NOT_REPRODUCED in said or len(said) >= 3), f"{key} cannot fail: only {said}"


@pytest.mark.parametrize("name", LABS)
def test_a_lab_has_a_fresh_record_a_chapter_with_figures_and_a_row(name):
    stored = records.read_records(name)
    assert any(record["config"]["first_seed"] in FRESH and record["config"]["seeds"] >= 5 for record in stored)
    (chapter,) = chapters_of(name)
    figures = importlib.import_module(f"{lab(name).__name__}.figures")
    drawn = [key for key in vars(figures) if key.endswith("_figure")]
    text = chapter.read_text(encoding="utf-8")
    assert drawn and all(f"figures.{key}(" in text for key in drawn)
    assert str(chapter.relative_to(ROOT).with_suffix("")) in (ROOT / "_toc.yml").read_text(encoding="utf-8")
    own = {
        row["chapter"].partition("#")[0]
        for row in ledger.rows(ROOT)
        if any(str(record).startswith(f"{name}/") for record in ledger.several(row.get("record")))
    }
    assert own == {chapter.relative_to(ROOT / "chapters").as_posix()}
