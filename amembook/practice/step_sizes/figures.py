"""The picture of the study: best rates by width, one step and a run, and by batch."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, plain_ticks, points


def rates_figure(record: dict) -> Figure:
    """Left: best rates by d, one step on its law, and a run. Right: one step by the tokens of its batch, on its law."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    mean = lambda draws: 2.0 ** np.array(draws, float).mean(1)
    error = lambda draws: mean(draws) * np.log(2) * np.array(draws, float).std(1, ddof=1) / config["seeds"] ** 0.5
    one, many = (look for look, _ in kinds(("one step", f"{config['run_steps']} steps"), "{}"))
    points(axes[0], config["dims"], mean(measured["widths"]), one, error=error(measured["widths"]))
    axes[0].plot(config["dims"], mean(predicted["widths"]), color=one.colour, lw=1)
    runs = np.transpose(measured["runs"])
    points(axes[0], config["run_dims"], mean(runs), many, error=error(runs), ls="--")
    d = np.array([config["run_dims"][0], config["dims"][-1]])
    axes[0].plot(
        d, mean(measured["widths"])[0] * (d / config["dims"][0]) ** 0.5, color=GREY, ls=":", label=r"$\sqrt{d}$"
    )
    frame(axes[0], "width $d$", "best learning rate", log="xy", base=2)
    plain_ticks(axes[0].yaxis, [2, 5, 10, 20, 50])
    name_lines(axes[0], at=0, offset=(4, -11))
    points(axes[1], config["batch_sizes"], mean(measured["batches"]), one, error=error(measured["batches"]))
    axes[1].plot(config["batch_sizes"], mean(predicted["batches"]), color=one.colour, lw=1)
    frame(axes[1], "tokens of the step", "", f"one step, $d={config['batch_dim']}$", log="x", zero=True)
    return figure
