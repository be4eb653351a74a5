"""Draws the front page's picture from its record. `check` says whether the stored one is still what the record gives.

The picture is the only one that is not an output of a notebook, because GitHub shows the README without building it.
"""

import hashlib
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from PIL import Image

import amemlib as am

PICTURE = Path(__file__).resolve().parents[1] / "assets" / "one-step.png"


def fingerprint(record: dict) -> str:
    """What the picture depends on: the record and the code that draws it."""
    drawing = sorted(Path(am.figures.__file__).parent.glob("*.py"))
    content = json.dumps(record, sort_keys=True) + "".join(path.read_text(encoding="utf-8") for path in drawing)
    return hashlib.sha256(content.encode()).hexdigest()


def main(command: str) -> int:
    [record] = am.sweep.read_records("one-step", "cpu-alpha-1.5")
    if command == "write":
        am.runtime.start_chapter()
        figure = am.figures.capacity_figure(record)
        figure.savefig(PICTURE, dpi=150, metadata={"Source": fingerprint(record), "Software": "amemlib"})
        return 0
    stored = Image.open(PICTURE).text.get("Source") if PICTURE.exists() else None
    if stored != fingerprint(record):
        print(f"{PICTURE.name} does not show its record any more: run python tools/front.py write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "write"))
