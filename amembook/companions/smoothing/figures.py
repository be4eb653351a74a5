"""Pictures of the study: samples by dimension at one rate and at the best one, and by the radius of the smoothing."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import frame, kinds, new_axes, points, reference_line

_NAMES = {"plain": "plain", "smoothed": r"smoothed, $\lambda=d^{1/4}$", "sign": "normalised"}
_LIMITS = {"plain": 3, "smoothed": 2, "sign": 1}


def samples_figure(record: dict) -> Figure:
    """Samples against d on their laws, left at a rate c/d^(k/2) with one c for all d, right at the best c of each d.

    Dotted, the limiting powers through the first points. Bars: two standard errors.
    """
    figure, axes = new_axes(2, sharey=True)
    config, measured, laws = record["config"], record["measured"], record["predicted"]["samples"]
    looks = dict(zip(_NAMES, (look for look, _ in kinds(_NAMES.values(), "{}")), strict=True))
    panels = (("", ("plain", "smoothed", "sign")), ("best_", ("plain", "smoothed")))
    for axis, (prefix, names) in zip(axes, panels, strict=True):
        for kind in names:
            name = prefix + kind
            dims, found = config[f"{name}_dims"], measured["samples"][name]
            error = np.array(measured["samples_error"][name], dtype=float)
            points(axis, dims, found, looks[kind], error=error, law=laws[name])
            reference_line(axis, dims, _LIMITS[kind], (dims[0], found[0]))
    frame(axes[0], "dimension $d$", "samples", "one $c$ for every $d$", log="xy", base=2)
    frame(axes[1], "dimension $d$", "", "the best $c$ of each $d$", log="xy", base=2)
    axes[0].legend()
    return figure


def radius_figure(record: dict) -> Figure:
    """Samples against the radius of the smoothing, over d^(1/4), on the law. Bars are two standard errors."""
    figure, (axis,) = new_axes()
    config, measured = record["config"], record["measured"]
    ((look, _),) = kinds(["smoothed"], "{}")
    error = np.array(measured["radius_error"], dtype=float)
    points(axis, config["multiples"], measured["radius"], look, error=error, law=record["predicted"]["radius"])
    frame(axis, r"$\lambda/d^{1/4}$", "samples", f"$d = {config['sweep_dim']}$", log="y")
    return figure
