"""Pictures of the study: items by forward passes, slowdowns."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, optimizer, points, reference_line


def counts_figure(record: dict) -> Figure:
    """Left: items stored by one step along K estimates, at the largest d. Right: the K that keeps half of the
    gradient's items, by d; dashed, the number of parameters."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    whole, name, dim = measured["whole"], f"{config['alpha']:g}", config["dims"][-1]
    for key in ("sgd", "polar"):
        error = np.array(whole[f"{key}_error"], dtype=float)
        points(axes[0], whole["estimates"], whole[key], optimizer(key), error=error, law=predicted["whole"][key])
    power = 2 * config["alpha"] + 1
    for place, label in ((dim, "$d$"), (dim**2, "$d^2$"), (dim**power, f"$d^{{{power:g}}}$")):
        axes[0].axvline(place, color=GREY, lw=1, ls=":")
        axes[0].annotate(label, (place, 0.6), xytext=(-4, 0), textcoords="offset points", ha="right")
    frame(axes[0], "estimates $K$", "items stored", f"$d={dim}$", log="xy")
    for key, label, dims in (("sgd", "sgd", config["sgd_dims"]), ("polar", name, config["dims"])):
        points(axes[1], dims, measured["half"][label], optimizer(key), law=predicted["half"][label])
    dims = np.array(config["dims"], dtype=float)
    axes[1].plot(dims, dims**2, "--", color=GREY, lw=1.2, label="$d^2$ parameters")
    frame(axes[1], "$d$", "$K$ for half of the items", log="xy", base=2)
    for axis in axes:
        name_lines(axis)
    return figure


def slowdown_figure(record: dict) -> Figure:
    """Left: slowdowns of quadratics, by their parameters and by the copies of each eigenvalue. Right: tr H/h of the
    memory by d, on its leading terms; dashed, its parameters."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    labels = {"parameters": "parameters", "copies": "copies of each eigenvalue"}
    for look, name in kinds(labels):
        points(axes[0], config[name], measured["quadratic"][name], look._replace(label=labels[name]), ls="-", lw=0.8)
    through = (config["copies"][1], 1.6 * measured["quadratic"]["copies"][1])
    reference_line(axes[0], config["copies"], 1, through, "slope 1")
    frame(axes[0], "parameters, or copies", "steps over those of the gradient", "quadratics", log="xy")
    ((look, _),) = kinds([r"$\mathrm{tr}\,H/h$"], "{}")
    dims = np.array(config["rank_dims"], dtype=float)
    points(axes[1], dims, measured["rank"], look, error=np.array(measured["rank_error"]), law=predicted["rank"])
    axes[1].plot(dims, dims**2, "--", color=GREY, lw=1.2, label="$d^2$ parameters")
    frame(axes[1], "$d$", r"$\mathrm{tr}\,H/h$", "the memory, $W=0$", log="xy", base=2)
    for axis in axes:
        name_lines(axis)
    return figure
