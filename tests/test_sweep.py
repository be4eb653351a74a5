"""A run keeps every finished cell, whatever ends it, and a record is written whole or not at all."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from amemlib import records, sweep
from amemlib.experiments import Experiment, Grid
from amemlib.verdicts import verdict

TOY = """
import sys, time
from dataclasses import dataclass
from amemlib import sweep
from amemlib.experiments import Experiment, Grid

@dataclass(frozen=True)
class Config:
    n: int = 12
    first_seed: int = 1000

def square(x, log):
    with open(log, "a") as file:
        file.write(f"{x}\\n")
    time.sleep(0.05)
    return {"square": x * x}

def grids(config):
    return {"square": Grid(square, {"x": range(config.n)}, log=LOG)}

def summarise(config, results):
    return {"squares": results.array("square", "square").tolist()}, {}

def judge(config, measured, predicted):
    return {"toy": {"sizes": "met", "limit": "met", "refused": ["cubes"]}}

FOLDER, LOG = sys.argv[1:]
toy = Experiment("toy", "squares", {"smoke": Config()}, grids, summarise, judge)
print(sweep.run(toy, Config(), FOLDER, "cpu")["measured"]["squares"])
"""


@dataclass(frozen=True)
class Config:
    n: int = 6
    first_seed: int = 1000


class Toy:
    """Squares, with a log of every call and an accident at one of them."""

    def __init__(self, accident=None):
        self.calls, self.accident = Counter(), accident
        self.experiment = Experiment("toy", "squares", {"smoke": Config()}, self.grids, self.summarise, self.judge)

    def square(self, x):
        if x == self.accident:
            raise RuntimeError("power cut")
        self.calls[x] += 1
        return {"square": x * x}

    def grids(self, config):
        return {"square": Grid(self.square, {"x": range(config.n)})}

    def summarise(self, config, results):
        return {"squares": results.array("square", "square").tolist()}, {}

    def judge(self, config, measured, predicted):
        squares = measured["squares"] == [x * x for x in range(config.n)]
        return {"toy": verdict(squares, squares, ["cubes"])}

    def run(self, folder, n=6, executor=None, first_seed=1000):
        return sweep.run(self.experiment, Config(n, first_seed), folder, "cpu", executor)


def cell_files(folder):
    return sorted((Path(folder) / "toy").glob("*.json"))


def test_a_record_says_what_was_run_and_what_came_out(tmp_path):
    record = Toy().run(tmp_path)
    assert record["measured"]["squares"] == [0, 1, 4, 9, 16, 25]
    assert record["experiment"] == "toy" and record["config"] == {"n": 6, "first_seed": 1000}
    assert record["verdict"] == "reproduced"
    assert record["verdicts"] == {"toy": {"sizes": "met", "limit": "met", "refused": ["cubes"]}}
    assert record["seconds"] >= 0 and record["provenance"]["code"] and record["device"].startswith("cpu")
    assert json.loads(json.dumps(record)) == record


def test_a_record_and_a_cell_say_how_long_they_took(tmp_path):
    toy, began = Toy(), time.perf_counter()
    record = toy.run(tmp_path)
    assert 0 <= record["seconds"] <= time.perf_counter() - began + 0.05
    cells = toy.experiment.cells(Config(), "cpu")
    results = [cell.function(**cell.arguments) for cell in cells]
    assert sweep.summarise(toy.experiment, Config(), results, record["provenance"], 1.26)["seconds"] == 1.3
    store = sweep.CellStore(tmp_path, "timed", {})
    store.write(cells[0], results[0], 1.23456)
    assert store.seconds(cells[0]) == 1.235 and store.read(cells[0]) == results[0]
    store.write(cells[1], results[1])
    assert store.seconds(cells[1]) is None


def test_a_record_holds_nothing_where_json_has_no_number(tmp_path):
    toy = Toy()
    toy.summarise = lambda config, results: ({"squares": [], "odd": {"x": [1.5, math.nan], "y": (-math.inf, 2)}}, {})
    toy.experiment = Experiment("toy", "", {"smoke": Config()}, toy.grids, toy.summarise, toy.judge)
    assert toy.run(tmp_path)["measured"] == {"squares": [], "odd": {"x": [1.5, None], "y": [None, 2]}}


def test_progress_begins_with_what_was_there(tmp_path, capsys):
    Toy().run(tmp_path, n=4)
    capsys.readouterr()
    Toy().run(tmp_path, n=6)
    shown = capsys.readouterr().err
    assert "4/6" in shown and "6/6" in shown and "8/6" not in shown


@pytest.mark.process
def test_a_worker_has_one_thread():
    with sweep.process_executor(1) as executor:
        assert executor.submit(torch.get_num_threads).result() == 1


def test_seeds_that_were_looked_at_before_the_rule_reproduce_nothing(tmp_path):
    record = Toy().run(tmp_path, first_seed=999)
    assert record["verdict"] == "finite-size" and record["verdicts"]["toy"]["limit"] == "not judged"


def test_a_failed_run_resumes_with_nothing_lost_and_nothing_done_twice(tmp_path):
    with pytest.raises(RuntimeError, match="power cut"):
        Toy(accident=3).run(tmp_path)
    assert len(cell_files(tmp_path)) == 3
    before = {path: path.stat().st_mtime_ns for path in cell_files(tmp_path)}
    again = Toy()
    assert again.run(tmp_path)["measured"]["squares"] == [0, 1, 4, 9, 16, 25]
    assert again.calls == Counter([3, 4, 5])
    assert len(cell_files(tmp_path)) == 6
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())


@pytest.mark.process
def test_a_killed_process_resumes_with_nothing_lost_and_nothing_done_twice(tmp_path):
    script, log = tmp_path / "toy.py", tmp_path / "log"
    script.write_text(TOY)
    command = [sys.executable, str(script), str(tmp_path / "results"), str(log)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(cell_files(tmp_path / "results")) < 4 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = {json.loads(path.read_text())["arguments"]["x"] for path in cell_files(tmp_path / "results")}
    assert 4 <= len(finished) < 12
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == [x * x for x in range(12)]
    calls = Counter(int(line) for line in log.read_text().split())
    assert len(cell_files(tmp_path / "results")) == 12
    assert set(calls) == set(range(12)) and all(calls[x] == 1 for x in finished)


def test_a_longer_grid_computes_only_what_is_new(tmp_path):
    Toy().run(tmp_path, n=4)
    longer = Toy()
    assert longer.run(tmp_path, n=6)["measured"]["squares"] == [0, 1, 4, 9, 16, 25]
    assert longer.calls == Counter([4, 5])


def test_changed_code_does_not_meet_old_cells(tmp_path, monkeypatch):
    Toy().run(tmp_path)
    monkeypatch.setattr("amemlib.fingerprint.loaded_hash", lambda module="": "another")
    changed = Toy()
    changed.run(tmp_path)
    assert changed.calls == Counter(range(6))


class Minimal:
    """The least an executor can be: `submit`, and a future with `result`."""

    def submit(self, function, **arguments):
        value = function(**arguments)
        return SimpleNamespace(result=lambda: value)


@pytest.mark.parametrize("executor", [None, Minimal(), ThreadPoolExecutor(2)], ids=["none", "minimal", "threads"])
def test_any_executor_gives_the_same_record(tmp_path, executor):
    toy = Toy()
    assert toy.run(tmp_path, executor=executor)["measured"]["squares"] == [0, 1, 4, 9, 16, 25]
    assert toy.calls == Counter(range(6)) and len(cell_files(tmp_path)) == 6


def test_a_finished_cell_is_kept_although_an_earlier_one_never_ends_well(tmp_path):
    toy = Toy()

    def slow_then_broken(x):
        deadline = time.monotonic() + 30
        while x == 0 and len(cell_files(tmp_path)) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        if x == 0:
            raise RuntimeError("power cut")
        return {"square": x * x}

    toy.square = slow_then_broken
    with ThreadPoolExecutor(2) as threads, pytest.raises(RuntimeError, match="power cut"):
        toy.run(tmp_path, executor=threads)
    assert len(cell_files(tmp_path)) == 5


def test_progress_goes_to_stderr(tmp_path, capsys):
    Toy().run(tmp_path)
    captured = capsys.readouterr()
    assert captured.out == "" and "toy" in captured.err


def test_a_record_is_written_whole(tmp_path):
    path = tmp_path / "record.json"
    records.write_record({"α": [1.5, 2.0]}, path)
    assert json.loads(path.read_text(encoding="utf-8")) == {"α": [1.5, 2.0]}
    assert os.listdir(tmp_path) == ["record.json"]


def test_a_record_that_cannot_be_written_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    records.write_record({"old": 1}, path)
    with pytest.raises(TypeError):
        records.write_record({"new": object()}, path)

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left .*record.json"):
        records.write_record({"new": 2}, path)
    assert json.loads(path.read_text()) == {"old": 1}
    assert os.listdir(tmp_path) == ["record.json"]


def test_shipped_records_are_read_in_the_order_of_their_names(tmp_path, monkeypatch):
    folder = tmp_path / "records" / "toy"
    folder.mkdir(parents=True)
    for name in ("b", "a"):
        records.write_record({"experiment": "toy"}, folder / f"{name}.json")
    (folder / "notes.txt").write_text("not a record")
    monkeypatch.setattr(records.resources, "files", lambda package: tmp_path)
    assert [record["name"] for record in records.read_records("toy")] == ["a", "b"]
    assert [record["name"] for record in records.read_records("toy", "b")] == ["b"]
    assert all(record["elsewhere"] == [] for record in records.read_records("toy"))
    for name, alpha in {"cpu-1": 1.5, "cpu-2": 2.0, "gpu": 1.5}.items():
        content = {"experiment": "toy", "config": {"alpha": alpha}, "device": "made in a test"}
        records.write_record(content, folder / f"{name}.json")
    one, two = records.read_records("toy", "cpu-")
    assert [other["config"]["alpha"] for other in one["elsewhere"]] == [1.5] and two["elsewhere"] == []
    assert [record["elsewhere"] for record in records.read_records("toy", "gpu")] == [[]]
    with pytest.raises(ValueError, match="experiment must have a stored record .*, got 'other'"):
        records.read_records("other")
