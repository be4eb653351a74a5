"""Pictures of the study: samples by dimension, errors on their law, the span of two features, pairs."""

import numpy as np
from matplotlib.figure import Figure

from amembook.companions.hierarchy import expected
from amembook.companions.hierarchy.features import even_count, quadratic_count
from amembook.figures.style import GREY, frame, key, kinds, name_lines, new_axes, optimizer, points, series
from amembook.run.base import arrays


def samples_figure(record: dict) -> Figure:
    """Samples until the kernel's level of error, by dimension: two layers on their law, joint passes, and a kernel on
    that of its harmonics, with the number of even polynomials of degree 4 dotted. Bars: where the mean curve is there
    with two standard errors more or less.
    """
    config, measured = record["config"], record["measured"]
    figure, (axis,) = new_axes()
    level = config["kernel_level"]
    names = {"layerwise": "layer by layer", "joint": "then jointly", "kernel": "kernel"}
    for look, name in kinds(names, "{}"):
        dims = config["kernel_dims" if name == "kernel" else "dims"]
        size = np.array([even_count(d) if name == "kernel" else quadratic_count(d) for d in dims], dtype=float)
        ratios = config["kernel_ratios" if name == "kernel" else "ratios"]
        curve, error = (arrays(measured[part][name]) for part in ("curve", "curve_error"))
        low, ratio, high = (
            np.array([_first_below(ratios, row, level) for row in curve + way * error]) for way in (-2, 0, 2)
        )
        law = {"layerwise": expected.layerwise_ratio(level) * size}.get(name)
        if name == "kernel":
            law = size * [expected.kernel_ratio(level, d) for d in dims]
            axis.plot(dims, size, ":", color=look.colour, lw=1.2)
        ends = np.stack([low * size, high * size], 1)
        points(axis, dims, ratio * size, look._replace(label=names[name]), interval=ends, law=law)
    frame(axis, "dimension $d$", "samples", log="xy")
    axis.set_xticks(at := [6, 8, 12, 16, 24, 32], map(str, at))
    axis.minorticks_off()
    name_lines(axis)
    return figure


def _first_below(ratios, values, level: float) -> float:
    """Where a falling curve, linear in the logarithm of the ratio, reaches the level."""
    return float(np.exp(np.interp(-level, -np.asarray(values), np.log(ratios))))


def errors_figure(record: dict, fresh: dict, dims: tuple[int, ...] = (8, 16, 32)) -> Figure:
    """Relative error by n/D for some d. Left: of two layers, on the law; open, those of `fresh` on its laws at their
    d. Right: after joint passes."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2, sharey=True)
    own, laws = fresh["config"], fresh["predicted"]["fresh"]["law"]
    for look, d in series(dims, "$d = {}$"):
        if d in own["fresh_dims"]:
            place = own["fresh_dims"].index(d)
            errors = np.array(fresh["measured"]["fresh"][place]).mean(1)
            open_look = look._replace(label=None)
            points(axes[0], own["fresh_ratios"], errors, open_look, law=laws[place], mfc="white")
    for axis, name in zip(axes, ("layerwise", "joint"), strict=True):
        for look, d in series(dims, "$d = {}$"):
            curve, error = (arrays(measured[part][name])[config["dims"].index(d)] for part in ("curve", "curve_error"))
            points(axis, config["ratios"], curve, look, error=error, ls="-" if name == "joint" else "", lw=0.8)
    law = record["predicted"]["curve"]["layerwise"]
    axes[0].plot(config["ratios"], law, color=GREY, lw=1.2, label="law, nothing fitted")
    for axis, title in zip(axes, ("layer by layer", "with joint passes"), strict=True):
        frame(axis, "$n/D$", "relative error" if axis is axes[0] else "", title, log="x", zero=True)
        axis.set_xticks(at := [1.2, 2.2, 4.5, 9], [f"{tick:g}" for tick in at])
        axis.minorticks_off()
    axes[0].legend()
    return figure


def twists_figure(span: dict, pairs: dict) -> Figure:
    """Left: overlap with the span of two features by n/D, on the law of the largest d. Right: items of a memory by
    dimension, its keys pairs or independent, Muon and SGD."""
    config, measured = span["config"], span["measured"]
    figure, axes = new_axes(2)
    law = span["predicted"]["curve"]["span"][-1]
    for k, (look, _) in enumerate(series(config["span_dims"], "$d = {}$")):
        curve, error = (np.array(measured[part]["span"], dtype=float)[k] for part in ("curve", "curve_error"))
        points(axes[0], config["span_ratios"], curve, look, error=error)
    axes[0].plot(config["span_ratios"], law, color=GREY, lw=1.2, label=f"law, $d = {config['span_dims'][-1]}$")
    axes[0].axhline(0.5, color=GREY, ls=":", lw=1)
    frame(axes[0], "$n/D$", "overlap with the span", "two features", log="x", zero=True)
    axes[0].set_xticks(at := [2, 4, 8, 16], map(str, at))
    axes[0].minorticks_off()
    axes[0].legend()
    config, measured = pairs["config"], pairs["measured"]
    for step in ("polar", "sgd"):
        for name, style in (("pairs", "-"), ("alone", ":")):
            label = {"polar": "Muon", "sgd": "SGD"}[step] + {"pairs": ", pairs", "alone": ", independent"}[name]
            items, error = (arrays(measured[part][f"{name}_{step}"]) for part in ("items", "items_error"))
            fill = {} if name == "pairs" else {"mfc": "white"}
            points(axes[1], config["memory_dims"], items, optimizer(step, label), error=error, ls=style, **fill)
    frame(axes[1], "dimension $d$ of the outputs", "items", "keys of $d^2$ dimensions", log="xy")
    axes[1].set_xticks(config["memory_dims"], [str(d) for d in config["memory_dims"]])
    axes[1].minorticks_off()
    key(axes[1], fontsize=9)
    return figure
