"""Pictures of Newton's method: leverages, Newton against Muon, damping and step size, minibatches."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, MAPS, frame, key, name_lines, new_axes, optimizer, points, series


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


def newton_rates_figure(damping, counts, rates: dict, losses: dict, marks: dict) -> Figure:
    """Left: items against the damping. Right: loss against the learning rate over its predicted best value.

    damping, counts: (n,) in units of the smallest curvature; the first damping is 0 and is drawn as a line.
    rates, losses: map ↦ (m,). marks: map ↦ the predicted best rate.
    """
    figure, (left, right) = new_axes(2)
    newton = optimizer("newton", "damped")
    left.axhline(counts[0], color=newton.colour, lw=1, ls="--", label="no damping")
    points(left, damping[1:], counts[1:], newton)
    frame(left, r"damping $\varrho\,d^{\,\alpha+1}$", "recovered items", log="xy")
    for name, rate in rates.items():
        look = optimizer(name)
        points(right, np.asarray(rate) / marks[name], losses[name], look, fmt=look.marker + "-", lw=1)
    right.axvline(1, color=GREY, ls=":", lw=1)
    frame(right, "learning rate / rate of logit noise 2", "loss (nats)", log="xy", base=2)
    name_lines(left, places={"no damping": (1, (-4, -9)), "damped": (2, (8, 4))})
    name_lines(right, places={MAPS["newton"].label: (12, (-6, 6)), MAPS["polar"].label: (10, (8, -8))})
    return figure


def newton_batch_figure(record: dict, distinct: dict) -> Figure:
    """Items against batch size, one record of `sharp`: Newton and polar at each d, sharp counts, distinct items dashed.

    distinct: d ↦ (B,) expected number of distinct items.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(len(config["batch_dims"]), sharey=True)
    sizes = config["batch_sizes"]
    for k, (axis, dim) in enumerate(zip(axes, config["batch_dims"], strict=True)):
        axis.plot(sizes, distinct[dim], "--", color=GREY, lw=1, label="distinct items")
        for name in ("newton", "polar"):
            counts, error, law = (
                table[f"batch_{name}"][k] for table in (measured["counts"], measured["error"], predicted["counts"])
            )
            points(axis, sizes, counts, optimizer(name), error=error, law=law)
        frame(axis, "batch size $B$", title=f"$d = {dim}$", log="xy", base=2)
    axes[0].set_ylabel("recovered items")
    places = {MAPS["newton"].label: (3, (6, 9)), MAPS["polar"].label: (3, (0, -14))}
    name_lines(axes[0], places=places | {"distinct items": (4, (-8, 4))})
    return figure
