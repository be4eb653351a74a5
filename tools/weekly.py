"""Runs the tests that are too slow for every day, and writes what came out to tests/weekly.yml, with its date.

`make test` holds that summary to the tests that there are and to the release: a part that nobody ran is seen.
"""

import datetime
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import yaml

import amemlib

ROOT = Path(__file__).resolve().parents[1]
SUMMARY = ROOT / "tests" / "weekly.yml"
HEAD = "# Written by `make weekly`: the last run of the tests marked weekly.\n"


def release() -> str:
    """The version that the library says it is."""
    return amemlib.__version__


def outcomes(report: Path) -> dict[str, str]:
    """The outcome of every test of a JUnit report: passed, failed or skipped, by file and name."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{case.get('classname').removeprefix('tests.').replace('.', '/')}::{case.get('name')}"] = outcome
    return dict(sorted(found.items()))


def merged(kept: dict[str, str], found: dict[str, str], files: list[str]) -> dict[str, str]:
    """The outcomes after some files were run: theirs replaced, the others' as they were; all replaced without files."""
    names = {Path(file).relative_to("tests").with_suffix("").as_posix() for file in files}
    others = {name: outcome for name, outcome in kept.items() if files and name.partition("::")[0] not in names}
    return dict(sorted((others | found).items()))


def main() -> int:
    """Run the weekly tests, or those of the files that are named: for new ones, without the rest."""
    files = sys.argv[1:]
    kept = yaml.safe_load(SUMMARY.read_text(encoding="utf-8"))["tests"] if files else {}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "weekly.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "weekly", f"--junitxml={report}", *(files or ["tests"])]
        run = subprocess.run(command, cwd=ROOT)
        tests = merged(kept, outcomes(report), files)
    summary = {"date": datetime.date.today().isoformat(), "version": release(), "tests": tests}
    SUMMARY.write_text(HEAD + yaml.safe_dump(summary, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
