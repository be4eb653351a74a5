"""Pictures of the chapter on optimality: risks, the slope's bound, the smallest singular values, λ over six decades."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import (
    GREY,
    MAPS,
    PALE,
    device_points,
    frame,
    key,
    kinds,
    name_lines,
    new_axes,
    optimizer,
    points,
    series,
)


def steps_figure(laws: dict[str, float], limit: float) -> Figure:
    """Facts that one step stores, a bar a step from the least to the most, beside the ceiling at this d."""
    figure, (axis,) = new_axes(figsize=(5.0, 2.8))
    names = sorted(laws, key=laws.get)
    colours = {"SGD": MAPS["sgd"].colour, "Muon": MAPS["polar"].colour}
    labels = [f"{name}: {laws[name]:.0f}" for name in names]
    axis.barh(labels, [laws[name] for name in names], color=[colours.get(name, PALE) for name in names])
    axis.axvline(limit, color=GREY, lw=1.6)
    axis.annotate(
        f"ceiling of one gradient: {limit:.0f}",
        (limit, 0),
        (-4, 0),
        textcoords="offset points",
        ha="right",
        va="center",
    )
    frame(axis, "facts after one step")
    return figure


def risk_figure(record: dict, learning_rates) -> Figure:
    """Bayes risks of one record of `optimality`: left by learning rate, right what the average over rotations saves."""
    measured = record["measured"]
    figure, (left, right) = new_axes(2)
    (sign, _), (haar, _) = kinds(("sign", "haar"))
    looks = {
        "sign": sign._replace(label="entrywise sign"),
        "haar": haar._replace(label="its average over rotations"),
        "polar": optimizer("polar", "polar factor"),
    }
    for name, look in looks.items():
        points(left, learning_rates, measured["risk"][name], look, fmt=look.marker + "-")
    saved, error = measured["risk_saved"]["haar"], measured["risk_saved_error"]["haar"]
    points(right, learning_rates, saved, looks["haar"], error=error, capsize=3)
    right.axhline(0, color=GREY, lw=1)
    frame(left, r"learning rate $\eta$", "Bayes risk (nats)", log="x", base=2)
    frame(right, r"learning rate $\eta$", "risk saved by averaging", log="xy", base=2)
    key(left)
    return figure


def slope_bound_figure(points: dict) -> Figure:
    """Slope against bound, one point a pair (u, v). points: label ↦ (slopes, bounds), both (n,), in one unit 1/t₀.

    Optimizers have their looks; other maps take those of kinds.
    """
    figure, (axis,) = new_axes()
    looks = MAPS | {label: look for look, label in kinds([label for label in points if label not in MAPS], "{}")}
    for label, (slopes, bounds) in points.items():
        look = looks[label]
        axis.plot(bounds, slopes, look.marker, color=look.colour, ms=4, alpha=0.7, label=look.label)
    low, high = (edge(float(edge(bounds)) for _, bounds in points.values()) for edge in (min, max))
    axis.plot([low, high], [low, high], "-", color=GREY, lw=1.2)
    words = {"textcoords": "offset points", "ha": "right", "fontsize": 10, "color": GREY}
    axis.annotate("slope = bound", (high, high), (-8, 2), **words)
    frame(axis, r"bound, in units of $1/t_0$", r"slope $\phi'(0)$, in units of $1/t_0$", log="xy")
    key(axis, below=2)
    return figure


def edge_figure(record: dict) -> Figure:
    """Lemma 8 in one record of `optimality`: left (1/d)Σ1/s and the polar slope, right d·s_min, all in units of t₀."""
    figure, (left, right) = new_axes(2)
    panels = {
        "inverse_sum": (left, r"$\frac{1}{d}\sum_k 1/s_k$, median"),
        "polar_slope": (left, "slope of the polar map, mean"),
        "smallest": (right, "median"),
    }
    for look, (name, (axis, label)) in kinds(panels.items()):
        device_points(axis, record, partial(_edge, name), look._replace(label=label), capsize=3)
    for axis, label in ((left, "in units of $1/t_0$"), (right, r"$d\,s_{\min}\,/\,t_0$")):
        frame(axis, "embedding dimension $d$", label, log="x", base=2, zero=True)
        key(axis, {"prediction, nothing fitted": "-"})
    return figure


def _edge(name: str, record: dict) -> dict:
    measured, law = record["measured"], record["predicted"]["spectrum"][name]
    values = {"draws": measured["spectrum"][name], "error": measured["spectrum_error"][name], "law": law}
    return {"x": record["config"]["spectrum_dims"]} | values


def admissible_figure(z, ratios: dict) -> Figure:
    """f_n(z)/z against z for several n. ratios: name ↦ (n, len(z)) arrays, one panel each, n = 1, 2, … from the top."""
    figure, axes = new_axes(len(ratios), sharey=True)
    for axis, (name, curves) in zip(axes, ratios.items(), strict=True):
        for n, (look, curve) in enumerate(series(np.asarray(curves)), start=1):
            increasing = np.r_[np.diff(curve) > 0, False]
            axis.plot(z, curve, color=look.colour, lw=1.2, label=f"$n = {n}$")
            axis.plot(z, np.where(increasing, curve, np.nan), color=look.colour, lw=4, alpha=0.4)
        frame(axis, "$z$", title=MAPS[name].label, log="xy")
        name_lines(axis, at=0, offset=(2, 6))
    axes[0].set_ylabel("$f_n(z)/z$")
    return figure


def smoothing_figure(record: dict) -> Figure:
    """Capacity of h_λ over that of the polar map against λ/t₀, one record of `optimality`, over the predictions.

    Two standard errors of the mean ratio over the draws. Left all of it, right the part that λ ≤ t₀ changes.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    lams = np.array(config["lam_over_t0"])
    names = [name for name in measured["gain"] if name != "polar"]
    figure, (left, right) = new_axes(2)
    for axis, kept in ((left, lams > 0), (right, lams <= 1)):
        for row, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
            gain, error, sharp = (
                np.array([table[name][row] for name in names])[kept]
                for table in (measured["gain"], measured["gain_error"], predicted["gain"])
            )
            points(axis, lams[kept], 1 + gain, look, error=error, law=1 + sharp)
        axis.axhline(1, color=GREY, ls="--", lw=1, label=MAPS["polar"].label)
        frame(axis, r"$\lambda/t_0$", log="x")
    left.set_yscale("log")
    left.set_ylabel("recovered items / those of the polar map")
    key(left)
    return figure
