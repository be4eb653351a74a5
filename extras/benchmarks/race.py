"""A race: several ways to one result, checked against ours first, then timed in turn, round after round.

On a CPU the clock is the CPU time of this process, on one thread: other processes slow it far less than the wall clock.
What is kept are the ratios within each round, of neighbours in time; absolute times belong to one machine.
"""

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

SHORTEST = 0.05
"""Seconds that one timing lasts at least; a shorter call is repeated."""


@dataclass(frozen=True)
class Entry:
    """One way to the result of a case.

    prepare: imports what is needed and returns the call to be timed. An ImportError skips the entry, and so do a
        NotImplementedError ("needs 17 GB") and a GPU whose memory is full; nothing else does.
    share: the part of the work that the call does, where all of it would take minutes; its time is divided by it.
    compare: its result against the case's truth, a number; None where there is no result to compare.
    tolerance: up to which the entry takes part.
    """

    name: str
    prepare: Callable[[], Callable[[], object]]
    compare: Callable[[object], float] | None = None
    tolerance: float = 0.0
    share: float = 1.0


@dataclass(frozen=True)
class Case:
    """A case: its name, a line about it, and its entries; times are divided by that of the first one."""

    name: str
    about: str
    entries: tuple[Entry, ...]


def run(case: Case, rounds: int, device: str) -> dict:
    """Check and time a case: {"about", "rounds", "ratios": name ↦ {median, low, high, error}, "skipped": name ↦ why}.

    Ratios are time over the first entry's in the same round: their median, smallest and largest. The order of the
    entries turns from round to round. Raises `ValueError` if the first entry cannot take part.
    """
    calls, errors, skipped = {}, {}, {}
    for entry in case.entries:
        try:
            calls[entry.name] = entry.prepare()
            result = calls[entry.name]()
        except (ImportError, NotImplementedError, torch.OutOfMemoryError) as error:
            reason = str(error).splitlines()[0]
            skipped[entry.name] = f"{'not installed' if isinstance(error, ImportError) else 'left out'}: {reason}"
            calls.pop(entry.name, None)
            continue
        errors[entry.name] = None if entry.compare is None else float(entry.compare(result))
        if entry.compare is not None and not errors[entry.name] <= entry.tolerance:
            skipped[entry.name] = f"another result: off by {errors[entry.name]:.1e}, allowed {entry.tolerance:.1e}"
            del calls[entry.name]
    first = case.entries[0].name
    if first in skipped:
        raise ValueError(f"the first entry of a case must take part, got {first!r} {skipped[first]}")
    shares = {entry.name: entry.share for entry in case.entries}
    repeats = {name: _repeats(call, device) for name, call in calls.items()}
    ratios = {name: [] for name in calls}
    names = list(calls)
    for turn in range(rounds):
        order = names[turn % len(names) :] + names[: turn % len(names)]
        times = {name: seconds(calls[name], repeats[name], device) / shares[name] for name in order}
        for name in names:
            ratios[name].append(times[name] / times[first])
    spread = lambda values: {"median": statistics.median(values), "low": min(values), "high": max(values)}
    return {
        "about": case.about,
        "rounds": rounds,
        "ratios": {name: spread(ratios[name]) | {"error": errors[name]} for name in names},
        "skipped": skipped,
    }


def seconds(call: Callable[[], object], repeats: int, device: str) -> float:
    """Time of one call, the mean of `repeats`: CPU time of this process, on a GPU the wall clock until it is done."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    _wait(device)
    began = clock()
    for _ in range(repeats):
        call()
    _wait(device)
    return (clock() - began) / repeats


def table(results: dict[str, dict]) -> Iterable[str]:
    """The results of several cases as lines of text."""
    for name, result in results.items():
        yield f"\n{name}: {result['about']}"
        for entry, ratio in result["ratios"].items():
            error = "" if ratio["error"] is None else f"   off by {ratio['error']:.1e}"
            yield f"  {entry:34s} {ratio['median']:9.3g} ×  [{ratio['low']:.3g}, {ratio['high']:.3g}]{error}"
        for entry, reason in result["skipped"].items():
            yield f"  {entry:34s}   skipped, {reason}"


def _repeats(call: Callable[[], object], device: str) -> int:
    once = seconds(call, 1, device)
    return max(1, round(SHORTEST / max(once, 1e-5)))


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
