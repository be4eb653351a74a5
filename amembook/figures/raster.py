"""Figures as pixels, and how a narrow page shows them: panels below one another, cut from the one picture.

A picture carries this in its own text, so the page needs no second picture and no notebook a second output.
"""

import io
import json
import os
import sys
from typing import NamedTuple

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox, BboxBase
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from amembook.figures.style import FIGURE_STYLE

DPI = 2 * FIGURE_STYLE["figure.dpi"]
"""Two dots for each of the page's."""
MARGIN, GAP = 0.1, 0.12
"""Inches around a picture, and between the panels that a narrow page stacks."""


class Piece(NamedTuple):
    """A rectangle of a picture and where its upper left corner goes, in pixels."""

    left: int
    top: int
    right: int
    bottom: int
    x: int
    y: int


def sharp_png(figure: Figure, **text: str) -> tuple[bytes, dict]:
    """A PNG with two dots for each of the page's, in 256 colours, and the size at which a notebook shows it.

    Its text says the smallest type in points, `smallest`, and where panels stand side by side the pieces of `stacked`,
    as JSON. text: further entries.
    """
    page_dpi = figure.dpi
    figure.set_dpi(DPI)
    for _ in range(2):
        # pictures of matrices move once more when the layout is found anew
        figure.canvas.draw()
    frame = figure.get_tightbbox(figure.canvas.get_renderer()).padded(MARGIN)
    pieces = stacked(figure)
    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=DPI, bbox_inches=frame)
    figure.set_dpi(page_dpi)
    image = Image.open(raw).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    said = PngInfo()
    entries = {"smallest": f"{smallest_type(figure):g}"} | ({"stacked": json.dumps(pieces)} if pieces else {}) | text
    for name, entry in entries.items():
        said.add_text(name, entry)
    image.save(small, format="png", optimize=True, dpi=(DPI, DPI), pnginfo=said)
    return small.getvalue(), {"width": image.width // 2, "height": image.height // 2}


def draft_png(figure: Figure) -> bytes:
    """A PNG that nobody looks at, rendered once: a tenth of what `sharp_png` costs."""
    raw = io.BytesIO()
    figure.savefig(raw, format="png")
    return raw.getvalue()


def sharpen_notebook() -> None:
    """Let the kernel, where there is one, show figures as `sharp_png`; with AMEM_FIGURES=draft as `draft_png`."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        # the kernel's own way is set when the first figure asks for a backend, and would replace this one
        plt.close(plt.figure())
        shown = draft_png if os.environ.get("AMEM_FIGURES") == "draft" else sharp_png
        shell.display_formatter.formatters["image/png"].for_type(Figure, shown)


def smallest_type(figure: Figure) -> float:
    """The size in points of the smallest words in a figure; an index or exponent in a formula is smaller."""
    return min(text.get_fontsize() for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip())


def stacked(figure: Figure) -> list[Piece]:
    """The pieces of a drawn figure whose panels stand side by side, rearranged in one column; else none.

    A panel that shares its y axis with the first of its row takes that axis' labels along; the entries of a legend
    under the figure come one by one.
    """
    used = lambda axis: axis.axison or axis.has_data() or axis.get_legend()
    shown = [axis for axis in figure.axes if axis.get_visible() and used(axis)]
    panels = [axis for axis in shown if axis.get_subplotspec() is not None]
    if len({axis.get_subplotspec().colspan.start for axis in panels}) < 2:
        return []
    renderer, dpi = figure.canvas.get_renderer(), figure.dpi
    frame = figure.get_tightbbox(renderer).padded(MARGIN)

    def inches(box: BboxBase) -> Bbox:
        return Bbox(box.get_points() / dpi)

    def whole(axis) -> Bbox:
        return inches(axis.get_tightbbox(renderer)).padded(0.03)

    rows: list[list[Bbox]] = [[inches(text.get_window_extent(renderer))] for text in figure.texts]
    for axis in panels:
        spec = axis.get_subplotspec()
        first = next(other for other in panels if other.get_subplotspec().rowspan.start == spec.rowspan.start)
        around, inside = whole(axis), inches(axis.get_window_extent(renderer))
        row = [around]
        if axis is not first and not any(label.get_visible() for label in axis.get_yticklabels()):
            start, ground = whole(first), inches(first.get_window_extent(renderer))
            ticks = inside.x0 - around.x0
            row.insert(0, Bbox([[start.x0, inside.y0 - 0.06], [ground.x0 - ticks, inside.y1 + 0.06]]))
        rows.append(row)
    for axis in shown:
        if axis not in panels:
            bar, beside = whole(axis), rows[-1][0]
            if beside.y0 < bar.y0 + 0.3 and bar.y1 < beside.y1 + 0.3:
                rows[-1].append(bar)
            else:
                rows.append([bar])
    for legend in figure.legends:
        em = legend.prop.get_size_in_points() / 72
        handle = (legend.handlelength + legend.handletextpad) * em
        for text in legend.get_texts():
            words = inches(text.get_window_extent(renderer))
            rows.append([Bbox([[words.x0 - handle, words.y0 - GAP / 2], [words.x1 + GAP, words.y1]])])
    pieces, y = [], MARGIN
    for row in rows:
        top, x = max(box.y1 for box in row), MARGIN
        for box in row:
            ends = box.x0 - frame.x0, frame.y1 - box.y1, box.x1 - frame.x0, frame.y1 - box.y0
            pieces.append(Piece(*(round(DPI * part) for part in (*ends, x, y + top - box.y1))))
            x += box.width
        y += top - min(box.y0 for box in row) + GAP
    return pieces
