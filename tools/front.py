"""The front page's pictures, drawn from their records, and which of them are out of date.

They are the only pictures that are not outputs of a notebook, because GitHub shows the README without building it.
"""

import hashlib
import json
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


def draw(names: list[str]) -> None:
    """Draw these pictures from their records."""
    am.runtime.start_chapter()
    for name in names:
        experiment, figure = PICTURES[name]
        record = read_record(experiment)
        metadata = {"Source": fingerprint(record), "Software": "amemlib"}
        figure(record).savefig(ASSETS / name, dpi=150, metadata=metadata)


def read_record(experiment: str) -> dict:
    [record] = am.read_records(experiment, "cpu-alpha-1.5")
    return record


def _source(path: Path) -> str | None:
    return Image.open(path).text.get("Source") if path.exists() else None
