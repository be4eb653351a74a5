"""A run keeps every finished cell, whatever ends it; a record is written whole and says where it is from."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from squares import Config, squares

from amembook.run import cache, records, runtime

SQUARES = [0, 1, 4, 9, 16, 25]


class Toy:
    """Squares, with a log of every call and an accident at one of them."""

    def __init__(self, accident=None):
        self.calls, self.accident = Counter(), accident

    def square(self, x: int) -> dict:
        if x == self.accident:
            raise RuntimeError("power cut")
        self.calls[x] += 1
        return {"square": x * x}

    def run(self, folder, n=6, first_seed=1000, **options):
        return cache.run(squares(self.square), Config(n, first_seed), folder, "cpu", **options)


def cell_files(folder):
    return sorted((Path(folder) / "toy").glob("*.json"))


def test_a_record_says_what_was_run_and_what_came_out(tmp_path, capsys):
    record = Toy().run(tmp_path)
    assert record["measured"]["squares"] == SQUARES
    assert record["experiment"] == "toy" and record["config"] == {"n": 6, "first_seed": 1000}
    assert record["verdict"] == "consistency check" and record["verdicts"]["positive"]["kind"] == "check"
    assert record["seconds"] >= 0 and record["device"].startswith("cpu")
    assert set(record["provenance"]) == {"device", "versions", "code", "commit"}
    assert json.loads(json.dumps(record)) == record
    shown = capsys.readouterr()
    assert shown.out == "" and "6/6" in shown.err


def test_a_record_holds_nothing_where_json_has_no_number(tmp_path):
    experiment = squares(summarise=lambda config, results: ({"squares": [1], "x": [1.5, math.nan, (-math.inf, 2)]}, {}))
    assert cache.run(experiment, Config(), tmp_path, "cpu")["measured"]["x"] == [1.5, None, [None, 2]]


def test_the_seconds_of_a_record_count_the_predictions(tmp_path):
    def summarise(config, results):
        time.sleep(0.2)
        return {"squares": [1]}, {}

    assert cache.run(squares(summarise=summarise), Config(), tmp_path, "cpu")["seconds"] >= 0.2


def test_a_failed_run_resumes_with_nothing_lost_and_nothing_done_twice(tmp_path):
    with pytest.raises(RuntimeError, match="power cut"):
        Toy(accident=3).run(tmp_path)
    assert len(cell_files(tmp_path)) == 3
    again = Toy()
    assert again.run(tmp_path)["measured"]["squares"] == SQUARES
    assert again.calls == Counter([3, 4, 5])


def test_changed_code_does_not_meet_old_cells(tmp_path, monkeypatch):
    Toy().run(tmp_path)
    monkeypatch.setattr(cache, "code_hash", lambda function: "another")
    changed = Toy()
    changed.run(tmp_path)
    assert changed.calls == Counter(range(6))


def test_prose_does_not_change_the_code():
    bodies = ('"Twice."\n    return 2 * x', "# doubled\n    return 2 * x", "return 3 * x")
    told, commented, other = (f"def f(x):\n    {body}\n" for body in bodies)
    assert cache._code(told) == cache._code(commented) != cache._code(other)


def test_a_worker_with_other_code_is_refused_and_nothing_of_it_is_stored(tmp_path):
    with pytest.raises(ValueError, match="workers must have the code of this run, old, got "):
        cache.call(Toy().square, "old", tmp_path, {"x": 1})


@pytest.mark.parametrize(
    "damage",
    [
        lambda path, other: path.write_bytes(b""),
        lambda path, other: path.write_bytes(path.read_bytes()[:-20]),
        lambda path, other: path.write_bytes(b"[" * 100_000),
        lambda path, other: path.write_text(path.read_text().replace('"square": 4', '"square": 5')),
        lambda path, other: path.write_bytes(other.read_bytes()),
    ],
    ids=["empty", "half", "deep", "another number", "another cell's"],
)
def test_an_unreadable_or_foreign_cell_is_computed_again(damage, tmp_path):
    Toy().run(tmp_path)
    four, other = [path for x in (2, 3) for path in cell_files(tmp_path) if f'"square": {x * x}}}' in path.read_text()]
    damage(four, other)
    again = Toy()
    assert again.run(tmp_path)["measured"]["squares"] == SQUARES
    assert again.calls == Counter([2])


class Minimal(Executor):
    """The least an executor can be: `submit`, and a future with `result`."""

    def submit(self, function, *arguments):
        value = function(*arguments)
        return SimpleNamespace(result=lambda: value)


@pytest.mark.parametrize("executor", [None, Minimal(), ThreadPoolExecutor(2)], ids=["none", "minimal", "threads"])
def test_any_executor_gives_the_same_record(tmp_path, executor):
    toy = Toy()
    assert toy.run(tmp_path, executor=executor)["measured"]["squares"] == SQUARES
    assert toy.calls == Counter(range(6)) and len(cell_files(tmp_path)) == 6


def processes(folder):
    return cache.process_executor(2)


@contextmanager
def dask(folder):
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client.get_executor(pure=False)


@contextmanager
def slurm(folder):
    """What a SLURM cluster is to submitit, `cluster="local"` is on one machine: a process for each job."""
    import submitit

    executor = submitit.AutoExecutor(folder=folder / "jobs", cluster="local")
    executor.update_parameters(timeout_min=5)
    yield executor


@pytest.mark.process
@pytest.mark.parametrize(
    "place",
    [processes, pytest.param(dask, marks=pytest.mark.weekly), pytest.param(slurm, marks=pytest.mark.weekly)],
    ids=lambda place: place.__name__,
)
def test_the_record_does_not_depend_on_where_its_cells_ran(place, tmp_path, monkeypatch):
    # a job of submitit's imports this module by its name
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    with place(tmp_path) as executor:
        record = cache.run(squares(), Config(), tmp_path, "cpu", executor)
    assert record["measured"]["squares"] == SQUARES and len(cell_files(tmp_path)) == 6


def test_a_finished_cell_is_kept_although_an_earlier_one_never_ends_well(tmp_path):
    def slow_then_broken(x: int) -> dict:
        deadline = time.monotonic() + 30
        while x == 0 and len(cell_files(tmp_path)) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        if x == 0:
            raise RuntimeError("power cut")
        return {"square": x * x}

    with ThreadPoolExecutor(2) as threads, pytest.raises(RuntimeError, match="power cut"):
        cache.run(squares(slow_then_broken), Config(), tmp_path, "cpu", threads)
    assert len(cell_files(tmp_path)) == 5


@pytest.mark.parametrize("workers", [None, 1])
def test_a_budget_ends_a_run_that_the_next_one_finishes(tmp_path, workers):
    def slow(x: int) -> dict:
        time.sleep(0.1)
        return {"square": x * x}

    executor = None if workers is None else ThreadPoolExecutor(workers)
    assert cache.run(squares(slow), Config(), tmp_path, "cpu", executor, budget=0.25) is None
    assert 1 <= len(cell_files(tmp_path)) <= 4
    assert cache.run(squares(slow), Config(), tmp_path, "cpu")["measured"]["squares"] == SQUARES


def test_a_folder_that_cannot_be_written_is_named_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    toy = Toy()
    with pytest.raises(ValueError, match="results must be a folder that can be written, got .*file"):
        toy.run(tmp_path / "file")
    assert not toy.calls


KILLED = """
import sys
sys.path.insert(0, {tests!r})
import test_run
from amembook.run import cache

cache.run(test_run.squares(test_run.logged), test_run.Config(12), sys.argv[1], "cpu")
"""


def logged(x: int) -> dict:
    with open(os.environ["LOG"], "a") as file:
        file.write(f"{x}\n")
    time.sleep(0.05)
    return {"square": x * x}


@pytest.mark.process
def test_a_killed_process_resumes_with_nothing_lost_and_nothing_done_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    here = Path(__file__).parent
    command = [sys.executable, "-c", KILLED.format(tests=str(here)), str(tmp_path)]
    process = subprocess.Popen(command, cwd=here.parent, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(cell_files(tmp_path)) < 4 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = {math.isqrt(json.loads(path.read_text())["result"]["square"]) for path in cell_files(tmp_path)}
    assert 4 <= len(finished) < 12
    subprocess.run(command, cwd=here.parent, stderr=subprocess.DEVNULL, check=True)
    calls = Counter(int(line) for line in (tmp_path / "log").read_text().split())
    assert set(calls) == set(range(12)) and all(calls[x] == 1 for x in finished)


@pytest.mark.weekly
def test_a_hundred_kills_lose_no_cell(tmp_path, monkeypatch):
    """Forked children run the same grid, each killed after a random time; the last run ends it."""
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    (tmp_path / "log").touch()
    draw, kills, n = random.Random(0), 0, 60
    while kills < 100:
        finished, before = len(cell_files(tmp_path)), len((tmp_path / "log").read_text().split())
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            cache.run(squares(logged), Config(n), tmp_path, "cpu")
            os._exit(0)
        time.sleep(draw.uniform(0.05, 0.3))
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        assert len(cell_files(tmp_path)) >= finished, "a kill took a cell away"
        calls = Counter((tmp_path / "log").read_text().split()[before:])
        assert not calls or max(calls.values()) == 1
        if len(cell_files(tmp_path)) == n:
            for path in draw.sample(cell_files(tmp_path), n // 2):
                path.unlink()
    assert cache.run(squares(logged), Config(n), tmp_path, "cpu")["measured"]["squares"] == [x * x for x in range(n)]


# -- records


def test_a_record_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    records.write_record({"α": [1.5, 2.0]}, path)
    assert json.loads(path.read_text(encoding="utf-8")) == {"α": [1.5, 2.0]}

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        records.write_record({"new": 2}, path)
    assert json.loads(path.read_text()) == {"α": [1.5, 2.0]} and os.listdir(tmp_path) == ["record.json"]


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff", b"{", b"[]", b'{"experiment": 1}', b"NaN"])
def test_a_file_that_is_no_record_is_named(content, tmp_path):
    (tmp_path / "record.json").write_bytes(content)
    with pytest.raises(ValueError, match="record must be the file of a record, got .*record.json"):
        records.read_record(tmp_path / "record.json")


def test_shipped_records_are_read_in_the_order_of_their_names(tmp_path, monkeypatch):
    folder = tmp_path / "records" / "toy"
    folder.mkdir(parents=True)
    for name, alpha in {"cpu-2": 2.0, "cpu-1": 1.5, "gpu": 1.5}.items():
        content = {"experiment": "toy", "config": {"alpha": alpha}, "measured": {}, "device": "made in a test"}
        records.write_record(content | {"digest": records.digest_of(content)}, folder / f"{name}.json")
    (folder / "notes.txt").write_text("not a record")
    monkeypatch.setattr(records.resources, "files", lambda package: tmp_path)
    assert [record["name"] for record in records.read_records("toy")] == ["cpu-1", "cpu-2", "gpu"]
    one, two = records.read_records("toy", "cpu-")
    assert [other["config"]["alpha"] for other in one["elsewhere"]] == [1.5] and two["elsewhere"] == []
    with pytest.raises(ValueError, match="experiment must have a stored record .*, got 'other'"):
        records.read_records("other")


# -- where the code runs


def test_the_profile_comes_from_the_environment(monkeypatch):
    for name in runtime.PROFILES:
        monkeypatch.setenv("AMEM_PROFILE", name)
        assert runtime.profile() == name
    monkeypatch.delenv("AMEM_PROFILE")
    assert runtime.profile() == "cpu"
    monkeypatch.setenv("AMEM_PROFILE", "large")
    with pytest.raises(ValueError, match="AMEM_PROFILE must be one of smoke, cpu, gpu, got 'large'"):
        runtime.profile()


@pytest.mark.parametrize("has_gpu", [False, True])
def test_auto_takes_a_gpu_where_there_is_one(monkeypatch, has_gpu):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    assert runtime.device("auto").type == ("cuda" if has_gpu else "cpu")
    assert runtime.device("cpu").type == "cpu"


def test_a_chapter_runs_on_one_thread_outside_colab(monkeypatch):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        monkeypatch.setitem(sys.modules, "google.colab", runtime)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        assert runtime.start_chapter() == "cuda"
        assert runtime.in_colab() and torch.get_num_threads() == 2
        monkeypatch.delitem(sys.modules, "google.colab")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert runtime.start_chapter() == "cpu"
        assert not runtime.in_colab() and torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.process
def test_a_worker_has_one_thread():
    with cache.process_executor(1) as executor:
        assert executor.submit(torch.get_num_threads).result() == 1


def test_a_machine_without_git_gets_its_commit_by_name(monkeypatch):
    monkeypatch.setenv("AMEM_COMMIT", "0123456789ab")
    assert runtime.commit() == "0123456789ab" and runtime.is_clean(runtime.commit())
    monkeypatch.delenv("AMEM_COMMIT")
    monkeypatch.setenv("PATH", "")
    assert runtime.commit() is None and not runtime.is_clean(None) and not runtime.is_clean("0123456789ab+")


def test_the_cells_of_an_unfinished_record_go_on_elsewhere(tmp_path):
    parts, toy = tmp_path / "parts" / "confirm.jsonl", Toy(accident=4)
    with pytest.raises(RuntimeError, match="power cut"):
        toy.run(tmp_path / "here", parts=parts)
    assert toy.run(tmp_path / "here", parts=parts, budget=1e-9) is None
    assert len(parts.read_text().splitlines()) == 1 + 4
    other = Toy()
    assert other.run(tmp_path / "there", parts=parts)["measured"]["squares"] == SQUARES
    assert set(other.calls) == {4, 5} and not parts.exists()


def test_parts_of_other_code_are_refused_by_their_commit(tmp_path):
    parts = tmp_path / "parts" / "confirm.jsonl"
    assert Toy().run(tmp_path, parts=parts, budget=1e-9) is None
    head = json.loads(parts.read_text())
    parts.write_text(json.dumps(head | {"code": "0" * 16, "commit": "abc"}) + "\n")
    with pytest.raises(ValueError, match="parts must have the code of this run.*go on from commit abc"):
        Toy().run(tmp_path, parts=parts)


def test_only_a_shipped_record_has_parts(tmp_path):
    assert records.parts_of(tmp_path / "confirm.json") is None
    shipped = records.RECORDS / "loss" / "large.json"
    assert records.parts_of(shipped) == records.RECORDS / "loss" / "parts" / "large.jsonl"
