"""The book's style: what looks mean, axes, points with their doubt, and legends.

A colour of `MAPS` always means its optimizer. Values with an order (α, d, T, B, λ) take shades of a sequential map
from `series`, other things without an order take `kinds`; no axes holds an optimizer's colour with another meaning.
Every curve also has its own marker. Figures keep a white ground, so they read the same on a light and a dark page.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

FIGURE_STYLE = {
    # 10 pt on 5 inches are 9 pixels where the page is 336 wide: a phone, in a box that unfolds
    "figure.figsize": (5.0, 3.5),
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.bbox": "tight",
    "figure.constrained_layout.use": True,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e4e4e4",
    "font.size": 11,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "lines.markersize": 5.5,
    "svg.hashsalt": "amemlib",
}
"""matplotlib defaults of the book."""


class Look(NamedTuple):
    """How one series looks, and what the legend calls it."""

    colour: str
    marker: str
    label: str | None = None


MAPS = {
    "polar": Look("#0072B2", "o", "Muon (polar)"),
    "smoothed_sign": Look("#009E73", "s", r"Muon ($h_\lambda$)"),
    "sgd": Look("#D55E00", "^", "SGD"),
    "newton": Look("#CC79A7", "D", "Newton"),
    "cubic": Look("#E69F00", "v", "cubic Newton–Schulz"),
    "muon": Look("#56B4E9", "P", "Muon as shipped (quintic)"),
    "muon10": Look("#0B3C5D", "X", "quintic, 10 steps"),
    "cubic15": Look("#7F5800", "<", "cubic, 15 steps"),
    "polar_express": Look("#661100", "p", "Polar Express made for the bulk"),
    "best": Look("#882255", "*", "best map $f^*$"),
    "best_floored": Look("#8C8C00", ">", "best map with a floor"),
    "best_monotone": Look("#B5476B", "d", "best nondecreasing map"),
    "adamw": Look("#5E3C99", "h", "AdamW"),
}
"""Optimizers and maps of singular values. The first six colours are Okabe and Ito's, which the colour-blind tell
apart."""

GREY = "#444444"
"""Theory, limits, and what all series of a figure share."""
PALE = "#cccccc"
"""Histograms under a law."""
KINDS = ("#3344AA", "#CC6677", "#117733", "#AA4499", "#999933", "#44AA99")
FORMS = "os^DvPX*p<>h"
_RIM = {"mec": "black", "mew": 1.4}
"""Colours of things that are neither optimizers nor in an order; markers of all series but the optimizers'."""


def optimizer(name: str, label: str | None = None) -> Look:
    """The look of an optimizer, under another label if one is given."""
    return MAPS[name]._replace(label=label) if label else MAPS[name]


def series(values: Iterable, label: str = "") -> list[tuple[Look, object]]:
    """(look, value) for values with an order: shades from dark to light, a marker each; `ValueError` beyond the looks.

    label: format of a value, such as "$d = {}$".
    """
    values = list(values)
    shades = mpl.colormaps["viridis"](np.linspace(0, 0.75, max(len(values), 2)))
    return _looks(values, label, [mpl.colors.to_hex(shade) for shade in shades[: len(FORMS)]])


def kinds(values: Iterable, label: str = "") -> list[tuple[Look, object]]:
    """(look, value) for values without an order that are no optimizers: as `series`, in colours of their own."""
    return _looks(list(values), label, KINDS)


def _looks(values: list, label: str, colours) -> list[tuple[Look, object]]:
    if len(values) > min(len(colours), len(FORMS)):
        raise ValueError(f"{len(values)} series asked for, there are {min(len(colours), len(FORMS))} looks: {values}")
    named = (label.format(value) or None for value in values)
    return [
        (Look(colour, form, name), value)
        for colour, form, name, value in zip(colours[: len(values)], FORMS[: len(values)], named, values, strict=True)
    ]


def new_axes(n: int = 1, **kwargs) -> tuple[Figure, np.ndarray]:
    """A figure of n axes in the book's style, two in a row; `kwargs` go to `plt.subplots`. Returns (figure, (n,) axes).

    Of more than two axes every row has its labels of x, and its own of y in its first axes. An odd number leaves an
    empty place, axes that are off, for the legend (`key`).
    """
    rows, columns = -(-n // 2), min(n, 2)
    with mpl.rc_context(FIGURE_STYLE):
        row = (8.0, 3.9 if rows == 1 else 3.3 * rows)
        kwargs.setdefault("figsize", FIGURE_STYLE["figure.figsize"] if n == 1 else row)
        figure, axes = plt.subplots(rows, columns, squeeze=False, **kwargs)
    for axis in axes.flat[n:]:
        axis.set_axis_off()
    for axis in axes.flat[:n] if rows > 1 else ():
        axis.tick_params(labelbottom=True)
    return figure, axes.flatten()[:n]


def free_place(figure: Figure):
    """The axes that an odd number of panels leaves free, or None."""
    return next((axis for axis in figure.axes if not (axis.axison or axis.has_data())), None)


def frame(axis, x: str, y: str = "", title: str = "", *, log: str = "", base: int = 10, zero: bool = False) -> None:
    """Labels, title and scales, called when all is drawn. log: the logarithmic axes, of "xy"; x in powers of `base`.

    zero: whether y begins at 0.
    """
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.set_title(title, fontsize=11)
    if "x" in log:
        axis.set_xscale("log", base=base)
    if "y" in log:
        axis.set_yscale("log")
    if zero:
        axis.set_ylim(bottom=0)


def plain_ticks(axis, places) -> None:
    """Ticks of a logarithmic axis at these places, as plain numbers. axis: an `xaxis` or a `yaxis`."""
    axis.set_major_locator(FixedLocator(places))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.3g}"))
    axis.set_minor_locator(NullLocator())


def points(axis, x, draws, look: Look, *, error=None, interval=None, law=None, scale=1.0, **style) -> None:
    """Means with two standard errors in one look; the law that predicts them as a line through them.

    x: (n,). draws: (n, repeats), averaged here, or (n,) means. error: (n,) standard errors of such means; interval:
    (n, 2) ends of the bars instead. law: (n,) predicted. scale: divides all of them. style: for `errorbar`.
    """
    mean = np.asarray(draws, dtype=float)
    if mean.ndim == 2:
        repeats = mean.shape[1]
        error = mean.std(1, ddof=1) / np.sqrt(repeats) if repeats > 1 else None
        mean = mean.mean(1)
    bars = None if error is None else 2 * np.asarray(error) / scale
    if interval is not None:
        bars = np.abs(np.asarray(interval).T - mean) / scale
    style = {"fmt": look.marker, "color": look.colour, "ms": 5, "capsize": 2, "label": look.label} | style
    axis.errorbar(x, mean / scale, bars, **style)
    if law is not None:
        axis.plot(x, np.asarray(law) / scale, "-", color=look.colour, lw=1.2)


def device_points(axis, record: dict, read: Callable[[dict], dict], look: Look, **style) -> None:
    """`points` of a record, and with a dark rim those of the records beside it that other devices made; the legend
    names the device, and appears in no figure whose record has none beside it (`records.read_records`).

    read: from a record to what `points` draws of it, by the names of its arguments.
    """
    points(axis, look=look, **read(record), **style)
    for other in record.get("elsewhere", []):
        points(axis, look=look._replace(label=None), **read(other), **style | _RIM)
        label = f"dark rim: {other['device']}"
        if label not in axis.get_legend_handles_labels()[1]:
            axis.plot([], [], "o", color="white", ls="", label=label, **_RIM)


def reference_line(axis, x, slope: float, through: tuple[float, float], label: str | None = None) -> None:
    """A dotted grey line y ∝ x^slope through one point: an exponent, drawn where its constant is not predicted."""
    x = np.asarray(x, dtype=float)
    axis.plot(x, through[1] * (x / through[0]) ** slope, ":", color=GREY, lw=1.2, label=label)


def alpha_of(record: dict) -> str:
    """The exponent of a record's frequencies, as a title."""
    return rf"$\alpha = {record['config']['alpha']:g}$"


def log_middles(edges) -> np.ndarray:
    """Geometric means of neighbours, (n,) ↦ (n − 1,): where a local exponent or a bin is drawn."""
    edges = np.asarray(edges, dtype=float)
    return np.sqrt(edges[1:] * edges[:-1])


def name_lines(
    axis,
    at: int = -1,
    offset: tuple[float, float] = (6, 0),
    *,
    places: dict[str, tuple[int, tuple[float, float]]] | None = None,
) -> None:
    """Writes the labels of the series beside one of their points, called after `frame`; the legend then lacks them.

    at: index of that point, the last if −1. offset: of the text, in typographic points: the text ends, is centred or
    begins there, as x is negative, 0 or positive. Such labels, one above the other, keep a line's height apart.
    places: label ↦ (at, offset), a place for each; series that it does not name, or that have no points, stay in the
    legend.
    """
    notes = []
    for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
        line = handle[0] if isinstance(handle, ErrorbarContainer) else handle
        if places is not None and label not in places or not (isinstance(line, Line2D) and line.get_xydata().size):
            continue
        index, (x, y) = (at, offset) if places is None else places[label]
        style = {"textcoords": "offset points", "va": "center", "fontsize": 10, "color": GREY}
        style |= {"ha": "left" if x > 0 else "right" if x < 0 else "center", "xycoords": line.get_transform()}
        notes.append(axis.annotate(label, line.get_xydata()[index], (x, y), **style))
        handle.set_label("_" + label)
    if places is None and notes:
        axis.autoscale_view()
        notes.sort(key=lambda note: note.xycoords.transform(note.xy)[1])
        heights = np.array([note.xycoords.transform(note.xy)[1] for note in notes]) * 72 / axis.figure.dpi
        for _ in range(100):
            short = np.maximum(13 - np.diff(heights), 0) / 2
            heights[1:] += short
            heights[:-1] -= short
        for note, height in zip(notes, heights, strict=True):
            note.xyann = offset[0], offset[1] + height - note.xycoords.transform(note.xy)[1] * 72 / axis.figure.dpi


def key(axis, shared: dict | None = None, *, below: int = 0, **kwargs) -> None:
    """The legend: the labelled series of the axes, then in grey what they share.

    shared: label ↦ line style. below: columns of a legend under the figure, 0 for one inside the axes. Where panels
    leave a place of their grid free it stands there.
    """
    handles, labels = axis.get_legend_handles_labels()
    for label, line in (shared or {}).items():
        handles, labels = handles + axis.plot([], [], line, color=GREY, lw=1.2), [*labels, label]
    free = free_place(axis.figure) if below else None
    if free:
        free.legend(handles, labels, loc="center", **kwargs)
    elif below:
        axis.figure.legend(handles, labels, **{"loc": "outside lower center", "ncols": below} | kwargs)
    else:
        axis.legend(handles, labels, **kwargs)
