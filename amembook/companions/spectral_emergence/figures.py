"""Pictures of the study: a crowded memory by rank, times by the power of singular values, normalised steps."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import (
    MAPS,
    frame,
    kinds,
    name_lines,
    new_axes,
    optimizer,
    points,
    series,
)


def crowd_figure(shares: dict, steps, edges) -> Figure:
    """Left: the share of a crowded memory's items that Muon recalls after so many steps, by rank; right: normalized G.

    shares: optimizer ↦ (steps, bins); edges: the ranks at which bins begin, and the end.
    """
    figure, axes = new_axes(2, sharey=True)
    middles = np.sqrt(np.array(edges[1:]) * np.array(edges[:-1]))
    titles = {"polar": MAPS["polar"].label, "sgd": "normalized gradient"}
    for axis, (name, title) in zip(axes, titles.items(), strict=True):
        for (look, _), row in zip(series(steps, "{}"), shares[name], strict=True):
            axis.plot(middles, row, look.marker + "-", color=look.colour, ms=5, lw=1.2, label=look.label)
        frame(axis, "rank of a fact", title=title, log="x")
    axes[0].set_ylabel("share recalled")
    axes[1].legend(title="steps")
    return figure


def powers_figure(record: dict) -> Figure:
    """T_p by direction (left) and T_i by fact (right), at powers γ from 0 to 1, over the first, on their laws."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    ranks = np.arange(1, config["n_teachers"] + 1)
    names = ("0", r"\frac{1}{6}", r"\frac{1}{3}", r"\frac{2}{3}", "1")
    looks = series(config["powers"], "{}")
    for n, (look, power) in enumerate(looks):
        label = rf"$\gamma={names[n]}$" if len(looks) == len(names) else rf"$\gamma={power:.2f}$"
        look = look._replace(label=label)
        times, law = (_times(part, config, power) for part in (measured, predicted))
        error = times / times[0] * np.array(measured["flow"]["times_error"][_case(config, power)], dtype=float)
        points(axes[0], ranks, times / times[0], look, error=error, law=law / law[0], ms=4)
        times, law = (
            np.array(numbers["facts"]["times"][f"{power:.3f}"], dtype=float) for numbers in (measured, predicted)
        )
        facts = np.arange(1, len(times) + 1)
        axes[1].plot(facts, times / times[0], look.marker, color=look.colour, ms=3.5, label=label)
        axes[1].plot(facts, law / law[0], "-", color=look.colour, lw=1.2)
    frame(axes[0], "direction $p$", "$T_p/T_1$", "features", log="xy")
    frame(axes[1], "fact $i$", "$T_i/T_1$", "facts at right angles", log="xy")
    for axis in axes:
        name_lines(axis)
    return figure


def rivals_figure(record: dict) -> Figure:
    """T_p of steps along G/‖G‖ and of polar steps, on their laws. Bars are two standard errors."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, (axis,) = new_axes()
    ranks = np.arange(1, config["n_teachers"] + 1)
    ((look, _),) = kinds(["norm"], "")
    times, error = (np.array(measured["norm"][name], dtype=float) for name in ("times", "times_error"))
    look = look._replace(label=r"along $G/\|G\|$")
    points(axis, ranks, times, look, error=times * error, law=predicted["norm"]["times"], ms=4)
    polar, law = (_times(part, config, 0.0) for part in (measured, predicted))
    points(axis, ranks, polar, optimizer("polar", "polar factor"), law=law, ms=4)
    frame(axis, "direction $p$", "learnt at total length of steps", log="xy")
    name_lines(axis, places={r"along $G/\|G\|$": (4, (-6, 8)), "polar factor": (4, (6, 8))})
    return figure


def _case(config: dict, power: float) -> str:
    return f"{power:.3f} {config['degree']} {config['exponent']}"


def _times(numbers: dict, config: dict, power: float) -> np.ndarray:
    return np.array(numbers["flow"]["times"][_case(config, power)], dtype=float)
