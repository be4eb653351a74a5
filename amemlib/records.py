"""Records: small JSON files with a config, what was measured and predicted, and the verdicts; read and written here.

A room of its own beside the folder of the records that ship: reading one needs no experiment and no torch.
"""

import json
import os
import stat
from fnmatch import fnmatch
from importlib import resources
from pathlib import Path

from amemlib import files, runtime
from amemlib.verdicts import word

RECORDS = Path(__file__).resolve().parent / "records"
"""The records that ship with the library; each names the clean commit that made it."""


def check_writable(path: str | Path) -> None:
    """Raise `ValueError` where `write_record` could not write, before the work that leads there.

    Among the shipped records only from a clean tree.
    """
    asked = "output must be a file in a folder that can be written"
    if not os.fspath(path):
        raise ValueError(f"{asked}, got ''")
    path = Path(path)
    try:
        # through links; a device or a FIFO is written to, a file is put in place of another
        target = path.resolve()
        place = path if _exists_as_no_file(path) else target.parent
        reason = "" if target.parent.is_dir() and not path.is_dir() and os.access(place, os.W_OK) else "no such place"
    except (OSError, RuntimeError) as error:
        # a circle of links is a RuntimeError before Python 3.13
        raise ValueError(f"{asked}, got {str(path)!r}: {getattr(error, 'strerror', error)}") from None
    shipped = target.is_relative_to(RECORDS)
    if shipped and not runtime.is_clean(runtime.commit()):
        raise ValueError(
            f"output must lie outside {RECORDS} while a .py file has changes that no commit holds: "
            "a stored record names the commit that made it"
        )
    if reason:
        raise ValueError(f"{asked}, got {str(path)!r}: {reason}")


def write_record(record: dict, path: str | Path) -> None:
    """Write a record as indented JSON, a file whole or not at all; what is no regular file is written to directly.

    Raises `OSError` where the disk is full or the place is gone.
    """
    files.write_to(json.dumps(record, indent=1, ensure_ascii=False) + "\n", Path(path))


def read_records(experiment: str, prefix: str = "") -> list[dict]:
    """The records shipped with the library, `records/<experiment>/<prefix>*.json`, in the order of their names.

    Each gains "name", the file's stem, "words", one for each of its verdicts, and "elsewhere", the experiment's records
    of GPUs, `gpu*.json`, at the same α: figures show both. Raises `ValueError` if there is none.
    """
    folder = resources.files("amemlib") / "records" / experiment
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    names = [name for name in names if name.startswith(prefix) and name.endswith(".json")]
    if not names:
        raise ValueError(
            f"experiment must have a stored record {prefix}*.json, got {experiment!r}: "
            f"python -m amemlib run {experiment} --output FILE makes one"
        )
    read = lambda name: json.loads((folder / name).read_text(encoding="utf-8"))  # noqa: E731
    gpu = [read(name) for name in sorted(path.name for path in folder.iterdir()) if fnmatch(name, "gpu*.json")]
    found = []
    for name in names:
        record = read(name)
        words = {key: word(verdict) for key, verdict in record.get("verdicts", {}).items()}
        elsewhere = [] if name.startswith("gpu") else [other for other in gpu if _alpha(other) == _alpha(record)]
        found.append(record | {"name": name.removesuffix(".json"), "words": words, "elsewhere": elsewhere})
    return found


def _alpha(record: dict) -> float | None:
    return record.get("config", {}).get("alpha")


def _exists_as_no_file(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False
