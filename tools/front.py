"""The front page's pictures, and which of them are out of date.

They are the only pictures that are not outputs of a notebook, because GitHub shows the README without building it.
"""

import hashlib
import inspect
import json
from functools import cache
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from PIL import Image

import amemlib as am
from amembook import read_records, start_chapter
from amembook.figures import raster
from amembook.paper import memory
from amembook.paper.one_step import figures as one_step_figures

ASSETS = Path(__file__).resolve().parents[1] / "assets"
PAIRS, SHOWN, DIM, ALPHA, SEED = 50_000, 1600, 256, 1.5, 0
"""The memory of the first picture, which shows the most frequent."""


@cache
def recalled() -> dict:
    """Which of the shown pairs one step of each optimizer recalls, in the memory of the first picture."""
    problem = am.Problem.power_law(PAIRS, DIM, ALPHA)
    emb = am.sample_embeddings(problem, seed=SEED)
    G = am.initial_gradient(emb, problem.frequencies)
    return {name: am.recovered(W, emb)[:SHOWN].tolist() for name, W in (("sgd", G), ("polar", am.polar(G)))}


def record() -> dict:
    """The counts of one step against d."""
    [found] = read_records("one-step", "confirm-alpha-1.5")
    return found


PICTURES = {
    "recalled.png": (memory.recalled_figure, recalled),
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
