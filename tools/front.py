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
from amemlib.figures import raster

ASSETS = Path(__file__).resolve().parents[1] / "assets"
PICTURES = {
    "one-step.png": ("one-step", am.figures.capacity_figure, {}),
    "critical-batch.png": ("critical-batch", am.figures.capacity_against_batch_figure, {"dim": 256}),
}
"""File ↦ the experiment whose record it shows, what draws it, and with which settings."""


def fingerprint(name: str) -> str:
    """What a picture depends on: its record, its settings and the code that draws it."""
    experiment, figure, settings = PICTURES[name]
    content = [read_record(experiment), settings, am.fingerprint.code_hash(figure.__module__)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def stale() -> list[str]:
    """The names of pictures that are missing or do not show their record any more."""
    return [name for name in PICTURES if _source(ASSETS / name) != fingerprint(name)]


def draw(names: list[str]) -> None:
    """Draw these pictures from their records."""
    am.runtime.start_chapter()
    for name in names:
        experiment, figure, settings = PICTURES[name]
        picture, _ = raster.sharp_png(figure(read_record(experiment), **settings), Source=fingerprint(name))
        (ASSETS / name).write_bytes(picture)


def read_record(experiment: str) -> dict:
    [record] = am.read_records(experiment, "cpu-alpha-1.5")
    return record


def _source(path: Path) -> str | None:
    return Image.open(path).text.get("Source") if path.exists() else None
