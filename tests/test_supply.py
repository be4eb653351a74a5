"""What is fetched is what was looked at: the lock has a hash for every package, workflows name actions by commit."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def requirements(name: str) -> dict[str, str]:
    """What a file of requirements says of each package that it pins: its version without a local part, its hashes."""
    text = re.sub(r"\s*\\\n\s*", " ", (ROOT / name).read_text(encoding="utf-8"))
    rows = re.findall(r"^([\w.-]+)==([^\s+]+)\S*(.*)$", text, re.MULTILINE)
    return {package.lower().replace("_", "-"): (version, hashes) for package, version, hashes in rows}


def test_the_lock_has_every_pin_and_a_hash_for_each_package():
    pins, locked = requirements("requirements.txt"), requirements("requirements.lock")
    assert {(name, pins[name][0]) for name in pins} <= {(name, locked[name][0]) for name in locked}
    assert all(re.fullmatch(r"( --hash=sha256:[0-9a-f]{64})+", hashes) for _, hashes in locked.values())


@pytest.mark.parametrize("flag, file", [("LOCK=1", "--require-hashes --only-binary :all: -r requirements.lock"),
                                        ("LOCK=", "install --quiet  -r requirements.txt")])  # fmt: skip
def test_only_the_lock_asks_for_hashes(flag, file):
    plan = subprocess.run(["make", "-n", "-B", "setup", flag], cwd=ROOT, capture_output=True, text=True, check=True)
    assert file in plan.stdout and ("--clear" in plan.stdout) == (flag == "LOCK=1")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_commits_gives_jobs_what_they_need_and_locks_a_second_index(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    used = re.findall(r"uses: (.*)", text)
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action) for action in used)
    assert workflow["permissions"] == {} and "secrets." not in text
    for job in workflow["jobs"].values():
        commands = [step["run"] for step in job["steps"] if "run" in step]
        writes = {name for name, level in job["permissions"].items() if level == "write"}
        assert not (writes and commands), "a job that may write runs nothing of ours"
        assert "PIP_EXTRA_INDEX_URL" not in job.get("env", {}) or job["env"]["LOCK"] == 1
        assert not any("--extra-index-url" in command for command in commands)
