"""Pictures of the loss after one step: against the learning rate, against the unrecovered mass, and the safe rate."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, new_axes


def loss_curves_figure(record: dict, name: str = "polar", least_log=None) -> Figure:
    """One record of `loss`: left the loss against the learning rate for every d, right min_i log(N p̂_ii).

    Points with two standard errors, sharp predictions as lines; least_log: (n,) prediction for the right panel.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    rates = np.array(config["lr_over_root_dim"])
    figure, (left, right) = new_axes(2, figsize=(9.6, 4.3))
    for colour, marker, dim in zip(SERIES, "os^Dv", config["dims"], strict=False):
        key = f"{name}_{dim}"
        error = 2 * np.array(measured["loss_error"][key]) if key in measured["loss_error"] else None
        style = {"fmt": marker, "color": colour, "ms": 4, "capsize": 2}
        left.errorbar(rates, measured["loss"][key], error, **style, label=f"$d = {dim}$")
        if key in predicted["loss"]:
            left.plot(rates, predicted["loss"][key], "-", color=colour, lw=1.2)
        right.plot(rates, measured["least_log"][key], marker, color=colour, ms=4)
    if least_log is not None:
        right.plot(
            rates, least_log, "-", color=COLOURS["theory"], lw=1.2, label="items that were not learnt, predicted"
        )
    left.plot([], [], "-", color=COLOURS["theory"], lw=1.2, label="sharp prediction")
    right.axhline(0, color=COLOURS["theory"], ls=":", lw=1, label="a memory that knows nothing")
    left.set_yscale("log")
    left.set_ylabel("loss (nats)")
    right.set_yscale("symlog", linthresh=1)
    right.set_ylim(top=1)
    right.set_ylabel(r"$\min_i\,\log(N\,\hat p(i\mid i))$")
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xlabel(r"learning rate $\eta/\sqrt{d}$")
        axis.legend(fontsize=8.5)
    return figure


def over_mass_figure(record: dict, limit: float) -> Figure:
    """Best loss over log N × unrecovered mass against d, one record of `loss`; dotted: its limit for Muon."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes()
    for name, values in measured["over_mass"].items():
        axis.plot(config["dims"], values, MARKERS[name], color=COLOURS[name], label=LABELS[name])
        if name in predicted["over_mass"]:
            axis.plot(config["dims"], predicted["over_mass"][name], "-", color=COLOURS[name], lw=1.2)
    axis.axhline(limit, color=COLOURS["theory"], ls=":", label="leading order, polar")
    axis.set_xscale("log", base=2)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel(r"best loss / ($\log N\ \sum_{\mathrm{unrecovered}}p_i$)")
    axis.legend()
    return figure


def safe_rate_figure(record: dict, curves: dict, name: str = "polar") -> Figure:
    """What the safe learning rate costs: its loss over the best loss, against d.

    record: of `loss`, its points. curves: label ↦ dict of `dims`, predicted `ratio`, and the dimension `reach` from
    which on a safe rate can learn anything, drawn as a vertical line.
    """
    config, measured = record["config"], record["measured"]
    figure, (axis,) = new_axes()
    for colour, (label, curve) in zip(SERIES, curves.items(), strict=False):
        axis.plot(curve["dims"], curve["ratio"], "-", color=colour, label=f"predicted, {label}")
        axis.axvline(curve["reach"], color=colour, ls=":", lw=1.2)
    ratio = np.array(measured["safe_loss"][name]) / np.array(measured["best_loss"][name])
    axis.plot(config["dims"], ratio, MARKERS[name], color=SERIES[0], label=f"measured, $N = {config['n_items']}$")
    axis.axhline(1, color=COLOURS["theory"], lw=1)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel("loss at the safe rate / best loss")
    axis.legend()
    return figure
