"""The picture of the study: items over those of one step by the bound, and losses of runs with decay."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, points, series


def decay_figure(record: dict) -> Figure:
    """Left: items at the least loss under ‖W‖_op ≤ R over those of one step, by d. Right: loss of runs by 1/λ."""
    config, measured = record["config"], record["measured"]
    figure, (left, right) = new_axes(2)
    for look, dim in series(config["dims"], "$d={}$"):
        place = f"{config['alpha']:g} {dim}"
        ratios = np.array(measured["items"][place]) / np.array(measured["one"][place])
        points(left, config["radii"], ratios, look, ls="-")
    left.axhline(2, color=GREY, lw=0.8)
    frame(left, r"bound $R=1/\lambda$", "items over one step's", log="x", base=2, zero=True)
    left.legend()
    radii = config["run_radii"]
    shown = kinds(config["batch_sizes"], "batches of {}")
    for look, batch in shown:
        of = {float(radius): np.array(values) for radius, values in measured["runs"][f"{batch}"].items()}
        points(right, radii, np.array([of[radius] / of[0] for radius in radii]), look, ls="-")
    right.axhline(1, color=GREY, lw=0.8)
    frame(right, r"$1/\lambda$", "loss over that without decay", log="x", base=2)
    places = {look.label: (0, (10, 12 if batch == max(config["batch_sizes"]) else -10)) for look, batch in shown}
    name_lines(right, places=places)
    return figure
