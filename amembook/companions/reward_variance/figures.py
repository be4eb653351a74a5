"""Pictures of the study: teachers by variance, the two laws, the memory."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, new_axes, optimizer, points

_POLICIES = {"low": "prefers low rewards", "high": "prefers high rewards"}


def teachers_figure(record: dict) -> Figure:
    """Median time in which the true reward rises, by the teacher's variance, for two policies; at the top, never."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2, sharey=True)
    never = 1.6 * config["horizon"]
    for axis, (policy, title) in zip(axes, _POLICIES.items(), strict=True):
        for look, name in kinds(measured["teachers"][policy], "{}"):
            row = measured["teachers"][policy][name]
            time = never if row["time"] is None else row["time"]
            axis.plot(row["variance"], time, look.marker, color=look.colour, ms=7, label=name)
            # the tiers are close to the exact reward
            place = (-32, 4) if name == "five tiers" else (4, 5)
            axis.annotate(f" {row['accuracy']:.2f}", (row["variance"], time), xytext=place, textcoords="offset points")
        axis.axhline(never, color=GREY, lw=1, ls=":")
        axis.margins(x=0.2)
        frame(axis, "variance of the teacher's reward", "time to learn" if axis is axes[0] else "", title, log="xy")
    key(axes[0], {"never": ":"}, below=3)
    return figure


def laws_figure(record: dict) -> Figure:
    """Left: steps by the variance of one reward at several scales; line, slope −1/2. Right: times where one arm of many
    is good, on the closed form; dotted, slope −1."""
    measured, predicted = record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    ((look, _),) = kinds(["measured"], "{}")
    variance, steps = (np.array(measured["scale"][name]) for name in ("variance", "steps"))
    points(axes[0], variance, steps, look)
    axes[0].plot(variance, steps[0] * (variance / variance[0]) ** -0.5, ":", color=GREY, label="slope $-1/2$")
    variance, time = (np.array(measured["rare"][name]) for name in ("variance", "time"))
    points(axes[1], variance, time, look, law=np.array(predicted["rare"]["time"]))
    axes[1].plot(variance, 0.7 * time[0] * (variance / variance[0]) ** -1.0, ":", color=GREY, label="slope $-1$")
    frame(axes[0], "variance", "steps to learn", "one reward, scaled", log="xy")
    frame(axes[1], "variance", "time to learn", "one good arm among many", log="xy")
    for axis in axes:
        axis.legend()
    return figure


def memory_figure(record: dict) -> Figure:
    """Left: steps of the memory by the scale of its rewards. Right: where every prompt has its own scale, each draw."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    for place, name in enumerate(("sgd", "polar")):
        points(axes[0], config["scales"], measured["memory"][name], optimizer(name), ls="-", lw=0.8)
        look = optimizer(name)
        own = measured["own"][name]
        axes[1].plot(np.arange(1, len(own) + 1) + 0.1 * place, own, look.marker, color=look.colour, label=look.label)
    frame(axes[0], "scale of all rewards", "steps to learn", "one scale", log="xy")
    frame(axes[1], "draw", "steps to learn, best rate", "a scale for each prompt", log="y")
    axes[0].legend()
    return figure
