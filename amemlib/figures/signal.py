"""Pictures of the signal: its curve φ(t), its slope and curvature, and its size by rank."""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes


def slope_histogram_figure(slopes, stein: float, sharp: float, lower) -> Figure:
    """Slopes λφ′(0) of many pairs, their Stein mean and sharp limit; open: the lower bound of each pair."""
    figure, (axis,) = new_axes()
    bins = np.linspace(0, np.max(np.asarray(slopes)), 60)
    axis.hist(np.asarray(lower), bins, color=COLOURS["theory"], histtype="step", label="lower bound of each pair")
    axis.hist(np.asarray(slopes), bins, color=COLOURS["smoothed_sign"], alpha=0.6, label=r"$\lambda\phi'(0)$")
    axis.axvline(stein, color=COLOURS["polar"], label="Stein mean")
    axis.axvline(sharp, color=COLOURS["sgd"], ls=":", label="sharp limit")
    axis.set_xlabel(r"slope of the signal, in units of $1/\lambda$")
    axis.set_ylabel("pairs")
    axis.legend()
    return figure


def signal_curves_figure(t_over_lam, curves, sharp, bounds) -> Figure:
    """φ(t) of many items, left near 0 and right over decades, with the sharp curve and the proved lower bound.

    t_over_lam: (T,). curves: (n, T), a band of 80 % and the median are drawn. sharp: (T,). bounds: (n, T), the lower
    bound of each item; its median is drawn.
    """
    figure, axes = new_axes(2)
    low, median, high = np.quantile(np.asarray(curves), [0.1, 0.5, 0.9], axis=0)
    for axis in axes:
        axis.fill_between(
            t_over_lam, low, high, color=COLOURS["smoothed_sign"], alpha=0.25, lw=0, label="80 % of items"
        )
        axis.plot(t_over_lam, median, color=COLOURS["smoothed_sign"], label="median item")
        axis.plot(t_over_lam, sharp, "--", color=COLOURS["polar"], lw=1.4, label="sharp curve")
        bound = np.median(np.asarray(bounds), axis=0)
        axis.plot(t_over_lam, bound, color=COLOURS["sgd"], lw=1.4, label="lower bound, median item")
        axis.set_xlabel(r"weight $t/\lambda$")
    axes[0].set_xlim(0, 4)
    axes[0].set_ylabel(r"signal $\phi_i(t)$")
    axes[1].set_xscale("log")
    axes[0].legend(loc="upper left")
    return figure


def curvature_figure(t_over_lam, largest: dict, bound: float, single: float) -> Figure:
    """Largest |φ″| λ² / (‖u‖‖v‖)³ over many pairs against t, one curve for each d, below the proved bound.

    largest: d ↦ (T,). single: the largest curvature of h_λ itself, reached by a single direction.
    """
    figure, (axis,) = new_axes()
    for colour, marker, (dim, values) in zip(SERIES, "os^Dv", largest.items(), strict=False):
        axis.plot(t_over_lam, values, marker + "-", ms=3, lw=1, color=colour, label=f"$d = {dim}$")
    axis.axhline(bound, color=COLOURS["theory"], label="proved bound")
    axis.axhline(single, color=COLOURS["theory"], ls=":", label=r"reached by one direction")
    log_log(axis, r"weight $t/\lambda$", r"largest $|\phi''|\,\lambda^2/(\|u\|\|v\|)^3$", base=10)
    axis.legend(loc="lower left")
    return figure


def signal_by_rank_figure(record: dict, edges) -> Figure:
    """Mean own logit by octave of rank over d, polar left and h_λ right, on the sharp curves; one record of `signal`.

    Bars are two standard errors. edges: first ranks of the octaves, and N + 1.
    """
    figure, axes = new_axes(2, sharey=True)
    middle = np.array([np.sqrt(a * (b - 1)) for a, b in pairwise(edges)])
    for axis, name in zip(axes, ("polar", "smoothed_sign"), strict=True):
        for colour, marker, dim in zip(SERIES, "os^Dv", record["config"]["dims"], strict=False):
            key = f"{name}_{dim}"
            error = 2 * np.array(record["measured"]["signal_error"][key])
            mean = record["measured"]["signal"][key]
            axis.errorbar(middle / dim, mean, error, fmt=marker, color=colour, ms=4, capsize=2, label=f"$d = {dim}$")
            axis.plot(middle / dim, record["predicted"]["signal"][key], "-", color=colour, lw=1.1)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(bottom=1e-3)
        axis.set_xlabel("rank over dimension, $i/d$")
        axis.set_title(LABELS[name], fontsize=11)
    axes[0].set_ylabel("mean own logit")
    axes[0].legend(loc="lower left")
    return figure


def slope_and_curvature_figure(record: dict) -> Figure:
    """λ times the mean slope, its relative spread and the largest curvature against d; one record of `signal`."""
    figure, axes = new_axes(3)
    dims = np.array(record["config"]["dims"], dtype=float)
    titles = {
        "lam_slope": r"mean slope, $\lambda\,\mathrm{E}\phi'(0)$",
        "slope_spread": "relative spread of the slope",
        "curvature": r"largest $|\phi''|\lambda^2/(\|u\|\|v\|)^3$",
    }
    lines = {"lam_slope": "Stein mean", "slope_spread": "leading order", "curvature": "proved bound"}
    for axis, (quantity, title) in zip(axes, titles.items(), strict=True):
        axis.plot(
            dims,
            record["measured"][quantity]["smoothed_sign"],
            MARKERS["smoothed_sign"],
            color=COLOURS["smoothed_sign"],
        )
        predicted = record["predicted"][quantity]["smoothed_sign"]
        axis.plot(dims, predicted, "-", color=COLOURS["theory"], lw=1.2, label=lines[quantity])
        axis.set_xscale("log", base=2)
        axis.set_ylim(0, 1.25 * max(*predicted, *record["measured"][quantity]["smoothed_sign"]))
        axis.set_xlabel("embedding dimension $d$")
        axis.set_title(title, fontsize=11)
        axis.legend()
    return figure
