"""Changes one operator or constant of a room at a time and says which changes no test notices.

A survivor is a gap in the tests, or equivalent: the same function in other words. What was tried, and a reason for each
survivor that stays, stands in tests/mutants.yml; a reason is kept as long as its change survives, and says of a change
that is no fault "equivalent: …" and why.

A room's own tests come first and then those that name it most, and the first failure ends a run. So the cheap way is
a first pass with --limit, tests for what it found, and then --again, which tries the survivors alone with all tests.
"""

import argparse
import ast
import datetime
import functools
import importlib.metadata
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
SUMMARY = ROOT / "tests" / "mutants.yml"
HEAD = """# Written by tools/mutate.py; the reasons are written by hand.
# Of a room's possible changes a random sample was tried (seed 0), as many as the time held.
"""
ROOMS = ("recovery", "gradients", "spectral", "sampling", "equivalents", "sweep")
SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
SKIPPED = ("test_book.py", "test_architecture.py", "test_weekly.py", "test_notebooks.py")
"""About pages and files, not about what functions return."""
OWN = {
    "spectral": ("spectral", "frechet"),
    "equivalents": ("equivalents_numbers", "equivalents", "covariance", "newton"),
}
"""The files of tests/ that are of a room, test_NAME.py, the cheapest first, where they are not just one of its name."""
ALWAYS = ("test_elsewhere.py",)
"""About every room, through the cells of the experiments."""
DEFAULT_MARKS = "not weekly and not process"
MARKS = {"sweep": "not weekly"}
"""What pytest selects for a room: no processes, but where starting them is what the room does."""


def mutants(source: str) -> Iterator[tuple[int, str, Callable[[], str]]]:
    """Every change of a module: the line, `before → after`, and what gives the whole changed source.

    A comparison becomes its neighbour, + becomes −, × becomes ÷, `and` becomes `or`, a number grows by 1; annotations
    and the text of messages are left alone.
    """
    tree = ast.parse(source)
    for node in list(_places(tree)):
        for attribute, new in _changes(node):
            before, after = ast.unparse(node), _changed(node, node, attribute, new)
            if after != before:
                yield node.lineno, f"{before} → {after}", functools.partial(_changed, tree, node, attribute, new)


def _changed(tree: ast.AST, node: ast.AST, attribute: str, new: object) -> str:
    """The source of a tree as it is with one attribute of one of its nodes replaced."""
    old = getattr(node, attribute)
    setattr(node, attribute, new)
    try:
        return ast.unparse(tree)
    finally:
        setattr(node, attribute, old)


def _places(tree: ast.AST) -> Iterator[ast.AST]:
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns") or isinstance(tree, (ast.JoinedStr, ast.Raise)):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST):
                yield child
                yield from _places(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "ops", [SWAPS[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in SWAPS:
        yield "op", SWAPS[type(node.op)]()
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "value", node.value + 1


def sources_of(room: str) -> list[Path]:
    """The modules of a room."""
    place = ROOT / "amemlib" / room
    return sorted(place.glob("[!_]*.py")) if place.is_dir() else [place.with_suffix(".py")]


def own_place(test: str | Path, room: str) -> int:
    """The place of a file of tests among those of the room itself, and behind all of them if it is none."""
    names = OWN.get(room, (room,))
    name = Path(test).name.removeprefix("test_").removesuffix(".py")
    return names.index(name) if name in names else len(names)


def is_own(test: str | Path, room: str) -> bool:
    """Whether a file of tests is of the room itself."""
    return own_place(test, room) < len(OWN.get(room, (room,)))


def tests_of(room: str) -> list[str]:
    """The test files that name a public function or class of a room."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sources_of(room)]
    nodes = [node for tree in trees for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    used = re.compile(rf"\b({'|'.join(node.name for node in nodes if not node.name.startswith('_'))})\b")
    named = {path: len(used.findall(path.read_text(encoding="utf-8"))) for path in (ROOT / "tests").rglob("test_*.py")}
    found = [path for path, count in named.items() if (count or path.name in ALWAYS) and path.name not in SKIPPED]
    # who notices most comes first, for the first failure ends a run: the room's own tests, then who names it most
    found.sort(key=lambda path: (own_place(path, room), -named[path], path.name))
    return [str(path.relative_to(ROOT)) for path in found]


def outcome(copied: Path, tests: list[str], limit: float, marks: str) -> tuple[str, float]:
    """What the tests say of a copy of the repository: "passed", "killed" or "timed out", and the seconds it took.

    In a forked child, which need not import again what `_import_what_tests_import` did. Seconds and `limit` are of the
    processor, so that a busy machine does not look like a change that never ends; ten times as long by the clock ends
    a child that waits for nothing.
    """
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))
        _run_and_exit(copied, tests, marks)
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - began > 10 * limit + 60:
            os.kill(child, signal.SIGKILL)
            _, status, used = os.wait4(child, 0)
            break
        time.sleep(0.02)
    seconds = used.ru_utime + used.ru_stime
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU):
        return "timed out", seconds
    return "killed" if status else "passed", seconds


class _QuickestFirst:
    """Orders tests by how long they took where nothing was changed, which it notes in a file of the copy."""

    def __init__(self, file: Path):
        self.file, self.known = file, json.loads(file.read_text()) if file.exists() else {}

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: self.known.get(item.nodeid, 0))

    def pytest_runtest_logreport(self, report):
        self.known[report.nodeid] = self.known.get(report.nodeid, 0) + report.duration

    def pytest_sessionfinish(self, exitstatus):
        if exitstatus == 0 and not self.file.exists():
            self.file.write_text(json.dumps(self.known))


def _run_and_exit(copied: Path, tests: list[str], marks: str) -> None:
    os.chdir(copied)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    sys.path.insert(0, str(copied))
    # one file after the other: what the first one notices need not wait until the others are imported
    for test in tests:
        durations = copied / f".durations-{Path(test).stem}.json"
        command = ["-x", "-q", "-p", "no:cacheprovider", "-m", marks, test]
        status = int(pytest.main(command, plugins=[_QuickestFirst(durations)]))
        # a file may hold nothing but tests that are left out
        if status not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            os._exit(status)
    os._exit(0)


def _import_what_tests_import() -> None:
    """Everything but the library, which is changed, and the tests."""
    for entry in importlib.metadata.entry_points(group="pytest11"):
        entry.load()
    for name in ("scipy.linalg", "scipy.optimize", "scipy.stats", "torch.utils.flop_counter", "mpmath", "hypothesis"):
        importlib.import_module(name)
    assert "amemlib" not in sys.modules


def timed_tests(room: str, copied: Path, limit: float) -> tuple[list[str], float]:
    """The tests of a room that pass in a copy, its own and then others while `limit` seconds hold them, and their time.

    Others that fail in a copy, which has no history, are left out; `ValueError` where the room's own fail.
    """
    chosen, total, left = [], 0.0, limit
    for test in tests_of(room):
        own = is_own(test, room)
        if left <= 0 and not own:
            break
        word, seconds = outcome(copied, [test], 3600 if own else left, MARKS.get(room, DEFAULT_MARKS))
        if word == "killed" and own:
            raise ValueError(f"tests must pass before anything is changed, {test} does not")
        if word == "passed":
            chosen, total, left = [*chosen, test], total + seconds, left if own else left - seconds
    return chosen, total


def try_room(room: str, seconds: float, limit: float, again: list[dict] | None = None) -> dict:
    """Try changes of a room in random order for `seconds`, or all those of the rows `again`.

    limit: how many seconds of others' tests may follow the room's own.
    """
    _import_what_tests_import()
    sources = sources_of(room)
    drawn = [(path, *mutant) for path in sources for mutant in mutants(path.read_text(encoding="utf-8"))]
    random.Random(0).shuffle(drawn)
    possible = len(drawn)
    if again is not None:
        drawn = [mutant for mutant in drawn if place(*mutant[:3]) in set(map(key, again))]
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__", "results")
        shutil.copytree(ROOT, copied, ignore=ignored, symlinks=True)
        # a changed file has lost its comments and its layout: a test that looks at these would notice every change
        for path in sources:
            whole = ast.unparse(ast.parse(path.read_text(encoding="utf-8")))
            (copied / path.relative_to(ROOT)).write_text(whole, encoding="utf-8")
        tests, taken = timed_tests(room, copied, limit)
        # what is not changed stays compiled; of what is, bytecode of the same second and length would be believed
        for path in sources:
            for compiled in (copied / path.relative_to(ROOT).parent / "__pycache__").glob(f"{path.stem}.*"):
                compiled.unlink()
        sys.dont_write_bytecode = True
        print(f"{room}: {len(tests)} files of tests, {taken:.0f} s; {len(drawn)} of {possible} changes", flush=True)
        until, tried = time.monotonic() + seconds, 0
        for path, line, change, source in drawn:
            if time.monotonic() > until:
                break
            target = copied / path.relative_to(ROOT)
            whole = target.read_text(encoding="utf-8")
            target.write_text(source(), encoding="utf-8")
            word, spent = outcome(copied, tests, 3 * taken + 10, MARKS.get(room, DEFAULT_MARKS))
            target.write_text(whole, encoding="utf-8")
            tried += 1
            if word == "passed":
                survivors.append(dict(zip(("file", "code", "change"), place(path, line, change), strict=True)))
            print(f"{word:9s} {spent:5.1f} s {path.name}:{line}: {change}", flush=True)
    return {
        "date": datetime.date.today().isoformat(), "possible": possible, "tried": tried,
        "killed": tried - len(survivors), "survivors": survivors,
    }  # fmt: skip


def place(path: Path, line: int, change: str) -> tuple[str, str, str]:
    """The file of a change, the line of code it is in, and the change."""
    return str(path.relative_to(ROOT)), path.read_text(encoding="utf-8").splitlines()[line - 1].strip(), change


def key(row: dict) -> tuple[str, str, str]:
    """What a survivor is known by: not its line, which moves."""
    return row["file"], row["code"], row["change"]


def with_reasons(new: dict, old: dict) -> dict:
    """The summary of a room with the reasons that were written for changes which still survive."""
    known = {key(row): row["reason"] for row in old.get("survivors", []) if "reason" in row}
    rows = [row | ({"reason": known[key(row)]} if key(row) in known else {}) for row in new["survivors"]]
    return new | {"survivors": rows}


def equivalent(rows: list[dict]) -> int:
    """How many survivors are said to be no fault."""
    return sum(row.get("reason", "").startswith("equivalent: ") for row in rows)


def merged(old: dict, found: dict) -> dict:
    """The summary of a room after its survivors were tried once more: fewer of them, and more changes killed."""
    kept = set(map(key, found["survivors"]))
    rows = [row for row in old["survivors"] if key(row) in kept]
    return old | {"date": found["date"], "killed": old["tried"] - len(rows), "survivors": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", default=ROOMS, help=f"default: {', '.join(ROOMS)}")
    parser.add_argument("--seconds", type=float, default=math.inf, help="time for each room; they come in random order")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds of others' tests; default: all of them")
    parser.add_argument("--again", action="store_true", help="try the survivors of the summary, and nothing else")
    options = parser.parse_args()
    for room in options.rooms:
        old = (yaml.safe_load(SUMMARY.read_text(encoding="utf-8")) if SUMMARY.exists() else {}).get(room, {})
        again = [row for row in old["survivors"] if not equivalent([row])] if options.again else None
        found = try_room(room, math.inf if options.again else options.seconds, options.limit, again)
        if options.again:
            found["survivors"] += [row for row in old["survivors"] if equivalent([row])]
            found = merged(old, found)
        # another room may have been tried meanwhile
        kept = yaml.safe_load(SUMMARY.read_text(encoding="utf-8")) if SUMMARY.exists() else {}
        kept[room] = found = with_reasons(found, old)
        text = yaml.safe_dump(dict(sorted(kept.items())), sort_keys=False, allow_unicode=True, width=110)
        SUMMARY.write_text(HEAD + text, encoding="utf-8")
        faults = found["tried"] - equivalent(found["survivors"])
        print(f"{room}: {found['killed']} of {faults} faults noticed, {found['possible']} changes possible", flush=True)


if __name__ == "__main__":
    main()
