"""Pictures of the loss after one step: against the learning rate, and at the safe rate."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, name_lines, new_axes, points, series


def loss_curves_figure(record: dict, name: str = "polar", least_log=None) -> Figure:
    """One record of `loss`: left the loss against the learning rate for every d, right min_i log(N p̂_ii).

    Points with two standard errors, sharp predictions as lines; least_log: (n,) prediction for the right panel.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    rates = config["lr_over_root_dim"]
    figure, (left, right) = new_axes(2)
    for look, dim in series(config["dims"], "$d = {}$"):
        run = f"{name}_{dim}"
        error, law = measured["loss_error"].get(run), predicted["loss"].get(run)
        points(left, rates, measured["loss"][run], look, error=error, law=law)
        points(right, rates, measured["least_log"][run], look, label=None)
    if least_log is not None:
        right.plot(rates, least_log, "-", color=GREY, lw=1.2, label="items that were not learnt, predicted")
    right.axhline(0, color=GREY, ls=":", lw=1, label="a memory that knows nothing")
    frame(left, r"learning rate $\eta/\sqrt{d}$", "loss (nats)", log="xy", base=2)
    frame(right, r"learning rate $\eta/\sqrt{d}$", r"$\min_i\,\log(N\,\hat p(i\mid i))$", log="x", base=2)
    right.set_yscale("symlog", linthresh=1)
    right.set_ylim(top=1)
    name_lines(left)
    key(left, {"sharp prediction": "-"}, below=3)
    key(right)
    return figure


def safe_rate_figure(record: dict, curves: dict, name: str = "polar") -> Figure:
    """What the safe learning rate costs: its loss over the best loss, against d.

    record: of `loss`, its points, in the colour of the first curve. curves: label ↦ dict of `dims`, predicted `ratio`,
    and the dimension `reach` from which on a safe rate can learn anything, drawn as a vertical line.
    """
    config, measured = record["config"], record["measured"]
    figure, (axis,) = new_axes()
    looks = series(curves.items())
    for look, (label, curve) in looks:
        axis.plot(curve["dims"], curve["ratio"], "-", color=look.colour, label=label)
        axis.axvline(curve["reach"], color=look.colour, ls=":", lw=1.2)
    ratio = np.array(measured["safe_loss"][name]) / np.array(measured["best_loss"][name])
    points(axis, config["dims"], ratio, looks[0][0], label="measured")
    axis.axhline(1, color=GREY, lw=1)
    frame(axis, "embedding dimension $d$", "loss at the safe rate / best loss", log="xy", base=2)
    name_lines(axis, places=dict(zip(curves, ((2, (-4, 11)), (-1, (-2, -11))), strict=False)))
    key(axis, {"predicted": "-"}, loc=(0.02, 0.1))
    return figure
