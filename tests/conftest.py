"""The page tests build the book: they come first, and the other worker has all else to do meanwhile."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items):
    for item in items:
        if {"html", "browser"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("process")
        if "browser" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("sample"):
            item.add_marker("screen")
    # then what finds the book built
    items.sort(key=lambda item: {"test_pages.py": 0, "test_book.py": 2}.get(item.path.name, 1))


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


@pytest.fixture(scope="module")
def browser():
    """The machine's Chromium, started once a file: its loop would stop that of a notebook's client in another one."""
    import browse

    if browse.CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with browse.chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def git():
    """What git says of this checkout; the test is skipped where there is none, as in the archive of a release."""

    def run(*arguments: str) -> str:
        if not shutil.which("git") or not (ROOT / ".git").exists():
            pytest.skip("git is asked what belongs to the checkout, and there is no git, or no checkout")
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    return run


@pytest.fixture
def words():
    """What an experiment says of the results of its cells: the word of each verdict, from plain numbers as stored."""
    from amembook.run.base import plain
    from amembook.run.claims import word

    def judge(experiment, config, results) -> dict[str, str]:
        measured, predicted = plain(experiment.read(config, results))
        return {name: word(verdict) for name, verdict in experiment.verdicts(config, measured, predicted).items()}

    return judge
