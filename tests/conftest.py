"""The page tests build the book, so they come last."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from amemlib.verdicts import word

ROOT = Path(__file__).resolve().parents[1]
LAST = ("test_book.py", "test_pages.py")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name in LAST)


@pytest.fixture(scope="session")
def html():
    """The strict build, by the Makefile's own rule and with this interpreter; nothing to do if it is up to date."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", "--no-print-directory", "html", f"VENV={sys.prefix}", "-o", f"{sys.prefix}/.done"]
    (ROOT / "_build").mkdir(exist_ok=True)
    with (ROOT / "_build" / ".lock").open("w") as lock:
        # two workers want the pages; the second finds them built
        fcntl.flock(lock, fcntl.LOCK_EX)
        build = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr


@pytest.fixture
def words():
    """What an experiment says of the results of its cells: the word of each verdict, from plain numbers as stored."""

    def judge(experiment, config, results) -> dict[str, str]:
        measured, predicted = json.loads(json.dumps(experiment.read(config, results)))
        return {name: word(verdict) for name, verdict in experiment.verdicts(config, measured, predicted).items()}

    return judge


@pytest.fixture
def flawed():
    """Measured numbers with another value at one place, given by its keys and positions."""

    def replaced(measured: dict, address: tuple, value) -> dict:
        copy = json.loads(json.dumps(measured))
        place = copy
        for step in address[:-1]:
            place = place[step]
        place[address[-1]] = value
        return copy

    return replaced
