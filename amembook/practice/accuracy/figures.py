"""Pictures of the study: shares and reaches by step, the two laws, and what networks and a text show."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, PALE, frame, key, kinds, new_axes, plain_ticks, series
from amembook.practice.accuracy.memory import SHIPPED


def momenta_of(record: dict) -> list[tuple[str, str]]:
    """(case, label) of the steepest α by momentum, as drawn everywhere."""
    config = record["config"]
    return [(f"{config['alphas'][-1]:g} {beta:g}", rf"$\beta={beta:g}$") for beta in config["momenta"]]


def share_figure(record: dict) -> Figure:
    """Left: items that five steps keep of the exact map's, by step and momentum. Right: the reach of the momentum."""
    figure, axes = new_axes(2)
    cases = momenta_of(record)
    for look, (case, label) in zip(series([label for _, label in cases], "{}"), cases, strict=True):
        look, run = look[0]._replace(label=label), record["measured"]["memory"][case]
        steps, share = run["probes"], np.array(run["share"], float)
        bars = np.abs(np.array([run["low"], run["high"]], float) - share)
        axes[0].errorbar(
            steps, share, bars, fmt=look.marker + "-", color=look.colour, capsize=2, lw=1, label=look.label
        )
        axes[1].plot(steps, run["reach"][SHIPPED], look.marker + "-", color=look.colour, lw=1)
    axes[0].axhline(1, color=GREY, lw=1)
    axes[1].axhspan(3, 300, color=PALE, alpha=0.35, lw=0)
    frame(axes[0], "step $t$", "facts, five steps over exact", log="x", zero=True)
    axes[0].legend(loc="lower right")
    frame(axes[1], "step $t$", "reach", "shaded: a reach of 3 or more", log="xy")
    axes[1].set_ylim(0.08, 60)
    plain_ticks(axes[1].yaxis, (0.1, 0.3, 1, 3, 10, 30))
    for axis in axes:
        plain_ticks(axis.xaxis, (1, 2, 5, 10, 20, 50, 100))
    return figure


def law_figure(record: dict) -> Figure:
    """Left: the share against the reach of the shipped run's own momentum, with ρ(x). Right: that reach by step, and
    the reach of the items that are not learnt yet."""
    figure, axes = new_axes(2)
    measured, predicted = record["measured"]["memory"], record["predicted"]["memory"]
    having = [case for case in measured if "reach" in predicted[case]]
    for look, case in kinds(having):
        alpha, beta, *rest = case.split()
        run, label = measured[case], rf"$\alpha={alpha}$, $\beta={beta}$" + "".join(f", {word}" for word in rest)
        share = np.array(run["share"], float)
        bars = np.abs(np.array([run["low"], run["high"]], float) - share)
        reach = np.array(run["reach"][SHIPPED])
        axes[0].errorbar(reach, share, bars, fmt=look.marker, color=look.colour, capsize=2, ms=4.5, label=label)
        axes[1].plot(run["probes"], reach, look.marker, color=look.colour, ms=4.5)
        axes[1].plot(run["probes"], predicted[case]["reach"][SHIPPED], color=look.colour, lw=1.2)
        order = np.argsort(reach)
        axes[0].plot(reach[order], np.array(predicted[case]["share"])[order], color=look.colour, lw=1.2)
    axes[1].axhspan(3, 300, color=PALE, alpha=0.35, lw=0)
    frame(axes[0], "reach $x_t$", "items, five steps over exact", log="x", zero=True)
    frame(axes[1], "step $t$", "reach $x_t$", "shaded: five steps are exact", log="xy")
    axes[1].set_ylim(top=300)
    key(axes[0], {"predicted": "-"}, below=3)
    return figure
