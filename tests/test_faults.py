"""Faults from outside: damaged files, killed processes, other code, a full disk. No cell is lost, none is wrong."""

import errno
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from asyncio import CancelledError
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace

import pytest
from squares import Config, square, squares

from amemlib import files, fingerprint, records, runtime, sharding, sweep
from amemlib.__main__ import main

SQUARES = [0, 1, 4, 9, 16, 25]


def run(folder, executor=None, function=square, n=6) -> list:
    return sweep.run(squares(function), Config(n), folder, "cpu", executor)["measured"]["squares"]


def cells(folder) -> dict:
    """The files of the finished cells by their x."""
    return {json.loads(path.read_text())["arguments"]["x"]: path for path in (Path(folder) / "toy").glob("*.json")}


def in_place_of(path: Path, make) -> None:
    path.unlink()
    make(path)


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[:99]),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "empty object": lambda path: path.write_text("{}"),
    "no object": lambda path: path.write_text("[[1]]"),
    "deep": lambda path: path.write_text("[" * 100_000),
    "a digit": lambda path: path.write_text(path.read_text().replace('"square": 4', '"square": 5')),
    "no digest": lambda path: path.write_text('{"result": {"square": 5}}'),
    "folder": lambda path: in_place_of(path, Path.mkdir),
    "circle": lambda path: in_place_of(path, lambda place: place.symlink_to(place.name)),
    "fifo": lambda path: in_place_of(path, os.mkfifo),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cell_is_named_set_aside_and_computed_again(damage, tmp_path, capsys):
    assert run(tmp_path) == SQUARES
    path = cells(tmp_path)[2]
    DAMAGE[damage](path)
    capsys.readouterr()
    assert run(tmp_path) == SQUARES
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("amemlib: ")]
    assert len(said) == 1 and str(path) in said[0] and f"{path.name}.damaged" in said[0]
    assert os.path.lexists(f"{path}.damaged") and cells(tmp_path).keys() == set(range(6))


def test_cells_that_were_exchanged_are_not_believed(tmp_path, capsys):
    run(tmp_path)
    stored = cells(tmp_path)
    one, other = stored[1].read_bytes(), stored[5].read_bytes()
    stored[1].write_bytes(other)
    stored[5].write_bytes(one)
    assert run(tmp_path) == SQUARES
    assert capsys.readouterr().err.count("it holds another cell") == 2


def test_damage_after_damage_is_kept_as_well(tmp_path):
    run(tmp_path)
    path = cells(tmp_path)[3]
    for _ in range(2):
        path.write_text("{}")
        run(tmp_path)
    assert {file.name for file in path.parent.glob("*.damaged*")} == {f"{path.name}.damaged", f"{path.name}.damaged-1"}


class OtherCode:
    """A worker that has loaded other code than the run that asks it."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch

    def submit(self, function, **arguments):
        def result():
            with self.monkeypatch.context() as there:
                there.setattr(fingerprint, "loaded_hash", lambda module="": "0123456789abcdef")
                return function(**arguments)

        return SimpleNamespace(result=result)


def test_a_worker_with_other_code_is_refused_and_nothing_of_it_is_stored(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="workers must have loaded the code of this run, got .* for square on "):
        run(tmp_path, OtherCode(monkeypatch))
    assert not cells(tmp_path)


def test_code_that_changed_on_disk_after_it_was_loaded_is_refused(monkeypatch):
    module = "amemlib.recovery"
    changed = Path(fingerprint.__file__).with_name("recovery.py")
    fingerprint.loaded_hash.cache_clear()
    assert fingerprint.loaded_hash(module) == fingerprint.code_hash(module)
    monkeypatch.setitem(sys.modules["amemlib.fingerprint"].__dict__["_AT_START"], changed, "as it was")
    fingerprint.loaded_hash.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"what this process has loaded, got a change of recovery\.py since then"):
            fingerprint.loaded_hash(module)
    finally:
        fingerprint.loaded_hash.cache_clear()


def test_a_function_from_elsewhere_is_known_by_its_bytecode():
    def cube(x):
        return {"square": x**3}

    def moved(x):

        return {"square": x**3}

    def other(x):
        return {"square": x**4}

    assert sweep.loaded_code(cube) == sweep.loaded_code(moved) != sweep.loaded_code(other)


@pytest.mark.parametrize("mask, mode", [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_files_have_the_mode_that_the_umask_gives(mask, mode, tmp_path):
    before = os.umask(mask)
    try:
        run(tmp_path)
        records.write_record({}, tmp_path / "record.json")
    finally:
        os.umask(before)
    for path in [tmp_path / "record.json", *cells(tmp_path).values()]:
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_what_a_dead_process_left_is_swept_and_nothing_else(tmp_path):
    run(tmp_path)
    folder, old = tmp_path / "toy", time.time() - 3600
    dead = subprocess.Popen(["true"])
    dead.wait()
    host = "".join(letter if letter.isalnum() else "-" for letter in os.uname().nodename)
    name = ".amemlib_{}_{}_0123abcd.tmp"
    names = {
        "dead": name.format(host, dead.pid), "alive": name.format(host, os.getpid()),
        "elsewhere": name.format("another", dead.pid), "fresh": name.format(host, dead.pid).replace("0123", "4567"),
        "foreign": "results.tmp",
    }  # fmt: skip
    for key, file in names.items():
        (folder / file).write_text("half")
        if key != "fresh":
            os.utime(folder / file, (old, old))
    run(tmp_path)
    assert {key for key, file in names.items() if not (folder / file).exists()} == {"dead"}
    os.utime(folder / names["elsewhere"], (0, 0))
    assert files.remove_litter(folder) == 1 and not (folder / names["elsewhere"]).exists()


def test_output_goes_through_links_and_replaces_no_fifo(tmp_path):
    (tmp_path / "target.json").write_text("old")
    (tmp_path / "link.json").symlink_to("target.json")
    (tmp_path / "new.json").symlink_to("missing.json")
    for name in ("link.json", "new.json"):
        records.check_writable(tmp_path / name)
        records.write_record({"a": 1}, tmp_path / name)
        assert (tmp_path / name).is_symlink() and json.loads((tmp_path / name).read_text()) == {"a": 1}
    fifo, read = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()))
    reader.start()
    records.check_writable(fifo)
    records.write_record({"a": 2}, fifo)
    reader.join()
    assert json.loads(read[0]) == {"a": 2} and stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_link_that_leads_to_itself_is_no_output(tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(ValueError, match="output must be a file .*circle"):
        records.check_writable(tmp_path / "circle")


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff", b"{", b"[]", b'{"experiment": 1}', b"NaN"])
def test_a_file_that_is_no_record_is_named_and_stays(content, tmp_path, capsys):
    path = tmp_path / "record.json"
    path.write_bytes(content)
    assert main(["judge", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("amemlib: ") and said.count("\n") == 1 and str(path) in said and "cells" not in said
    assert path.read_bytes() == content


RUN = ["run", "one-step", "--profile", "smoke"]
FAULTS = [
    (MemoryError(), 1, "not enough memory"),
    (RuntimeError("DefaultCPUAllocator: can't allocate memory:\nframe #0"), 1, "not enough memory"),
    (
        OSError(errno.ENOSPC, "No space left on device", "results/a.json"),
        1,
        "No space left on device: 'results/a.json'",
    ),
    (FileNotFoundError(errno.ENOENT, "No such file", "results/a.json"), 1, "'results/a.json': was its folder removed?"),
    (BrokenProcessPool("a page\nof text"), 1, "a worker has died"),
    (BrokenPipeError(), 1, "nobody reads the output"),
    (sharding.LostRank("rank 1 of 2 lost another rank"), 1, "rank 1 of 2 lost another rank"),
    (CancelledError(), 1, "CancelledError"),
    (RuntimeError("two\nlines"), 1, "RuntimeError: two"),
    (RecursionError("too deep"), 1, "RecursionError"),
    (OverflowError("too large"), 2, "OverflowError: too large (with alpha=1.5)"),
    (ValueError("y must be finite"), 2, "y must be finite (with alpha=1.5)"),
    (KeyboardInterrupt(), 130, "interrupted"),
]


@pytest.mark.parametrize("error, status, words", FAULTS, ids=[type(error).__name__ for error, *_ in FAULTS])
def test_the_command_line_says_one_line_of_any_fault(error, status, words, tmp_path, monkeypatch, capsys):
    def fails(*arguments):
        raise error

    monkeypatch.setattr(sweep, "run", fails)
    command = [*RUN, "--results", str(tmp_path), "--set", "alpha=1.5"]
    assert main(command) == status
    said = capsys.readouterr().err
    assert said.startswith("amemlib: ") and words in said and said.count("\n") == 1
    assert main([*command, "--debug"]) == status
    said = capsys.readouterr().err
    assert "Traceback" in said and words in said.splitlines()[-1]


def test_a_full_disk_keeps_what_was_finished(tmp_path, monkeypatch):
    written, sync = [], os.fsync

    def full(descriptor):
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(descriptor)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device: .*toy"):
        run(tmp_path)
    monkeypatch.undo()
    assert len(cells(tmp_path)) == 3 and len(os.listdir(tmp_path / "toy")) == 3
    assert run(tmp_path) == SQUARES


def test_a_folder_that_is_removed_meanwhile_is_named(tmp_path):
    def squares_until_it_is_gone(x: int) -> dict:
        if x == 2:
            shutil.rmtree(tmp_path)
        return {"square": x * x}

    with pytest.raises(FileNotFoundError, match="No such file or directory: .*toy"):
        run(tmp_path, None, squares_until_it_is_gone)


@pytest.mark.parametrize(
    "setting, words", [("lam_over_t0=1e308", "lam must be 0 or within"), ("n_items=99999999999", "n_items must fit")]
)
def test_a_setting_beyond_the_machine_is_named(setting, words, tmp_path, capsys):
    sizes = "dims=8,16 n_items=100 seeds=1 sgd_dims=16,32 sgd_items=20 sgd_seeds=2".split()
    assert main([*RUN, "--results", str(tmp_path), "--set", *sizes, setting]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"amemlib: {words}") and setting.partition("=")[2] in said


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert runtime.commit() is None


def test_a_git_that_cannot_tell_counts_as_changed(monkeypatch):
    answers = iter([SimpleNamespace(returncode=0, stdout="0123456789ab\n"), SimpleNamespace(returncode=128, stdout="")])
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: next(answers))
    assert runtime.commit() == "0123456789ab+"


@pytest.mark.parametrize(
    "name, value", [("RANK", "2"), ("RANK", "-1"), ("RANK", ""), ("WORLD_SIZE", "two"), ("MASTER_ADDR", "")]
)
def test_a_rank_that_cannot_be_is_refused_at_once(name, value, monkeypatch):
    place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    for key, text in (place | {name: value}).items():
        monkeypatch.setenv(key, text)
    with pytest.raises(ValueError, match=f"{name} must be .*{value}"):
        with sharding.process_group():
            pass


def command_line(arguments, **options):
    return subprocess.Popen([sys.executable, "-m", "amemlib", *arguments], stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.process
def test_a_reader_that_goes_away_and_a_narrow_encoding_are_no_tracebacks():
    broken = command_line(["show", "one-step"], stdout=subprocess.PIPE)
    broken.stdout.close()
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    narrow = command_line(["show", "one-step"], stdout=subprocess.DEVNULL, env=ascii_only)
    full = command_line(["show", "one-step"], stdout=open("/dev/full", "w"))
    assert broken.stderr.read() == "amemlib: nobody reads the output any more\n" and broken.wait() == 1
    assert narrow.stderr.read() == "" and narrow.wait() == 0
    said = full.stderr.read()
    assert said.startswith("amemlib: No space left on device") and said.count("\n") == 1 and full.wait() == 1


WORKERS = """
import sys, time
from test_faults import run, slow_square
from amemlib import sweep

if __name__ == "__main__":
    with sweep.process_executor(2) as executor:
        run(sys.argv[1], executor, slow_square)
"""


def running(group: int) -> list[int]:
    """The processes of a group that have not ended; one that nobody has waited for has."""
    table = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in table.splitlines()]
    return [int(pid) for pid, owner, state in rows if int(owner) == group and not state.startswith("Z")]


def slow_square(x: int) -> dict:
    # the first cells say that the workers are up, the others last
    time.sleep(0 if x < 2 else 600)
    return {"square": x * x}


@pytest.mark.process
@pytest.mark.parametrize(
    "end", ["SIGKILL", *(pytest.param(name, marks=pytest.mark.weekly) for name in ("SIGTERM", "SIGHUP", "SIGINT"))]
)
def test_no_worker_outlives_the_run(end, tmp_path):
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, script, tmp_path], env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 90
    while len(list((tmp_path / "toy").glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() is None
    if end == "SIGINT":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(getattr(signal, end))
    # whoever still holds the other end of the pipe keeps this waiting
    process.communicate(timeout=30)
    deadline = time.monotonic() + 5
    while running(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(process.pid)


@pytest.mark.weekly
def test_a_hundred_kills_lose_no_cell(tmp_path):
    """Forked children run the same grid, each killed after a random time; the last one ends it."""
    log, draw = tmp_path / "log", random.Random(0)

    def logged(x: int) -> dict:
        with open(log, "a") as file:
            file.write(f"{x}\n")
        time.sleep(0.002)
        return {"square": x * x}

    kills, n = 0, 400
    while kills < 100:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            run(tmp_path, None, logged, n)
            os._exit(0)
        time.sleep(draw.uniform(0.02, 0.2))
        finished = set(cells(tmp_path)) if (tmp_path / "toy").exists() else set()
        before = log.read_text().split() if log.exists() else []
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        assert not finished & {int(x) for x in log.read_text().split()[len(before) :]} if log.exists() else True
        if len(finished) == n:
            # done: take some cells away, so that the next child has work to lose
            for x in draw.sample(range(n), 200):
                cells(tmp_path)[x].unlink()
    assert run(tmp_path, None, logged, n) == [x * x for x in range(n)]
    assert len(cells(tmp_path)) == n and not list((tmp_path / "toy").glob("*.damaged*"))
    for path in (tmp_path / "toy").glob(".amemlib_*.tmp"):
        os.utime(path, (0, 0))
    files.remove_litter(tmp_path / "toy")
    assert len(os.listdir(tmp_path / "toy")) == n


RANKS = """
import os, sys
from amemlib import Problem, sharding

try:
    with sharding.process_group(5):
        shard = sharding.sample_shard(Problem.power_law(300, 8, 1.5), 0)
        for turn in range(10**6):
            sharding.initial_gradient(shard)
            if turn == 20 and shard.rank == int(sys.argv[1]):
                os.kill(os.getpid(), int(sys.argv[2]))
except sharding.LostRank as error:
    sys.exit(f"amemlib: {error}")
"""


@pytest.mark.weekly
@pytest.mark.parametrize("end", ["SIGKILL", "SIGSTOP"])
def test_ranks_that_wait_name_the_one_that_is_gone(end, tmp_path):
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    (tmp_path / "ranks.py").write_text(RANKS)
    number, lost = str(int(getattr(signal, end))), 1
    ranks = []
    for rank in range(3):
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1"}
        place |= {"MASTER_PORT": port, "PYTHONPATH": os.pathsep.join(sys.path), "CUDA_VISIBLE_DEVICES": ""}
        command = [sys.executable, tmp_path / "ranks.py", str(lost), number]
        ranks.append(subprocess.Popen(command, env=os.environ | place, stderr=subprocess.PIPE, text=True))
    try:
        for rank in (0, 2):
            said = ranks[rank].communicate(timeout=120)[1].strip().splitlines()[-1]
            assert said.startswith(f"amemlib: rank {rank} of 3 lost another rank") and f"no word of rank {lost}" in said
            assert ranks[rank].returncode == 1
    finally:
        for process in ranks:
            process.kill()
            process.communicate()


@pytest.mark.weekly
def test_a_cluster_with_other_code_stores_nothing(tmp_path):
    """A Dask worker that has loaded a copy of the library, whose file then changes; and the loss of the scheduler."""
    import socket

    shutil.copytree(Path(fingerprint.__file__).parent, tmp_path / "code" / "amemlib")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "code")}
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{one.getsockname()[1]}"
    quiet = {"env": environment, "cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    python = [sys.executable, "-m"]
    scheduler = subprocess.Popen(
        [*python, "distributed.cli.dask_scheduler", "--host", address, "--no-dashboard"], **quiet
    )
    worker = subprocess.Popen(
        [*python, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"], **quiet
    )
    sizes = "dims=8,16 n_items=100 seeds=1 sgd_dims=16,32 sgd_items=20 sgd_seeds=2".split()

    def ask(results, **changes):
        command = [*RUN, "--results", results, "--dask", address, "--set", *sizes]
        return command_line(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)

    def ended(process, status):
        said = process.communicate(timeout=180)[1].splitlines()
        assert process.returncode == status, said
        assert not [line for line in said if "Traceback" in line]
        return said[-1]

    try:
        ended(ask("one"), 0)
        with open(tmp_path / "code" / "amemlib" / "recovery.py", "a") as file:
            file.write("\nCHANGED = True\n")
        assert "amemlib: workers must have loaded the code of this run" in ended(ask("two"), 2)
        assert not list((tmp_path / "two" / "one-step").iterdir())
        # the worker stands still, so that the run waits when the scheduler goes
        worker.send_signal(signal.SIGSTOP)
        waiting = ask("three")
        time.sleep(20)
        scheduler.kill()
        assert "lost the Dask scheduler" in ended(waiting, 1)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
