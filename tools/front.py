"""Draws the front page's pictures from their records: `write` draws them, `check` finds those that are out of date.

They are the only pictures that are not outputs of a notebook, because GitHub shows the README without building it.
"""

import hashlib
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from PIL import Image

import amemlib as am

ASSETS = Path(__file__).resolve().parents[1] / "assets"
PICTURES = {
    "one-step.png": ("one-step", am.figures.capacity_figure),
    "critical-batch.png": ("critical-batch", lambda record: am.figures.capacity_against_batch_figure(record, dim=256)),
}


def fingerprint(record: dict) -> str:
    """What a picture depends on: its record and the code that draws it."""
    drawing = sorted(Path(am.figures.__file__).parent.glob("*.py"))
    content = json.dumps(record, sort_keys=True) + "".join(path.read_text(encoding="utf-8") for path in drawing)
    return hashlib.sha256(content.encode()).hexdigest()


def stale() -> list[str]:
    """The names of pictures that are missing or do not show their record any more."""
    return [
        name
        for name, (experiment, _) in PICTURES.items()
        if _source(ASSETS / name) != fingerprint(read_record(experiment))
    ]


def main(command: str) -> int:
    am.runtime.start_chapter()
    if command == "write":
        for name in stale():
            experiment, draw = PICTURES[name]
            record = read_record(experiment)
            metadata = {"Source": fingerprint(record), "Software": "amemlib"}
            draw(record).savefig(ASSETS / name, dpi=150, metadata=metadata)
        return 0
    for name in stale():
        print(f"assets/{name} does not show its record any more: run python tools/front.py write", file=sys.stderr)
    return bool(stale())


def read_record(experiment: str) -> dict:
    [record] = am.read_records(experiment, "cpu-alpha-1.5")
    return record


def _source(path: Path) -> str | None:
    return Image.open(path).text.get("Source") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "write"))
