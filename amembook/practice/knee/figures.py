"""The picture of the study: the share of the gain that is kept, and the losses behind it."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, PALE, frame, key, name_lines, new_axes, plain_ticks, points, series
from amembook.practice.knee import ARMS, FIRST, LAST, slope


def knee_figure(records: list[dict]) -> Figure:
    """Left: share kept against the reach at half time, a colour a length of the run, CANS as open squares;
    line, ρ of one step of the memory. Right: test loss against the slope.
    """
    figure, axes = new_axes(2)
    beside = {"textcoords": "offset points", "fontsize": 9, "color": GREY}
    for (look, steps), record in zip(series([r["config"]["steps"] for r in records]), records, strict=True):
        measured = record["measured"]
        share = {FIRST: [1.0, 1.0]} | measured["share"]
        for schedule, form in (("jordan", look.marker), ("cans", "s")):
            arms = [arm for arm in ARMS if arm.startswith(schedule) and arm in share]
            if not arms:
                continue
            label = f"{steps} steps" if schedule == "jordan" else "CANS"
            style = look._replace(marker=form, label=label)
            face = {} if schedule == "jordan" else {"mfc": "white"}
            mean = [np.mean(share[arm]) for arm in arms]
            error = [np.std(share[arm], ddof=1) / np.sqrt(len(share[arm])) for arm in arms]
            points(axes[0], [measured["reach"][arm] for arm in arms], mean, style, error=error, **face)
            draws = [measured["test_draws"][arm] for arm in arms]
            points(axes[1], [slope(arm) for arm in arms], draws, style, **face)
        for arm, line in (("frozen", "--"), (LAST, ":")):
            if arm in measured["test"]:
                axes[1].axhline(measured["test"][arm], color=look.colour, ls=line, lw=1)
    reach, predicted = records[0]["measured"]["reach"], records[0]["predicted"]
    dial = sorted((arm for arm in predicted["rho"] if arm.startswith("jordan")), key=slope)
    axes[0].plot([reach[a] for a in dial], [predicted["rho"][a] for a in dial], "-", color=GREY, lw=1)
    axes[0].annotate(r"memory's $\rho(x)$", (reach[dial[1]], predicted["rho"][dial[1]]), (7, -10), **beside)
    axes[0].axvspan(3, 40, color=PALE, alpha=0.35, lw=0)
    frame(axes[0], "reach at half time", "share of the gain kept", "shaded: a reach of 3 or more", log="x")
    axes[0].set_xlim(0.02, 40)
    plain_ticks(axes[0].xaxis, (0.03, 0.1, 0.3, 1, 3, 10, 30))
    key(axes[0], loc="lower right")
    frame(axes[1], r"slope $\Lambda$", "test loss, nats a word", log="x")
    plain_ticks(axes[1].xaxis, [slope(arm) for arm in dial])
    places = {f"{r['config']['steps']} steps": (-1, (-0.01, 14)) for r in records}
    name_lines(axes[1], places=places | {"CANS": (-1, (0, 14))})
    key(axes[1], {"matrices frozen": "--", "normalized descent": ":"}, loc="lower right", bbox_to_anchor=(1, 0.33))
    return figure
