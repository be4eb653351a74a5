"""Pictures of the study: the gap of the two networks on the way and by width, the distance of neurons, Muon."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, new_axes, points, reference_line, series


def gap_figure(record: dict) -> Figure:
    """Left: the largest gap on the way against m for each d, dotted 1/m. Right: m times the gap at the widest network,
    by what the infinite one has captured. Bars: two standard errors.
    """
    figure, axes = new_axes(2)
    config, measured = record["config"], record["measured"]
    widths, captured = np.array(config["widths"], dtype=float), [0, *config["marks"]]
    for k, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
        most, error = (np.array(measured[key]["flow"][k]) / widths for key in ("most", "most_error"))
        points(axes[0], widths, most, look, error=error)
        gap, error = (np.array(measured[key]["flow"][k])[-1] for key in ("gap", "gap_error"))
        points(axes[1], captured, gap, look, error=error)
    reference_line(axes[0], widths, -1, (widths[0], 1 / widths[0]))
    axes[1].axhline(1, color=GREY, ls=":", lw=1.2)
    frame(axes[0], "neurons $m$", "largest gap of the networks", log="xy", base=2)
    frame(axes[1], "share of the teacher captured", "$m$ times the gap", f"$m = {config['widths'][-1]}$", zero=True)
    axes[0].legend()
    return figure


def neurons_figure(record: dict) -> Figure:
    """Left: mean square distance of neurons from their paths at the end of gradient flow, against m. Right: m times
    the gap of the networks when half is captured, of gradient flow (lines) and of Muon. Bars: two standard errors.
    """
    figure, axes = new_axes(2)
    config, measured = record["config"], record["measured"]
    widths = np.array(config["widths"], dtype=float)
    half = list(config["marks"]).index(config["polar_marks"][-1]) + 1
    for k, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
        distance, error = (np.array(measured[key]["flow"][k])[:, -1] / widths for key in ("distance", "distance_error"))
        points(axes[0], widths, distance, look, error=error)
        gap, error = (np.array(measured[key]["polar"][k])[:, -1] for key in ("gap", "gap_error"))
        points(axes[1], widths, gap, look, error=error, law=np.array(measured["gap"]["flow"][k])[:, half])
    reference_line(axes[0], widths, -1, (widths[0], np.array(measured["distance"]["flow"])[0, 0, -1] / widths[0]))
    frame(axes[0], "neurons $m$", "mean square distance", "neurons, at the end", log="xy", base=2)
    frame(axes[1], "neurons $m$", "$m$ times the gap", "networks, half captured", log="x", base=2, zero=True)
    axes[0].legend()
    return figure
