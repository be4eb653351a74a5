"""Pictures of the study: samples by dimension, leaving a small start, neurons under Muon."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import frame, kinds, new_axes, points, series


def ratios_figure(record: dict) -> Figure:
    """Samples over d against d, for the quadratic and for the truncated activation, each on its law where one is known.

    Bars are two standard errors.
    """
    figure, axes = new_axes(2, sharey=True)
    dims, measured, laws = record["config"]["dims"], record["measured"], record["predicted"]["ratios"]
    looks = kinds(["one pass", "full batch", "full batch, labels truncated only"], "{}")
    for axis, names in zip(axes, (("quadratic", "quadratic"), ("truncated", "truncated", "labels")), strict=True):
        for (look, _), kind, name in zip(looks, ("one pass", "full batch", "full batch"), names, strict=False):
            key = f"{kind}, {name}"
            error = np.array(measured["errors"][key], dtype=float)
            points(axis, dims, measured["ratios"][key], look, error=error, law=laws.get(key))
    frame(axes[0], "dimension $d$", "samples over $d$ until overlap 1/2", "quadratic", log="x", zero=True)
    frame(axes[1], "dimension $d$", "", "truncated", log="x")
    for axis in axes:
        axis.legend(loc="upper left")
    axes[0].set_ylim(0, 10)
    return figure


def muon_figure(record: dict) -> Figure:
    """Samples over d at which the neurons hold the direction, by their number and d, on the law.

    Bars are two standard errors.
    """
    figure, (axis,) = new_axes()
    config, measured, law = record["config"], record["measured"], record["predicted"]["muon_dims"]
    for k, (look, _) in enumerate(series(config["muon_dims"], "$d = {}$")):
        error = np.array(measured["muon_dims_error"][k], dtype=float)
        points(axis, config["neurons"], measured["muon_dims"][k], look, error=error, law=law[k])
    frame(axis, "neurons $m$", "samples over $d$", log="x", base=2, zero=True)
    axis.legend()
    return figure
