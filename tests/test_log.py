"""The log says what came first, a rule or its record: a line for every record that a statement rests on.

`rule_commit` is the last commit that changed the rule of that statement before the record was made at `record_commit`,
`record_date` when its numbers entered history. `dropped` lists earlier attempts at the same claim, each a commit and
its seeds: the commit that holds the attempt last or, of one that was never stored, the commit that set it aside. `why`
has a reason for each of them in their order, and after these what is odd about the order of rule and record.
`judged_again_by` lists the commits that changed the rule afterwards, but for moves, names and checks of its input.
"""

import csv
import dataclasses
import json
import re
import subprocess
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
import yaml

from amembook.run import studies
from amembook.run.claims import FEWEST_DRAWS

ROOT = Path(__file__).resolve().parents[1]
RECORDS = next(path for book in ("amembook", "amemlib") if (path := ROOT / book / "records").is_dir())
LEDGERS = [*ROOT.glob("chapters/ledger/*.yml"), *ROOT.glob("companions/ledger/*.yml")]
COLUMNS = (
    "statement", "record", "rule_file", "rule_commit", "rule_date", "record_commit", "record_date", "seeds", "dropped",
    "why", "judged_again_by",
)  # fmt: skip
COMMIT = re.compile(r"[0-9a-f]{12}")
NEVER = range(7000, 8000)
ELSEWHERE = (
    range(4450, 4500),  # spectral-maps
    range(6150, 6200),  # the draws of the budget game
    range(6600, 6620),
    range(6700, 6702),
    range(30_000, 30_032),  # rehearsals
    range(30_100, 30_124),
    range(30_200, 30_204),
    range(30_300, 30_340),
    range(30_400, 30_448),
    range(30_500, 30_506),
    range(30_700, 30_724),
)
"""Seeds that were looked at and stand behind no statement."""
GPU, REHEARSAL = range(20_000, 30_000), range(30_000, 31_000)
"""Where the blocks of the gpu profiles and of the rehearsals lie: 500 seeds and 100 for a study each."""
ORDERED = datetime.fromisoformat("2026-11-23T21:27:00+00:00")
"""Since when a rule must be an ancestor of its record, not only older."""
TOGETHER = {"fusing/confirm", "gradient-limit/confirm", "sharp/elsewhere"}
"""Their rules and they entered this history in one commit, and their lines say so."""

with (ROOT / "chapters" / "ledger" / "log.csv").open(encoding="utf-8", newline="") as file:
    LINES = list(csv.DictReader(file))


EXPERIMENTS = {name: studies.find_experiment(name) for group in studies.names().values() for name in group}
EXPLORED = {("recall-rates", name) for name in ("controls", "capacity", "capacity-fixed")}
"""Profiles that explore: the rates of later records are chosen by them, and nothing is judged."""


def split(text):
    """The items of a list in a field."""
    return text.split(";") if text else []


def blocks(line):
    """First and last seed of every block that a line names."""
    named = split(line["seeds"]) + [item.split(" ")[1] for item in split(line["dropped"])]
    return [tuple(map(int, block.split("-"))) for block in named]


def name(line):
    return f"{line['statement']}, {line['record']}"


def test_every_row_has_a_line_for_each_of_its_records_and_no_other():
    wanted = []
    for path in LEDGERS:
        for row in yaml.safe_load(path.read_text(encoding="utf-8")):
            records = row.get("record") or []
            wanted += [(row["statement"], one) for one in ([records] if isinstance(records, str) else records)]
    assert wanted and tuple(LINES[0]) == COLUMNS
    assert sorted((line["statement"], line["record"]) for line in LINES) == sorted(wanted)


def test_a_line_is_of_the_record_that_is_stored():
    for line in LINES:
        record = json.loads((RECORDS / f"{line['record']}.json").read_text(encoding="utf-8"))
        assert record["provenance"]["commit"].startswith(line["record_commit"]), name(line)
        assert blocks(line)[0][0] == record["config"]["first_seed"], name(line)


def test_commits_and_dates_are_well_formed():
    for line in LINES:
        commits = [line["rule_commit"], line["record_commit"], *split(line["judged_again_by"])]
        commits += [item.split(" ")[0] for item in split(line["dropped"])]
        assert all(COMMIT.fullmatch(commit) for commit in commits), name(line)
        assert all(datetime.fromisoformat(line[f"{of}_date"]).tzinfo for of in ("rule", "record")), name(line)
        assert split(line["rule_file"]), name(line)


def test_a_rule_is_older_than_its_record_or_the_line_says_why():
    for line in LINES:
        rule, record = (datetime.fromisoformat(line[f"{of}_date"]) for of in ("rule", "record"))
        assert rule <= record or len(split(line["why"])) > len(split(line["dropped"])), name(line)


def git(*command):
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.process
def test_since_there_is_this_test_the_rules_commit_is_an_ancestor_of_the_records():
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("no history here")
    ordered = {}
    for line in LINES:
        if line["record"] in TOGETHER:
            assert "entered this history together" in line["why"], name(line)
        elif datetime.fromisoformat(line["record_date"]) > ORDERED:
            ordered[line["rule_commit"], line["record_commit"]] = name(line)
            ordered[line["record_commit"], "HEAD"] = name(line)
    for (older, younger), of in ordered.items():
        found = git("merge-base", "--is-ancestor", older, younger)
        assert found.returncode == 0, f"{of}: {found.stderr or f'{older} is no ancestor of {younger}'}"


def test_no_two_studies_share_a_seed():
    """Since seeds come in blocks, from 3000 on; attempts that were dropped count.

    Optimality's 160 spectra reach into the blocks that recall, emergence and quadratic took afterwards. Fusing was set
    aside once because it had taken a block of single-index, and the best steps and the ranking of optimizers because
    theirs had been looked at in attempts of others.
    """
    owners = {seed: "no statement" for block in ELSEWHERE for seed in block}
    for line in LINES:
        study = line["record"].partition("/")[0]
        for first, last in blocks(line):
            if (study, first) in (("fusing", 5850), ("step-sizes", 3700), ("ranking", 3300)):
                continue
            for seed in range(max(first, 3000), min(last, 4599 if study == "optimality" else last) + 1):
                assert owners.setdefault(seed, study) == study, f"{name(line)}: {seed} is of {owners[seed]}"


def test_what_was_dropped_has_its_reason():
    for line in LINES:
        reasons = split(line["why"])
        assert all(reasons) and len(reasons) >= len(split(line["dropped"])), name(line)


def test_no_profile_but_the_first_two_falls_short_of_what_its_rule_asks():
    owners = {}
    for name, experiment in EXPERIMENTS.items():
        for profile, config in experiment.profiles.items():
            if profile in ("smoke", "cpu") or (name, profile) in EXPLORED:
                continue
            assert config.first_seed >= experiment.unseen_from, f"{name} {profile}: seeds were seen before the rule"
            block, size = {"gpu": (GPU, 500), "rehearsal": (REHEARSAL, 100)}.get(profile, (None, 0))
            if block is None:
                continue
            counts = [getattr(config, field.name) for field in dataclasses.fields(config) if "seeds" in field.name]
            fewest = np.min(config.seeds)
            assert fewest >= FEWEST_DRAWS, f"{name} {profile}: {fewest} draws"
            assert config.first_seed in block and config.first_seed % size == 0, f"{name} {profile}"
            assert max(map(np.max, counts)) <= size, f"{name} {profile}"
            assert owners.setdefault((profile, config.first_seed), name) == name


def test_every_gpu_profile_is_run_by_the_makefile():
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    listed = re.search(r"^GPU_STUDIES \?= .*?deflation,(.*)\)$", text, re.M)[1].split()
    assert sorted(listed) == sorted(name for name, one in EXPERIMENTS.items() if "gpu" in one.profiles)
    assert sorted(name for name, one in EXPERIMENTS.items() if "rehearsal" in one.profiles) == sorted(listed[:3])


def test_no_seed_is_one_that_is_never_used():
    for line in LINES:
        assert blocks(line), name(line)
        for first, last in blocks(line):
            assert first <= last and (last < NEVER.start or first >= NEVER.stop), name(line)
