"""A visit to a device: as much of the gpu profiles, in the order of their worth, as a budget of seconds allows.

A room of its own beside `sweep`, which runs one experiment to its end: a machine with a GPU is lent for minutes. Every
finished cell is a file of `sweep.CellStore`, so that visits add up and one may be killed at any moment. `shrink` fits
the profiles to the device; what was decided is kept in the folder, so that a later visit asks for the same cells.
"""

import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, TimeoutError
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.util import find_spec
from pathlib import Path

import torch

from amemlib import costs, fingerprint, runtime, sweep
from amemlib.checks import check_count, check_positive
from amemlib.experiments import Cell, Experiment, config_of, find_experiment
from amemlib.experiments.recall_runs import measure_runs
from amemlib.files import write_whole
from amemlib.records import write_record

SECONDS = {
    "one-step": 220,
    "sharp": 160,
    "many-steps": 240,
    "trajectory": 120,
    "race": 60,
    "critical-batch": 150,
    "recall-rates": 30,
    "recall": 240,
    "deflation": 120,
    "spectral-maps": 40,
    "giant": 120,
    "signal": 60,
    "optimality": 60,
    "recall-capacity": 60,
    "interactions": 40,
    "loss": 40,
    "precision": 30,
    "vocabulary": 90,
    "lemmas": 30,
}
"""The experiments in the order of their worth, and the seconds that each may take on a device."""
NEEDS = {"vocabulary": "wordfreq"}
"""What an experiment needs beyond the library's own requirements; without it, it is left out."""
SHARES_THE_DEVICE = {"measure_run", "measure_runs"}
"""Cells that cannot fill a GPU: worker processes run several of them on it at once, beside the others."""
TOGETHER = {"measure_run": measure_runs}
"""What runs several seeds of a cell at once, `seeds` in place of `seed`, a result for each: where one cannot fill a
GPU. Cells and files stay those of single seeds."""
STACKED_ON = ["cuda"]
"""The kinds of device on which that is done: on a CPU it saves nothing worth the longer cells."""
LONGEST = 0.5
"""The largest share of a budget that a single cell may be expected to take."""
_REMEMBERED = 3
_FEWEST_SEEDS, _FEWEST_DIMS, _LEAST_ITEMS_OVER_DIM = 2, 3, 32


@dataclass(frozen=True)
class Machine:
    """A device and its host: rates for the cells on the one and on a core of the other, and how many cores."""

    name: str
    kind: str
    device: costs.Rates
    host: costs.Rates
    workers: int

    @property
    def memory(self) -> float:
        """The bytes that a cell may use on the device."""
        return self.device.memory - (costs.WORKSPACE if self.kind != "cpu" else 0)


@dataclass
class Clock:
    """What cells took: estimates times the largest of the last ratios of the same function."""

    machine: Machine
    ratios: dict[str, list[float]] = field(default_factory=dict)

    def learn(self, name: str, ratio: float) -> None:
        """One more ratio of measured to estimated seconds."""
        self.ratios[name] = [*self.ratios.get(name, []), ratio][-_REMEMBERED:]

    def plain(self, cell: Cell) -> float:
        """Seconds from the counts of work alone."""
        rates = self.machine.device if "device" in cell.arguments else self.machine.host
        return rates.seconds(costs.cost(cell.function, cell.arguments))

    def seconds(self, cell: Cell) -> float:
        """Seconds with what was learnt."""
        return self.plain(cell) * max(self.ratios.get(_name(cell.function), [1.0]))


@dataclass(frozen=True)
class Estimate:
    """Of one config: cells, seconds on the device, core-seconds beside it, the longest cell and the most memory."""

    cells: int
    device: float
    beside: float
    longest: float
    memory: float

    def wall(self, workers: int) -> float:
        """Seconds that pass: the cells beside the device run at the same time."""
        return max(self.device, self.beside / workers)


def is_beside(cell: Cell) -> bool:
    """Whether a worker process runs this cell beside the device: it uses none, or not enough of one."""
    return "device" not in cell.arguments or cell.function.__name__ in SHARES_THE_DEVICE


def calls(cells: Sequence[Cell], kind: str) -> list[tuple[Cell, list[Cell]]]:
    """What is called for these cells on a kind of device, and the cells that each call makes.

    One for one, but for cells of `TOGETHER` that differ in their seed alone.
    """
    groups: dict = {}
    for place, cell in enumerate(cells):
        stacked = kind in STACKED_ON and cell.function.__name__ in TOGETHER
        rest = {name: value for name, value in cell.arguments.items() if name != "seed"}
        groups.setdefault((cell.function, json.dumps(rest)) if stacked else place, []).append(cell)
    found = []
    for group in groups.values():
        call, first = group[0], group[0].arguments
        if len(group) > 1:
            seeds = {"seeds": [cell.arguments["seed"] for cell in group]}
            rest = {name: value for name, value in first.items() if name != "seed"}
            call = Cell(TOGETHER[call.function.__name__], rest | seeds)
        found.append((call, group))
    return found


def estimate(experiment: Experiment, config, clock: Clock) -> Estimate:
    """What all cells of a config take on the clock's machine."""
    device = beside = longest = memory = 0.0
    cells = experiment.cells(config, clock.machine.kind)
    known: dict = {}
    for cell, _ in calls(cells, clock.machine.kind):
        key = _name(cell.function), *(repr(value) for name, value in cell.arguments.items() if name != "seed")
        if key not in known:
            known[key] = clock.seconds(cell), costs.cost(cell.function, cell.arguments).memory
        seconds, bytes_held = known[key]
        if is_beside(cell):
            beside += seconds
        else:
            device += seconds
        longest = max(longest, seconds)
        if "device" in cell.arguments:
            memory = max(memory, bytes_held)
    return Estimate(len(cells), device, beside, longest, memory)


def shrink(experiment: Experiment, config, clock: Clock, seconds: float, longest: float):
    """The config, or the nearest smaller one that takes at most so many seconds, no cell of it more than `longest`.

    One step after another, each the one that helps most: the largest entry of a field of dimensions is dropped (three
    are kept), seeds are halved (two are kept), items are halved (at least 32 times the largest dimension are kept; not
    the tokens of a network). Where none of these is left, a training is halved, steps and probes. Where that is
    not enough either, the same is tried from the cpu profile, then from the smoke profile. But for items and
    trainings, what remains of a profile is asked for with the same arguments as before.
    """

    def pressure(candidate) -> tuple[float, float]:
        found = estimate(experiment, candidate, clock)
        wall = found.wall(clock.machine.workers)
        return max(wall / seconds, found.longest / longest, found.memory / clock.machine.memory), wall

    def fitted(start) -> tuple:
        now = pressure(start), start
        while now[0][0] > 1:
            for smaller in (_smaller(now[1]), _shorter(now[1])):
                best = min(((pressure(one), one) for one in smaller), key=lambda pair: pair[0], default=now)
                if best[0] < now[0]:
                    break
            else:
                return now
            now = best
        return now

    starts = [config, *(replace(experiment.profiles[name], first_seed=config.first_seed) for name in ("cpu", "smoke"))]
    ends = []
    for start in starts:
        ends.append(fitted(start))
        if ends[-1][0][0] <= 1:
            return ends[-1][1]
    return min(ends, key=lambda pair: pair[0])[1]


def _smaller(config) -> Iterator:
    """The configs that are one step smaller in dimensions, seeds or items, and valid."""
    values = {f.name: getattr(config, f.name) for f in fields(config)}
    training = "probe_every" in values
    changes = []
    for name, value in values.items():
        if name.endswith("dims") and len(value) > _FEWEST_DIMS:
            seeds = values.get(name.replace("dims", "seeds"))
            aligned = {name.replace("dims", "seeds"): seeds[:-1]} if isinstance(seeds, tuple) else {}
            changes.append({name: value[:-1]} | aligned)
        elif name.endswith("seeds") and isinstance(value, tuple):
            changes.append({name: tuple(max(min(n, _FEWEST_SEEDS), n // 2) for n in value)})
        elif name.endswith("seeds"):
            changes.append({name: max(min(value, _FEWEST_SEEDS), value // 2)})
        elif name.endswith("items") and isinstance(value, int) and not training:
            changes.append({name: value // 2})
    largest = max((max(value) for name, value in values.items() if name in ("dims", "loss_dims")), default=0)
    for change in changes:
        items = [value for name, value in change.items() if name in ("n_items", "loss_items")]
        if items and items[0] < _LEAST_ITEMS_OVER_DIM * largest:
            continue
        with suppress(ValueError):
            smaller = replace(config, **change)
            if smaller != config:
                yield smaller


def _shorter(config) -> Iterator:
    """The config of a training half as long, if it is one and that is valid."""
    if hasattr(config, "probe_every"):
        with suppress(ValueError):
            names = [f.name for f in fields(config) if f.name.endswith("steps") or f.name == "probe_every"]
            yield replace(config, **{name: getattr(config, name) // 2 for name in names})


def changed_fields(config, profile) -> str:
    """What a config has else than a profile, as the text of `--set`."""
    text = lambda value: ",".join(map(str, value)) if isinstance(value, tuple) else str(value)  # noqa: E731
    pairs = [(f.name, getattr(config, f.name)) for f in fields(config)]
    return " ".join(f"{name}={text(value)}" for name, value in pairs if value != getattr(profile, name))


def paper_machine(name: str) -> Machine:
    """A machine that is not at hand, one of `costs.PAPER_RATES`; `ValueError` for another name."""
    if name not in costs.PAPER_RATES:
        raise ValueError(f"device must be one of auto, cpu, cuda, {', '.join(costs.PAPER_RATES)}, got {name!r}")
    return Machine(f"{name} (on paper)", "cuda", costs.PAPER_RATES[name], costs.PAPER_CORE, 7)


def this_machine(device: torch.device) -> Machine:
    """The machine at hand, its rates measured in a few seconds, and a core left to whoever feeds the device."""
    host = costs.measure_rates(torch.device("cpu"))
    rates = host if device.type == "cpu" else costs.measure_rates(device)
    workers = max(1, len(os.sched_getaffinity(0)) - 1)
    return Machine(runtime.provenance(device)["device"], device.type, rates, host, workers)


def worthwhile() -> list[tuple[Experiment, float]]:
    """The experiments in the order of their worth with their seconds, without those that lack a package."""
    lacking = {name for name, package in NEEDS.items() if find_spec(package) is None}
    for name in lacking:
        print(f"{name} is left out: {NEEDS[name]} is not installed", file=sys.stderr)
    return [(find_experiment(name), seconds) for name, seconds in SECONDS.items() if name not in lacking]


class Plan:
    """What a folder of results is for, and the config of every experiment that was begun there.

    Kept in `plan.json`: the machine's rates as they were measured first, what was learnt of the estimates, and the
    configs. With another device, scale, seeds or code than before the plan is made anew; cells that it shares with the
    old one stay good.
    """

    def __init__(self, machine: Machine, scale: float, first_seed: int, budget: float, stored: dict | None = None):
        stored = stored or {}
        self.machine, self.scale, self.first_seed, self.budget = machine, scale, first_seed, budget
        self.clock = Clock(machine, stored.get("ratios", {}))
        self.configs: dict[str, dict] = stored.get("configs", {})

    @classmethod
    def of(cls, folder: Path, device: torch.device, scale: float, first_seed: int, budget: float) -> "Plan":
        """The plan of a folder, or a new one."""
        stored = {}
        with suppress(FileNotFoundError, ValueError):
            stored = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        asked = _asked(runtime.provenance(device)["device"], scale, first_seed)
        if stored.get("asked") != asked:
            return cls(this_machine(device), scale, first_seed, budget)
        values = stored["machine"]
        machine = Machine(**values | {side: costs.Rates(**values[side]) for side in ("device", "host")})
        return cls(machine, scale, first_seed, budget, stored)

    def config(self, experiment: Experiment, seconds: float):
        """The config of an experiment: the one it was begun with, else its gpu profile as it fits the machine now."""
        if experiment.name in self.configs:
            return config_of(experiment, self.configs[experiment.name])
        profile = self.profile(experiment)
        return shrink(experiment, profile, self.clock, self.scale * seconds, LONGEST * self.budget)

    def profile(self, experiment: Experiment):
        """The gpu profile on the seeds of this plan."""
        profile = experiment.profiles["gpu"]
        return replace(profile, first_seed=profile.first_seed + self.first_seed)

    def save(self, folder: Path) -> None:
        """Write it into its folder."""
        stored = {"asked": _asked(self.machine.name, self.scale, self.first_seed), "machine": asdict(self.machine)}
        stored |= {"ratios": self.clock.ratios, "configs": self.configs}
        write_whole(json.dumps(stored, indent=1), folder / "plan.json")

    def table(self, experiments: Sequence[tuple[Experiment, float]]) -> str:
        """A line for every experiment: cells, seconds on the device and of cores beside it, memory, what is smaller."""
        machine = self.machine
        lines = [f"{machine.name}, {machine.memory / 1e9:.0f} GB for a cell, {machine.workers} processes beside it"]
        lines.append(f"{'experiment':15s} {'cells':>6s} {'device s':>9s} {'beside s':>9s} {'longest':>8s} {'GB':>6s}")
        total = 0.0
        for experiment, seconds in experiments:
            config = self.config(experiment, seconds)
            found = estimate(experiment, config, self.clock)
            total += found.wall(machine.workers)
            lines.append(
                f"{experiment.name:15s} {found.cells:6d} {found.device:9.1f} {found.beside:9.1f} {found.longest:8.1f} "
                f"{found.memory / 1e9:6.2f}  {changed_fields(config, self.profile(experiment))}".rstrip()
            )
        return "\n".join([*lines, f"about {total:.0f} s in all"])


@dataclass(frozen=True)
class Outcome:
    """How a visit ended: cells done and left of the whole plan, the records written, and what went wrong."""

    done: int
    left: int
    records: list[str]
    failures: list[str]


def visit(
    budget: float,
    results: str | Path = "results",
    device: str = "auto",
    scale: float = 1.0,
    first_seed: int = 0,
    workers: int | None = None,
    experiments: Sequence[tuple[Experiment, float]] | None = None,
) -> Outcome:
    """Run what is missing of the plan for at most `budget` seconds; no cell begins that is expected to end later.

    results: the folder of cells, of the plan and of the records, `records/<experiment>/gpu.json`. scale: multiplies the
    seconds that each experiment may take. first_seed: is added to the profiles' own. workers: processes beside the
    device. experiments: `worthwhile` ones by default.
    Raises `ValueError` for a budget or scale that is not > 0, a folder that cannot be written, or code that is not of
    the commit that it claims to be (`runtime.commit`).
    """
    began = time.monotonic()
    check_positive("budget", budget)
    check_positive("scale", scale)
    check_count("first_seed", first_seed, least=0)
    chosen = runtime.device(device)
    folder = Path(results)
    provenance = runtime.provenance(chosen)
    sweep.CellStore(folder, "records", provenance)
    plan = Plan.of(folder, chosen, scale, first_seed, budget)
    if workers is not None:
        plan.machine = plan.clock.machine = replace(plan.machine, workers=check_count("workers", workers))
    plan.save(folder)
    if provenance["commit"] is None:
        _say("no commit is known here, and the records will name none: `make commit-file` writes commit.json")
    # what it took to import torch, and will take to write the last file and to leave
    end = began + budget - min(15.0, 0.1 * budget)
    return _Visit(plan, folder, provenance, end, experiments or worthwhile()).run()


@dataclass(frozen=True, eq=False)
class _Task:
    """A call of an experiment and the cells that it makes, or with None the record of all of them."""

    experiment: Experiment
    config: object
    cell: Cell | None
    makes: Sequence[Cell] = ()
    plain: float = 0.0
    memory: float = 0.0

    @property
    def beside(self) -> bool:
        return self.cell is None or is_beside(self.cell)


class _Visit:
    """The state that the threads of a visit share: this one feeds the device, one more each worker process."""

    def __init__(self, plan: Plan, folder: Path, provenance: dict, end: float, experiments):
        self.plan, self.folder, self.provenance, self.end = plan, folder, provenance, end
        self.waiting = list(experiments)
        self.tasks: list[_Task] = []
        self.unfinished: dict[str, int] = {}
        self.done = self.left = 0
        self.feeding = True
        self.memory_in_use = 0.0
        self.records: list[str] = []
        self.failures: list[str] = []
        self.saved = time.monotonic()
        self.changed = threading.Condition(threading.RLock())

    def run(self) -> Outcome:
        others = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(
            self.plan.machine.workers, multiprocessing.get_context("spawn"), initializer=sweep.start_worker
        )
        threads = [threading.Thread(target=self._feed, args=(pool,)) for _ in range(self.plan.machine.workers)]
        for thread in (*threads, threading.Thread(target=self._know_code, daemon=True)):
            thread.start()
        try:
            self._feed(None)
        finally:
            with self.changed:
                self.feeding = False
                self.end = min(self.end, time.monotonic()) if sys.exc_info()[0] else self.end
                self.changed.notify_all()
            for thread in threads:
                thread.join()
            pool.shutdown(wait=False, cancel_futures=True)
            if time.monotonic() > self.end:
                # what still runs was to have ended by now: the next visit does it again
                for worker in set(multiprocessing.active_children()) - others:
                    worker.terminate()
            self.plan.save(self.folder)
        while self.waiting:
            self._load(begin=False)
        return Outcome(self.done, self.left, self.records, self.failures)

    def _know_code(self) -> None:
        """Take the fingerprints of all cells' code, half a second an experiment: not when the budget is over."""
        with suppress(ValueError):
            for experiment, _ in list(self.waiting):
                for grid in experiment.grids(experiment.profiles["gpu"]).values():
                    sweep.loaded_code(grid.function)

    def _feed(self, pool: Executor | None) -> None:
        while (task := self._take(pool is not None)) is not None:
            try:
                function, *arguments = self._call(task)
                if pool is None:
                    found = function(*arguments)
                else:
                    found = pool.submit(function, *arguments).result(max(0.0, self.end - time.monotonic()))
                self._finish(task, *found)
            except TimeoutError:
                self._give_up(task, None)
                return
            except Exception as error:  # noqa: BLE001
                self._give_up(task, f"{task.experiment.name}: {_told(task)}: {type(error).__name__}: {error}")

    def _call(self, task: _Task) -> tuple:
        if task.cell is None:
            kind = self.plan.machine.kind
            return _record, self.folder, task.experiment, task.config, kind
        store = sweep.CellStore(self.folder, task.experiment.name, self.provenance)
        return _timed, task.cell, sweep.loaded_code(task.cell.function), store.checkpoints

    def _take(self, beside: bool) -> _Task | None:
        """The first task for the device or for a worker that fits the time and the memory left; None if none ever will.

        Experiments are loaded one after another, when those before have nothing to do for whoever asks.
        """
        with self.changed:
            while True:
                left = self.end - time.monotonic()
                fitting = [t for t in self.tasks if t.beside == beside and self._seconds(t) <= left]
                for task in fitting:
                    if self.memory_in_use + task.memory <= self.plan.machine.memory or not self.memory_in_use:
                        self.tasks.remove(task)
                        self.memory_in_use += task.memory
                        return task
                if fitting:
                    # one of those that run has the memory
                    self.changed.wait(max(0.0, left))
                elif self.waiting and left > 0:
                    self._load(begin=True)
                elif beside and left > 0 and self.feeding:
                    # the device may finish an experiment whose record is then to be made
                    self.changed.wait(left)
                else:
                    return None

    def _seconds(self, task: _Task) -> float:
        if task.cell is None:
            return 0.0
        return task.plain * max(self.plan.clock.ratios.get(_name(task.cell.function), [1.0]))

    def _load(self, begin: bool) -> None:
        experiment, seconds = self.waiting.pop(0)
        plan = self.plan
        config = plan.config(experiment, seconds)
        store = sweep.CellStore(self.folder, experiment.name, self.provenance)
        cells = experiment.cells(config, plan.machine.kind)
        missing = [cell for cell in cells if store.read(cell) is None]
        self.done, self.left = self.done + len(cells) - len(missing), self.left + len(missing)
        if not begin:
            return
        if missing and experiment.name not in plan.configs:
            plan.configs[experiment.name] = asdict(config)
            plan.save(self.folder)
        self.unfinished[experiment.name] = len(missing)
        for call, makes in calls(missing, plan.machine.kind):
            held = costs.cost(call.function, call.arguments).memory if "device" in call.arguments else 0.0
            self.tasks.append(_Task(experiment, config, call, makes, plan.clock.plain(call), held))
        if not missing and not _record_path(self.folder, experiment, plan.machine.kind).exists():
            self.tasks.insert(0, _Task(experiment, config, None))

    def _finish(self, task: _Task, seconds: float, result: dict | list[dict]) -> None:
        with self.changed:
            name = task.experiment.name
            self.memory_in_use -= task.memory
            if task.cell is None:
                self.records.append(name)
                _say(f"record of {name}: {result['verdict']}")
            else:
                store = sweep.CellStore(self.folder, name, self.provenance)
                n = len(task.makes)
                for cell, own in zip(task.makes, [result] if n == 1 else result, strict=True):
                    store.write(cell, own, seconds / n)
                self.plan.clock.learn(_name(task.cell.function), seconds / max(task.plain, 1e-6))
                self.done, self.left = self.done + n, self.left - n
                self.unfinished[name] -= n
                if not self.unfinished[name]:
                    self.tasks.insert(0, _Task(task.experiment, task.config, None))
            if time.monotonic() > self.saved + 10:
                self.plan.save(self.folder)
                self.saved = time.monotonic()
                _say(f"{self.done} done, {max(0.0, self.end - time.monotonic()):.0f} s left")
            self.changed.notify_all()

    def _give_up(self, task: _Task, failure: str | None) -> None:
        with self.changed:
            self.memory_in_use -= task.memory
            if failure is not None:
                self.failures.append(failure)
                _say(f"failed: {failure}")
            self.changed.notify_all()


def _asked(device_name: str, scale: float, first_seed: int) -> dict:
    return {"device": device_name, "scale": scale, "first_seed": first_seed, "code": fingerprint.code_hash()}


def _name(function) -> str:
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def _told(task: _Task) -> str:
    return "its record" if task.cell is None else f"{task.cell.function.__name__} {task.cell.arguments}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _timed(cell: Cell, code: str, checkpoints: Path) -> tuple[float, dict | list[dict]]:
    began = time.perf_counter()
    result = sweep.run_checked(cell.function, code, checkpoints, **cell.arguments)
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    return time.perf_counter() - began, result


def _record_path(folder: Path, experiment: Experiment, kind: str) -> Path:
    return folder / "records" / experiment.name / ("rehearsal.json" if kind == "cpu" else "gpu.json")


def _record(folder: Path, experiment: Experiment, config, kind: str) -> tuple[float, dict]:
    """Make and write the record of an experiment whose cells are all there; its seconds are those of the cells."""
    began = time.perf_counter()
    provenance = runtime.provenance(runtime.device(kind))
    store = sweep.CellStore(folder, experiment.name, provenance)
    cells = experiment.cells(config, kind)
    seconds = sum(store.seconds(cell) or 0.0 for cell in cells)
    if any(len(makes) > 1 for _, makes in calls(cells, kind)):
        provenance = provenance | {"seeds": "several in one tensor"}
    record = sweep.summarise(experiment, config, [store.read(cell) for cell in cells], provenance, seconds)
    path = _record_path(folder, experiment, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_record(record, path)
    return time.perf_counter() - began, record
