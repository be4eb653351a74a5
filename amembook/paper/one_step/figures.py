"""Pictures of one population step: capacity against d, signal against interactions, local exponents."""

from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import (
    GREY,
    MAPS,
    Look,
    device_points,
    frame,
    key,
    kinds,
    log_middles,
    name_lines,
    new_axes,
    optimizer,
    points,
    reference_line,
    series,
)


def capacity_figure(record: dict, names=("polar", "sgd")) -> Figure:
    """Figure 1(a): one record of `one-step`, capacity against d for one α.

    Mean counts with two standard errors, sharp predictions as lines, limiting exponents dotted. SGD is drawn at its own
    large dimensions, filled, and at those of Muon, open.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes(figsize=(5.0, 4.2))
    sharp = predicted["counts"]
    for name in names:
        field = "sgd_dims" if name == "sgd" else "dims"
        dims = config[field]
        slope, (low, high) = measured["slope"][name], measured["interval"][name]
        limit = predicted["slope"][name]
        label = f"{MAPS[name].label}: power {slope:.2f} [{low:.2f}, {high:.2f}], limit {limit:.2f}"
        # a hollow square leaves the circle below it to be seen
        hollow = {"mfc": "none", "ms": 8} if name == "smoothed_sign" else {}
        device_points(axis, record, partial(_counts, name, field), optimizer(name, label), zorder=3, **hollow)
        reference_line(axis, dims, limit, (dims[-1], sharp[name][-1]))
        if name == "sgd":
            look = optimizer(name)._replace(label=None)
            device_points(axis, record, partial(_counts, "sgd_at_dims", "dims"), look, mfc="white", zorder=3)
    for name, field in (("polar", "dims"), ("sgd", "sgd_dims")):
        end, label = (config[field][-1], sharp[name][-1]), MAPS[name].label.split()[0]
        axis.annotate(label, end, (-4, 8), textcoords="offset points", ha="right")
    rows = np.array([min(config["dims"]), max(config["sgd_dims"])])
    axis.plot(rows, rows, "--", color=GREY, lw=1)
    # below its line, for Muon's stands above it
    axis.annotate("as many facts as rows", (2**11, 2**11), (10, -6), textcoords="offset points", va="top")
    title = rf"One step on all the data, $\alpha = {config['alpha']:g}$"
    frame(axis, "embedding dimension $d$", "recalled facts", title, log="xy", base=2)
    key(axis, below=1)
    return figure


def _counts(name: str, field: str, record: dict) -> dict:
    """Counts of a map against d, and their prediction; field: of its dimensions."""
    dims = np.array(record["config"][field], dtype=float)
    counts, law = record["measured"]["seed_counts"][name], record["predicted"]["counts"][name]
    return {"x": dims, "draws": counts, "law": law}


def signal_figure(panels: dict) -> Figure:
    """Own logit and best rival's logit by rank, one panel a map, both in units of the panel's interaction scale.

    panels: map ↦ dict of (N,) arrays in rank order, `own`, `rival` and `predicted` (own logit), and the number `scale`.
    Shaded: ranks of which at least half are recalled, their own logit above the rival's.
    """
    figure, axes = new_axes(len(panels), sharex=True, sharey=True)
    for axis, (name, panel) in zip(axes, panels.items(), strict=True):
        own, rival, predicted = (np.asarray(panel[part]) / panel["scale"] for part in ("own", "rival", "predicted"))
        edges = np.unique(np.geomspace(1, len(own), 40).astype(int))
        middle = np.sqrt(edges[:-1] * (edges[1:] - 1))  # of the first rank and the last
        look = optimizer(name, "own (signal)")
        for values, style in ((rival, Look(GREY, look.marker, "best rival")), (own, look)):
            bins = [values[a - 1 : b - 1] for a, b in pairwise(edges)]
            low, median, high = np.array([np.quantile(bin_, [0.1, 0.5, 0.9]) for bin_ in bins]).T
            axis.fill_between(middle, low, high, color=style.colour, alpha=0.2, lw=0)
            points(axis, middle, median, style, ms=3)
        recalled = [bin_ for bin_ in pairwise(edges) if np.mean((own > rival)[bin_[0] - 1 : bin_[1] - 1]) >= 0.5]
        for k, (first, after) in enumerate(recalled):
            label = "recalled" if not k else None
            axis.axvspan(first, after, color=look.colour, alpha=0.1, lw=0, label=label)
        ranks = np.arange(1, len(own) + 1)
        axis.plot(ranks, predicted, color=look.colour, lw=1.2, label="predicted signal")
        frame(axis, "rank $i$ of the fact asked", title=MAPS[name].label.split()[0], log="x")
        axis.set_yscale("symlog", linthresh=0.1)
    axes[0].set_ylabel("logit / size of a leak")
    for axis, (at, up) in zip(axes, ((28, 14), (9, -12)), strict=False):
        name_lines(axis, places={"best rival": (at, (0, up)), "own (signal)": (at, (0, -12))})
    key(axes[0], below=2)
    return figure


def local_slopes_figure(dims, slopes: dict, limits: dict) -> Figure:
    """Local exponents of the sharp prediction against d, one curve for each α, with the limits.

    dims: (n,). slopes: α ↦ (n − 1,) slopes between neighbours. limits: α ↦ exponent.
    """
    figure, (axis,) = new_axes()
    for look, alpha in series(slopes):
        label = rf"$\alpha = {alpha:g}$"
        axis.plot(log_middles(dims), slopes[alpha], "-", color=look.colour, label=label)
        axis.axhline(limits[alpha], color=look.colour, ls=":", lw=1)
    frame(axis, "embedding dimension $d$", "local exponent of the count", log="x", base=2)
    lines = {"formula": "-", r"limit $1 + 1/(2\alpha)$": ":"}
    name_lines(axis, offset=(16, 0))
    key(axis, lines)
    return figure


def exponents_figure(alphas, limit, sharp: dict, stored: dict, live: dict) -> Figure:
    """Figure 2: Muon's exponent against α, limit and sharp curve, stored and live measurements with their intervals.

    alphas, limit: (n,) the limit curve. sharp: label ↦ (αs, exponents over the sizes of that label).
    stored, live: α ↦ (slope, low, high).
    """
    figure, (axis,) = new_axes()
    axis.plot(alphas, limit, ":", color=GREY, lw=1.4, label=r"limit $1 + 1/(2\alpha)$")
    for (look, (label, (xs, slopes))), fits in zip(kinds(sharp.items()), (stored, live), strict=True):
        axis.plot(xs, slopes, "-", color=look.colour, lw=1.2, label=f"formula, {label}")
        slope, *interval = np.transpose(list(fits.values()))
        points(axis, list(fits), slope, look._replace(label=f"counted, {label}"), interval=np.transpose(interval))
    frame(axis, r"exponent $\alpha$ of the frequencies", "fitted exponent of the count")
    key(axis, below=2)
    return figure
