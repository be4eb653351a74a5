"""Pictures of what the computation costs: rivals met, rounding, cancellation, and the benchmarks' ratios."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from amembook.figures.style import GREY, PALE, frame, key, kinds, name_lines, new_axes, optimizer, points


def rivals_met_figure(ranks, met, predicted) -> Figure:
    """Competitors that an item meets until one beats it, against its rank: means over bins, and the prediction.

    ranks, met, predicted: (N,). Bars are two standard errors of a bin's mean.
    """
    figure, (axis,) = new_axes()
    ranks, met, predicted = (np.asarray(x, dtype=float) for x in (ranks, met, predicted))
    edges = np.unique(np.geomspace(1, len(ranks) + 1, 40).astype(int))
    bins = [slice(low - 1, high - 1) for low, high in zip(edges[:-1], edges[1:], strict=True)]
    middle, mean = ([values[part].mean() for part in bins] for values in (ranks, met))
    error = [met[part].std() / np.sqrt(part.stop - part.start) for part in bins]
    points(axis, middle, mean, optimizer("polar", "measured"), error=error)
    axis.plot(ranks, predicted, "-", color=GREY, lw=1.2, label="predicted")
    axis.axhline(len(ranks) - 1, color=GREY, lw=1, ls=":")
    frame(axis, "rank $i$", "rivals met until one wins", log="xy")
    name_lines(axis, places={"predicted": (199, (10, 6)), "measured": (6, (0, -12))})
    return figure


def condition_figure(conditions, errors: dict, orders: dict) -> Figure:
    """Spectral-norm error of the polar factor against the condition number by method; broken lines, the orders named.

    errors: label ↦ (n,), the second by single precision and the third by the Gram matrix, far from the others.
    orders: label ↦ (n,), the size that rounding leads to expect.
    """
    figure, (axis,) = new_axes(figsize=(5.0, 4.4))
    for look, label in kinds(errors, "{}"):
        points(axis, conditions, errors[label], look)
    for k, (label, order) in enumerate(orders.items()):
        axis.plot(conditions, np.minimum(order, 2), ls=(":", "--", "-.")[k], color=GREY, lw=1.1, label=label)
    frame(axis, "condition number $s_1/s_d$", "error of the polar factor", log="xy")
    lines = dict(zip(orders, ((5, (8, -14)), (3, (-4, 14)), (4, (-4, 14))), strict=True))
    single, gram = list(errors)[1:3]
    name_lines(axis, places=lines | {single: (1, (6, -16)), gram: (4, (8, -12))})
    key(axis, loc="lower right")
    return figure


def quintic_steps_figure(s, values: list, steps, errors: dict) -> Figure:
    """The composed best quintics after 1, 2, … steps (left); worst error on the interval against steps by schedule."""
    figure, (left, right) = new_axes(2)
    for k, value in enumerate(values):
        left.plot(s, value, "-", color=GREY, alpha=0.25 + 0.75 * k / len(values), lw=1.2)
    left.axhline(1, color=GREY, lw=1, ls=":")
    frame(left, r"singular value $/\,\|\,[G;\lambda I]\,\|_F$", "after the first steps", log="x")
    for look, label in kinds(errors, "{}"):
        points(right, steps, np.maximum(errors[label], 1e-16), look, fmt=look.marker + "-", lw=1)
    frame(right, "steps", "worst error on the interval", log="y")
    right.xaxis.get_major_locator().set_params(integer=True)
    name_lines(right, places=dict(zip(errors, ((8, (0, -12)), (9, (0, 10)), (6, (-8, 0))), strict=True)))
    return figure


def margins_figure(margins: dict, bands: dict) -> Figure:
    """Histograms of √d times the margins near 0, one panel a law, with the bands inside which a format cannot decide.

    margins: label ↦ (N,). bands: label ↦ {format: half-width}, in the same units.
    """
    figure, axes = new_axes(len(margins))
    for axis, (label, values) in zip(axes, margins.items(), strict=True):
        widest = max(bands[label].values())
        edges = np.linspace(-6 * widest, 6 * widest, 37)
        axis.hist(np.asarray(values, dtype=float), edges, color=PALE, label="items")
        axis.set_ylim(top=1.3 * axis.get_ylim()[1])
        for look, (name, half) in kinds(bands[label].items()):
            axis.axvspan(-half, half, color=look.colour, alpha=0.3, lw=0)
            place = {"xy": (half, 0.86 + 0.08 * (half < widest)), "xycoords": ("data", "axes fraction")}
            axis.annotate(name, **place, xytext=(4, 0), textcoords="offset points", color=look.colour)
        frame(axis, r"$\sqrt{d}\,\times$ margin", title=label)
    axes[0].set_ylabel("items")
    return figure


def cancellation_figure(rates, errors: dict, unlearned) -> Figure:
    """Relative error of the gradient against the learning rate by method; dashed, the size of what is left to learn.

    errors: label ↦ (n,). unlearned: (n,) ‖∇L(W)‖ / ‖∇L(0)‖.
    """
    figure, (axis,) = new_axes()
    for look, label in kinds(errors, "{}"):
        points(axis, rates, errors[label], look, fmt=look.marker + "-", lw=1)
    axis.plot(rates, unlearned, "--", color=GREY, lw=1.2, label=r"$\|\nabla L(W)\|\,/\,\|\nabla L(0)\|$")
    frame(axis, r"learning rate $\eta$", "relative error of the gradient", log="y")
    places = dict(zip(errors, ((3, (-8, 12)), (6, (0, 12))), strict=True))
    name_lines(axis, places=places | {r"$\|\nabla L(W)\|\,/\,\|\nabla L(0)\|$": (4, (8, 8))})
    return figure


def benchmark_figure(record: dict, names: list[str]) -> Figure:
    """Time of every entry over that of the first one of its case: median and range over the rounds, a panel a case.

    names: which cases. A grey tick is what the library set out to reach; entries that took no part are listed in the
    record, not here.
    """
    (own, _), (other, _) = kinds(("own", "other"))
    heights = [len(record["measured"][name]["ratios"]) + 1.6 for name in names]
    figure, axes = new_axes(1, figsize=(5.0, 0.3 * sum(heights) + 0.5))
    axes[0].remove()
    grid = figure.add_gridspec(len(names), 1, height_ratios=heights)
    for row, name in enumerate(names):
        axis = figure.add_subplot(grid[row, 0])
        ratios = record["measured"][name]["ratios"]
        goals = {goal["entry"]: goal["least"] for goal in record["goals"] if goal["case"] == name}
        for place, (entry, ratio) in enumerate(ratios.items()):
            colour = (own if entry.startswith("amemlib") else other).colour
            axis.plot([ratio["low"], ratio["high"]], [place, place], "-", color=colour, lw=3, alpha=0.4)
            axis.plot(ratio["median"], place, "o", color=colour, ms=5)
            axis.annotate(
                f"{ratio['median']:.3g}×",
                (max(ratio["high"], goals.get(entry, 0)), place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=10,
            )
            if entry in goals:
                axis.plot(goals[entry], place, "|", color=GREY, ms=13, mew=2)
        axis.axvline(1, color=GREY, lw=1, ls=":")
        axis.set_yticks(range(len(ratios)), list(ratios))
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.margins(x=0.25, y=0.12)
        axis.grid(axis="y", visible=False)
        words, sizes = ([part for part in name.split("-") if part.isdigit() == digits] for digits in (False, True))
        axis.set_title(", ".join(filter(None, (" ".join(words), " × ".join(sizes)))), fontsize=11, loc="left")
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axis.set_xlabel("time over the first line's")
    return figure
