"""The picture of the study: the share of the gain that is kept, and the losses behind it."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, Look, frame, new_axes, points, series
from amembook.practice.knee.judge import FIRST, LAST
from amembook.practice.knee.measure import ARMS, slope


def knee_figure(records: list[dict]) -> Figure:
    """Left: share kept against the reach at half time, a colour a length of the run, CANS as open squares; crosses, the
    lift over its plateau; dashed, ρ of one step of the memory. Right: test loss against the slope.
    """
    figure, axes = new_axes(2)
    for (look, steps), record in zip(series([r["config"]["steps"] for r in records]), records, strict=True):
        measured = record["measured"]
        share = {FIRST: [1.0, 1.0]} | measured["share"]
        for schedule, form in (("jordan", look.marker), ("cans", "s")):
            arms = [arm for arm in ARMS if arm.startswith(schedule) and arm in share]
            if not arms:
                continue
            label = f"{steps} steps" if schedule == "jordan" else "CANS"
            style = Look(look.colour, form, label)
            face = {} if schedule == "jordan" else {"mfc": "white"}
            mean = [np.mean(share[arm]) for arm in arms]
            error = [np.std(share[arm], ddof=1) / np.sqrt(len(share[arm])) for arm in arms]
            points(axes[0], [measured["reach"][arm] for arm in arms], mean, style, error=error, **face)
            lift = record["predicted"]["lift"]
            known = [arm for arm in arms if arm in lift]
            axes[0].plot(
                [measured["reach"][a] for a in known], [np.mean(lift[a]) for a in known], "x", color=look.colour
            )
            draws = [measured["test_draws"][arm] for arm in arms]
            points(axes[1], [slope(arm) for arm in arms], draws, style, **face)
        for arm, name, line in (("frozen", "matrices frozen", "--"), (LAST, "normalized descent", ":")):
            if arm in measured["test"]:
                height = measured["test"][arm]
                axes[1].axhline(height, color=look.colour, ls=line, lw=1)
                axes[1].annotate(name, (60, height), (0, -12), textcoords="offset points", fontsize=9)
        rho = record["predicted"]["rho"]
        known = sorted((measured["reach"][arm], rho[arm]) for arm in rho if arm.startswith("jordan"))
        axes[0].plot(*zip(*known, strict=True), "--", color=look.colour, lw=1)
    axes[0].plot([], [], "x", color=GREY, label="lift over plateau")
    axes[0].plot([], [], "--", color=GREY, lw=1, label=r"memory's $\rho(x)$")
    axes[0].legend(loc="upper left", fontsize=9)
    frame(axes[0], r"reach $x$ at half time", "share of the gain kept", log="x")
    frame(axes[1], r"slope $\Lambda$", "test loss, nats a word", log="x")
    return figure
