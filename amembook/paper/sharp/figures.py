"""Pictures of sharp predictions: counted over predicted, every count of the book, the constants of power laws."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, Look, device_points, frame, key, kinds, name_lines, new_axes, points, series


def chance_figure(chances, edges, shares) -> Figure:
    """The chance of being recalled against the rank, its area the expected count, and the share that was recalled.

    chances: (n,) of the ranks 1…n. edges: (m + 1,) of bins of ranks. shares: (m,) recalled in each.
    """
    figure, (axis,) = new_axes()
    [(look, _)] = kinds(["polar"])
    ranks = np.arange(1, len(chances) + 1)
    axis.fill_between(ranks, chances, color=look.colour, alpha=0.15, lw=0)
    axis.plot(ranks, chances, "-", color=look.colour, lw=1.5, label="predicted")
    points(axis, (edges[1:] + edges[:-1]) / 2, shares, look._replace(label="three draws"))
    axis.annotate("area: the count", (0.07, 0.3), xycoords="axes fraction", fontsize=11)
    frame(axis, "rank of the fact", "chance of being recalled", zero=True)
    key(axis)
    return figure


def sharp_ratio_figure(record: dict, panels: dict, band: float) -> Figure:
    """Counted over predicted, one record of `sharp`: a panel a map, one point for every α, N and d.

    panels: key of the record's counts ↦ title. Points of one d stand side by side, small N open, large N filled, with
    two standard errors; the band is grey.
    """
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(len(panels), sharey=True)
    n_alpha, largest = len(config["alphas"]), len(config["n_items"]) - 1
    looks = [look for look, _ in series(config["alphas"], r"$\alpha = {:g}$")]
    for axis, (name, title) in zip(axes, panels.items(), strict=True):
        ratio, counts = np.array(measured["ratio"][name]), np.array(measured["counts"][name])
        error = np.array(measured["error"][name]) * ratio / counts
        axis.axhspan(1 - band, 1 + band, color=GREY, alpha=0.12, lw=0)
        axis.axhline(1, color=GREY, lw=1)
        for n in range(largest + 1):
            for a, look in enumerate(looks):
                x = np.arange(len(config["dims"])) + ((a + 0.5) / n_alpha - 0.5 + (n - 0.5) / n_alpha / 3) * 0.8
                style = {"fmt": "o", "ms": 3.5, "lw": 0.8, "capsize": 0, "label": None}
                style["mfc"] = look.colour if n == largest else "white"
                points(axis, x, ratio[:, n, a], look, error=error[:, n, a], **style)
        frame(axis, "$d$")
        axis.set_title(title, fontsize=11)
        axis.set_xticks(range(len(config["dims"])), config["dims"])
    for axis in axes[::2]:
        axis.set_ylabel("counted / predicted")
    for look in looks:
        points(axes[0], [], [], look, fmt="o")
    for n, n_items in enumerate(config["n_items"]):
        points(axes[0], [], [], Look(GREY, "o", f"$N = {n_items}$"), mfc=GREY if n == largest else "white")
    key(axes[0], below=4)
    return figure


def parity_figure(points: dict) -> Figure:
    """Counted against predicted for every stored count (left) and their ratio (right).

    points: label ↦ pair of (n,) arrays, predicted and counted.
    """
    figure, (left, right) = new_axes(2)
    for look, (label, pair) in kinds(points.items()):
        predicted, counted = (np.asarray(values) for values in pair)
        style = {"color": look.colour, "ms": 3.5, "alpha": 0.7}
        left.plot(predicted, counted, look.marker, label=f"{label} ({len(counted)})", **style)
        right.plot(predicted, counted / predicted, look.marker, **style)
    ends = [min(p.min() for p, _ in points.values()), max(p.max() for p, _ in points.values())]
    left.plot(ends, ends, "-", color=GREY, lw=1, zorder=0)
    right.axhline(1, color=GREY, lw=1)
    frame(left, "predicted facts", "counted facts", log="xy")
    frame(right, "predicted facts", "counted / predicted", log="x")
    key(left)
    return figure


def _scaled_counts(record: dict) -> dict:
    scale = np.array(record["config"]["dims"], dtype=float) ** record["predicted"]["slope"]["polar"]
    return {"x": record["config"]["dims"], "draws": record["measured"]["seed_counts"]["polar"], "scale": scale}


def constants_figure(records: list[dict], leading: dict, grid) -> Figure:
    """Polar's counts over d^{1+1/2α} from records of `one-step`, with the sharp count and its leading order, dotted.

    leading: α ↦ the constant. grid: α ↦ (dims, sharp counts) on a wider range of d than the records'.
    """
    figure, (axis,) = new_axes()
    for look, record in series(records):
        alpha, exponent = record["config"]["alpha"], record["predicted"]["slope"]["polar"]
        device_points(axis, record, _scaled_counts, look._replace(label=rf"$\alpha = {alpha:g}$"))
        wide, sharp = (np.asarray(x, dtype=float) for x in grid[alpha])
        axis.plot(wide, sharp / wide**exponent, "-", color=look.colour, lw=1.2)
        axis.axhline(leading[alpha], color=look.colour, ls=":", lw=1.2)
    frame(axis, "embedding dimension $d$", r"recalled facts / $d^{\,1+1/2\alpha}$", log="x", base=2, zero=True)
    name_lines(axis, offset=(0, -13))
    key(axis, {"sharp count": "-", r"$c(\alpha, N)$": ":"}, ncols=2)
    return figure
