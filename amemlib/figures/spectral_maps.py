"""Pictures of maps on singular values: the functions, what they leave small, what that does to capacity."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes

_STYLE = {"muon5": "muon", "muon10": "newton", "cubic5": "cubic", "cubic15": "smoothed_sign"}
_LABEL = {
    "muon5": "quintic, 5 steps (as shipped)",
    "muon10": "quintic, 10 steps",
    "cubic5": "cubic, 5 steps",
    "cubic15": "cubic, 15 steps",
}


def _look(name: str) -> tuple[str, str, str]:
    """Colour, marker and label of a map."""
    style = _STYLE.get(name, name)
    return COLOURS[style], MARKERS[style], _LABEL.get(name, LABELS[style])


def maps_figure(s, curves: dict, values: dict) -> Figure:
    """f against s / ‖G‖_F for several maps; below, where the singular values of gradients lie.

    s: (n,) grid of s / ‖G‖_F. curves: map ↦ (n,) values of f.
    values: label ↦ (d,) measured singular values / ‖G‖_F, drawn as a bar from the 5 % to the 95 % quantile.
    """
    figure, (axis,) = new_axes(figsize=(7.0, 4.8))
    for name, curve in curves.items():
        colour, _, label = _look(name)
        axis.plot(s, curve, "-", color=colour, lw=1.5, label=label)
    axis.axhline(0.5, color=COLOURS["theory"], lw=1, ls=":")
    log_log(axis, r"singular value $s / \|G\|_F$", "$f(s)$", base=10)
    low = min(np.asarray(curve).min() for curve in curves.values())
    for step, (colour, (label, spectrum)) in enumerate(zip(SERIES, values.items(), strict=False)):
        five, median, ninety_five = np.quantile(spectrum, [0.05, 0.5, 0.95])
        height = low / 2 ** (step + 1)
        axis.plot([five, ninety_five], [height, height], "-", color=colour, lw=5, alpha=0.5)
        axis.plot([median], [height], "|", color=colour, ms=12, mew=2)
        axis.annotate(label, (ninety_five, height), xytext=(6, -3), textcoords="offset points", fontsize=9.5)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def share_figure(records: list[dict], name: str) -> Figure:
    """Share of singular values that a map leaves below 1/2 against d, for several α; lines: the spectral law."""
    figure, (axis,) = new_axes()
    for colour, marker, record in zip(SERIES, "os^Dv", records, strict=False):
        dims, alpha = record["config"]["dims"], record["config"]["alpha"]
        axis.plot(
            dims, record["measured"]["share_below_half"][name], marker, color=colour, label=rf"$\alpha = {alpha:g}$"
        )
        axis.plot(dims, record["predicted"]["share_below_half"][name], "-", color=colour, lw=1.2)
    axis.set_xscale("log", base=2)
    axis.set_ylim(0, 1)
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel("share of singular values with $f(s) < 1/2$")
    axis.set_title(f"{_look(name)[2]} (lines: spectral law)", fontsize=11)
    axis.legend()
    return figure


def maps_capacity_figure(record: dict, names) -> Figure:
    """Capacity against d for several maps of one record; two standard errors, sharp predictions as lines."""
    figure, (axis,) = new_axes(figsize=(7.0, 4.8))
    dims = np.array(record["config"]["dims"], dtype=float)
    for name in names:
        colour, marker, label = _look(name)
        counts = np.array(record["measured"]["seed_counts"][name])
        error = 2 * counts.std(1, ddof=1) / np.sqrt(counts.shape[1]) if counts.shape[1] > 1 else None
        axis.errorbar(dims, counts.mean(1), error, fmt=marker, color=colour, capsize=2, label=label)
        axis.plot(dims, record["predicted"]["counts"][name], "-", color=colour, lw=1.2)
    log_log(axis, "embedding dimension $d$", "recovered items")
    axis.set_title(rf"One population step, $\alpha = {record['config']['alpha']:g}$ (lines: sharp)", fontsize=11)
    axis.legend()
    return figure


def fixed_steps_figure(dims, slopes: dict, limits: dict, measured: dict) -> Figure:
    """Local exponents of the sharp predictions against d, one panel for each α, the measured ones on top.

    dims: (n,). slopes: α ↦ map ↦ (n − 1,) slopes between neighbours. limits: α ↦ map ↦ limiting exponent.
    measured: α ↦ map ↦ (middle dims, local slopes).
    """
    figure, axes = new_axes(len(slopes), sharey=True)
    middle = np.sqrt(np.asarray(dims[1:], dtype=float) * np.asarray(dims[:-1], dtype=float))
    for axis, alpha in zip(axes, slopes, strict=True):
        for name, values in slopes[alpha].items():
            colour, marker, label = _look(name)
            axis.plot(middle, values, "-", color=colour, lw=1.2)
            axis.plot(*measured[alpha][name], marker, color=colour, ms=4, label=label)
            axis.axhline(limits[alpha][name], color=colour, ls=":", lw=1)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("embedding dimension $d$")
        axis.set_title(rf"$\alpha = {alpha:g}$", fontsize=11)
    axes[0].set_ylabel("local exponent of the capacity")
    axes[-1].legend(loc="center right")
    return figure


def spectrum_after_figure(before, after: dict) -> Figure:
    """Sorted singular values of one gradient, left as they are, right what several maps make of them.

    before: (d,) decreasing, s / ‖G‖_F. after: map ↦ (d,) values f(s) in the same order.
    """
    figure, (left, right) = new_axes(2)
    index = np.arange(1, len(before) + 1)
    left.plot(index, before, "-", color=COLOURS["theory"], lw=1.8)
    left.set_title("before", fontsize=11)
    for name, values in after.items():
        colour, _, label = _look(name)
        right.plot(index, values, "-", color=colour, lw=1.8, label=label)
    right.set_title("after", fontsize=11)
    for axis in (left, right):
        axis.set_xlabel("index $k$")
        axis.set_yscale("log")
    left.set_ylabel(r"$s_k / \|G\|_F$")
    right.set_ylabel("$f(s_k)$")
    right.legend()
    return figure
