"""Pictures of sharp predictions: counted over predicted, every count of the book, the constants of power laws."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes


def sharp_ratio_figure(record: dict, panels: dict, band: float) -> Figure:
    """Counted over predicted, one record of `sharp`: a panel a map, one point for every α, N and d.

    panels: key of the record's counts ↦ title. Points of one d stand side by side, small N open, large N filled, with
    two standard errors; the band is grey.
    """
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(len(panels), figsize=(2.1 * len(panels), 3.9), sharey=True)
    n_alpha = len(config["alphas"])
    for axis, (name, title) in zip(axes, panels.items(), strict=True):
        ratio, counts = np.array(measured["ratio"][name]), np.array(measured["counts"][name])
        error = 2 * np.array(measured["error"][name]) * ratio / counts
        axis.axhspan(1 - band, 1 + band, color=COLOURS["theory"], alpha=0.12, lw=0)
        axis.axhline(1, color=COLOURS["theory"], lw=1)
        for n in range(len(config["n_items"])):
            for a, colour in zip(range(n_alpha), SERIES, strict=False):
                x = np.arange(len(config["dims"])) + ((a + 0.5) / n_alpha - 0.5 + (n - 0.5) / n_alpha / 3) * 0.8
                fill = colour if n == len(config["n_items"]) - 1 else "white"
                axis.errorbar(
                    x, ratio[:, n, a], error[:, n, a], fmt="o", color=colour, mfc=fill, ms=3.5, lw=0.8, capsize=0
                )
        axis.set_xticks(range(len(config["dims"])), config["dims"])
        axis.set_xlabel("$d$")
        axis.set_title(title, fontsize=10)
    axes[0].set_ylabel("counted / predicted")
    handles = [axes[0].plot([], [], "o", color=colour)[0] for _, colour in zip(config["alphas"], SERIES, strict=False)]
    names = [rf"$\alpha = {alpha:g}$" for alpha in config["alphas"]]
    for n, n_items in enumerate(config["n_items"]):
        fill = COLOURS["theory"] if n == len(config["n_items"]) - 1 else "white"
        handles.append(axes[0].plot([], [], "o", color=COLOURS["theory"], mfc=fill)[0])
        names.append(f"$N = {n_items}$")
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=8.5, columnspacing=1.0)
    return figure


def parity_figure(points: dict) -> Figure:
    """Counted against predicted for every stored count (left) and their ratio (right).

    points: label ↦ pair of (n,) arrays, predicted and counted.
    """
    figure, (left, right) = new_axes(2, figsize=(9.6, 4.3))
    markers = "os^DvP"
    for colour, marker, (label, (predicted, counted)) in zip(SERIES, markers, points.items(), strict=False):
        predicted, counted = np.asarray(predicted), np.asarray(counted)
        style = {"color": colour, "ms": 3.5, "alpha": 0.7}
        left.plot(predicted, counted, marker, label=f"{label} ({len(counted)})", **style)
        right.plot(predicted, counted / predicted, marker, **style)
    ends = [min(p.min() for p, _ in points.values()), max(p.max() for p, _ in points.values())]
    left.plot(ends, ends, "-", color=COLOURS["theory"], lw=1, zorder=0)
    log_log(left, "predicted items", "counted items", base=10)
    right.axhline(1, color=COLOURS["theory"], lw=1)
    right.set_xscale("log")
    right.set_xlabel("predicted items")
    right.set_ylabel("counted / predicted")
    left.legend(fontsize=8.5)
    return figure


def constants_figure(records: list[dict], leading: dict, grid) -> Figure:
    """Polar's counts over d^{1+1/2α} from records of `one-step`, with the sharp count and its leading order, dotted.

    leading: α ↦ the constant. grid: α ↦ (dims, sharp counts) on a wider range of d than the records'.
    """
    figure, (axis,) = new_axes()
    for colour, marker, record in zip(SERIES, "os^Dv", records, strict=False):
        config = record["config"]
        alpha, dims = config["alpha"], np.array(config["dims"], dtype=float)
        exponent = record["predicted"]["slope"]["polar"]
        counts = np.array(record["measured"]["seed_counts"]["polar"]) / dims[:, None] ** exponent
        error = 2 * counts.std(1, ddof=1) / np.sqrt(counts.shape[1])
        label = rf"$\alpha = {alpha:g}$"
        axis.errorbar(dims, counts.mean(1), error, fmt=marker, color=colour, capsize=2, label=label)
        wide, sharp = (np.asarray(x, dtype=float) for x in grid[alpha])
        axis.plot(wide, sharp / wide**exponent, "-", color=colour, lw=1.2)
        axis.axhline(leading[alpha], color=colour, ls=":", lw=1.2)
    axis.plot([], [], "-", color=COLOURS["theory"], label="sharp count")
    axis.plot([], [], ":", color=COLOURS["theory"], label=r"$c(\alpha, N)$")
    axis.set_xscale("log", base=2)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel(r"recovered items / $d^{\,1+1/2\alpha}$")
    axis.legend(ncols=2)
    return figure


def truncated_figure(removed, counted: dict, predicted: dict) -> Figure:
    """Items that one step on the thresholded gradient recovers, against how many leading items were removed from it.

    removed: (n,). counted: map ↦ (n, draws). predicted: map ↦ (n,).
    """
    figure, (axis,) = new_axes()
    for name, draws in counted.items():
        draws = np.asarray(draws, dtype=float)
        error = 2 * draws.std(1, ddof=1) / np.sqrt(draws.shape[1])
        axis.errorbar(
            removed, draws.mean(1), error, fmt=MARKERS[name], color=COLOURS[name], capsize=2, label=LABELS[name]
        )
        axis.plot(removed, predicted[name], "-", color=COLOURS[name], lw=1.2)
    axis.set_yscale("log")
    axis.set_xscale("symlog", linthresh=8)
    axis.set_xlim(-1, 1.3 * max(removed))
    axis.set_xlabel("leading items removed from the gradient")
    axis.set_ylabel("recovered items")
    axis.legend()
    return figure
