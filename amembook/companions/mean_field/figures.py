"""Pictures of the study: the gap of the two networks by width and on the way, the distance of neurons, Muon."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, new_axes, points, reference_line, series


def gap_figure(record: dict) -> Figure:
    """Left: m times the gap against m for each d, when half (solid) and the last mark (dashed) are captured. Right: the
    same at the widest network, by what the infinite one has captured. Bars: two standard errors.
    """
    figure, axes = new_axes(2)
    config, measured = record["config"], record["measured"]
    widths, captured = np.array(config["widths"], dtype=float), [0, *config["marks"]]
    for k, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
        gap, error = (np.array(measured[key]["flow"][k]) for key in ("gap", "gap_error"))
        for at, dash in ((captured.index(0.5), "-"), (-1, "--")):
            points(axes[0], widths, gap[:, at], look, error=error[:, at], ls=dash, lw=0.8)
        points(axes[1], captured, gap[-1], look, error=error[-1])
    axes[1].axhline(1, color=GREY, ls=":", lw=1.2)
    frame(axes[0], "neurons $m$", "$m$ times the gap", "half, nine tenths captured", log="x", base=2, zero=True)
    frame(axes[1], "share of the teacher captured", "$m$ times the gap", f"$m = {config['widths'][-1]}$", zero=True)
    axes[1].legend(loc="lower left")
    return figure


def neurons_figure(record: dict, other: dict) -> Figure:
    """Left: mean square distance of neurons from their paths at the end of gradient flow, against m. Right: m times
    the gap of the networks when half is captured, of gradient flow (lines) and of Muon, in the record `other`. Bars:
    two standard errors.
    """
    figure, axes = new_axes(2)
    config, measured = record["config"], record["measured"]
    widths = np.array(config["widths"], dtype=float)
    half = list(other["config"]["marks"]).index(other["config"]["polar_marks"][-1]) + 1
    for k, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
        distance, error = (np.array(measured[key]["flow"][k])[:, -1] / widths for key in ("distance", "distance_error"))
        points(axes[0], widths, distance, look, error=error)
        gap, error = (np.array(other["measured"][key]["polar"][k])[:, -1] for key in ("gap", "gap_error"))
        law = np.array(other["measured"]["gap"]["flow"][k])[:, half]
        points(axes[1], other["config"]["widths"], gap, look, error=error, law=law)
    reference_line(axes[0], widths, -1, (widths[0], np.array(measured["distance"]["flow"])[0, 0, -1] / widths[0]))
    frame(axes[0], "neurons $m$", "mean square distance", "neurons, at the end", log="xy", base=2)
    frame(axes[1], "neurons $m$", "$m$ times the gap", "networks, half captured", log="x", base=2, zero=True)
    axes[0].legend()
    return figure
