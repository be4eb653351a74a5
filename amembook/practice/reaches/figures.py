"""The picture of the study: reaches by step and width, and their exponents beside those of language models."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, PALE, frame, name_lines, new_axes, points, series
from amembook.practice.reaches import NOISE


def reaches_figure(record: dict) -> Figure:
    """Left: reach by step, a curve for each width. Right: exponents of the median in d, by step."""
    figure, axes = new_axes(2)
    config, measured = record["config"], record["measured"]
    middle = (len(config["alphas"]) - 1) // 2
    for look, d in series(range(len(config["dims"]))):
        look = look._replace(label=f"$d={config['dims'][d]}$")
        mean, error = (np.array(measured[f"batches_reach{end}"])[middle, d] for end in ("", "_error"))
        points(axes[0], config["at"], mean, look, error=error, ls="-")
    frame(axes[0], "step", "reach of five steps", rf"$\alpha={config['alphas'][middle]:g}$", log="xy")
    name_lines(axes[0])
    for layer, ends in record["predicted"]["public"].items():
        axes[1].axhspan(*sorted(ends), color=PALE, alpha=0.5, lw=0)
        # in a narrow band the words would lie under the curves
        place = (1.02, np.mean(ends)) if np.ptp(ends) < 0.5 else (0.04, np.mean(ends))
        words = {"transform": axes[1].get_yaxis_transform(), "fontsize": 9, "va": "center", "color": GREY}
        axes[1].text(*place, layer, **words)
    axes[1].axhline(-NOISE, color=GREY, ls="--", lw=1)
    for look, a in series(range(len(config["alphas"]))):
        look = look._replace(label=rf"$\alpha={config['alphas'][a]:g}$")
        mean, error = (np.array(measured[f"batches_exponent{end}"])[a] for end in ("", "_error"))
        points(axes[1], config["at"], mean, look, error=error, ls="-")
    frame(axes[1], "step", "exponent of the median in $d$", "by step", log="x")
    name_lines(axes[1])
    return figure
