"""The picture of the study: losses by optimizer, beside the track."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, new_axes, series

NAMES = {
    "muon": "Muon",
    "normuon": "NorMuon",
    "muon_squared": "Muon²",
    "soap": "SOAP",
    "one_sided_shampoo": "Shampoo, one side",
    "shampoo": "Shampoo",
    "adam": "Adam",
    "muon_without_momentum": "no momentum",
}


def ranking_figure(record: dict) -> Figure:
    """Loss over Muon's by optimizer, in the order of the track; a panel a batch, a series a horizon."""
    config, measured = record["config"], record["measured"]
    track = record["predicted"]["track"]
    names = sorted(track, key=lambda name: (track[name], name))[::-1]
    figure, axes = new_axes(2, sharey=True)
    for axis, batch in zip(axes, config["batch_sizes"], strict=True):
        for look, steps in series(config["steps"], "$T={}$"):
            draws = measured["draws"][f"{steps} {batch}"]
            ratios = np.array([np.divide(draws[name], draws["muon"]) for name in names])
            error = ratios.std(1, ddof=1) / ratios.shape[1] ** 0.5
            y = np.arange(len(names))
            axis.errorbar(
                ratios.mean(1), y, xerr=2 * error, fmt=look.marker, color=look.colour, label=look.label, capsize=0
            )
        axis.axvline(1, color=GREY, lw=0.8)
        axis.set_yticks(np.arange(len(names)), [NAMES[name] for name in names])
        frame(axis, "loss over Muon's", title=f"batches of {batch}")
    axes[1].legend(loc="center right")
    return figure
