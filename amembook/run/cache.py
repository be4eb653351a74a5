"""Runs a study's cells and keeps every finished one, so that an interrupted run takes up where it stopped.

A finished cell is a small file, found by the hash of its function, its arguments and the code that it runs. It appears
whole or not at all, and one that cannot be read or is of another cell is computed again.
"""

import ast
import functools
import inspect
import json
import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures import TimeoutError as OutOfTime
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import torch
from tqdm import tqdm

from amembook.run import runtime
from amembook.run.base import Cell, Experiment, plain
from amembook.run.records import record_of
from amemlib.checks import check_count

_HOUSE = Path(__file__).resolve().parents[2]
_SHARED = ("amemlib/**/*.py", "amembook/laws/**/*.py", "amembook/networks/**/*.py", "amembook/*.py")
"""What the cells of all studies may call."""


def run(
    experiment: Experiment,
    config,
    results: str | Path = "results",
    device: str = "auto",
    executor: Executor | None = None,
    budget: float = math.inf,
    parts: Path | None = None,
) -> dict | None:
    """Run what is missing of a study and summarise all of it, as a record: a plain dict, ready for JSON.

    results: the folder of finished cells; created if need be. executor: any `concurrent.futures.Executor`, or whatever
    else has its `submit` (Dask's `client.get_executor()`, submitit's); None runs in this process. budget: seconds after
    which no cell is begun; None is returned if cells are left then. parts: the file that carries the finished cells of
    an unfinished record from one sitting and machine to the next (`parts_of`): read here, written if cells are left,
    removed if none is. Progress goes to stderr. Raises `ValueError` for a folder that cannot be written, and for parts
    of other code, before any work is done.
    """
    began, place = time.perf_counter(), runtime.device(device)
    cells = experiment.cells(config, place.type)
    store = CellStore(results, experiment.name)
    if parts is not None and parts.exists():
        store.take(parts, code_hash(cells[0].function))
    done = [store.read(cell) for cell in cells]
    missing = {index: cells[index] for index, result in enumerate(done) if result is None}
    finished = _here(missing, store, budget) if executor is None else _elsewhere(missing, store, executor, budget)
    with tqdm(total=len(cells), initial=len(cells) - len(missing), desc=experiment.name, unit="cell") as bar:
        for index, result in finished:
            # as it will be read again: a resumed run must see what this one saw
            done[index] = json.loads(json.dumps(plain(result)))
            store.write(cells[index], done[index])
            bar.update()
    if any(result is None for result in done):
        if parts is not None:
            store.hand_on(cells, done, parts)
        return None
    if parts is not None:
        parts.unlink(missing_ok=True)
    code = code_hash(cells[0].function)
    return record_of(experiment, config, done, runtime.provenance(place, code), began)


def _here(missing: dict[int, Cell], store: "CellStore", budget: float) -> Iterator[tuple[int, dict]]:
    end = time.monotonic() + budget
    for index, cell in missing.items():
        if time.monotonic() >= end:
            return
        yield index, call(cell.function, code_hash(cell.function), store.checkpoints, cell.arguments)


def _elsewhere(missing, store: "CellStore", executor: Executor, budget: float) -> Iterator[tuple[int, dict]]:
    jobs = [
        (index, executor.submit(call, cell.function, code_hash(cell.function), store.checkpoints, cell.arguments))
        for index, cell in missing.items()
    ]
    if not all(isinstance(job, Future) for _, job in jobs):
        # submitit's jobs, Dask's futures: all that is asked of them is a result
        yield from ((index, job.result()) for index, job in jobs)
        return
    futures = {job: index for index, job in jobs}
    left = set(futures)
    try:
        for future in as_completed(futures, None if budget == math.inf else budget):
            left.discard(future)
            yield futures[future], future.result()
    except OutOfTime:
        # those that have begun are waited for, the others let go
        for future in [future for future in left if not future.cancel()]:
            yield futures[future], future.result()
    finally:
        for future in left:
            future.cancel()


def call(function: Callable[..., dict], code: str, checkpoints: Path, arguments: dict) -> dict:
    """The result of a cell, in whatever process it runs; `ValueError` if that has other code than the run."""
    if (here := code_hash(function)) != code:
        raise ValueError(f"workers must have the code of this run, {code}, got {here}: start them again")
    token = _CHECKPOINTS.set(checkpoints)
    try:
        return function(**arguments)
    finally:
        _CHECKPOINTS.reset(token)


_CHECKPOINTS: ContextVar[Path | None] = ContextVar("checkpoints", default=None)


def checkpoint_file(function: Callable, arguments: dict) -> Path | None:
    """Where a long cell may keep its state while it runs, None outside of a run."""
    folder = _CHECKPOINTS.get()
    return None if folder is None else folder / f"{runtime.digest([code_hash(function), plain(arguments)])}.pt"


@contextmanager
def process_executor(workers: int) -> Iterator[Executor]:
    """`workers` processes on this machine with one thread each; cells that have not begun are dropped on an error."""
    check_count("workers", workers)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


class CellStore:
    """The finished cells of one study, a file `<folder>/<study>/<key>.json` each; `checkpoints` are half-finished ones.

    Raises `ValueError` if the folder cannot be written.
    """

    def __init__(self, folder: str | Path, experiment: str):
        if not str(folder):
            raise ValueError("results must be a folder that can be written, got ''")
        self.folder = Path(folder) / experiment
        self.checkpoints = Path(folder).absolute() / ".checkpoints"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise ValueError(f"results must be a folder that can be written, got {str(folder)!r}: {error}") from None

    def read(self, cell: Cell) -> dict | None:
        """The stored result of a cell; None if there is none, or none that is whole and of this cell."""
        row, path = self._place(cell)
        try:
            stored = json.loads(path.read_bytes())
            result = stored["result"]
            return result if stored["cell"] == row and stored["digest"] == runtime.digest(result) else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def write(self, cell: Cell, result: dict) -> None:
        """Store the result of a cell, on disk before this returns. Raises `OSError` where the disk is full or gone."""
        row, path = self._place(cell)
        runtime.write_whole(json.dumps({"cell": row, "result": result, "digest": runtime.digest(result)}), path)

    def hand_on(self, cells: list[Cell], results: list[dict | None], path: Path) -> None:
        """Write the cells that have a result into one file, a line each, with the commit and the code they are of."""
        head = {"commit": runtime.commit(), "code": code_hash(cells[0].function)}
        done = [(cell, result) for cell, result in zip(cells, results, strict=True) if result is not None]
        rows = [{"cell": self._place(cell)[0], "result": result} for cell, result in done]
        path.parent.mkdir(exist_ok=True)
        runtime.write_whole("\n".join(map(json.dumps, [head, *rows])) + "\n", path)

    def take(self, path: Path, code: str) -> None:
        """Store the cells of such a file that are not there yet; `ValueError` if its code is not `code`."""
        head, *rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if head["code"] != code:
            raise ValueError(
                f"parts must have the code of this run, {code}, got {head['code']} in {path}: "
                f"go on from commit {head['commit']}, or begin anew without that file"
            )
        for row in rows:
            target = self._file(row["cell"])
            if not target.exists():
                text = json.dumps(row | {"digest": runtime.digest(row["result"])})
                runtime.write_whole(text, target)

    def _file(self, row: str) -> Path:
        return self.folder / f"{runtime.digest(row)[:24]}.json"

    def _place(self, cell: Cell) -> tuple[str, Path]:
        # as text: a NaN among the arguments equals itself there
        what = [cell.function.__name__, cell.arguments, code_hash(cell.function)]
        row = json.dumps(plain(what), sort_keys=True)
        return row, self._file(row)


def code_hash(function: Callable) -> str:
    """Hash of the code that a cell may run: amemlib, the shared modules, and the study's own folder or file.

    Of the syntax trees without docstrings and comments: prose does not change it.
    """
    return _code_hash(Path(inspect.getsourcefile(inspect.unwrap(function))).resolve())


@functools.cache
def _code_hash(own: Path) -> str:
    paths = {path for pattern in _SHARED for path in _HOUSE.glob(pattern)} if own.is_relative_to(_HOUSE) else set()
    paths |= set(own.parent.glob("*.py")) if (own.parent / "__init__.py").exists() else {own}
    return runtime.digest([_code(path.read_text(encoding="utf-8")) for path in sorted(paths)])[:16]


@functools.cache
def _code(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [x for x in body if not (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant))]
    return ast.unparse(tree)
