"""Pictures of the study: the floor, variances at the start and races, the memory as a policy, teachers."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, name_lines, new_axes, optimizer, points, series
from amembook.run.base import arrays

_POLICIES = {"low": "prefers low rewards", "high": "prefers high rewards"}
_BESIDE = {
    "low": {"five tiers": (-8, 0, "right"), "concave": (0, -20, "right")},
    "high": {"five tiers": (-8, 8, "right"), "eighth power": (-8, -8, "right")},
}
"""Where a teacher's name stands, in points from its marker, and its alignment; else to the right."""


def floor_figure(record: dict) -> Figure:
    """Left: how far below the optimum runs end that begin there, by the error of V*, on the law of each rate. Right:
    over the law to first order, by rate; lines, to next order."""
    config, measured, predicted = record["config"], arrays(record["measured"]), arrays(record["predicted"])
    figure, axes = new_axes(2)
    offline = [str(count) for count in config["offline"]]
    error = np.sqrt([predicted["squared_error"][name] for name in offline])
    numbers = measured["floor"], measured["floor_error"], predicted["first"], predicted["next"]
    gap, doubt, first, following = (np.array([one[name] for name in offline]) for one in numbers)
    for k, (look, _) in enumerate(series(config["rates"], r"$\eta = {}$")):
        order = np.argsort(error[:, k])
        at = error[order, k]
        points(axes[0], at, gap[order, k], look, error=doubt[order, k], law=following[order, k])
    rates, larger = np.array(config["rates"]), (following / first).mean(0)
    ratio, doubt = (measured[key].T * larger for key in ("floor_ratio", "floor_ratio_error"))
    for k, (look, _) in enumerate(kinds(config["offline"], "{} offline")):
        points(axes[1], rates * (1 + 0.03 * k), ratio[k], look, error=doubt[k])
    axes[1].plot(rates, larger, "-", color=GREY, lw=1.2, label="next order")
    axes[1].axhline(1, color=GREY, lw=1, ls=":")
    frame(axes[0], r"error of $V^*$, root mean square $\delta$", r"floor of $V^*-J$", log="xy")
    frame(axes[1], r"step size $\eta$", "floor over its law to first order")
    axes[0].set_xticks(at := [0.1, 0.2, 0.4, 0.8], map(str, at))
    axes[0].minorticks_off()
    name_lines(axes[0])
    axes[1].legend()
    return figure


def race_figure(record: dict) -> Figure:
    """Left: variance at the start of one generation with V*, over a group's, by β; lines exact. Right: where races of
    equal budgets end, each at its best rate, every draw."""
    config, measured = record["config"], arrays(record["measured"])
    ratio, doubt, exact = measured["variance"], measured["variance_error"], arrays(record["predicted"]["variance"])
    figure, axes = new_axes(2)
    for k, (look, _) in enumerate(series(config["groups"], "groups of {}")):
        points(axes[0], config["betas"], ratio[:, k], look, error=doubt[:, k], law=exact[:, k])
    axes[0].axhline(1, color=GREY, lw=1, ls=":")
    frame(axes[0], r"weight of the KL term $\beta$", "variance, $V^*$ over a group", log="xy")
    name_lines(axes[0])
    labels = {"star 0": "$V^*$", "star 64": "$V^*$, 64", "star 8": "$V^*$, 8"}
    labels |= {f"group {count}": f"group {count}" for count in config["groups"]}
    for k, (look, beta) in enumerate(kinds([f"{beta:g}" for beta in config["race_betas"]], r"$\beta = {}$")):
        ends = np.array([measured["race"][beta][name] for name in labels])
        points(axes[1], np.arange(len(labels)) + 0.2 * k, ends, look)
    axes[1].set_xticks(np.arange(len(labels)) + 0.1, labels.values(), rotation=40, ha="right")
    frame(axes[1], "", r"$V^*-J$ at the end", log="y")
    axes[1].legend()
    return figure


def memory_figure(record: dict) -> Figure:
    """J of the memory as a policy by generations a prompt, at the best rate, with V* and with eight offline samples."""
    measured, predicted = record["measured"], record["predicted"]
    figure, axes = new_axes(2, sharey=True)
    for axis, (label, title) in zip(axes, (("exact", "exact $V^*$"), ("8", "8 offline answers")), strict=True):
        for name in ("sgd", "polar"):
            points(axis, (16, 64, 256), np.array(measured["memory"][label][name]), optimizer(name), ls="-", lw=0.8)
        axis.axhline(predicted["best"], color=GREY, lw=1, ls=":")
        frame(axis, "answers a prompt", "objective $J$" if axis is axes[0] else "", title, log="x", base=2)
    key(axes[0], {"$J^*$": ":"}, loc="lower right")
    return figure


def teachers_figure(record: dict) -> Figure:
    """Median and quartiles of the time until the true reward rises, by the teacher's variance; at the top, never.

    At each teacher its accuracy.
    """
    config, measured = record["config"], arrays(record["measured"])
    figure, axes = new_axes(2, sharey=True)
    never = 1.6 * config["horizon"]
    for axis, (policy, title) in zip(axes, _POLICIES.items(), strict=True):
        for look, name in kinds(measured["teachers"][policy], "{}"):
            row = measured["teachers"][policy][name]
            low, time, high = np.quantile(np.nan_to_num(row["times"], nan=never), (0.25, 0.5, 0.75))
            bars = [[time - low], [high - time]]
            axis.errorbar(row["variance"], time, bars, fmt=look.marker, color=look.colour, ms=7)
            x, y, side = _BESIDE[policy].get(name, (8, 0, "left"))
            style = {"textcoords": "offset points", "va": "center", "ha": side, "fontsize": 10, "color": GREY}
            axis.annotate(f"{name}\n{row['accuracy']:.2f}", (row["variance"], time), (x, y), **style)
        axis.axhline(never, color=GREY, lw=1, ls=":")
        frame(axis, "variance of the teacher's reward", "time to learn" if axis is axes[0] else "", title, log="xy")
        axis.set_xlim(2e-3, 1)
        axis.text(2.3e-3, 1.1 * never, "never", va="bottom", fontsize=10, color=GREY)
        axis.set_ylim(20, 2.2 * never)
    return figure
