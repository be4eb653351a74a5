"""The picture of the study: the share of the gain that is kept, and the losses behind it."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, PALE, frame, name_lines, new_axes, plain_ticks, points, series
from amembook.practice.knee import ARMS, FIRST, LAST, slope


def knee_figure(records: list[dict]) -> Figure:
    """Left: share kept against the reach at half time, a colour a length of the run; line, ρ of one step of the
    memory. Right: test loss against the slope; dotted, that of `LAST`.
    """
    figure, axes = new_axes(2)
    beside = {"textcoords": "offset points", "fontsize": 10, "color": GREY}
    names = []
    for (look, steps), record in zip(series([r["config"]["steps"] for r in records]), records, strict=True):
        measured = record["measured"]
        look = look._replace(label=f"{steps} steps")
        names.append(look.label)
        share = {FIRST: [1.0, 1.0]} | measured["share"]
        arms = [arm for arm in ARMS if arm.startswith("jordan") and arm in share]
        mean = [np.mean(share[arm]) for arm in arms]
        error = [np.std(share[arm], ddof=1) / np.sqrt(len(share[arm])) for arm in arms]
        points(axes[0], [measured["reach"][arm] for arm in arms], mean, look, error=error)
        points(axes[1], [slope(arm) for arm in arms], [measured["test_draws"][arm] for arm in arms], look)
        axes[1].axhline(measured["test"][LAST], color=look.colour, ls=":", lw=1.4)
        axes[1].annotate("normalized descent", (485, measured["test"][LAST]), (0, 5), ha="right", **beside)
    reach, predicted = records[0]["measured"]["reach"], records[0]["predicted"]
    dial = sorted((arm for arm in predicted["rho"] if arm.startswith("jordan")), key=slope)
    axes[0].plot([reach[a] for a in dial], [predicted["rho"][a] for a in dial], "-", color=GREY, lw=1)
    axes[0].annotate("one step of the memory", (reach[dial[1]], predicted["rho"][dial[1]]), (7, -10), **beside)
    axes[0].axvspan(3, 40, color=PALE, alpha=0.35, lw=0)
    frame(axes[0], "reach at half time", "share of the gain kept", log="x")
    axes[0].set_xlim(0.02, 40)
    plain_ticks(axes[0].xaxis, (0.03, 0.1, 0.3, 1, 3, 10, 30))
    name_lines(axes[0], places=dict(zip(names, ((2, (-9, 3)), (1, (9, -4))), strict=False)))
    frame(axes[1], r"slope $\Lambda$", "test loss, nats a word", log="x")
    plain_ticks(axes[1].xaxis, [slope(arm) for arm in dial])
    name_lines(axes[1], places=dict.fromkeys(names, (-1, (-0.01, 14))))
    return figure
