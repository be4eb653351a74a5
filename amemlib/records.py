"""Records: small JSON files with a config, what was measured and predicted, and the verdicts; read and written here.

A room of its own beside the folder of the records that ship: reading one needs no experiment and no torch.
"""

import json
import os
import tempfile
from importlib.resources import files
from pathlib import Path

from amemlib import runtime
from amemlib.verdicts import word

RECORDS = Path(__file__).resolve().parent / "records"
"""The records that ship with the library; each names the clean commit that made it."""


def check_writable(path: str | Path) -> None:
    """Raise `ValueError` where `write_record` could not write, before the work that leads there.

    Among the shipped records only from a clean tree.
    """
    path = Path(path)
    if path.resolve().is_relative_to(RECORDS) and not runtime.is_clean(runtime.commit()):
        raise ValueError(
            f"output must lie outside {RECORDS} while a .py file has changes that no commit holds: "
            "a stored record names the commit that made it"
        )
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(f"output must be a file in a folder that can be written, got {str(path)!r}")


def write_record(record: dict, path: str | Path) -> None:
    """Write a record as indented JSON, whole or not at all. Raises `ValueError` for a place that cannot be written."""
    try:
        write_whole(json.dumps(record, indent=1, ensure_ascii=False) + "\n", Path(path))
    except OSError as error:
        reason = error.strerror or error
        raise ValueError(f"output must be a file that can be written, got {str(path)!r}: {reason}") from None


def read_records(experiment: str, prefix: str = "") -> list[dict]:
    """The records shipped with the library, `records/<experiment>/<prefix>*.json`, in the order of their names.

    Each gains "name", the file's stem, and "words", one for each of its verdicts. Raises `ValueError` if there is none.
    """
    folder = files("amemlib") / "records" / experiment
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    names = [name for name in names if name.startswith(prefix) and name.endswith(".json")]
    if not names:
        raise ValueError(
            f"experiment must have a stored record {prefix}*.json, got {experiment!r}: "
            f"python -m amemlib run {experiment} --output FILE makes one"
        )
    found = []
    for name in names:
        record = json.loads((folder / name).read_text(encoding="utf-8"))
        words = {key: word(verdict) for key, verdict in record.get("verdicts", {}).items()}
        found.append(record | {"name": name.removesuffix(".json"), "words": words})
    return found


def write_whole(text: str, path: Path) -> None:
    """Write a text file whole or not at all, on disk before this returns."""
    file = tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False, encoding="utf-8")
    try:
        with file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except BaseException:
        os.unlink(file.name)
        raise
