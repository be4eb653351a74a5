"""Pictures of a proof's parts and of single items over many steps."""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.schematic import new_schematic
from amembook.figures.style import GREY, frame, key, kinds, new_axes, series


def dependencies_figure(boxes: dict[str, tuple[float, int, str]], arrows: Iterable[tuple[str, str]]) -> Figure:
    """Boxes in rows, premises on top, and an arrow from each box to what uses it.

    boxes: name ↦ (place from left to right in [0, 1], row from the top, words). arrows: (from, to), by name, each to a
    lower row. Raises `ValueError` for a name without a box or an arrow that does not go down.
    """
    rows = 1 + max(row for _, row, _ in boxes.values())
    figure, axis = new_schematic(6.4, 0.85 * rows)
    outline = {"boxstyle": "round,pad=0.35", "fc": "white", "ec": GREY, "lw": 1.2}
    shown = {
        name: axis.text(x, row, words, ha="center", va="center", fontsize=12, zorder=2, bbox=outline)
        for name, (x, row, words) in boxes.items()
    }
    shades = [look.colour for look, _ in series(range(rows))]
    for start, end in arrows:
        for name in (start, end):
            if name not in boxes:
                raise ValueError(f"arrows must join names of boxes, got {name!r}; there are {', '.join(boxes)}")
        (x, row, _), (x_end, row_end, _) = boxes[start], boxes[end]
        if row_end <= row:
            raise ValueError(f"arrows must go down, got {start!r} to {end!r}")
        style = {"arrowstyle": "-|>", "color": shades[row], "lw": 1.4, "shrinkA": 0, "shrinkB": 2}
        style |= {"patchA": shown[start].get_bbox_patch(), "patchB": shown[end].get_bbox_patch()}
        axis.annotate("", (x_end, row_end), (x, row), arrowprops=style, zorder=3)
    axis.set_xlim(0, 1)
    axis.set_ylim(rows - 0.6, -0.4)
    return figure


def item_lives_figure(panels: dict) -> Figure:
    """The own logit of single items and their largest rival after every step, a panel an item, with what is left.

    panels: title ↦ {"own", "rival", "free_energy", "left"}, each (T,): z_ii, max_{j≠i} z_ij, log Σ_{j≠i} e^{z_ij} and
    1 − p̂(i|i) after 1, …, T steps. The item is recovered where the first is above the second, and learnt where it is
    above the third.
    """
    figure, axes = new_axes(len(panels), 3, sharey=True, figsize=(8.0, 3.9))
    names = {
        "own": r"own logit $z_{ii}$",
        "rival": "largest rival (recovered above it)",
        "free_energy": "$F_i$ (learnt above it)",
    }
    for axis, (title, panel) in zip(axes, panels.items(), strict=True):
        steps = np.arange(1, len(panel["own"]) + 1)
        for look, name in kinds(names):
            line = "--" if name == "free_energy" else "-"
            axis.plot(steps, panel[name], line, marker=look.marker, color=look.colour, lw=1.5, label=names[name])
        for step, height, learnt, left in zip(steps, panel["own"], panel["free_energy"], panel["left"], strict=True):
            # away from the curves that lie above it
            place = (0, 6) if height > learnt else (0, -16)
            note = axis.annotate(f"{left:.2f}", (step, height), place, textcoords="offset points", ha="center")
            note.set(fontsize=10, bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8})
        axis.margins(x=0.12, y=0.12)
        frame(axis, "steps", "" if axis in axes[1:] else "logit, in nats", title)
        axis.set_xticks(steps)
    key(axes[0], below=3)
    return figure
