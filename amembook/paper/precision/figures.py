"""Pictures of what the computation costs: composed quintics, and the benchmarks' ratios."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from amembook.figures.style import GREY, frame, key, kinds, name_lines, new_axes, plain_ticks, points, series


def quintic_steps_figure(s, values: list, steps, errors: dict) -> Figure:
    """The composed best quintics after 1, 2, 4, … steps (left); worst error on the interval by schedule (right)."""
    figure, (left, right) = new_axes(2)
    shown = [2**k for k in range(len(values).bit_length()) if 2**k <= len(values)]
    for look, count in series(shown):
        label = "1 step" if count == 1 else f"{count} steps"
        left.plot(s, values[count - 1], "-", color=look.colour, lw=1.2, label=label)
    key(left, below=4)
    left.axhline(1, color=GREY, lw=1, ls=":")
    frame(left, r"singular value $/\,\|\,[G;\lambda I]\,\|_F$", "after the first steps", log="x")
    for look, label in kinds(errors, "{}"):
        points(right, steps, np.maximum(errors[label], 1e-16), look, fmt=look.marker + "-", lw=1)
    frame(right, "steps", "worst error on the interval", log="y")
    right.xaxis.get_major_locator().set_params(integer=True)
    name_lines(right, places=dict(zip(errors, ((8, (0, -12)), (9, (0, 10)), (6, (-8, 0))), strict=True)))
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
        if max(ratio["high"] for ratio in ratios.values()) < 2:
            plain_ticks(axis.xaxis, [0.6, 0.8, 1, 1.2])
        axis.grid(axis="y", visible=False)
        words, sizes = ([part for part in name.split("-") if part.isdigit() == digits] for digits in (False, True))
        axis.set_title(", ".join(filter(None, (" ".join(words), " × ".join(sizes)))), fontsize=11, loc="left")
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axis.set_xlabel("time over the first line's")
    return figure
