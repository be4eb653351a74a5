"""The command line: `python -m amemlib list | run | show`."""

import argparse
import json
import math
import sys

from amemlib import experiments, runtime, sweep


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 0, or 2 with one line on stderr for bad input."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        options.command(options)
    except (ValueError, TypeError) as error:
        print(f"amemlib: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("amemlib: interrupted; the same command takes up where it stopped", file=sys.stderr)
        return 130
    return 0


def _list(options) -> None:
    for experiment in experiments.EXPERIMENTS.values():
        print(f"{experiment.name:16s} {experiment.purpose}")


def _run(options) -> None:
    experiment = experiments.find_experiment(options.experiment)
    config = experiments.configure(experiment, options.profile or runtime.profile(), _overrides(options.set))
    if options.output:
        sweep.check_writable(options.output)
    record = sweep.run(experiment, config, options.results, options.device)
    if options.output:
        sweep.write_record(record, options.output)
    print(json.dumps(record) if options.json else table(record))


def _show(options) -> None:
    experiments.find_experiment(options.experiment)
    for record in sweep.read_records(options.experiment):
        print(f"record {record['name']}\n{table(record)}\n")


def table(record: dict) -> str:
    """Measured beside predicted, as text: a line for each fitted exponent, then every other quantity that has both."""
    measured, predicted = record["measured"], record["predicted"]
    lines = []
    if "slope" in measured:
        lines.append(f"{'map':15s} {'exponent':>9s} {'95 % interval':>16s} {'limit':>8s}  verdict")
    for name, slope in measured.get("slope", {}).items():
        low, high = measured["interval"][name]
        limit = predicted["slope"].get(name, math.nan)
        interval, verdict = f"[{low:.3f}, {high:.3f}]", record["verdicts"].get(name, "")
        lines.append(f"{name:15s} {slope:9.3f} {interval:>16s} {limit:8.3f}  {verdict}")
    for quantity in [key for key in measured if key in predicted and key != "slope"]:
        lines.append(f"\n{quantity}")
        for name, values in measured[quantity].items():
            lines.append(f"{name:15s} measured  {_row(values)}")
            if name in predicted[quantity]:
                lines.append(f"{'':15s} predicted {_row(predicted[quantity][name])}")
    settings = ", ".join(f"{key}={value}" for key, value in record["config"].items())
    verdicts = ", ".join(f"{name} {verdict}" for name, verdict in record["verdicts"].items())
    lines += ["", f"{record['experiment']}: {settings}", f"verdict: {record['verdict']} ({verdicts})"]
    return "\n".join([*lines, f"device: {record['device']}, {record['seconds']} s"])


def _row(values) -> str:
    return " ".join(f"{value:10.4g}" for value in (values if isinstance(values, list) else [values]))


def _overrides(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise ValueError(f"--set must be given KEY=VALUE, got {pair!r}")
    return dict(pair.split("=", 1) for pair in pairs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m amemlib", description="Run the experiments of the book.")
    commands = parser.add_subparsers(required=True, metavar="list | run | show")
    commands.add_parser("list", help="the experiments").set_defaults(command=_list)
    run = commands.add_parser("run", help="run an experiment, or what is missing of an interrupted run")
    run.set_defaults(command=_run)
    run.add_argument("experiment")
    run.add_argument("--profile", help="smoke, cpu or gpu (default: the environment variable AMEM_PROFILE, or cpu)")
    run.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="override config fields"
    )
    run.add_argument("--device", default="auto", help="auto, cpu or cuda")
    run.add_argument("--results", default="results", help="folder of finished cells (default: results)")
    run.add_argument("--output", help="also write the record to this file")
    run.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    show = commands.add_parser("show", help="the stored records of an experiment")
    show.set_defaults(command=_show)
    show.add_argument("experiment")
    return parser


if __name__ == "__main__":
    sys.exit(main())
