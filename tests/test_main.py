"""The command line, end to end."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from amembook.run import cache, records, reproduce, studies
from amembook.run.base import config_of
from amembook.run.claims import WORDS
from amembook.run.command_line import UNFINISHED, main

ONE_STEP = studies.find_experiment("one-step")
SMALL_SGD = {"sgd_dims": (16, 32), "sgd_items": 5, "sgd_seeds": 2}
LEDGERS = [*Path(__file__).resolve().parents[1].glob("**/ledger/*.yml")]
SMALLEST = "dims=8,16 n_items=100 seeds=1 sgd_dims=16,32 sgd_items=5 sgd_seeds=2".split()


def command_line(*arguments, cwd, encoding="utf-8"):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "amembook", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding=encoding)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """The record of a very small run."""
    folder = tmp_path_factory.mktemp("record")
    options = ["--output", str(folder / "record.json"), "--results", str(folder), "--set", *SMALLEST]
    assert main(["run", "one-step", "--profile", "smoke", *options]) == 0
    return json.loads((folder / "record.json").read_text())


@pytest.mark.process
def test_one_step_runs_from_the_shell_and_prints_one_json_object(tmp_path):
    done = command_line("run", "one-step", "--profile", "smoke", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    documented = {"experiment", "config", "measured", "predicted", "verdict", "device", "seconds"}
    assert documented <= set(record)
    assert record["experiment"] == "one-step"
    assert record["verdict"] in WORDS
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    assert config["dims"] == list(ONE_STEP.profiles["smoke"].dims)
    for name in ("polar", "smoothed_sign", "sgd"):
        dims = config["sgd_dims" if name == "sgd" else "dims"]
        assert len(measured["counts"][name]) == len(predicted["counts"][name]) == len(dims)
        low, high = measured["interval"][name]
        assert low <= measured["slope"][name] <= high
    assert predicted["slope"]["polar"] - predicted["slope"]["sgd"] == pytest.approx(1)
    assert measured["slope"]["polar"] - measured["slope"]["sgd"] > 0.7, "one step of Muon gains about d over SGD"
    n_cells = len(config["dims"]) * config["seeds"] + len(config["sgd_dims"]) * config["sgd_seeds"]
    assert f"{n_cells}/{n_cells}" in done.stderr
    assert len(list((tmp_path / "results" / "one-step").glob("*.json"))) == n_cells
    assert os.listdir(tmp_path) == ["results"]


@pytest.mark.slow
def test_settings_reach_the_record_and_the_table(here, capsys):
    arguments = ["run", "one-step", "--profile", "smoke", "--json", "--output", "record.json"]
    assert main([*arguments, "--set", "alpha=1.75", *SMALLEST]) == 0
    made = json.loads(capsys.readouterr().out)
    assert json.loads((here / "record.json").read_text()) == made
    assert made["config"]["alpha"] == 1.75 and made["config"]["dims"] == [8, 16]
    assert main(["run", "one-step", "--profile", "smoke", "--set", "alpha=1.75", "--set", *SMALLEST]) == 0
    table = capsys.readouterr().out
    assert "polar" in table and "alpha=1.75" in table and f"{made['measured']['slope']['polar']:.3f}" in table


def test_the_profile_comes_from_the_environment_unless_it_is_given(here, capsys, monkeypatch):
    monkeypatch.setenv("AMEM_PROFILE", "smoke")
    assert main(["run", "one-step", "--json", "--set", *SMALLEST[:2], *SMALLEST[3:]]) == 0
    assert json.loads(capsys.readouterr().out)["config"]["seeds"] == ONE_STEP.profiles["smoke"].seeds


def test_list_names_every_study_by_group(capsys):
    assert main(["list"]) == 0
    names = [group_or_name for group, found in studies.names().items() for group_or_name in (group, *found)]
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == names
    assert main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {group: list(found) for group, found in listed.items()} == studies.names()
    for name, purpose in (pair for found in listed.values() for pair in found.items()):
        assert studies.find_experiment(name).purpose == purpose


def test_a_statement_is_drawn_again_on_seeds_of_ones_own(here, capsys, monkeypatch):
    small = dataclasses.replace(reproduce.STATEMENTS["Sharp capacity"], sizes={"n_items": 200, "dim": 8, "draws": 4})
    sgd = {"sgd_dims": (256, 512), "sgd_items": 5, "sgd_seeds": 2}
    idle = {"parts": ("sgd_step",)}
    studied = reproduce.Again("one-step/confirm-alpha-1.5", sgd, ("sgd",), 0, idle=idle, **reproduce.at_sgd_dims)
    monkeypatch.setattr(reproduce, "STATEMENTS", {"Sharp capacity": small, "Theorem 5": studied})
    for name in reproduce.STATEMENTS:
        assert main(["reproduce", *name.lower().split(), "--seed", "90011"]) == 0
        said = capsys.readouterr().out
        assert all(word in said for word in ("stored", "fresh", "predicted", "band", "verdict:", "'first_seed': 90011"))
        assert "entry" not in said and "the book quotes the record" in said
        assert main(["reproduce", name, "--seed", "90011", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        documented = {"experiment", "config", "measured", "predicted", "verdict", "device", "seconds", "stored"}
        assert documented <= set(found) and found["statement"] == name and found["config"]["first_seed"] == 90011
        assert found["verdict"] in WORDS
        assert set(found["outcome"]) == set(found["band"]) == set(found["measured"])
        assert set(found["stored"]) == set(found["measured"]) == set(found["predicted"]) == set(found["interval"])
        assert all(low <= found["measured"][key] <= high for key, (low, high) in found["interval"].items())


@pytest.mark.parametrize("low, high, said", [
    (0.99, 1.02, "met"), (1.04, 1.09, "missed"), (0.96, 1.05, "too wide"), (1.02, 1.08, "leans out"),
    (None, None, "not judged"),
])  # fmt: skip
def test_a_number_is_met_missed_or_says_what_it_lacks(low, high, said):
    middle = None if low is None else (low + high) / 2
    one = {"measured": middle, "low": low, "high": high, "law": 1.0, "limit": None, "band": 0.03}
    assert reproduce.outcome(one | {"scale": "ratio", "draws": 8}, 1) == said


def test_no_smaller_run_leaves_out_a_verdict_that_it_is_asked_for():
    for again in reproduce.STATEMENTS.values():
        assert not set(again.sizes) & set(again.idle)
    counted = reproduce.STATEMENTS["Theorem 9"]
    assert set(counted.idle["rules"]) == set(counted.keys)


def test_every_statement_that_can_be_drawn_again_has_its_row_and_its_record():
    rows = {row["statement"]: row for path in LEDGERS for row in yaml.safe_load(path.read_text(encoding="utf-8"))}
    for name, again in reproduce.STATEMENTS.items():
        row, record = rows[name], records.read_record(records.RECORDS / f"{again.record}.json")
        named = row["record"] if isinstance(row["record"], list) else [row["record"]]
        assert again.record in named and set(again.keys) <= set(record["verdicts"])
        assert again.minutes > 0
        experiment = studies.find_experiment(record["experiment"])
        if again.keys:
            stored = config_of(experiment, record["config"])
            for sizes in (again.sizes, {}):
                experiment.grids(dataclasses.replace(stored, **sizes, **again.idle))


@pytest.mark.parametrize("wrong", (["Theorem 4"], [], ["Theorem 3", "--seed", "-1"], ["Theorem 3", "--seed", "5"]))
def test_an_unknown_statement_is_one_line_with_the_others(here, capsys, wrong):
    assert main(["reproduce", *wrong]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert len(said.err) < 200 and ("seed" if "--seed" in wrong else "--list") in said.err
    assert wrong != ["Theorem 4"] or "Theorem 5" in said.err
    assert main(["reproduce", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in reproduce.STATEMENTS) and "minutes" in listed


def test_show_prints_the_stored_records(capsys, monkeypatch, here, record):
    monkeypatch.setattr(records.resources, "files", lambda package: here)
    assert main(["show", "one-step"]) == 2
    folder = here / "records" / "one-step"
    folder.mkdir(parents=True)
    (folder / "small.json").write_text(json.dumps(record))
    capsys.readouterr()
    assert main(["show", "one-step"]) == 0
    assert capsys.readouterr().out.startswith("record small\n")
    assert main(["show", "one-step", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "small"


def test_a_budget_leaves_with_its_own_status_and_the_next_run_goes_on(here, capsys):
    arguments = ["run", "one-step", "--profile", "smoke", "--set", *SMALLEST]
    assert main([*arguments, "--budget", "1e-9"]) == UNFINISHED
    assert "budget" in capsys.readouterr().err
    assert main(arguments) == 0


def test_an_interrupt_from_the_keyboard_says_how_to_go_on(here, capsys, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cache, "run", interrupt)
    assert main(["run", "one-step", "--profile", "smoke"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


def test_judge_rewrites_the_verdicts_and_nothing_else(here, capsys, record):
    (here / "record.json").write_text(json.dumps(record | {"verdict": "reproduced", "verdicts": {}}))
    assert main(["judge", "record.json"]) == 0
    assert capsys.readouterr().out.split() == [record["verdict"], "record.json"]
    judged = json.loads((here / "record.json").read_text())
    assert judged.pop("judged") == record["provenance"]["commit"] and judged == record


def signed(record):
    """The record with the digest of what it holds now."""
    return record | {"digest": records.digest_of(record)}


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda record: record | {"experiment": "two-step"}, "two-step"),
        (lambda record: signed(record | {"config": record["config"] | {"power": 1}}), "power"),
        (lambda record: record | {"config": record["config"] | {"alpha": 1.7}}, "digest"),
        (lambda record: {key: value for key, value in record.items() if key != "measured"}, "measured"),
        (lambda record: [], "record"),
    ],
)
def test_a_record_that_cannot_be_judged_is_named_and_left_alone(here, capsys, record, change, said):
    text = json.dumps(change(record))
    (here / "record.json").write_text(text)
    assert main(["judge", "record.json"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and said in error
    assert (here / "record.json").read_text() == text


def test_a_dirty_tree_writes_no_shipped_record(capsys, monkeypatch):
    monkeypatch.setattr("amembook.run.runtime.commit", lambda: "0123456789ab+")
    output = str(records.RECORDS / "one-step" / "new.json")
    assert main(["run", "one-step", "--profile", "smoke", "--output", output]) == 2
    assert "output" in (error := capsys.readouterr().err) and "commit" in error and error.count("\n") == 1


@pytest.mark.parametrize("part, damage, said", [
    ("measured", lambda measured: measured | {"counts": measured["counts"] | {"polar": []}}, "measured counts"),
    ("measured", lambda measured: measured | {"seed_counts": measured["seed_counts"] | {"sgd": [None]}}, "seed_counts"),
    ("measured", lambda measured: {key: None for key in measured}, "must hold numbers"),
    ("measured", lambda measured: measured | {"slope": [1.5]}, "judged by"),
    ("config", lambda config: list(config), "no object config"),
    ("verdicts", lambda verdicts: {"polar": {}}, "'kind'"),
])  # fmt: skip
def test_a_record_with_a_hole_is_not_judged(here, capsys, part, damage, said):
    stored = json.loads((records.RECORDS / "one-step" / "confirm-alpha-1.5.json").read_text(encoding="utf-8"))
    text = json.dumps(signed(stored | {part: damage(stored[part])}))
    (here / "record.json").write_text(text)
    assert main(["judge", "record.json"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "record.json" in error and said in error, error
    assert (here / "record.json").read_text() == text


@pytest.mark.parametrize("text", ["", "[]", "3", '{"config": {}', "[" * 100_000])
def test_a_damaged_record_is_shown_by_the_name_of_its_file(here, capsys, monkeypatch, text):
    monkeypatch.setattr(records.resources, "files", lambda package: here)
    (here / "records" / "one-step").mkdir(parents=True)
    (here / "records" / "one-step" / "damaged.json").write_text(text)
    assert main(["show", "one-step"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "damaged.json" in error and "git restore" in error


HEAVY = {"torch", "scipy", "numpy", "matplotlib"}


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["run", "nope"], ["show", "nope"]])
def test_what_can_be_said_without_torch_is_said_without_it(arguments, tmp_path):
    code = (
        "import sys\nfrom amembook.run.command_line import main\n"
        f"try: main({arguments})\nexcept SystemExit: pass\n"
        f"sys.exit(len({HEAVY} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True).returncode == 0


@pytest.mark.process
def test_a_pipe_that_has_no_greek_gets_the_whole_list(tmp_path):
    done = command_line("list", cwd=tmp_path, encoding="cp1252")
    assert done.returncode == 0 and len(done.stdout.splitlines()) > 50, done.stderr


def test_what_the_extra_installs_is_named_where_it_is_missing(here, capsys, monkeypatch):
    missing = ModuleNotFoundError("No module named 'tqdm'", name="tqdm")
    monkeypatch.setattr(studies, "find_experiment", lambda name: (_ for _ in ()).throw(missing))
    assert main(["run", "one-step", "--profile", "smoke"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert 'pip install ".[book]"' in line and "tqdm" in line


def test_no_folder_is_no_folder_for_results(here, capsys):
    assert main(["run", "one-step", "--profile", "smoke", "--results", ""]) == 2
    assert "results must be a folder" in capsys.readouterr().err and not list(here.iterdir())
