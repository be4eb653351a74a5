"""Pictures of the lab: samples by dimension for three kinds of gradient, and by the radius of the smoothing."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import GREY, frame, kinds, new_axes, points, reference_line

_NAMES = {"plain": "plain", "smoothed": r"smoothed, $\lambda=d^{1/4}$", "sign": "normalised"}
_LIMITS = {"plain": 3, "smoothed": 2, "sign": 1}


def samples_figure(record: dict) -> Figure:
    """Samples against d for each kind of gradient on its law; dotted, its limiting power. Bars: two standard errors."""
    figure, (axis,) = new_axes()
    config, measured, laws = record["config"], record["measured"], record["predicted"]["samples"]
    for (look, _), kind in zip(kinds(_NAMES.values(), "{}"), _NAMES, strict=True):
        dims, found = config[f"{kind}_dims"], measured["samples"][kind]
        error = np.array(measured["samples_error"][kind], dtype=float)
        points(axis, dims, found, look, error=error, law=laws[kind])
        reference_line(axis, dims, _LIMITS[kind], (dims[0], found[0]))
    axis.plot([], [], ":", color=GREY, lw=1.2, label="$d^3$, $d^2$, $d$")
    frame(axis, "dimension $d$", "samples", log="xy", base=2)
    axis.legend()
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
