"""Runs an experiment's cells, keeps every finished one, makes records of them and judges records again.

A finished cell is a small file addressed by its content: the function, its arguments and the fingerprint of the code
that it runs. An interrupted run takes up where it stopped, and changed code never meets old numbers: whoever runs a
cell compares the code that it has loaded with the key, and a file that does not hold what its key says is set aside.
"""

import asyncio
import functools
import hashlib
import inspect
import json
import logging
import math
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType

import torch
from tqdm import tqdm

from amemlib import files, fingerprint, runtime, sharding, training
from amemlib.checks import check_count
from amemlib.experiments import Cell, Experiment, config_of, find_experiment
from amemlib.records import check_writable, write_record
from amemlib.verdicts import worst


def run(experiment: Experiment, config, results: str | Path = "results", device: str = "auto", executor=None) -> dict:
    """Run what is missing of an experiment and summarise all of it, as a record: a plain dict, ready for JSON.

    results: the folder of finished cells; created if need be.
    executor: anything whose `submit(function, **arguments)` returns an object with `result()`: `process_executor`,
        `dask_executor`, a submitit executor, any `concurrent.futures.Executor`; None runs in this process.
    Under torchrun (`sharding.process_group`) all ranks call this together for a sharded experiment, rank 0 keeps the
    cells. Progress goes to stderr, and so does a line for each stored cell that is damaged: it is set aside and
    computed again. Raises `ValueError` for a folder that cannot be written, before any work is done, and where the
    code that a worker has loaded is not that of the key.
    """
    chosen = runtime.device(device)
    began = time.perf_counter()
    cells = experiment.cells(config, chosen.type)
    store = CellStore(results, experiment.name, runtime.provenance(chosen))
    is_first = sharding.rank_and_world_size()[0] == 0
    if is_first:
        files.remove_litter(store.folder)
    # all ranks must agree on what is missing, though one of them may look while another writes
    done, codes = sharding.from_first_rank(
        ([store.read(cell) for cell in cells], [loaded_code(cell.function) for cell in cells]) if is_first else None
    )
    missing = [index for index, result in enumerate(done) if result is None]
    submit = _run_here if executor is None else executor.submit
    futures = {}
    for index in missing:
        task = functools.partial(run_checked, cells[index].function, codes[index], store.checkpoints)
        futures[index] = submit(task, **cells[index].arguments)
    progress = {"desc": experiment.name, "unit": "cell", "disable": not is_first}
    with tqdm(total=len(cells), initial=len(cells) - len(missing), **progress) as bar:
        for index in _in_order_of_completion(futures):
            # as it will be read again: a resumed run must see what this one saw
            done[index] = json.loads(json.dumps(futures[index].result()))
            if is_first:
                store.write(cells[index], done[index])
            bar.update()
    return summarise(experiment, config, done, store.provenance, time.perf_counter() - began)


def summarise(experiment: Experiment, config, results: list[dict], provenance: dict, seconds: float) -> dict:
    """The record of the results of all cells, in their order: numbers, verdicts and where they come from."""
    measured, predicted = map(_json_numbers, experiment.read(config, results))
    record = {"experiment": experiment.name, "config": asdict(config), "measured": measured, "predicted": predicted}
    return _judged(record, experiment, config) | {
        "device": provenance["device"],
        "seconds": round(seconds, 1),
        "provenance": provenance,
    }


def judge(record: dict) -> dict:
    """The record with the verdicts that today's rules give its config and its numbers, and with nothing else changed.

    Raises `ValueError` for a record whose config is not today's, or that lacks a number that today's rules ask for.
    """
    experiment = find_experiment(record["experiment"])
    return _judged(record, experiment, config_of(experiment, record["config"]))


def _judged(record: dict, experiment: Experiment, config) -> dict:
    try:
        verdicts = experiment.verdicts(config, record["measured"], record["predicted"])
    except KeyError as error:
        raise ValueError(f"record must hold what {experiment.name} is judged by, it lacks {error}") from None
    return record | {"verdict": worst(verdicts.values()), "verdicts": verdicts}


def judge_stored(path: str | Path) -> dict:
    """Judge the record in a file again; its verdicts and the commit of the rules, `judged`, are all that changes there.

    Raises `ValueError` where there is no record, and as `judge` does; the file then stays as it is.
    """
    try:
        content = files.read_bytes(Path(path))
        if content is None:
            raise FileNotFoundError(f"No such file or directory: {str(path)!r}")
        record = json.loads(content)
        if not isinstance(record, dict):
            raise TypeError("it is no JSON object")
        judged = judge(record) | {"judged": runtime.commit()}
    except (files.NotAFile, OSError, KeyError, TypeError, RecursionError, UnicodeError, json.JSONDecodeError) as error:
        raise ValueError(f"record must be the file of a record, got {str(path)!r}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    check_writable(path)
    write_record(judged, path)
    return judged


def loaded_code(function: Callable) -> str:
    """Fingerprint of the code that this process has loaded for a cell's function.

    Of what its module imports from amemlib; for a function from elsewhere, of all amemlib and its own bytecode. Raises
    `ValueError` where amemlib changed on disk after it was loaded.
    """
    if function.__module__.startswith("amemlib."):
        return fingerprint.loaded_hash(function.__module__)
    own = repr(_bytecode(inspect.unwrap(function).__code__))
    return hashlib.sha256((fingerprint.loaded_hash() + own).encode()).hexdigest()[:16]


class CellStore:
    """The finished cells of one experiment: a file `<folder>/<experiment>/<key>.json` each.

    The key is a hash of the function's name, its arguments and `loaded_code`; the file holds these three as well, and a
    digest of all that it holds. A file appears whole or not at all, so a run may be killed at any moment and several
    processes may share the folder. `checkpoints` is the place of half-finished cells, `<folder>/.checkpoints`.
    """

    def __init__(self, folder: str | Path, experiment: str, provenance: dict):
        self.folder = Path(folder) / experiment
        self.checkpoints = Path(folder).absolute() / ".checkpoints"
        self.provenance = provenance
        try:
            if not os.fspath(folder):
                raise OSError("it has no name")
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            reason = error.strerror or error
            raise ValueError(f"results must be a folder that can be written, got {str(folder)!r}: {reason}") from None

    def read(self, cell: Cell) -> dict | None:
        """The stored result of a cell, None if there is none; what is no whole file of this cell is set aside."""
        row = _row_of(cell)
        path = self._path(row)
        try:
            content = files.read_bytes(path)
            return None if content is None else _result_in(content, row)
        except (files.NotAFile, ValueError, RecursionError) as error:
            reason = " ".join(str(error).split())[:80]
        try:
            aside = files.set_aside(path).name
        except FileNotFoundError:
            # another run of the same cells was faster
            return None
        print(f"amemlib: {path} is a damaged cell ({reason}): kept as {aside}, computed again", file=sys.stderr)
        return None

    def seconds(self, cell: Cell) -> float | None:
        """How long a cell took, None where nobody said so."""
        return json.loads(self._path(_row_of(cell)).read_text(encoding="utf-8")).get("seconds")

    def write(self, cell: Cell, result: dict, seconds: float | None = None) -> None:
        """Store the result of a cell and how long it took, on disk before this returns.

        Raises `OSError` where the disk is full or gone.
        """
        row = _row_of(cell)
        whole = row | {"result": result, "provenance": self.provenance}
        if seconds is not None:
            whole["seconds"] = round(seconds, 3)
        files.write_whole(json.dumps(whole | {"digest": _hash_of(whole)}), self._path(row))

    def _path(self, row: dict) -> Path:
        return self.folder / f"{_hash_of(row)[:24]}.json"


def _row_of(cell: Cell) -> dict:
    """What a cell is: its key is the hash of this."""
    return {
        "function": cell.function.__name__,
        "arguments": json.loads(json.dumps(cell.arguments)),
        "code": loaded_code(cell.function),
    }


def _result_in(content: bytes, row: dict) -> dict:
    """The result in the file of a cell; `ValueError` unless it is whole and of this cell."""
    stored = json.loads(content.decode("utf-8"))
    if not isinstance(stored, dict) or not isinstance(stored.get("result"), dict):
        raise ValueError("it holds no result")
    if stored.pop("digest", None) != _hash_of(stored):
        raise ValueError("its digest is not that of its content")
    # as text: a NaN among the arguments equals itself there
    if _hash_of({key: stored.get(key) for key in row}) != _hash_of(row):
        raise ValueError("it holds another cell")
    return stored["result"]


def _hash_of(value) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _bytecode(code: CodeType) -> tuple:
    """What a function does, without where it stands: its instructions, names and constants, those of inner functions
    as well. A set has no order of its own."""
    constants = [
        _bytecode(value) if isinstance(value, CodeType) else sorted(map(repr, value)) if isinstance(value, frozenset)
        else value
        for value in code.co_consts
    ]  # fmt: skip
    return code.co_code, code.co_names, code.co_varnames, constants


def run_checked(function: Callable[..., dict], code: str, checkpoints: Path, /, **arguments) -> dict:
    """The result of a cell, from whatever process it is that runs it; `ValueError` if that has loaded other code."""
    found = loaded_code(function)
    if found != code:
        raise ValueError(
            f"workers must have loaded the code of this run, got {found} for {function.__name__} on "
            f"{socket.gethostname()} where {code} is asked for: start the workers again"
        )
    with training.checkpoints_in(checkpoints):
        return function(**arguments)


@contextmanager
def process_executor(workers: int) -> Iterator[Executor]:
    """`workers` processes on this machine with one thread each; cells that have not begun are dropped on an error.

    No worker outlives this process, however it ends.
    """
    check_count("workers", workers)
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=start_worker)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def start_worker() -> None:
    """What a worker process begins with: one thread, and no life beyond its parent's, however that ends."""
    torch.set_num_threads(1)
    # Ctrl-C reaches the whole group: a worker that waits for work would answer it with a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # the parent's end of a pipe closes with it, also on SIGKILL
    multiprocessing.parent_process().join()
    os._exit(1)


@contextmanager
def dask_executor(address: str, timeout: float = 10) -> Iterator[Executor]:
    """The workers of a Dask cluster as an executor; amemlib must be installed there as it is here.

    Raises `ImportError` without `amemlib[dask]`, `ValueError` if no scheduler answers at `address` within `timeout` s,
    `ConnectionError` if it is lost later.
    """
    try:
        from distributed import Client
        from distributed.client import ClosedClientError
    except ImportError:
        raise ImportError('distributed is not installed; pip install "amemlib[dask]" brings it') from None
    try:
        if not address:
            raise ValueError("it has no name")
        client = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"dask must be the address of a running scheduler, got {address!r}: {error}") from None
    # what it says of a lost scheduler is a page of tracebacks
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with client:
            yield client.get_executor(pure=False)
    except (CancelledError, asyncio.CancelledError, ClosedClientError):
        raise ConnectionError(f"lost the Dask scheduler at {address}") from None
    finally:
        log.setLevel(level)


@dataclass(frozen=True)
class _Call:
    """The future of a call in this process: it is made when its result is asked for."""

    result: Callable[[], dict]


def _run_here(function: Callable[..., dict], **arguments) -> _Call:
    return _Call(functools.partial(function, **arguments))


def _in_order_of_completion(futures: dict) -> Iterable:
    """The keys of futures in the order in which these finish; in their own order if all they have is a `result()`."""
    if not all(isinstance(future, Future) for future in futures.values()):
        return futures
    keys = {future: key for key, future in futures.items()}
    return (keys[future] for future in as_completed(keys))


def _json_numbers(value):
    """The same nested dicts and lists with None for what JSON has no number for: infinite and undefined values."""
    if isinstance(value, dict):
        return {key: _json_numbers(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_numbers(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
