"""`make gpu`: a loop over `run` that a budget ends and that goes on where it stopped."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.weekly
def test_the_loop_stops_at_its_budget_and_does_later_what_was_left(tmp_path):
    def gpu(budget: int) -> subprocess.CompletedProcess:
        options = ["GPU_STUDIES=lemmas signal", "PROFILE=smoke", "DEVICE=cpu", f"GPU_PYTHON={sys.executable}"]
        command = ["make", "--no-print-directory", "gpu", *options, f"RESULTS={tmp_path}", f"BUDGET={budget}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    with pytest.raises(subprocess.CalledProcessError):
        gpu(0)
    assert gpu(600).stdout.endswith(f"2 of 2 records in {tmp_path}/records\n")
    record = tmp_path / "records" / "lemmas" / "smoke.json"
    made = record.stat().st_mtime_ns
    assert gpu(600).stdout == f"2 of 2 records in {tmp_path}/records\n" and record.stat().st_mtime_ns == made
