"""What is fetched is what was looked at: the lock has a hash for every package, workflows name actions by commit."""

import re
import subprocess
from pathlib import Path

import lock
import pytest
import yaml

WORKFLOWS = sorted((lock.ROOT / ".github" / "workflows").glob("*.yml"))
LOCKS = [(lock.PINS, lock.LOCK), (lock.RELEASE_PINS, lock.RELEASE_LOCK)]


@pytest.mark.parametrize("pins, locks", LOCKS, ids=["book", "release"])
def test_the_lock_has_every_pin_and_a_hash_for_each_package(pins, locks):
    text = locks.read_text(encoding="utf-8")
    pinned, locked = lock.pins(pins.read_text(encoding="utf-8")), lock.pins(text)
    assert pinned.items() <= locked.items(), "run `python tools/lock.py`"
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert rows == sorted(rows, key=lambda row: row.partition("==")[0]) and len(rows) == len(locked)
    assert all(re.fullmatch(r"[a-z0-9.-]+==[^ ]+ --hash=sha256:[0-9a-f]{64}", row) for row in rows)


def test_the_lock_says_what_pip_reports_and_refuses_what_has_no_hash():
    item = {
        "metadata": {"name": "Some_Name", "version": "1.0+cpu"},
        "download_info": {"archive_info": {"hashes": {"sha256": "ab"}}},
    }
    assert lock.lines({"install": [item]}) == ["some-name==1.0+cpu --hash=sha256:ab"]
    assert lock.pins("Some_Name==1.0+cpu --hash=sha256:ab") == {"some-name": "1.0"}
    with pytest.raises(ValueError, match="files with a hash, got some-name"):
        lock.lines({"install": [item | {"download_info": {"vcs_info": {}}}]})


@pytest.mark.parametrize("flag, file", [("LOCK=1", "--require-hashes --only-binary :all: -r requirements.lock"),
                                        ("LOCK=", "install --quiet  -r requirements.txt")])  # fmt: skip
def test_only_the_lock_asks_for_hashes(flag, file):
    plan = subprocess.run(
        ["make", "-n", "-B", "setup", flag], cwd=lock.ROOT, capture_output=True, text=True, check=True
    )
    assert file in plan.stdout and ("--clear" in plan.stdout) == (flag == "LOCK=1")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: Path(path).name)
def test_a_workflow_names_commits_gives_jobs_what_they_need_and_locks_a_second_index(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    used = re.findall(r"uses: (.*)", text)
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action) for action in used)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        commands = [step["run"] for step in job["steps"] if "run" in step]
        writes = {name for name, level in job["permissions"].items() if level == "write"}
        assert not (writes and commands), "a job that may write runs nothing of ours"
        assert "PIP_EXTRA_INDEX_URL" not in job.get("env", {}) or job["env"]["LOCK"] == 1
        assert not any("--extra-index-url" in command for command in commands)
