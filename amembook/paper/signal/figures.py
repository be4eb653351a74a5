"""Pictures of the signal: its curve φ(t), its slope and curvature, and its size by rank."""

from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from amembook.figures.style import GREY, MAPS, device_points, frame, key, kinds, new_axes, optimizer, points, series


def slope_histogram_figure(slopes, stein: float, sharp: float, lower) -> Figure:
    """Slopes λφ′(0) of many pairs, their Stein mean and sharp limit; open: the lower bound of each pair."""
    figure, (axis,) = new_axes()
    bins = np.linspace(0, np.max(np.asarray(slopes)), 60)
    axis.hist(np.asarray(lower), bins, color=GREY, histtype="step", label="lower bound of each pair")
    colour = optimizer("smoothed_sign").colour
    axis.hist(np.asarray(slopes), bins, color=colour, alpha=0.6, label=r"$\lambda\phi'(0)$")
    axis.axvline(stein, color=GREY, label="Stein mean")
    ((limit, _),) = kinds([sharp])
    axis.axvline(sharp, color=limit.colour, ls=":", lw=2, label="sharp limit")
    frame(axis, r"slope of the signal, in units of $1/\lambda$", "pairs")
    key(axis, below=2)
    return figure


def signal_curves_figure(t_over_lam, curves, sharp, bounds) -> Figure:
    """φ(t) of many items, left near 0 and right over decades, with the sharp curve and the proved lower bound.

    t_over_lam: (T,). curves: (n, T), a band of 80 % and the median are drawn. sharp: (T,). bounds: (n, T), the lower
    bound of each item; its median is drawn.
    """
    figure, (left, right) = new_axes(2)
    low, median, high = np.quantile(np.asarray(curves), [0.1, 0.5, 0.9], axis=0)
    bound, colour = np.median(np.asarray(bounds), axis=0), optimizer("smoothed_sign").colour
    for axis, log in ((left, ""), (right, "x")):
        axis.fill_between(t_over_lam, low, high, color=colour, alpha=0.25, lw=0, label="80 % of items")
        axis.plot(t_over_lam, median, color=colour, label="median item")
        axis.plot(t_over_lam, sharp, "--", color=GREY, lw=1.4, label="sharp curve")
        axis.plot(t_over_lam, bound, "-.", color=GREY, lw=1.4, label="lower bound, median item")
        frame(axis, r"weight $t/\lambda$", log=log)
    left.set_xlim(0, 4)
    left.set_ylabel(r"signal $\phi_i(t)$")
    key(left, loc="upper left")
    return figure


def curvature_figure(t_over_lam, largest: dict, bound: float, single: float) -> Figure:
    """Largest |φ″| λ² / (‖u‖‖v‖)³ over many pairs against t, one curve for each d, below the proved bound.

    largest: d ↦ (T,). single: the largest curvature of h_λ itself, reached by a single direction.
    """
    figure, (axis,) = new_axes()
    for look, dim in series(largest, "$d = {}$"):
        points(axis, t_over_lam, largest[dim], look, fmt=look.marker + "-", ms=3, lw=1)
    axis.axhline(bound, color=GREY, label="proved bound")
    axis.axhline(single, color=GREY, ls=":", label="reached by one direction")
    frame(axis, r"weight $t/\lambda$", r"largest $|\phi''|\,\lambda^2/(\|u\|\|v\|)^3$", log="xy")
    key(axis, loc="lower left")
    return figure


def signal_by_rank_figure(record: dict, edges) -> Figure:
    """Mean own logit by octave of rank over d, polar left and h_λ right, on the sharp curves; one record of `signal`.

    Bars are two standard errors. edges: first ranks of the octaves, and N + 1.
    """
    figure, axes = new_axes(2, sharey=True)
    middle = np.array([np.sqrt(a * (b - 1)) for a, b in pairwise(edges)])
    measured, predicted = record["measured"], record["predicted"]
    for axis, name in zip(axes, ("polar", "smoothed_sign"), strict=True):
        for look, dim in series(record["config"]["dims"], "$d = {}$"):
            mean, error, law = (
                table[f"{name}_{dim}"] for table in (measured["signal"], measured["signal_error"], predicted["signal"])
            )
            points(axis, middle / dim, mean, look, error=error, law=law)
        frame(axis, "rank over dimension, $i/d$", title=MAPS[name].label, log="xy")
        axis.set_ylim(bottom=2e-4)
    axes[0].set_ylabel("mean own logit")
    key(axes[0], loc="lower left")
    return figure


def slope_and_curvature_figure(record: dict) -> Figure:
    """Against d: left λ times the mean slope and its relative spread, on their predictions; right the largest
    curvature below its bound; one record of `signal`.
    """
    figure, (left, right) = new_axes(2)
    panels = {
        "lam_slope": (left, r"mean, $\lambda\,\mathrm{E}\phi'(0)$", "-"),
        "slope_spread": (left, "relative spread", "-"),
        "curvature": (right, "largest of many pairs", "--"),
    }
    dims = record["config"]["dims"]
    for look, (quantity, (axis, label, line)) in kinds(panels.items()):
        device_points(axis, record, partial(_smoothed_sign, quantity), look._replace(label=label))
        axis.plot(dims, record["predicted"][quantity]["smoothed_sign"], line, color=look.colour, lw=1.2)
    frame(left, "embedding dimension $d$", title="slope of the signal", log="xy", base=2)
    curvature = r"curvature $|\phi''|\lambda^2/(\|u\|\|v\|)^3$"
    frame(right, "embedding dimension $d$", title=curvature, log="x", base=2, zero=True)
    left.yaxis.set_major_formatter(ScalarFormatter())
    left.yaxis.set_minor_formatter(NullFormatter())
    left.set_yticks([0.05, 0.1, 0.2, 0.5])
    key(left, {"prediction": "-"}, loc="lower left")
    key(right, {"proved bound": "--"})
    return figure


def _smoothed_sign(quantity: str, record: dict) -> dict:
    return {"x": record["config"]["dims"], "draws": record["measured"][quantity]["smoothed_sign"]}
