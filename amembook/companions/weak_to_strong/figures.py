"""Pictures of the study: what a student inherits, and two memories."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, name_lines, new_axes, optimizer, points, series


def inherited_figure(record: dict) -> Figure:
    """The student's error over the teacher's by the number of pseudo-labels, on the law; dashed, a student on the true
    labels."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes(figsize=(5.0, 4.0))
    order = sorted(predicted["overlap"], key=predicted["overlap"].get)
    for look, name in series(order):
        label = rf"$d_\cap={predicted['overlap'][name]:.0f}$" + (", slanted" if name == "slanted" else "")
        error, law = np.array(measured["student_error"][name]), predicted["student"][name]
        shown = {"error": error, "law": law, "scale": predicted["teacher"]}
        points(axis, config["pseudo"], measured["student"][name], look._replace(label=label), **shown)
    direct = predicted["direct"] / predicted["teacher"]
    heights = {"the teacher": (1, ":", (0, 7)), "strong, true labels": (direct, "--", (-8, 6))}
    for label, (height, line, place) in heights.items():
        axis.axhline(height, color=GREY, lw=1.2, ls=line)
        style = {"textcoords": "offset points", "ha": "right", "va": "center", "fontsize": 10, "color": GREY}
        axis.annotate(label, (config["pseudo"][-1], height), place, **style)
    frame(axis, "pseudo-labels $N$", "error over the teacher's", log="xy", base=2)
    name_lines(axis, offset=(8, 0))
    return figure


def memories_figure(record: dict) -> Figure:
    """Left: accuracy of the strong memory by paraphrases, at no overlap and the largest; dotted, the weak one's. Right:
    by overlap, at most paraphrases."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2, sharey=True)
    ends = ((0, "-", ""), (-1, "--", f", overlap {config['overlaps'][-1]}"))
    for name in ("sgd", "polar"):
        accuracy, error = (np.array(measured[key][name], dtype=float) for key in ("accuracy", "accuracy_error"))
        for place, line, suffix in ends:
            look = optimizer(name)
            look = look._replace(label=f"{look.label}{suffix or ', no overlap'}")
            points(axes[0], config["copies"], accuracy[place], look, error=error[place], ls=line, lw=1)
        points(axes[1], config["overlaps"], accuracy[:, -1], optimizer(name), error=error[:, -1], ls="-", lw=1)
    for axis in axes:
        axis.axhline(measured["weak"], color=GREY, lw=1.2, ls=":", label="the weak memory")
    frame(axes[0], "paraphrases of an item", "accuracy", log="x", base=2)
    frame(axes[1], "shared coordinates")
    key(axes[0], below=2)
    return figure
