"""The picture: what a sketch's rate costs beside what width gains."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, new_axes, reference_line


def sketch_figure(record: dict) -> Figure:
    """Medians by width of the sketch: what is lost by it (gap) and what its best rate costs without it, after the first
    and the last number of steps; dotted, exponents of one half and one."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    widths = np.array(config["widths"], dtype=float)
    for axis, steps, slopes in zip(axes, (config["steps"][0], config["steps"][-1]), ((0.5, 1), (1, 0.5)), strict=True):
        medians = measured["sketch"][str(steps)]
        for (look, name), slope in zip(kinds(("gap", "transfer")), slopes, strict=True):
            label = {"gap": "gap to the limit", "transfer": "cost of the rate"}[name]
            axis.plot(widths, medians[name], look.marker, color=look.colour, label=label)
            reference_line(axis, widths, -slope, (widths[0], medians[name][0]))
        frame(axis, "width of the sketch $n$", "loss", f"{steps} step{'s' * (steps > 1)}", log="xy", base=2)
        axis.set_ylim(1e-3, 0.3)
    axes[0].plot([], [], ":", color=GREY, lw=1.2, label="exponents ½ and 1")
    key(axes[0])
    return figure
