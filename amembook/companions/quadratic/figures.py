"""The picture of the study: when directions are learnt, and the loss in time."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import frame, name_lines, new_axes, points, series


def loss_figure(record: dict) -> Figure:
    """Left: when each direction is learnt. Right: the loss. By α, on the logistic law. Bars are two standard errors."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    for look, alpha in series(config["alphas"], r"$\alpha = {}$"):
        case = str(alpha)
        times, error, law = (
            np.array(part[name][case], dtype=float)
            for part, name in ((measured, "times"), (measured, "times_error"), (predicted, "times"))
        )
        ranks = np.arange(1, len(times) + 1)
        points(axes[0], ranks, times, look, error=error, law=law, ms=3.5)
        time = measured["curves"]["time"][case]
        axes[1].plot(time, measured["curves"]["loss"][case], look.marker, color=look.colour, ms=3.5)
        axes[1].plot(time, predicted["curves"]["loss"][case], "-", color=look.colour, lw=1.2)
    frame(axes[0], "direction $j$", "learnt at time $T_j$", log="xy")
    frame(axes[1], "time $t$", "loss", log="xy")
    name_lines(axes[0])
    return figure
