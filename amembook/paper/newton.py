"""Pictures of Newton's method: leverages, Newton against Muon."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, name_lines, new_axes, points, series


def leverage_figure(measured: dict, predicted: dict) -> Figure:
    """Leverage of every item against its rank over d, one set of points and one line a dimension.

    measured: d ↦ (N,) leverages of one draw in rank order. predicted: d ↦ (N,).
    """
    figure, (axis,) = new_axes()
    for look, dim in series(measured, "$d = {}$"):
        leverage = np.asarray(measured[dim])
        ranks = np.arange(1, len(leverage) + 1)
        shown = np.unique(np.geomspace(1, len(leverage), 60).astype(int)) - 1
        points(axis, ranks[shown] / dim, leverage[shown], look, ms=3.5)
        axis.plot(ranks / dim, predicted[dim], "-", color=look.colour, lw=1.2)
    frame(axis, "rank over dimension, $i/d$", r"leverage $\ell_i$", log="xy")
    key(axis)
    return figure


def newton_over_polar_figure(record: dict, curves: dict) -> Figure:
    """Newton's count over the polar map's against α, a panel for each N, a colour for each d.

    record: of `sharp`, its points with two standard errors (of the two counts as if independent, which is cautious).
    curves: (N, d) ↦ pair (alphas, predicted ratios).
    """
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(len(config["n_items"]), sharey=True)
    for n, (axis, n_items) in enumerate(zip(axes, config["n_items"], strict=True)):
        for k, (look, dim) in enumerate(series(config["dims"], "$d = {}$")):
            newton, polar = (np.array(measured["counts"][name][k][n]) for name in ("newton", "polar"))
            relative = [np.array(measured["error"][name][k][n]) for name in ("newton", "polar")]
            error = newton / polar * np.hypot(relative[0] / newton, relative[1] / polar)
            points(axis, config["alphas"], newton / polar, look, error=error)
            axis.plot(*curves[n_items, dim], "-", color=look.colour, lw=1.2)
        axis.axhline(1, color=GREY, lw=1)
        frame(axis, r"$\alpha$", title=f"$N = {n_items}$")
    axes[0].set_ylabel("items: Newton / Muon")
    name_lines(axes[-1])
    return figure
