"""Pictures of the chapter on associative memories: counts of any list of facts, overlaps, real frequencies."""

import math

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import (
    GREY,
    MAPS,
    PALE,
    frame,
    key,
    kinds,
    log_middles,
    name_lines,
    new_axes,
    optimizer,
    points,
)


def counts_figure(dims, seed_counts: dict, predicted: dict, n_items: int) -> Figure:
    """Recovered items against d for any list of facts; bars: two standard errors over the seeds, lines: predictions.

    seed_counts: map ↦ (len(dims), seeds) counts. predicted: map ↦ (len(dims),) expected counts.
    """
    figure, (axis,) = new_axes()
    for name, counts in seed_counts.items():
        points(axis, dims, np.reshape(counts, (len(dims), -1)), optimizer(name), law=predicted[name])
    axis.axhline(n_items, color=GREY, lw=1, ls="--", label=f"all {n_items} items")
    axis.plot(dims, dims, color=GREY, lw=1, ls=":", label="$d$ items")
    frame(axis, "embedding dimension $d$", "recovered items", log="xy", base=2)
    places = {MAPS["polar"].label: (2, (-8, 6)), MAPS["sgd"].label: (3, (0, -12)), "$d$ items": (3, (8, -4))}
    name_lines(axis, places=places | {f"all {n_items} items": (0, (4, -9))})
    return figure


def overlap_figure(overlaps, dim: int) -> Figure:
    """Histogram of the inner products of different embeddings, scaled by √d, with the standard normal density."""
    figure, (axis,) = new_axes()
    x = np.linspace(-5, 5, 201)
    axis.hist(np.sqrt(dim) * np.asarray(overlaps), bins=80, density=True, color=PALE, label="measured")
    axis.plot(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi), color=GREY, label=r"$\mathcal{N}(0, 1)$")
    frame(axis, r"$\sqrt{d}\,\langle u_i, u_j\rangle$", "density", f"{len(overlaps)} pairs in $d = {dim}$ dimensions")
    key(axis)
    return figure


def frequencies_figure(curves: dict) -> Figure:
    """Frequency against rank for several lists; left as it is, right the local exponent −Δlog p/Δlog i over octaves."""
    figure, (left, right) = new_axes(2)
    for look, (label, p) in kinds(curves.items()):
        ranks = 2 ** np.arange(int(np.log2(len(p))) + 1)
        values, style = np.asarray(p)[ranks - 1], {"fmt": look.marker + "-", "lw": 1, "label": label}
        points(left, ranks, values, look, **style)
        points(right, log_middles(ranks), -np.diff(np.log(values)) / np.log(2), look, **style)
    frame(left, "rank $i$", "frequency $p_i$", log="xy")
    frame(right, "rank $i$", "local exponent", log="x", zero=True)
    key(left)
    return figure


def recalled_figure(recalled: dict) -> Figure:
    """A dot for every item, the most frequent first, row by row: those that a memory recalls in its map's colour.

    recalled: map ↦ (n²,) whether an item is recalled. One pair of axes, so that a phone too has all of them in sight.
    """
    figure, (axis,) = new_axes(figsize=(5.0, 2.9))
    for place, (name, marks) in enumerate(recalled.items()):
        marks = np.asarray(marks)
        side = math.isqrt(len(marks))
        row, column = np.divmod(np.arange(len(marks)), side)
        left = 1.15 * side * place
        axis.scatter(left + column, row, s=7, lw=0, c=np.where(marks, MAPS[name].colour, PALE))
        title = f"{MAPS[name].label.split()[0]}: {marks.sum():,} recalled"
        axis.text(left + side / 2, -side / 20, title, ha="center", va="bottom")
    axis.set(aspect="equal")
    axis.invert_yaxis()
    axis.set_axis_off()
    return figure
