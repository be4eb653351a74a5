"""The picture of the study: losses by memory, a panel a batch."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, name_lines, new_axes, points, series


def momentum_figure(record: dict) -> Figure:
    """Nats over the least loss against 1/(1 − β), by horizon; the rule's memory marked; a panel for each batch."""
    config, measured, rule = record["config"], record["measured"], record["predicted"]["rule"]
    figure, axes = new_axes(2, sharey=True)
    for axis, batch in zip(axes, config["batch_sizes"], strict=True):
        for look, steps in series(config["steps"], "$T={}$"):
            place = f"{config['alpha']:g} {steps} {batch}"
            memory = 1 / (1 - np.array(measured["betas"][place]))
            excess, error = (np.array(measured[key][place]) for key in ("excess", "excess_error"))
            points(axis, memory, excess, look, error=error, ls="-")
            at = int(np.abs(memory - 1 / (1 - rule[f"{steps}"])).argmin())
            axis.plot(memory[at], excess[at], "o", ms=13, mfc="none", mec=GREY)
        frame(axis, r"memory $1/(1-\beta)$, steps", "nats over the least loss", f"batches of {batch}", log="xy")
    axes[1].set_ylabel("")
    name_lines(axes[1])
    return figure
