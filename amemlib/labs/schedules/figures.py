"""Pictures of the lab: what each schedule keeps, the law behind it, formats, and what the products buy."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import GREY, PALE, frame, key, kinds, new_axes, series

NAMES = {
    "jordan": "Jordan ×5 (torch, optax)",
    "you": "You ×5 (dion, optax)",
    "polar_express": "Polar Express 1.01 ×5",
    "polar_express_8": "Polar Express 1.01 ×8",
    "polar_express_102": "Polar Express 1.02 ×5",
    "polar_express_105": "Polar Express 1.05 ×5",
    "cans": "CANS ×5",
    "turbo_muon": "Turbo-Muon ×4",
    "aol": "AOL ×4",
    "cubic5": "cubic ×5",
    "deepseekv4": "DeepSeek-V4 ×10",
}
"""Schedules in words, for axes."""


def kept_figure(record: dict, alpha: str) -> Figure:
    """Share of exact Muon's items that every schedule keeps at one α, two d: bars counted, ticks predicted."""
    figure, (axis,) = new_axes(figsize=(7.0, 4.6))
    measured, predicted = record["measured"], record["predicted"]
    counts = predicted["counts"]["float32"][alpha]
    names = sorted(counts, key=lambda name: counts[name][-1])
    dims = record["config"]["dims"][-2:]
    places = np.arange(len(names))
    for k, (look, dim) in enumerate(series(dims, "$d = {}$")):
        at = record["config"]["dims"].index(dim)
        full = measured["polar"][alpha][at]
        found, error = (
            np.array([measured[key]["float32"][alpha][n][at] or 0 for n in names]) / full for key in ("counts", "error")
        )
        law = [counts[name][at] / predicted["polar"][alpha][at] for name in names]
        y = places + (k - 0.5) * 0.4
        axis.barh(y, found, 0.36, xerr=2 * error, color=look.colour, alpha=0.75, label=look.label, ecolor=GREY)
        axis.plot(law, y, "|", color="black", ms=9, mew=1.6, label="predicted" if k else None)
    axis.axvline(1, color=GREY, lw=1)
    axis.set_yticks(places, [NAMES[name] for name in names])
    axis.set_xlim(right=1.12)
    frame(axis, "items kept of exact Muon's", title=rf"$\alpha = {alpha}$, float32")
    axis.legend(loc="lower right")
    return figure


def law_figure(record: dict) -> Figure:
    """Share kept against the reach x = Λ s_{d/2} / ‖G‖_F: all schedules, d and α, on the law of h_λ for each α."""
    figure, (axis,) = new_axes()
    measured, predicted = record["measured"], record["predicted"]
    for look, alpha in series(measured["polar"], r"$\alpha = {}$"):
        full = np.array(measured["polar"][alpha])
        reach, counts = predicted["reach"][alpha], measured["counts"]["float32"][alpha]
        x = np.concatenate([reach[name] for name in counts])
        y = np.concatenate([np.array(found) / full for found in counts.values()])
        axis.plot(x, y, look.marker, color=look.colour, ms=4.5, label=look.label)
        curve = predicted["curve"][alpha]
        axis.plot(curve["reach"], curve["share"], color=look.colour, lw=1.2)
    axis.axvspan(3, 300, color=PALE, alpha=0.35, lw=0)
    axis.set_xlim(1e-3, 300)
    frame(axis, r"reach $x=\Lambda\,s_{d/2}/\|G\|_F$", "items kept of exact Muon's", log="xy")
    key(axis, {r"$h_\lambda$ with $\lambda=\|G\|_F/\Lambda$": "-"})
    return figure


def formats_figure(record: dict) -> Figure:
    """What float16 and bfloat16 leave of float32's items, a panel an α: measured against predicted, all of them."""
    measured, predicted = record["measured"], record["predicted"]
    figure, axes = new_axes(len(measured["polar"]), sharey=True)
    for axis, alpha in zip(axes, measured["polar"], strict=True):
        for look, name in kinds(("float16", "bfloat16"), "{}"):
            told = [
                np.array([told["counts"][name][alpha][n] for n in NAMES])
                / np.array([told["counts"]["float32"][alpha][n] for n in NAMES])
                for told in (predicted, measured)
            ]
            axis.plot(*(share.ravel() for share in told), look.marker, color=look.colour, ms=4.5, label=look.label)
        axis.plot([0.2, 1.02], [0.2, 1.02], color=GREY, lw=1, label="equal")
        frame(axis, "predicted", "items kept of float32's" if axis is axes[0] else "", rf"$\alpha = {alpha}$")
    axes[0].legend()
    return figure


def price_figure(record: dict) -> Figure:
    """Share kept against the products spent, at the predicted table's second d, one series an α."""
    figure, (axis,) = new_axes()
    predicted = record["predicted"]
    spent = np.array([predicted["products"][name] for name in NAMES])
    for look, alpha in series(predicted["polar"], r"$\alpha = {}$"):
        shares = [predicted["table"]["bfloat16"][alpha][name][1] for name in NAMES]
        axis.plot(spent, shares, look.marker, color=look.colour, label=look.label)
    highest = list(predicted["table"]["bfloat16"])[0]
    for name, products in zip(NAMES, spent, strict=True):
        if name in ("jordan", "cans", "cubic5", "turbo_muon", "polar_express_8", "deepseekv4"):
            at = products, predicted["table"]["bfloat16"][highest][name][1]
            axis.annotate(
                NAMES[name].partition(" (")[0], at, (0, 7), textcoords="offset points", ha="center", fontsize=8.5
            )
    dim = record["config"]["table_dims"][1]
    axis.set_ylim(0, 1.15)
    frame(axis, "matrix products", "items kept of exact Muon's", f"bfloat16, $d = {dim}$, predicted")
    axis.legend(loc="center right")
    return figure
