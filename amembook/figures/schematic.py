"""Drawings without data: a notebook shows them as vectors, sharp at any size."""

import io
import sys

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from amembook.figures.style import FIGURE_STYLE, new_axes


class Schematic(Figure):
    """A figure that a notebook shows as SVG."""


def vectors(figure: Figure) -> str:
    """The SVG of a figure, letters as outlines: the same bytes wherever the same fonts are."""
    with mpl.rc_context(FIGURE_STYLE | {"svg.fonttype": "path"}):
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def new_schematic(width: float, height: float) -> tuple[Figure, Axes]:
    """A schematic of a size in inches and its one axes, without frame."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        formatters = shell.display_formatter.formatters
        formatters["image/svg+xml"].for_type(Schematic, vectors)
        formatters["image/png"].for_type(Schematic, lambda figure: None)
    figure, (axis,) = new_axes(figsize=(width, height), FigureClass=Schematic)
    axis.axis("off")
    return figure, axis
