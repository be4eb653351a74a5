"""Pictures of the study: who steps and how, and which start learns it."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, new_axes, optimizer, points, series

NAMES = {"fixed": "fixed (rotary)", "hop": "moved, hop at the start", "zero": "moved, zero at the start"}
"""What the legend calls the starts."""


def steps_figure(record: dict) -> Figure:
    """Left: right answers by offset, fixed positions and moved ones, a hop at the start; dotted: chance. Right: where
    the question looks in layer 2, relative to the symbol that it asks for, for each offset."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    offsets = np.arange(config["offsets"])
    for look, begin in kinds(("fixed", "hop"), "{}"):
        right = measured["adam"][begin]["right"][1]
        points(axes[0], offsets, right, look._replace(label=NAMES[begin]), fmt=look.marker + "-")
    axes[0].axhline(record["predicted"]["chance"], color=GREY, ls=":", lw=1.2)
    frame(axes[0], "offset $d$", "share of right answers", zero=True)
    axes[0].set_xticks(offsets)
    axes[0].legend(loc="center", bbox_to_anchor=(0.5, 0.6))
    place = np.arange(1 - config["length"], config["length"])
    shown = (place >= -config["offsets"]) & (place <= 1)
    for k, (look, _) in enumerate(series(offsets, "$d = {}$")):
        profile = np.array(measured["profile"][k])
        points(axes[1], place[shown], profile[shown], look, fmt=look.marker + "-")
    frame(axes[1], "place relative to the asked symbol", "attention", zero=True)
    axes[1].legend()
    return figure


def starts_figure(record: dict) -> Figure:
    """Right answers of every draw by the match at the start, for the three starts, and with Muon: at the length trained
    at, and at twice it."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2, sharey=True)
    matches = np.array(config["matches"], dtype=float)
    width = 0.04 * (matches[-1] - matches[0])
    for axis, name, title in zip(axes, ("draws", "draws_longer"), ("as long as trained", "twice as long"), strict=True):
        for k, (look, begin) in enumerate(kinds(NAMES, "{}")):
            told = np.array(measured["adam"][begin][name])
            x = np.repeat(matches + (k - 1) * width, told.shape[1])
            axis.plot(x, told.ravel(), look.marker, color=look.colour, ms=5, label=NAMES[begin])
        look = optimizer("muon", "Muon, the same starts")
        told = np.array(measured["muon"][name])
        at = np.array([matches[0], matches[1], matches[-1]]) + np.array([0, 0, width]) + 0.6 * width
        axis.plot(np.repeat(at, told.shape[1]), told.ravel(), look.marker, color=look.colour, ms=5, label=look.label)
        frame(axis, "match at the start", "share of right answers" if axis is axes[0] else "", title, zero=True)
        axis.set_xticks(matches)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure
