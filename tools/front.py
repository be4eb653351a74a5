"""The front page's pictures, and which of them are out of date.

They are the only pictures that are not outputs of a notebook, because GitHub shows the README without building it.
"""

import hashlib
import inspect
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import shouts
from PIL import Image

from amembook import read_records, start_chapter
from amembook.figures import raster
from amembook.paper import memory
from amembook.paper.one_step import figures as one_step_figures

ASSETS = Path(__file__).resolve().parents[1] / "assets"


def record() -> dict:
    """The counts of one step against d."""
    [one] = read_records("one-step", "confirm-alpha-1.5")
    return one


PICTURES = {
    "who-shouts.png": (memory.shouts_figure, shouts.stored),
    "one-step.png": (one_step_figures.capacity_figure, record),
}
"""File ↦ what draws it, and what it shows."""


def fingerprint(name: str) -> str:
    """What a picture depends on: what it shows and the function that draws it."""
    figure, shown = PICTURES[name]
    content = [shown(), inspect.getsource(figure)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def stale() -> list[str]:
    """The names of pictures that are missing or do not show what they should any more."""
    return [name for name in PICTURES if _source(ASSETS / name) != fingerprint(name)]


def draw(names: list[str]) -> None:
    """Draw these pictures."""
    start_chapter()
    for name in names:
        figure, shown = PICTURES[name]
        picture, _ = raster.sharp_png(figure(shown()), Source=fingerprint(name))
        (ASSETS / name).write_bytes(picture)


def _source(path: Path) -> str | None:
    return Image.open(path).text.get("Source") if path.exists() else None
