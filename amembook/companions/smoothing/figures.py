"""The picture of the study: the largest rate at which neurons arrive, and samples at the best one."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import frame, kinds, new_axes, points, reference_line


def largest_figure(largest: dict, samples: dict) -> Figure:
    """Left: c of the largest rate by d, plain and smoothed. Right: samples by d at the best rate of each.

    Lines: their laws. Dotted, the limiting powers through the first points. Bars: two standard errors.
    """
    figure, axes = new_axes(2)
    names = ("plain", "smoothed")
    for (look, _), kind, power in zip(
        kinds(("plain", r"smoothed, $\lambda=d^{1/4}$"), "{}"), names, (3, 2), strict=True
    ):
        rates, law = largest["measured"], largest["predicted"]["largest"][kind]
        dims, error = largest["config"][f"late_{kind}_dims"], np.array(rates["largest_error"][kind], dtype=float)
        points(axes[0], dims, rates["largest"][kind], look, error=error, law=np.array(law, dtype=float))
        name, measured = f"best_{kind}", samples["measured"]
        dims, needed = samples["config"][f"{name}_dims"], measured["samples"][name]
        error = np.array(measured["samples_error"][name], dtype=float)
        points(axes[1], dims, needed, look, error=error, law=samples["predicted"]["samples"][name])
        reference_line(axes[1], dims, power, (dims[0], needed[0]))
    frame(axes[0], "dimension $d$", r"largest $\eta$, times $d^2$ or $d^{3/2}$", log="x", base=2, zero=True)
    frame(axes[1], "dimension $d$", "samples", "the best rate of each $d$", log="xy", base=2)
    axes[0].legend()
    return figure
