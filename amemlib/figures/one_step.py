"""Pictures of one population step: capacity against d, signal against interactions, local exponents."""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes, reference_line


def capacity_figure(record: dict, names=("polar", "sgd")) -> Figure:
    """Figure 1(a): one record of `one-step`, capacity against d for one α.

    Mean counts with two standard errors, sharp predictions as lines, limiting exponents dotted. SGD is drawn at its own
    large dimensions, filled, and at those of Muon, open.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes(figsize=(7.0, 5.0))
    for name in names:
        dims = np.array(config["sgd_dims"] if name == "sgd" else config["dims"], dtype=float)
        slope, (low, high) = measured["slope"][name], measured["interval"][name]
        label = f"{LABELS[name]}: fitted {slope:.2f} [{low:.2f}, {high:.2f}], limit {predicted['slope'][name]:.2f}"
        _counts_with_prediction(axis, dims, measured, predicted, name, name, label=label)
        reference_line(axis, dims, predicted["slope"][name], (dims[-1], predicted["counts"][name][-1]))
        if name == "sgd":
            _counts_with_prediction(axis, config["dims"], measured, predicted, "sgd_at_dims", name, mfc="white")
    log_log(axis, "embedding dimension $d$", "recovered items")
    axis.plot([], [], "-", color=COLOURS["theory"], lw=1.2, label="sharp prediction, nothing fitted")
    axis.plot([], [], ":", color=COLOURS["theory"], lw=1.2, label="limiting exponent")
    figure.legend(loc="outside lower center", ncols=2 if len(names) < 3 else 1)
    axis.set_title(rf"One population step, $\alpha = {config['alpha']:g}$", fontsize=11)
    return figure


def _counts_with_prediction(axis, dims, measured: dict, predicted: dict, key: str, name: str, **style) -> None:
    counts = np.array(measured["seed_counts"][key])
    error = 2 * counts.std(1, ddof=1) / np.sqrt(counts.shape[1]) if counts.shape[1] > 1 else None
    axis.errorbar(dims, counts.mean(1), error, fmt=MARKERS[name], color=COLOURS[name], capsize=2, zorder=3, **style)
    axis.plot(dims, predicted["counts"][key], "-", color=COLOURS[name], lw=1.2)


def capacity_by_alpha_figure(records: list[dict], name: str) -> Figure:
    """Figure 2 for one map: counts over d^κ, κ the limiting exponent, for several α. Flat is a reached exponent."""
    figure, (axis,) = new_axes()
    for colour, marker, record in zip(SERIES, "os^Dv", records, strict=False):
        config, alpha = record["config"], record["config"]["alpha"]
        dims = np.array(config["sgd_dims"] if name == "sgd" else config["dims"], dtype=float)
        scale = dims ** record["predicted"]["slope"][name]
        counts = np.array(record["measured"]["seed_counts"][name])
        error = 2 * counts.std(1, ddof=1) / np.sqrt(counts.shape[1]) if counts.shape[1] > 1 else 0 * scale
        fitted, limit = record["measured"]["slope"][name], record["predicted"]["slope"][name]
        label = rf"$\alpha = {alpha:g}$: fitted {fitted:.2f}, limit {limit:.2f}"
        axis.errorbar(dims, counts.mean(1) / scale, error / scale, fmt=marker, color=colour, capsize=2, label=label)
        axis.plot(dims, np.array(record["predicted"]["counts"][name]) / scale, "-", color=colour, lw=1.2)
    axis.set_xscale("log", base=2)
    axis.set_ylim(bottom=0)
    exponent = r"d^{\,1/2\alpha}" if name == "sgd" else r"d^{\,1+1/2\alpha}"
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel(rf"recovered items / ${exponent}$")
    axis.set_title(f"{LABELS[name]}, one population step (lines: sharp prediction)", fontsize=11)
    axis.legend()
    return figure


def signal_figure(panels: dict) -> Figure:
    """Own logit and best rival's logit by rank, one panel a map, both in units of the panel's interaction scale.

    panels: map ↦ dict of (N,) arrays in rank order, `own`, `rival` and `predicted` (own logit), and the number `scale`.
    """
    figure, axes = new_axes(len(panels), sharex=True)
    for axis, (name, panel) in zip(axes, panels.items(), strict=True):
        own, rival = np.asarray(panel["own"]) / panel["scale"], np.asarray(panel["rival"]) / panel["scale"]
        edges = np.unique(np.geomspace(1, len(own), 40).astype(int))
        middle = np.sqrt(edges[1:] * edges[:-1])
        for values, colour, label in ((rival, COLOURS["theory"], "best rival"), (own, COLOURS[name], "own (signal)")):
            bins = [values[a - 1 : b - 1] for a, b in pairwise(edges)]
            low, median, high = np.array([np.quantile(bin_, [0.1, 0.5, 0.9]) for bin_ in bins]).T
            axis.fill_between(middle, low, high, color=colour, alpha=0.2, lw=0)
            axis.plot(middle, median, MARKERS.get(name, "o"), ms=3, color=colour, label=label)
        ranks = np.arange(1, len(own) + 1)
        axis.plot(
            ranks,
            np.asarray(panel["predicted"]) / panel["scale"],
            color=COLOURS[name],
            lw=1.2,
            label="predicted signal",
        )
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=1)
        axis.set_xlabel("rank $i$")
        axis.set_title(LABELS[name], fontsize=11)
    axes[0].set_ylabel("logit / interaction scale")
    axes[0].legend(loc="lower left")
    return figure


def local_slopes_figure(dims, slopes: dict, limits: dict, measured: dict) -> Figure:
    """Local exponents of the sharp prediction against d, one curve for each α, with the limits and the measured fits.

    dims: (n,). slopes: α ↦ (n − 1,) slopes between neighbours. limits: α ↦ exponent.
    measured: α ↦ (middle d of the fit, slope, low, high).
    """
    figure, (axis,) = new_axes()
    middle = np.sqrt(np.asarray(dims[1:], dtype=float) * np.asarray(dims[:-1], dtype=float))
    for colour, marker, alpha in zip(SERIES, "os^Dv", slopes, strict=False):
        axis.plot(middle, slopes[alpha], "-", color=colour, label=rf"$\alpha = {alpha:g}$: sharp prediction")
        axis.axhline(limits[alpha], color=colour, ls=":", lw=1)
        centre, slope, low, high = measured[alpha]
        axis.errorbar([centre], [slope], [[slope - low], [high - slope]], fmt=marker, color=colour, capsize=3)
    axis.plot([], [], "o", color=COLOURS["theory"], label="fit to the counts, 95 % interval")
    axis.plot([], [], ":", color=COLOURS["theory"], label=r"limit $1 + 1/2\alpha$")
    axis.set_xscale("log", base=2)
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel("local exponent of the capacity")
    axis.legend(ncols=2)
    return figure


def exponents_figure(alphas, limit, sharp: dict, stored: dict, live: dict) -> Figure:
    """Figure 2: Muon's exponent against α, limit and sharp curve, stored and live measurements with their intervals.

    alphas, limit: (n,) the limit curve. sharp: label ↦ (αs, exponents over the sizes of that label).
    stored, live: α ↦ (slope, low, high).
    """
    figure, (axis,) = new_axes()
    axis.plot(alphas, limit, ":", color=COLOURS["theory"], lw=1.4, label=r"limit $1 + 1/2\alpha$")
    sources = {"stored": (stored, "o", COLOURS["polar"]), "live": (live, "s", COLOURS["smoothed_sign"])}
    for (label, (xs, slopes)), (points, marker, colour) in zip(sharp.items(), sources.values(), strict=True):
        axis.plot(xs, slopes, "-", color=colour, lw=1.2, label=f"prediction, {label}")
        slope, low, high = np.transpose(list(points.values()))
        bars = [slope - low, high - slope]
        axis.errorbar(list(points), slope, bars, fmt=marker, color=colour, capsize=3, label=f"measured, {label}")
    axis.set_xlabel(r"exponent $\alpha$ of the frequencies")
    axis.set_ylabel("fitted exponent of the capacity")
    axis.legend()
    return figure
