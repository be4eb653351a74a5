"""Pictures of the study: the loss in time, T_1 by dimension, online SGD, Muon."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, new_axes, optimizer, points, series


def loss_figure(record: dict) -> Figure:
    """Left: when each direction is learnt. Right: the loss. By α, on the logistic law. Bars are two standard errors."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    for look, alpha in series(config["alphas"], r"$\alpha = {}$"):
        case = str(alpha)
        found, error, law = (
            np.array(told[name][case], dtype=float)
            for told, name in ((measured, "times"), (measured, "times_error"), (predicted, "times"))
        )
        ranks = np.arange(1, len(found) + 1)
        points(axes[0], ranks, found, look, error=error, law=law, ms=3.5)
        time = measured["curves"]["time"][case]
        axes[1].plot(time, measured["curves"]["loss"][case], look.marker, color=look.colour, ms=3.5)
        axes[1].plot(time, predicted["curves"]["loss"][case], "-", color=look.colour, lw=1.2)
    frame(axes[0], "direction $j$", "learnt at time $T_j$", log="xy")
    frame(axes[1], "time $t$", "loss", log="xy")
    axes[0].legend()
    return figure


def sizes_figure(record: dict) -> Figure:
    """Left: T_1 by dimension. Right: online SGD's loss in time, on the flow's. Bars are two standard errors."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    ((look, _),) = kinds(["measured"], "{}")
    points(axes[0], config["dims"], measured["first"], look, error=measured["first_error"], law=predicted["first"])
    frame(axes[0], "dimension $d$", "first direction at $T_1$", log="x", base=2, zero=True)
    sgd = measured["sgd"]
    points(axes[1], sgd["time"], sgd["loss"], optimizer("sgd", "online SGD"))
    axes[1].plot(sgd["time"], predicted["sgd"]["loss"], "-", color=GREY, lw=1.2, label="Riccati, same starts")
    frame(axes[1], "time $t$", "loss", log="xy")
    axes[1].legend()
    return figure


def muon_figure(record: dict) -> Figure:
    """When each direction is learnt by polar steps, wide and narrow students, on √(λ_j/2)."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, (axis,) = new_axes()
    law = np.array(predicted["muon"]["times"])
    ranks = np.arange(1, len(law) + 1)
    for (look, _), row in zip(kinds(config["muon_widths"], "$m = {}$"), measured["muon"]["times"], strict=True):
        points(axis, ranks, np.array(row, dtype=float), look, ms=4)
    axis.plot(ranks, law, "-", color=GREY, lw=1.2, label=r"$\sqrt{\lambda_j/2}$")
    frame(axis, "direction $j$", "learnt at total length of steps", log="xy")
    axis.legend()
    return figure
