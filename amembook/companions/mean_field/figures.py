"""Pictures of the study: distance from the infinite network by width, of gradient flow and of Muon."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import frame, new_axes, points, reference_line, series


def width_figure(record: dict) -> Figure:
    """Largest mean square distance against m for each d, left of gradient flow on its law, right of Muon.

    Dotted: 1/m, through the first points. Bars: two standard errors.
    """
    figure, axes = new_axes(2, sharey=True)
    config, measured = record["config"], record["measured"]
    for axis, name in zip(axes, ("flow", "polar"), strict=True):
        widths = config["widths" if name == "flow" else "polar_widths"]
        for k, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
            error = np.array(measured[f"{name}_error"][k], dtype=float)
            law = record["predicted"]["alone"][k] if name == "flow" else None
            points(axis, widths, measured[name][k], look, error=error, law=law)
        reference_line(axis, widths, -1, (widths[0], measured[name][0][0]))
    label = "mean square distance"
    frame(axes[0], "neurons $m$", label, "gradient flow", log="xy", base=2)
    frame(axes[1], "neurons $m$", "", "Muon", log="xy", base=2)
    axes[0].legend()
    return figure
