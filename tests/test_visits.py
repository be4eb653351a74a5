"""A visit keeps to its budget, loses nothing when it is killed, and adds up with others to the same records."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from amemlib import costs, experiments, runtime, visits

ROOT = Path(__file__).resolve().parents[1]
TOY = """
import json, sys, time
from dataclasses import dataclass
from pathlib import Path
from amemlib import costs, training, visits
from amemlib.experiments import Experiment, Grid

@dataclass(frozen=True)
class Config:
    n: int = 12
    items: int = 7
    first_seed: int = 0

def square(x, log, device):
    with open(log, "a") as file:
        file.write(f"{x}\\n")
    time.sleep(PAUSE)
    assert training.checkpoint_file("half"), "a cell that is cut off has nowhere to go on from"
    return {"square": x * x}

def cube(x, log):
    return square(x, log, "") | {"cube": x**3}

def grids(config):
    return {"square": Grid(square, {"x": range(config.n)}, log=LOG),
            "cube": Grid(cube, {"x": range(100, 103)}, log=LOG)}

def summarise(config, results):
    return {"squares": results.array("square", "square").tolist()}, {}

def judge(config, measured, predicted):
    return {"toy": {"sizes": "met", "limit": "met", "refused": ["cubes"]}}

profiles = {name: Config() for name in ("smoke", "cpu", "gpu")}
EXPERIMENT = Experiment("toy", "squares", profiles, grids, summarise, judge)
LOG, PAUSE = str(Path(__file__).with_name("log")), PAUSES
for name in ("square", "cube"):
    for module in ("toy", "__main__"):
        costs.COSTS[f"{module}.{name}"] = lambda a: costs.Cost(launches=1.0, memory=1.0)

def draw(seed, log, device):
    return draws([seed], log, device)[0]

def draws(seeds, log, device):
    with open(log, "a") as file:
        file.write(f"{seeds}\\n")
    return [{"square": seed * seed} for seed in seeds]

def stacked_grids(config):
    return {"square": Grid(draw, {"pair": {k: {"log": f"{LOG}{k}"} for k in "ab"}, "seed": range(5)})}

STACKED = Experiment("stacked", "squares", profiles, stacked_grids, summarise, judge)
for name in ("draw", "draws"):
    costs.COSTS[f"toy.{name}"] = lambda a: costs.Cost(launches=1.0, memory=1.0)
visits.TOGETHER["draw"] = draws
visits.STACKED_ON.append("cpu")

if __name__ == "__main__":
    import toy
    began = time.monotonic()
    outcome = visits.visit(float(sys.argv[1]), "results", "cpu", workers=1,
                           experiments=[(getattr(toy, sys.argv[2]), 60.0)])
    print(json.dumps([outcome.done, outcome.left, outcome.records, outcome.failures, time.monotonic() - began]))
"""


@pytest.fixture
def toy(tmp_path):
    def command(budget: float, pause: float, experiment: str = "EXPERIMENT"):
        (tmp_path / "toy.py").write_text(TOY.replace("PAUSES", str(pause)))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]), "OMP_NUM_THREADS": "1"}
        arguments = [sys.executable, "toy.py", str(budget), experiment]
        return subprocess.Popen(arguments, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)

    return command


def stored(folder: Path) -> set[int]:
    return {json.loads(path.read_text())["arguments"]["x"] for path in (folder / "results" / "toy").glob("*.json")}


@pytest.mark.process
def test_a_visit_ends_with_a_record_and_the_next_has_nothing_to_do(tmp_path, toy):
    done, left, records, failures, _ = json.loads(toy(120, 0.01).communicate()[0])
    assert (done, left, records, failures) == (15, 0, ["toy"], [])
    record = json.loads((tmp_path / "results" / "records" / "toy" / "rehearsal.json").read_text())
    assert record["measured"]["squares"] == [x * x for x in range(12)] and record["seconds"] > 0
    assert not (tmp_path / "results" / "records" / "toy" / "gpu.json").exists(), "a CPU's record is not a GPU's"
    assert json.loads(toy(120, 0.01).communicate()[0])[:4] == [15, 0, [], []]
    assert Counter((tmp_path / "log").read_text().split()).most_common(1)[0][1] == 1
    damaged = next((tmp_path / "results" / "toy").glob("*.json"))
    damaged.write_text(damaged.read_text().replace('"square": ', '"square": 1'))
    assert json.loads(toy(120, 0.01).communicate()[0])[:2] == [15, 0]
    assert max(Counter((tmp_path / "log").read_text().split()).values()) == 2, "the damaged cell is computed again"


@pytest.mark.process
def test_seeds_run_together_and_are_kept_one_by_one(tmp_path, toy):
    """What is missing of a cell's seeds is one call; the files, and what the next visit finds, are those of seeds."""
    assert json.loads(toy(120, 0.0, "STACKED").communicate()[0])[:3] == [10, 0, ["stacked"]]
    record = json.loads((tmp_path / "results" / "records" / "stacked" / "rehearsal.json").read_text())
    assert record["measured"]["squares"] == [[x * x for x in range(5)]] * 2
    assert record["provenance"]["seeds"] == "several in one tensor"
    assert [(tmp_path / f"log{k}").read_text() for k in "ab"] == ["[0, 1, 2, 3, 4]\n"] * 2
    cells = [json.loads(path.read_text()) for path in (tmp_path / "results" / "stacked").glob("*.json")]
    assert {(cell["function"], cell["arguments"]["seed"]) for cell in cells} == {("draw", x) for x in range(5)}
    for path in (tmp_path / "results" / "stacked").glob("*.json"):
        if "loga" in path.read_text() and json.loads(path.read_text())["arguments"]["seed"] in (1, 3):
            path.unlink()
    assert json.loads(toy(120, 0.0, "STACKED").communicate()[0])[:2] == [10, 0]
    assert (tmp_path / "loga").read_text().splitlines() == ["[0, 1, 2, 3, 4]", "[1, 3]"]


def test_only_seeds_of_a_training_run_together_and_only_on_a_gpu():
    recall = experiments.find_experiment("recall")
    config = recall.profiles["gpu"]
    cells = recall.cells(config, "cuda")
    found = visits.calls(cells, "cuda")
    assert len(found) * config.seeds == len(cells)
    assert all(call.arguments["seeds"] == list(range(config.seeds)) and len(makes) == 8 for call, makes in found)
    assert {json.dumps(c.arguments) for _, makes in found for c in makes} == {json.dumps(c.arguments) for c in cells}
    assert [call for call, _ in visits.calls(cells, "cpu")] == cells
    clock = visits.Clock(visits.paper_machine("h100"))
    alone = sum(clock.seconds(cell) for cell in cells)
    assert sum(clock.seconds(call) for call, _ in found) < 0.7 * alone
    for name in ("one-step", "critical-batch"):
        experiment = experiments.find_experiment(name)
        cells = experiment.cells(experiment.profiles["smoke"], "cuda")
        assert [call for call, _ in visits.calls(cells, "cuda")] == cells


@pytest.mark.process
def test_visits_keep_their_budget_and_add_up(tmp_path, toy):
    """Cells of 2 s, more of them than two visits have time for: each ends within its budget and one cell."""
    seen = 0
    for _ in range(2):
        done, left, records, failures, seconds = json.loads(toy(14, 2.0).communicate()[0])
        assert seconds < 14 + 2.0 and not failures and not records and done + left == 15
        assert len(stored(tmp_path)) == done > seen and left > 0
        seen = done


@pytest.mark.process
def test_a_killed_visit_resumes_with_nothing_lost(tmp_path, toy):
    process = toy(120, 0.2)
    deadline = time.monotonic() + 60
    while len(stored(tmp_path) if (tmp_path / "results" / "toy").exists() else ()) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = stored(tmp_path)
    assert 4 <= len(finished) < 15
    assert json.loads(toy(120, 0.0).communicate()[0])[:3] == [15, 0, ["toy"]]
    calls = Counter(int(line) for line in (tmp_path / "log").read_text().split())
    assert all(calls[x] == 1 for x in finished), "a finished cell was run again"


@pytest.mark.parametrize("device", costs.PAPER_RATES)
def test_the_plan_fits_the_device(device):
    """Memory, the longest cell and the seconds of each experiment, on a large device and on a small one."""
    machine = visits.paper_machine(device)
    plan = visits.Plan(machine, 1.0, 0, 540.0)
    for name in ("one-step", "critical-batch", "giant", "recall"):
        experiment = experiments.find_experiment(name)
        config = plan.config(experiment, visits.SECONDS[name])
        found = visits.estimate(experiment, config, plan.clock)
        assert found.memory <= machine.memory and found.longest <= visits.LONGEST * 540
        assert found.wall(machine.workers) <= visits.SECONDS[name]
        assert len(config.dims) >= 3


def test_every_experiment_has_its_place_in_the_order_of_worth():
    assert set(visits.SECONDS) == set(experiments.CORE)


def test_a_larger_scale_asks_for_more_and_a_slow_device_for_less():
    clock = visits.Clock(visits.paper_machine("h100"))
    experiment = experiments.find_experiment("one-step")
    walls = []
    for seconds in (10.0, 100.0, 1000.0):
        config = visits.shrink(experiment, experiment.profiles["gpu"], clock, seconds, 200.0)
        walls.append(visits.estimate(experiment, config, clock).wall(7))
        assert walls[-1] <= seconds
    assert walls == sorted(walls) and walls[0] < walls[2]
    clock.learn("one_step.measure_one_step", 10.0)
    slow = visits.shrink(experiment, experiment.profiles["gpu"], clock, 100.0, 200.0)
    assert visits.estimate(experiment, slow, clock).wall(7) <= 100
    assert max(slow.dims) * slow.n_items < max(experiment.profiles["gpu"].dims) * experiment.profiles["gpu"].n_items


def test_a_clock_believes_the_largest_of_the_last_ratios():
    clock = visits.Clock(visits.paper_machine("h100"))
    cell = experiments.find_experiment("one-step").cells(
        experiments.find_experiment("one-step").profiles["smoke"], "cuda"
    )[0]
    plain = clock.seconds(cell)
    for ratio in (9.0, 2.0, 3.0, 1.0):
        clock.learn("one_step.measure_sgd_step", ratio)
    assert clock.seconds(cell) == pytest.approx(3.0 * plain)


def test_bad_input_is_named(tmp_path):
    for name, arguments in {
        "budget": {"budget": 0},
        "scale": {"budget": 1, "scale": -1.0},
        "first_seed": {"budget": 1, "first_seed": -1},
        "device": {"budget": 1, "device": "abacus"},
    }.items():
        with pytest.raises((ValueError, TypeError), match=name):
            visits.visit(**arguments, results=tmp_path / "results")
    with pytest.raises(ValueError, match="h100"):
        visits.paper_machine("abacus")


@pytest.fixture
def copy(tmp_path):
    """The code without git, as it is carried to another machine."""
    shutil.copytree(ROOT / "amemlib", tmp_path / "amemlib", ignore=shutil.ignore_patterns("__pycache__", "records"))

    def commit() -> subprocess.CompletedProcess:
        code = "from amemlib import runtime; print(runtime.commit())"
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    return tmp_path, commit


@pytest.mark.process
def test_a_copy_without_git_knows_its_commit_and_refuses_other_code(copy, monkeypatch):
    folder, commit = copy
    assert commit().stdout.strip() == "None"
    monkeypatch.setattr(runtime, "commit", lambda: "0123456789ab")
    monkeypatch.setenv("AMEM_COMMIT", str(folder / "commit.json"))
    assert runtime.write_stamp() == folder / "commit.json"
    assert commit().stdout.strip() == "0123456789ab"
    with open(folder / "amemlib" / "theory.py", "a") as file:
        file.write("\nFOUR = 5\n")
    changed = commit()
    assert changed.returncode and "is of other code" in changed.stderr


def test_no_stamp_is_written_from_a_tree_with_changes(monkeypatch, tmp_path):
    monkeypatch.setenv("AMEM_COMMIT", str(tmp_path / "commit.json"))
    for commit in (None, "0123456789ab+"):
        monkeypatch.setattr(runtime, "commit", lambda found=commit: found)
        with pytest.raises(ValueError, match="commit"):
            runtime.write_stamp()
    assert not (tmp_path / "commit.json").exists()


BLOCKED = """
import re, sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
name_of = lambda text: re.split(r"[ ;<>=!~(\\[]", text)[0].lower().replace("_", "-")
allowed, found = {"amemlib"}, ["torch", "numpy", "scipy", "tqdm", "matplotlib", "jaxtyping"]
while found:
    name = name_of(found.pop())
    if name not in allowed:
        allowed.add(name)
        try:
            found += [need for need in requires(name) or () if "extra ==" not in need]
        except PackageNotFoundError:
            pass

class Refuse:
    tops = {top for top, owners in packages_distributions().items() if not {name_of(o) for o in owners} & allowed}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.tops:
            raise ModuleNotFoundError(f"{name} is not here", name=name)

sys.meta_path.insert(0, Refuse())
from amemlib import __main__, experiments, visits
for name in visits.SECONDS:
    experiments.find_experiment(name)
print("yaml" in Refuse.tops, "torch" in Refuse.tops)
"""


@pytest.mark.process
def test_the_way_to_a_visit_imports_only_what_a_lent_machine_has():
    """torch, numpy, scipy, tqdm, matplotlib, jaxtyping and what they require; no package of the book's tools."""
    done = subprocess.run([sys.executable, "-c", BLOCKED], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "False"]
