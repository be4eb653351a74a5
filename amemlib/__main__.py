"""The command line: `python -m amemlib list | run | show | judge | visit | stamp`."""

import argparse
import functools
import io
import json
import math
import os
import sys
import traceback
from asyncio import CancelledError
from collections.abc import Iterable
from concurrent.futures import BrokenExecutor
from contextlib import nullcontext
from pathlib import Path

from amemlib import experiments, records, runtime, sharding, sweep, visits
from amemlib.verdicts import word


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 0, 2 with one line on stderr for bad input, 1 with one for the machine.

    `--debug` puts Python's traceback before that line.
    """
    for stream in (sys.stdout, sys.stderr):
        # where the terminal's encoding lacks a letter, its code; a redirected stream may be of another kind
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = argparse.Namespace(debug=False, set=[])
    try:
        _parser().parse_args(arguments, options)
        status = options.command(options) or 0
        sys.stdout.flush()
        return status
    except (Exception, KeyboardInterrupt, CancelledError) as error:
        if options.debug:
            traceback.print_exception(error)
        line, status = _line_and_status(error, options.set)
        print(f"amemlib: {line}", file=sys.stderr)
        _forget_output()
        return status


def _line_and_status(error: BaseException, settings: list[str]) -> tuple[str, int]:
    said = _one_line(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; the same command takes up where it stopped", 130
    if isinstance(error, (ValueError, TypeError, ImportError)):
        return _with_settings(said, settings), 2
    if isinstance(error, ArithmeticError):
        return _with_settings(f"{type(error).__name__}: {said}", settings), 2
    return _fault(error, said, settings), 1


def _fault(error: BaseException, said: str, settings: list[str]) -> str:
    """What to say of a fault that is none of the input's."""
    if isinstance(error, BrokenPipeError):
        return "nobody reads the output any more"
    kept = "the cells that have finished are kept, the same command takes up there"
    if isinstance(error, BrokenExecutor):
        return f"a worker has died, killed or out of memory; {kept}"
    if isinstance(error, MemoryError) or any(words in said.lower() for words in ("allocate memory", "out of memory")):
        return _with_settings(f"not enough memory: {said}; {kept}", settings)
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.strerror}: {str(error.filename)!r}: was its folder removed?"
    if isinstance(error, OSError) and error.strerror:
        said = error.strerror + (f": {str(error.filename)!r}" if error.filename else "")
    elif not isinstance(error, sharding.LostRank):
        said = f"{type(error).__name__}: {said}"
    return f"{said}; {kept}; --debug shows more"


def _with_settings(line: str, settings: list[str]) -> str:
    """The line, and the settings of `--set` if it names none of them: an extreme one may be what made the fault."""
    named = any(setting.partition("=")[0] in line for setting in settings)
    return line if named or not settings else f"{line} (with {' '.join(' '.join(settings).split())})"


def _one_line(error: BaseException) -> str:
    """The error's first line; of a long one both ends, for the value stands last."""
    said = (str(error).strip().splitlines() or [""])[0]
    return (said if len(said) <= 700 else f"{said[:500]} … {said[-200:]}") or type(error).__name__


def _forget_output() -> None:
    """Let nothing be written when Python ends: a closed pipe or a full disk would raise once more, after our line."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())


def _list(options) -> None:
    for name in experiments.names():
        print(f"{name:16s} {experiments.find_experiment(name).purpose}")


def _run(options) -> None:
    experiment = experiments.find_experiment(options.experiment)
    profile = runtime.profile() if options.profile is None else options.profile
    overrides = _overrides(options.set)
    config = experiments.configure(experiment, profile, overrides)
    _check_settings(experiment.profiles[profile], config, overrides)
    if options.output is not None:
        records.check_writable(options.output)
    with _ranks(options, experiment), _executor(options) as executor:
        record = sweep.run(experiment, config, options.results, options.device, executor)
        if sharding.rank_and_world_size()[0] > 0:
            return
    if options.output is not None:
        records.write_record(record, options.output)
    print(json.dumps(record) if options.json else table(record))


def _check_settings(base, config, keys: Iterable[str]) -> None:
    """Raise `ValueError` where a config took a number that is none, or a negative count that no profile has.

    A config checks its mathematics; what it passes on unseen would end up as a result that means nothing.
    """
    for key in keys:
        found, known = (_numbers_in(getattr(one, key)) for one in (config, base))
        if not all(math.isfinite(x) or x in known for x in found):
            raise ValueError(f"{key} must be finite, got {found}")
        least = min([0, *known])
        if any(isinstance(x, int) and x < least for x in found):
            raise ValueError(f"{key} must be at least {least}, got {found}")


def _numbers_in(value) -> list[int | float]:
    return [x for x in (value if isinstance(value, tuple) else (value,)) if isinstance(x, (int, float))]


def _ranks(options, experiment):
    if "WORLD_SIZE" not in os.environ:
        return nullcontext()
    if not experiment.sharded:
        sharded = ", ".join(name for name in experiments.CORE if experiments.find_experiment(name).sharded)
        raise ValueError(
            f"experiment must be one that shards its rows under torchrun, {sharded}, got {experiment.name!r}"
        )
    if options.workers is not None or options.dask is not None:
        raise ValueError("workers and dask must not be given under torchrun, whose ranks work on every cell together")
    return sharding.process_group(options.rank_timeout)


def _executor(options):
    if options.workers is not None and options.dask is not None:
        raise ValueError(f"workers and dask exclude each other, got {options.workers} and {options.dask!r}")
    if options.dask is not None:
        return sweep.dask_executor(options.dask)
    return nullcontext() if options.workers is None else sweep.process_executor(options.workers)


def _show(options) -> None:
    experiments.find_experiment(options.experiment)
    for record in records.read_records(options.experiment):
        print(f"record {record['name']}\n{table(record)}\n")


def _judge(options) -> None:
    for path in options.records:
        record = sweep.judge_stored(path)
        print(f"{record['verdict']:18s} {path}")


def _visit(options) -> int:
    if options.plan:
        chosen = visits.worthwhile()
        if options.device in ("auto", "cpu", "cuda"):
            device = runtime.device(options.device)
            plan = visits.Plan.of(Path(options.results), device, options.scale, options.first_seed, options.budget)
        else:
            plan = visits.Plan(visits.paper_machine(options.device), options.scale, options.first_seed, options.budget)
        print(plan.table(chosen))
        return 0
    outcome = visits.visit(
        options.budget, options.results, options.device, options.scale, options.first_seed, options.workers
    )
    print(f"{outcome.done} done, {outcome.left} left")
    return 1 if outcome.failures else 0


def _stamp(options) -> None:
    print(runtime.write_stamp())


def table(record: dict) -> str:
    """Measured beside predicted, as text: a line a fitted exponent, then every other quantity that has both by name."""
    measured, predicted = record["measured"], record["predicted"]
    verdicts = {name: word(verdict) for name, verdict in record["verdicts"].items()}
    lines = []
    if "slope" in measured:
        lines.append(f"{'map':15s} {'exponent':>9s} {'95 % interval':>16s} {'limit':>8s}  verdict")
    for name, slope in measured.get("slope", {}).items():
        interval = f"[{', '.join(_number(bound, '.3f') for bound in measured['interval'][name])}]"
        limit, verdict = _number(predicted["slope"].get(name), ".3f"), verdicts.get(name, "")
        lines.append(f"{name:15s} {_number(slope, '.3f'):>9s} {interval:>16s} {limit:>8s}  {verdict}")
    named = [key for key, values in measured.items() if key in predicted and isinstance(values, dict)]
    for quantity in [key for key in named if key != "slope"]:
        lines.append(f"\n{quantity}")
        for name, values in measured[quantity].items():
            lines.append(f"{name:15s} measured  {_row(values)}")
            if name in predicted[quantity]:
                lines.append(f"{'':15s} predicted {_row(predicted[quantity][name])}")
    settings = ", ".join(f"{key}={value}" for key, value in record["config"].items())
    parts = ", ".join(f"{name} {verdict}" for name, verdict in verdicts.items())
    lines += ["", f"{record['experiment']}: {settings}", f"verdict: {record['verdict']} ({parts})"]
    return "\n".join([*lines, f"device: {record['device']}, {record['seconds']} s"])


def _row(values) -> str:
    if isinstance(values, list) and values and isinstance(values[0], list):
        return f"\n{'':26s}".join(map(_row, values))
    return " ".join(f"{_number(value, '.4g'):>10s}" for value in (values if isinstance(values, list) else [values]))


def _number(value, form: str) -> str:
    """A number of a record as text; a record holds None where there is none."""
    return "–" if value is None else f"{value:{form}}" if isinstance(value, (int, float)) else str(value)


def _overrides(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise ValueError(f"--set must be given KEY=VALUE, got {pair!r}")
    return dict(pair.split("=", 1) for pair in pairs)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        # one line like every other error, without argparse's usage before it, whatever it quotes
        self.exit(2, f"amemlib: {' '.join(message.split())}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m amemlib", description="Run the experiments of the book.")
    commands = parser.add_subparsers(required=True, metavar="list | run | show | judge | visit | stamp")
    debug = _Parser(add_help=False)
    debug.add_argument("--debug", action="store_true", help="show Python's traceback of an error")
    command = functools.partial(commands.add_parser, parents=[debug])
    command("list", help="the experiments").set_defaults(command=_list)
    run = command("run", help="run an experiment, or what is missing of an interrupted run")
    run.set_defaults(command=_run)
    run.add_argument("experiment")
    run.add_argument(
        "--profile",
        help="smoke, cpu, gpu or another of the experiment (default: the environment variable AMEM_PROFILE, or cpu)",
    )
    run.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="override config fields"
    )
    run.add_argument("--device", default="auto", help="auto, cpu or cuda")
    run.add_argument("--workers", type=int, help="run cells in this many processes, one thread each")
    run.add_argument("--dask", metavar="ADDRESS", help="run cells on the Dask cluster of this scheduler")
    run.add_argument(
        "--rank-timeout",
        type=float,
        default=sharding.TIMEOUT,
        metavar="SECONDS",
        help="under torchrun, how long a rank waits for another",
    )
    run.add_argument("--results", default="results", help="folder of finished cells (default: results)")
    run.add_argument("--output", help="also write the record to this file")
    run.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    show = command("show", help="the stored records of an experiment")
    show.set_defaults(command=_show)
    show.add_argument("experiment")
    judge = command("judge", help="give stored records the verdicts of today's rules")
    judge.set_defaults(command=_judge)
    judge.add_argument("records", nargs="+", metavar="RECORD")
    visit = command("visit", help="the gpu profiles, in the order of their worth, within a budget")
    visit.set_defaults(command=_visit)
    visit.add_argument("--budget", type=float, default=540, help="seconds (default: 540)")
    visit.add_argument("--results", default="results", help="folder of finished cells and records (default: results)")
    visit.add_argument("--device", default="auto", help="auto, cpu or cuda; with --plan also h100, h200 or t4 on paper")
    visit.add_argument("--scale", type=float, default=1.0, help="multiplies the time that each experiment may take")
    visit.add_argument("--first-seed", type=int, default=0, help="is added to the seeds of the profiles")
    visit.add_argument("--workers", type=int, help="processes beside the device (default: all cores but one)")
    visit.add_argument("--plan", action="store_true", help="print what would be run, and run nothing")
    stamp = command("stamp", help="write commit.json for a machine without git, from a clean tree")
    stamp.set_defaults(command=_stamp)
    return parser


if __name__ == "__main__":
    sys.exit(main())
