"""The weekly summary: every test that is too slow for every day was run for this release, and passed."""

import datetime

import pytest
import weekly
import yaml


@pytest.fixture(scope="module")
def summary():
    return yaml.safe_load(weekly.SUMMARY.read_text(encoding="utf-8"))


class Collector:
    """Keeps the names of the tests that a collection finds."""

    def pytest_collection_finish(self, session):
        self.names = {item.nodeid.removeprefix("tests/").replace(".py::", "::") for item in session.items}


def test_the_summary_is_of_this_release_and_every_test_passed(summary):
    assert summary["version"] == weekly.release(), "run `make weekly` before a release"
    assert datetime.date.fromisoformat(summary["date"]) <= datetime.date.today()
    assert summary["tests"] and set(summary["tests"].values()) == {"passed"}


def test_the_summary_has_every_test_that_is_marked(summary):
    collector = Collector()
    marked = [str(path) for path in weekly.SUMMARY.parent.rglob("test_*.py") if "mark.weekly" in path.read_text()]
    pytest.main(["--collect-only", "-q", "-m", "weekly", "-p", "no:cacheprovider", *marked], plugins=[collector])
    assert collector.names == set(summary["tests"]), "run `make weekly`"


def test_a_failure_and_a_skip_are_told_from_a_pass(tmp_path):
    (tmp_path / "report.xml").write_text(
        "<testsuites><testsuite>"
        '<testcase classname="tests.test_a" name="one"/>'
        '<testcase classname="tests.test_a" name="two"><failure/></testcase>'
        '<testcase classname="tests.labs.test_b" name="three[x]"><skipped/></testcase>'
        "</testsuite></testsuites>"
    )
    found = weekly.outcomes(tmp_path / "report.xml")
    assert found == {"test_a::one": "passed", "test_a::two": "failed", "labs/test_b::three[x]": "skipped"}


def test_some_files_alone_leave_the_rest_of_the_summary():
    kept = {"test_a::one": "passed", "test_b::gone": "passed", "labs/test_b::two": "passed"}
    found = {"test_b::new": "failed"}
    assert weekly.merged(kept, found, ["tests/test_b.py"]) == {
        "labs/test_b::two": "passed", "test_a::one": "passed", "test_b::new": "failed"
    }  # fmt: skip
    assert weekly.merged(kept, found, []) == found
