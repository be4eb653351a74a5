"""Records: small JSON files with a config, what was measured and predicted, and the verdicts; made, read and judged."""

import json
import os
import re
import time
from dataclasses import asdict
from importlib import resources
from pathlib import Path

from amembook.run import runtime
from amembook.run.base import Experiment, config_of, plain
from amembook.run.claims import word, worst

RECORDS = Path(__file__).resolve().parents[1] / "records"
"""The records that ship with the book; each names the clean commit that made it."""
RESOLVED = "resolved.json"
"""No record: the laws of a folder's records by the code that ships, where that has changed (tools/laws.py)."""
HELD = "config", "measured", "predicted"
"""What a record's digest holds as it was measured; its verdicts follow from it and are judged again."""
NOTES = "doubts", "diverged", "race_edge", "correlation"
"""What measurements say of their own failures, and the ranks of optimizers, of which a record may have too few to rank:
there may be none."""


def record_of(experiment: Experiment, config, results: list[dict], provenance: dict, began: float) -> dict:
    """The record of the results of all cells, in their order. began: `time.perf_counter()` when the run did."""
    # null for the infinite and the undefined, which JSON lacks
    text = json.dumps(plain(experiment.read(config, results)))
    measured, predicted = json.loads(text, parse_constant=lambda name: None)
    record = {"experiment": experiment.name, "config": asdict(config), "measured": measured, "predicted": predicted}
    record = _judged(record, experiment, config) | {"digest": digest_of(record)}
    seconds = round(time.perf_counter() - began, 1)
    return record | {"device": provenance["device"], "seconds": seconds, "provenance": provenance}


def judge(record: dict, experiment: Experiment) -> dict:
    """The record with the verdicts that today's rules give its config and its numbers, and with nothing else changed.

    Raises `ValueError` for another config than today's, a number that is missing, a null count, or a quantity of which
    nothing is known, unless it is the scatter of a single draw.
    """
    several = record["config"].get("seeds") != 1
    for name, values in (record["measured"] or {"numbers": None}).items():
        held = set(_leaves(values))
        if "counts" in name and None in held or held == {None} and several and name not in NOTES:
            raise ValueError(f"measured {name} must hold numbers, got null or an empty list")
    try:
        return _judged(record, experiment, config_of(experiment, record["config"]))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"record must hold what {experiment.name} is judged by, got {error!r}") from None


def _judged(record: dict, experiment: Experiment, config) -> dict:
    verdicts = experiment.verdicts(config, record["measured"], record["predicted"])
    return record | {"verdict": worst(verdicts.values()), "verdicts": verdicts}


def _leaves(value) -> list:
    """What nested dicts and lists hold at their ends; an empty one holds None."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if inner is None else [leaf for one in inner for leaf in _leaves(one)] or [None]


def digest_of(record: dict) -> str:
    """SHA-256 of what a record holds of `HELD`, as JSON with sorted keys."""
    return runtime.digest({part: record[part] for part in HELD if part in record})


def check_writable(path: str | Path) -> None:
    """Raise `ValueError` where `write_record` could not write, before the work that leads there.

    Among the shipped records only from a clean tree.
    """
    target = Path(path).resolve()
    if not os.fspath(path) or target.is_dir() or not os.access(target.parent, os.W_OK):
        raise ValueError(f"output must be a file in a folder that can be written, got {str(path)!r}")
    if target.is_relative_to(RECORDS) and not runtime.is_clean(runtime.commit()):
        raise ValueError(
            f"output must lie outside {RECORDS} while a .py file has changes that no commit holds: "
            "a stored record names the commit that made it"
        )


def parts_of(path: str | Path) -> Path | None:
    """Where the finished cells of a shipped record wait for its others, `parts/` beside it; None for any other."""
    target = Path(path).resolve()
    return target.parent / "parts" / f"{target.stem}.jsonl" if target.is_relative_to(RECORDS) else None


def write_record(record: dict, path: str | Path) -> None:
    """Write a record as indented JSON, a line a judged number, a file whole or not at all. Raises `OSError`."""
    lines = []

    def shorter(value):
        if isinstance(value, dict) and "scale" in value:
            lines.append(json.dumps(value, ensure_ascii=False))
            return f"@{len(lines) - 1}@"
        if isinstance(value, dict):
            return {key: shorter(inner) for key, inner in value.items()}
        return [shorter(inner) for inner in value] if isinstance(value, list) else value

    short = {key: shorter(value) if key == "verdicts" else value for key, value in record.items()}
    text = json.dumps(short, indent=1, ensure_ascii=False)
    runtime.write_whole(re.sub(r'"@(\d+)@"', lambda match: lines[int(match[1])], text) + "\n", Path(path).resolve())


def read_record(path: str | Path, parts=HELD) -> dict:
    """The record in a file, with these objects in it; `ValueError` where there is none, or one that was edited."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        if lacking := [part for part in parts if not isinstance(record.get(part), dict)]:
            raise ValueError(f"it has no object {', '.join(lacking)}")
        if record.get("digest") != digest_of(record):
            raise ValueError(f"its {', '.join(HELD)} are not those of its digest")
        words_of(record)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        got = f"{str(path)!r}: {error}; git restore brings a stored one back"
        raise ValueError(f"record must be the file of a record, got {got}") from None
    return record


def read_records(experiment: str, prefix: str = "") -> list[dict]:
    """The records shipped with the book, `records/<experiment>/<prefix>*.json`, in the order of their names.

    Each gains "name", the file's stem, "words", one for each of its verdicts, and "elsewhere", the experiment's records
    of GPUs, `gpu*.json`, at the same α: figures show both. Raises `ValueError` if there is none.
    """
    folder = resources.files("amembook") / "records" / experiment
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    named = [name for name in names if name.endswith(".json") and name.startswith((prefix, "gpu")) and name != RESOLVED]
    # the benchmarks' record predicts nothing
    stored = {name: read_record(folder / name, ("config", "measured")) for name in named}
    chosen = {name: record for name, record in stored.items() if name.startswith(prefix)}
    if not chosen:
        raise ValueError(
            f"experiment must have a stored record {prefix}*.json, got {experiment!r}: "
            f"python -m amembook run {experiment} --output FILE makes one"
        )
    alpha = lambda record: record["config"].get("alpha")
    gpu = [record for name, record in stored.items() if name.startswith("gpu")]
    return [
        record
        | {"name": name.removesuffix(".json"), "words": words_of(record)}
        | {"elsewhere": [] if name.startswith("gpu") else [one for one in gpu if alpha(one) == alpha(record)]}
        for name, record in chosen.items()
    ]


def words_of(record: dict) -> dict[str, str]:
    """The word of each verdict of a record."""
    return {key: word(verdict) for key, verdict in record.get("verdicts", {}).items()}
