"""Pictures of what beats Muon: items against loss by step, and items against damping."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, new_axes, optimizer, plain_ticks

_NAMES = {
    "sgd": "SGD",
    "polar": "Muon",
    "best": "best map $f^*$",
    "newton": r"$G\Sigma_v^{-1}$",
    "newton_muon": r"polar of $G\Sigma_v^{-1}$",
    "kfac": "K-FAC",
    "kfac_polar": "K-FAC + 0.6 Muon",
    "siblings": "four siblings",
    "siblings_half": r"four siblings, power $-\frac{1}{2}$",
    "siblings_polar": "siblings + 0.6 Muon",
    "matched": "$W^*$",
    "polar_matched": "polar of $W^*$",
    "matched_polar": "$W^*$ + 0.6 Muon",
    "mixed": r"$W^*$ + 0.6 $G\Sigma_v^{-1}$",
}


def frontier_figure(record: dict, alpha: float) -> Figure:
    """Recovered items (left) and loss at the best of the rates (right), both over Muon's, a row a step, with two
    standard errors; from the least items to the most.

    Items are those of the smallest d of the record, losses those of its own grid.
    """
    config, measured = record["config"], record["measured"]
    a = config["alphas"].index(alpha)
    names = sorted(_NAMES, key=lambda name: measured["counts"][name][0][a])
    places = np.arange(len(names))
    figure, axes = new_axes(2, sharey=True, figsize=(8.0, 4.8))
    own = {name: optimizer(name).colour for name in ("sgd", "polar")}
    items = {name: (measured["counts"][name][0][a], measured["error"][name][0][a]) for name in names}
    losses = {name: (measured["loss"][name][a], measured["loss_error"][name][a]) for name in names}
    for axis, values in zip(axes, (items, losses), strict=True):
        unit = values["polar"][0]
        for place, name in zip(places, names, strict=True):
            mean, error = (value / unit for value in values[name])
            axis.errorbar(mean, place, xerr=2 * error, fmt="o", color=own.get(name, "black"), ms=5, capsize=2)
        axis.axvline(1, color=GREY, lw=0.8, ls=":")
    axes[0].set_yticks(places, [_NAMES[name] for name in names])
    frame(axes[0], "items over Muon's", title="more is better")
    frame(axes[1], "loss over Muon's", title="less is better", log="x")
    axes[0].set_xlim(left=0)
    plain_ticks(axes[1].xaxis, [1, 2, 5, 10])
    return figure
