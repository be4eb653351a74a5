"""Pictures of the chapter on optimality: risks, the slope's bound, the smallest singular values, λ over six decades."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, SERIES, log_log, new_axes


def risk_figure(record: dict, learning_rates) -> Figure:
    """Bayes risks of one record of `optimality`: left by learning rate, right what the average over rotations saves."""
    measured = record["measured"]
    figure, (left, right) = new_axes(2)
    labels = {"sign": "entrywise sign", "haar": "its average over rotations", "polar": "polar factor"}
    for colour, marker, (name, label) in zip(SERIES, "os^", labels.items(), strict=False):
        left.plot(learning_rates, measured["risk"][name], marker + "-", color=colour, label=label)
    error = 2 * np.array(measured["risk_saved_error"]["haar"])
    right.errorbar(learning_rates, measured["risk_saved"]["haar"], error, fmt="s", color=SERIES[1], capsize=3)
    right.axhline(0, color=COLOURS["theory"], lw=1)
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xlabel(r"learning rate $\eta$")
    left.set_ylabel("Bayes risk (nats)")
    right.set_ylabel("risk saved by averaging")
    right.set_yscale("log")
    left.legend()
    return figure


def slope_bound_figure(points: dict) -> Figure:
    """Slope against bound, one point a pair (u, v). points: label ↦ (slopes, bounds), both (n,), in one unit 1/t₀."""
    figure, (axis,) = new_axes()
    for colour, marker, (label, (slopes, bounds)) in zip(SERIES, "os^DvP", points.items(), strict=False):
        axis.plot(bounds, slopes, marker, color=colour, ms=4, alpha=0.7, label=LABELS.get(label, label))
    low, high = (edge(float(edge(bounds)) for _, bounds in points.values()) for edge in (min, max))
    axis.plot([low, high], [low, high], "-", color=COLOURS["theory"], lw=1.2, label="slope = bound")
    log_log(axis, r"bound, in units of $1/t_0$", r"slope $\phi'(0)$, in units of $1/t_0$", base=10)
    axis.legend()
    return figure


def edge_figure(record: dict) -> Figure:
    """Lemma 8 in one record of `optimality`: left (1/d)Σ1/s and the polar slope, right d·s_min, all in units of t₀."""
    dims = np.array(record["config"]["spectrum_dims"])
    measured, predicted = record["measured"], record["predicted"]
    figure, (left, right) = new_axes(2)
    panels = {"inverse_sum": left, "polar_slope": left, "smallest": right}
    labels = {
        "inverse_sum": r"$\frac{1}{d}\sum_k 1/s_k$, median",
        "polar_slope": r"slope of the polar map, mean",
        "smallest": "median",
    }
    for colour, marker, (name, axis) in zip(SERIES, "os^", panels.items(), strict=False):
        error = 2 * np.array(measured["spectrum_error"][name])
        axis.errorbar(dims, measured["spectrum"][name], error, fmt=marker, color=colour, capsize=3, label=labels[name])
        axis.plot(dims, predicted["spectrum"][name], "-", color=colour, lw=1.2)
    for axis in (left, right):
        axis.plot([], [], "-", color=COLOURS["theory"], lw=1.2, label="prediction, nothing fitted")
        axis.set_xscale("log", base=2)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("embedding dimension $d$")
        axis.legend()
    left.set_ylabel("in units of $1/t_0$")
    right.set_ylabel(r"$d\,s_{\min}\,/\,t_0$")
    return figure


def admissible_figure(z, ratios: dict) -> Figure:
    """f_n(z)/z against z for several n. ratios: name ↦ (n, len(z)) arrays, one panel each, n = 1, 2, … from the top."""
    figure, axes = new_axes(len(ratios), sharey=True)
    for axis, (name, curves) in zip(axes, ratios.items(), strict=True):
        for colour, (n, curve) in zip(SERIES, enumerate(np.asarray(curves), start=1), strict=False):
            increasing = np.r_[np.diff(curve) > 0, False]
            axis.plot(z, curve, color=colour, lw=1.2, label=f"$n = {n}$")
            axis.plot(z, np.where(increasing, curve, np.nan), color=colour, lw=4, alpha=0.4)
        log_log(axis, "$z$", "", base=10)
        axis.set_title(LABELS[name], fontsize=11)
    axes[0].set_ylabel("$f_n(z)/z$")
    axes[0].legend()
    return figure


def smoothing_figure(record: dict) -> Figure:
    """Capacity of h_λ over that of the polar map against λ/t₀, one record of `optimality`, over the predictions.

    Two standard errors of the mean ratio over the draws. Left all of it, right the part that λ ≤ t₀ changes.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    lams = np.array(config["lam_over_t0"])
    names = [name for name in measured["gain"] if name != "polar"]
    figure, (left, right) = new_axes(2)
    for colour, marker, (row, dim) in zip(SERIES, "os^Dv", enumerate(config["dims"]), strict=False):
        gain, error, sharp = (
            np.array([table[name][row] for name in names])
            for table in (measured["gain"], measured["gain_error"], predicted["gain"])
        )
        for axis, kept in ((left, lams > 0), (right, lams <= 1)):
            axis.errorbar(
                lams[kept],
                1 + gain[kept],
                2 * error[kept],
                fmt=marker,
                color=colour,
                ms=4,
                capsize=2,
                label=f"$d = {dim}$",
            )
            axis.plot(lams[kept], 1 + sharp[kept], "-", color=colour, lw=1.2)
    for axis in (left, right):
        axis.axhline(1, color=COLOURS["polar"], ls="--", lw=1, label=LABELS["polar"])
        axis.set_xscale("log")
        axis.set_xlabel(r"$\lambda/t_0$")
    left.set_yscale("log")
    left.set_ylabel("recovered items / those of the polar map")
    left.legend()
    return figure
