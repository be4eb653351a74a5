"""Pictures of sharp predictions: counted over predicted, every count of the book, the constants of power laws."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, device_points, frame, key, kinds, name_lines, new_axes, points, series


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
    """Counted over predicted against the predicted count, one record of `sharp`: a panel a map, a point for every α, N
    and d, with two standard errors; the band is grey.

    panels: key of the record's counts ↦ title.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(len(panels), 3, sharey=True, sharex=True, figsize=(8.0, 5.2))
    for place, (axis, (name, title)) in enumerate(zip(axes, panels.items(), strict=True)):
        ratio, counts, law = (
            np.array(part[name]) for part in (measured["ratio"], measured["counts"], predicted["counts"])
        )
        error = np.array(measured["error"][name]) * ratio / counts
        axis.axhspan(1 - band, 1 + band, color=GREY, alpha=0.12, lw=0)
        axis.axhline(1, color=GREY, lw=1)
        for k, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
            mine = (part[k].ravel() for part in (law, ratio, error))
            x, y, doubt = mine
            points(axis, x, y, look, error=doubt, ms=4, lw=0.8, capsize=0)
        last = place >= len(panels) - 3
        frame(axis, "predicted items" if last else "", "" if place % 3 else "counted / predicted", title, log="x")
    key(axes[0], below=3)
    return figure


def parity_figure(points: dict, band: float) -> Figure:
    """Every stored count over its prediction, against the prediction, by the formula that predicts it; a grey band.

    points: formula ↦ pair of (n,) arrays, predicted and counted.
    """
    figure, (axis,) = new_axes()
    axis.axhspan(1 - band, 1 + band, color=GREY, alpha=0.12, lw=0)
    axis.axhline(1, color=GREY, lw=1)
    for look, (label, pair) in kinds(points.items()):
        predicted, counted = (np.asarray(values) for values in pair)
        style = {"color": look.colour, "mfc": "none", "ms": 4.5, "mew": 0.9}
        axis.plot(predicted, counted / predicted, look.marker, label=f"{label} ({len(counted)})", **style)
    frame(axis, "predicted facts", "counted / predicted", log="x")
    key(axis)
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
