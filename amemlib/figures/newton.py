"""Pictures of Newton's method: leverages, Newton against Muon, damping and step size, minibatches."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes


def leverage_figure(measured: dict, predicted: dict) -> Figure:
    """Leverage of every item against its rank over d, one set of points and one line a dimension.

    measured: d ↦ (N,) leverages of one draw in rank order. predicted: d ↦ (N,).
    """
    figure, (axis,) = new_axes()
    for colour, marker, (dim, leverage) in zip(SERIES, "os^", measured.items(), strict=False):
        ranks = np.arange(1, len(leverage) + 1)
        shown = np.unique(np.geomspace(1, len(leverage), 60).astype(int)) - 1
        axis.plot(ranks[shown] / dim, np.asarray(leverage)[shown], marker, color=colour, ms=3.5, label=f"$d = {dim}$")
        axis.plot(ranks / dim, predicted[dim], "-", color=colour, lw=1.2)
    log_log(axis, "rank over dimension, $i/d$", r"leverage $\ell_i$", base=10)
    axis.plot([], [], "-", color=COLOURS["theory"], label="predicted")
    axis.legend()
    return figure


def newton_over_polar_figure(record: dict, curves: dict) -> Figure:
    """Newton's count over the polar map's against α, a panel for each N, a colour for each d.

    record: of `sharp`, its points with two standard errors (of the two counts as if independent, which is cautious).
    curves: (N, d) ↦ pair (alphas, predicted ratios).
    """
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(len(config["n_items"]), sharey=True)
    for n, (axis, n_items) in enumerate(zip(axes, config["n_items"], strict=True)):
        for k, (colour, marker, dim) in enumerate(zip(SERIES, "os^Dv", config["dims"], strict=False)):
            newton, polar = (np.array(measured["counts"][name][k][n]) for name in ("newton", "polar"))
            relative = [np.array(measured["error"][name][k][n]) for name in ("newton", "polar")]
            error = 2 * newton / polar * np.hypot(relative[0] / newton, relative[1] / polar)
            axis.errorbar(
                config["alphas"], newton / polar, error, fmt=marker, color=colour, capsize=2, label=f"$d = {dim}$"
            )
            axis.plot(*curves[n_items, dim], "-", color=colour, lw=1.2)
        axis.axhline(1, color=COLOURS["theory"], lw=1)
        axis.set_xlabel(r"$\alpha$")
        axis.set_title(f"$N = {n_items}$", fontsize=11)
    axes[0].set_ylabel("items: Newton / Muon")
    axes[0].legend()
    return figure


def newton_rates_figure(damping, counts, rates: dict, losses: dict, marks: dict) -> Figure:
    """Left: items against the damping. Right: loss against the learning rate over its predicted best value.

    damping, counts: (n,) in units of the smallest curvature; the first damping is 0 and is drawn as a line.
    rates, losses: map ↦ (m,). marks: map ↦ the predicted best rate.
    """
    figure, (left, right) = new_axes(2)
    left.axhline(counts[0], color=COLOURS["newton"], lw=1, ls="--", label="no damping")
    left.plot(damping[1:], counts[1:], MARKERS["newton"], color=COLOURS["newton"], label="damped")
    log_log(left, r"damping $\varrho\,d^{\,\alpha+1}$", "recovered items", base=10)
    left.legend()
    for name, rate in rates.items():
        style = {"color": COLOURS[name], "label": LABELS[name]}
        right.plot(np.asarray(rate) / marks[name], losses[name], f"{MARKERS[name]}-", ms=4, lw=1, **style)
    right.axvline(1, color=COLOURS["theory"], ls=":", lw=1)
    right.set_xscale("log", base=2)
    right.set_yscale("log")
    right.set_xlabel("learning rate / rate of logit noise 2")
    right.set_ylabel("loss (nats)")
    right.legend()
    return figure


def newton_batch_figure(record: dict, distinct: dict) -> Figure:
    """Items against batch size, one record of `sharp`: Newton and polar at each d, sharp counts, distinct items dashed.

    distinct: d ↦ (B,) expected number of distinct items.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(len(config["batch_dims"]), sharey=True)
    for k, (axis, dim) in enumerate(zip(axes, config["batch_dims"], strict=True)):
        axis.plot(config["batch_sizes"], distinct[dim], "--", color=COLOURS["theory"], lw=1, label="distinct items")
        for name in ("newton", "polar"):
            key = f"batch_{name}"
            error = 2 * np.array(measured["error"][key][k])
            style = {"fmt": MARKERS[name], "color": COLOURS[name], "capsize": 2}
            axis.errorbar(config["batch_sizes"], measured["counts"][key][k], error, label=LABELS[name], **style)
            axis.plot(config["batch_sizes"], predicted["counts"][key][k], "-", color=COLOURS[name], lw=1.2)
        log_log(axis, "batch size $B$", "" if k else "recovered items")
        axis.set_title(f"$d = {dim}$", fontsize=11)
    axes[0].legend()
    return figure
