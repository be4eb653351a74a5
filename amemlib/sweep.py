"""Runs an experiment's cells, keeps every finished one, makes records of them and judges records again.

A finished cell is a small file addressed by its content: the function, its arguments and the fingerprint of the code
that it runs. An interrupted run takes up where it stopped, and changed code never meets old numbers.
"""

import functools
import hashlib
import json
import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from amemlib import fingerprint, runtime, sharding
from amemlib.checks import check_count
from amemlib.experiments import Cell, Experiment, config_of, find_experiment
from amemlib.records import check_writable, write_record, write_whole
from amemlib.verdicts import worst


def run(experiment: Experiment, config, results: str | Path = "results", device: str = "auto", executor=None) -> dict:
    """Run what is missing of an experiment and summarise all of it, as a record: a plain dict, ready for JSON.

    results: the folder of finished cells; created if need be.
    executor: anything whose `submit(function, **arguments)` returns an object with `result()`: `process_executor`,
        `dask_executor`, a submitit executor, any `concurrent.futures.Executor`; None runs in this process.
    Under torchrun (`sharding.process_group`) all ranks call this together for a sharded experiment, rank 0 keeps the
    cells. Progress goes to stderr. Raises `ValueError` for a folder that cannot be written, before any work is done.
    """
    chosen = runtime.device(device)
    began = time.perf_counter()
    store = CellStore(results, experiment.name, runtime.provenance(chosen))
    cells = list(experiment.cells(config, chosen.type))
    # all ranks must agree on what is missing, though one of them may look while another writes
    done = sharding.from_first_rank([store.read(cell) for cell in cells])
    missing = [index for index, result in enumerate(done) if result is None]
    submit = _run_here if executor is None else executor.submit
    is_first = sharding.rank_and_world_size()[0] == 0
    futures = {index: submit(cells[index].function, **cells[index].arguments) for index in missing}
    progress = {"desc": experiment.name, "unit": "cell", "disable": not is_first}
    with tqdm(total=len(cells), initial=len(cells) - len(missing), **progress) as bar:
        for index in _in_order_of_completion(futures):
            done[index] = futures[index].result()
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
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(record, dict):
            raise TypeError("it is no JSON object")
        judged = judge(record) | {"judged": runtime.commit()}
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"record must be the file of a record, got {str(path)!r}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    check_writable(path)
    write_record(judged, path)
    return judged


class CellStore:
    """The finished cells of one experiment: a file `<folder>/<experiment>/<key>.json` each.

    The key is a hash of the function's name, its arguments and the fingerprint of what its module imports from amemlib
    (of all amemlib, if the function is not from there). A file appears whole or not at all, so a run may be killed at
    any moment and several processes may share the folder.
    """

    def __init__(self, folder: str | Path, experiment: str, provenance: dict):
        self.folder = Path(folder) / experiment
        self.provenance = provenance
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            reason = error.strerror or error
            raise ValueError(f"results must be a folder that can be written, got {str(folder)!r}: {reason}") from None

    def read(self, cell: Cell) -> dict | None:
        """The stored result of a cell, None if there is none; `ValueError` if its file was damaged from outside."""
        path = self._path(cell)
        try:
            return json.loads(path.read_text(encoding="utf-8"))["result"]
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"results must hold whole cells, got a damaged file {path}: delete it and run again"
            ) from None

    def has(self, cell: Cell) -> bool:
        """Whether there is a result of a cell."""
        return self._path(cell).exists()

    def seconds(self, cell: Cell) -> float | None:
        """How long a cell took, None where nobody said so."""
        return json.loads(self._path(cell).read_text(encoding="utf-8")).get("seconds")

    def write(self, cell: Cell, result: dict, seconds: float | None = None) -> None:
        """Store the result of a cell and how long it took, on disk before this returns."""
        row = {"function": cell.function.__name__, "arguments": cell.arguments, "result": result}
        if seconds is not None:
            row["seconds"] = round(seconds, 3)
        write_whole(json.dumps(row | {"provenance": self.provenance}), self._path(cell))

    def _path(self, cell: Cell) -> Path:
        module = cell.function.__module__
        code = fingerprint.code_hash(module if module.startswith("amemlib.") else "")
        content = json.dumps([cell.function.__name__, cell.arguments, code], sort_keys=True)
        return self.folder / f"{hashlib.sha256(content.encode()).hexdigest()[:24]}.json"


@contextmanager
def process_executor(workers: int) -> Iterator[Executor]:
    """`workers` processes on this machine with one thread each; cells that have not begun are dropped on an error."""
    check_count("workers", workers)
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def dask_executor(address: str, timeout: float = 10) -> Iterator[Executor]:
    """The workers of a Dask cluster as an executor; amemlib must be installed there as it is here.

    Raises `ImportError` without `amemlib[dask]`, `ValueError` if no scheduler answers at `address` within `timeout` s.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ImportError('distributed is not installed; pip install "amemlib[dask]" brings it') from None
    try:
        client = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"dask must be the address of a running scheduler, got {address!r}: {error}") from None
    with client:
        yield client.get_executor(pure=False)


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
