"""The command line, end to end."""

import json
import os
import subprocess
import sys

import pytest

from amemlib import experiments, records, sweep
from amemlib.__main__ import main
from amemlib.verdicts import WORDS

ONE_STEP = experiments.find_experiment("one-step")
SMALLEST = "dims=8,16 n_items=100 seeds=1 sgd_dims=16,32 sgd_items=20 sgd_seeds=2".split()


def command_line(*arguments, cwd):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "amemlib", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


def test_bad_input_is_one_line_and_exit_2(here, capsys):
    assert main(["run", "one-step", "--set", "alpha=0.4"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "alpha" in said.err and "0.4" in said.err


def test_settings_reach_the_record_and_the_table(here, capsys):
    assert main(["run", "one-step", "--profile", "smoke", "--json", "--set", "alpha=1.75", *SMALLEST]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["config"]["alpha"] == 1.75 and record["config"]["dims"] == [8, 16]
    assert main(["run", "one-step", "--profile", "smoke", "--set", "alpha=1.75", "--set", *SMALLEST]) == 0
    table = capsys.readouterr().out
    assert "polar" in table and "alpha=1.75" in table and f"{record['measured']['slope']['polar']:.3f}" in table


def test_the_second_run_takes_everything_from_the_first(here, capsys, monkeypatch):
    arguments = ["run", "one-step", "--profile", "smoke", "--json", "--set", *SMALLEST]
    assert main(arguments) == 0
    first = json.loads(capsys.readouterr().out)
    monkeypatch.setattr("amemlib.experiments.one_step.initial_gradient", None)
    assert main(arguments) == 0
    second = json.loads(capsys.readouterr().out)
    assert first["measured"] == second["measured"]


def test_the_profile_comes_from_the_environment_unless_it_is_given(here, capsys, monkeypatch):
    monkeypatch.setenv("AMEM_PROFILE", "smoke")
    assert main(["run", "one-step", "--json", "--set", *SMALLEST[:2], *SMALLEST[3:]]) == 0
    assert json.loads(capsys.readouterr().out)["config"]["seeds"] == ONE_STEP.profiles["smoke"].seeds


def test_output_writes_the_record_that_is_printed(here, capsys):
    arguments = ["run", "one-step", "--profile", "smoke", "--json", "--output", "record.json", "--set", *SMALLEST]
    assert main(arguments) == 0
    assert json.loads((here / "record.json").read_text()) == json.loads(capsys.readouterr().out)


def test_list_names_every_experiment(capsys):
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(experiments.names())


def test_show_prints_the_stored_records(capsys, monkeypatch, here):
    monkeypatch.setattr(records, "files", lambda package: here)
    assert main(["show", "one-step"]) == 2
    folder = here / "records" / "one-step"
    folder.mkdir(parents=True)
    output = str(folder / "small.json")
    assert main(["run", "one-step", "--profile", "smoke", "--output", output, "--set", *SMALLEST]) == 0
    capsys.readouterr()
    assert main(["show", "one-step"]) == 0
    assert capsys.readouterr().out.startswith("record small\n")


def test_an_interrupt_from_the_keyboard_says_how_to_go_on(here, capsys, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run", interrupt)
    assert main(["run", "one-step", "--profile", "smoke"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


def test_judge_rewrites_the_verdicts_and_nothing_else(here, capsys, monkeypatch):
    assert main(["run", "one-step", "--profile", "smoke", "--output", "record.json", "--set", *SMALLEST]) == 0
    kept = json.loads((here / "record.json").read_text())
    (here / "record.json").write_text(json.dumps(kept | {"verdict": "reproduced", "verdicts": {}}))
    capsys.readouterr()
    assert main(["judge", "record.json"]) == 0
    assert capsys.readouterr().out.split() == [kept["verdict"], "record.json"]
    judged = json.loads((here / "record.json").read_text())
    assert judged.pop("judged") == kept["provenance"]["commit"] and judged == kept


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda record: record | {"experiment": "two-step"}, "two-step"),
        (lambda record: record | {"config": record["config"] | {"power": 1}}, "power"),
        (lambda record: {key: value for key, value in record.items() if key != "measured"}, "measured"),
        (lambda record: [], "record"),
    ],
)
def test_a_record_that_cannot_be_judged_is_named_and_left_alone(here, capsys, change, said):
    assert main(["run", "one-step", "--profile", "smoke", "--output", "record.json", "--set", *SMALLEST]) == 0
    text = json.dumps(change(json.loads((here / "record.json").read_text())))
    (here / "record.json").write_text(text)
    capsys.readouterr()
    assert main(["judge", "record.json"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "record.json" in error and said in error
    assert (here / "record.json").read_text() == text


def test_a_dirty_tree_writes_no_shipped_record(capsys, monkeypatch):
    monkeypatch.setattr("amemlib.runtime.commit", lambda: "0123456789ab+")
    output = str(records.RECORDS / "one-step" / "new.json")
    assert main(["run", "one-step", "--profile", "smoke", "--output", output]) == 2
    assert "output" in (error := capsys.readouterr().err) and "commit" in error and error.count("\n") == 1
