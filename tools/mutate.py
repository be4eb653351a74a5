"""Changes one operator or constant of a room at a time and says which changes no test notices.

A survivor is a gap in the tests, or equivalent: the same function in other words. What was tried, and a reason for each
survivor that stays, stands in tests/mutants.yml; a reason is kept as long as its change survives.
"""

import argparse
import ast
import copy
import datetime
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
SUMMARY = ROOT / "tests" / "mutants.yml"
HEAD = "# Written by tools/mutate.py; the reasons are written by hand.\n"
ROOMS = ("recovery", "gradients", "spectral", "sampling", "equivalents", "sweep")
SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
SKIPPED = ("test_book.py", "test_bad_input.py", "test_architecture.py", "test_weekly.py", "test_notebooks.py")
"""About pages and messages, or run in another way than the rest."""


def mutants(source: str) -> Iterator[tuple[int, str, str]]:
    """Every change of a module: the line, `before → after`, and the whole changed source.

    A comparison becomes its neighbour, + becomes −, × becomes ÷, `and` becomes `or`, a number grows by 1; annotations
    and the text of messages are left alone.
    """
    tree = ast.parse(source)
    places = list(_places(tree))
    for index, node in enumerate(places):
        for attribute, new in _changes(node):
            changed = copy.deepcopy(tree)
            twin = list(_places(changed))[index]
            setattr(twin, attribute, new)
            after, before = ast.unparse(twin), ast.unparse(node)
            if after != before:
                yield node.lineno, f"{before} → {after}", ast.unparse(changed)


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


def tests_of(room: str) -> list[str]:
    """The test files that import a room or use a name that `amemlib` shows of it."""
    shown = (ROOT / "amemlib" / "__init__.py").read_text(encoding="utf-8")
    names = re.search(rf'"{room}": \(([^)]*)\)', shown)
    words = "|".join([room, *re.findall(r'"(\w+)"', names[1] if names else "")])
    used = re.compile(rf"\b(am|amemlib)\.({words})\b|^from amemlib import .*\b{room}\b|^import amemlib\.{room}", re.M)
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [path for path in files if path.name not in SKIPPED and used.search(path.read_text(encoding="utf-8"))]
    # the room's own tests first: they notice most, and the first failure ends a run
    found.sort(key=lambda path: (f"test_{room}" not in path.name, path.stat().st_size))
    return [str(path.relative_to(ROOT)) for path in found]


def outcome(copied: Path, tests: list[str], limit: float) -> tuple[str, float]:
    """What the tests say of a copy of the repository: "passed", "killed" or "timed out", and the seconds it took.

    In a forked child, which need not import torch again.
    """
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _run_and_exit(copied, tests)
    while time.monotonic() - began < limit:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "killed" if status else "passed", time.monotonic() - began
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timed out", limit


def _run_and_exit(copied: Path, tests: list[str]) -> None:
    os.chdir(copied)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    sys.path.insert(0, str(copied))
    sys.dont_write_bytecode = True
    import pytest

    os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "not weekly and not process", *tests]) != 0))


def try_room(room: str, most: int, seconds: float, only_own: bool) -> dict:
    """Try at most `most` changes of a room, drawn at random, for `seconds`; `ValueError` if its tests fail as it is."""
    import scipy.stats  # noqa: F401
    import torch  # noqa: F401

    tests = [test for test in tests_of(room) if not only_own or f"test_{room}" in test]
    place = ROOT / "amemlib" / room
    sources = sorted(place.glob("[!_]*.py")) if place.is_dir() else [place.with_suffix(".py")]
    drawn = [(path, *mutant) for path in sources for mutant in mutants(path.read_text(encoding="utf-8"))]
    random.Random(0).shuffle(drawn)
    tried, survivors = 0, []
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__", "results")
        shutil.copytree(ROOT, copied, ignore=ignored, symlinks=True)
        word, taken = outcome(copied, tests, 3600)
        if word != "passed":
            raise ValueError(f"tests must pass before anything is changed, they do not: {' '.join(tests)}")
        until = time.monotonic() + seconds
        for path, line, change, source in drawn[:most]:
            if time.monotonic() > until:
                break
            target = copied / path.relative_to(ROOT)
            whole = target.read_text(encoding="utf-8")
            target.write_text(source, encoding="utf-8")
            word, _ = outcome(copied, tests, 3 * taken + 10)
            target.write_text(whole, encoding="utf-8")
            tried += 1
            if word == "passed":
                survivors.append({"file": str(path.relative_to(ROOT)), "line": line, "change": change})
            print(f"{word:9s} {path.name}:{line}: {change}", flush=True)
    return {
        "date": datetime.date.today().isoformat(),
        "tests": "its own" if only_own else "all that import it", "possible": len(drawn), "tried": tried,
        "killed": tried - len(survivors), "survivors": survivors,
    }  # fmt: skip


def with_reasons(new: dict, old: dict) -> dict:
    """The summary of a room with the reasons that were written for changes which still survive."""
    known = {(row["file"], row["change"]): row["reason"] for row in old.get("survivors", []) if "reason" in row}
    rows = [
        row | ({"reason": known[key]} if (key := (row["file"], row["change"])) in known else {})
        for row in new["survivors"]
    ]
    return new | {"survivors": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", default=ROOMS, help=f"default: {', '.join(ROOMS)}")
    parser.add_argument("--most", type=int, default=10**6, help="changes tried in each room, drawn at random")
    parser.add_argument("--seconds", type=float, default=3600, help="time for each room")
    parser.add_argument("--own", action="store_true", help="run tests/test_ROOM*.py alone: quicker, and more survive")
    options = parser.parse_args()
    for room in options.rooms:
        found = try_room(room, options.most, options.seconds, options.own)
        kept = yaml.safe_load(SUMMARY.read_text(encoding="utf-8")) if SUMMARY.exists() else {}
        kept[room] = with_reasons(found, kept.get(room, {}))
        SUMMARY.write_text(
            HEAD + yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=110), encoding="utf-8"
        )
        print(f"{room}: {found['killed']} of {found['tried']} changes noticed, {found['possible']} possible")


if __name__ == "__main__":
    main()
