"""The picture of the study: items and loss over Muon's against the number of steps."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, Look, frame, key, new_axes, optimizer

LOOKS = {
    "plain_sgd": optimizer("sgd", "SGD, plain")._replace(marker="v"),
    "sgd": optimizer("sgd", "SGD, steps of one length"),
    "muon": optimizer("polar", "Muon"),
    "newton_muon": Look("#CC79A7", "d", "Newton–Muon"),
    "siblings_polar": Look("#999933", ">", "three siblings + 0.6 Muon"),
    "matched_polar": Look("#661100", "p", "$W^*$ + 0.6 Muon"),
    "kfac_polar": Look("#117733", "<", "K-FAC + 0.6 Muon"),
    "soap": Look("#AA4499", "s", "SOAP"),
}


def runs_figure(record: dict, dim: int) -> Figure:
    """Items at the rate best for items, and loss at that best for loss, over Muon's on the same draw, against T."""
    measured = record["measured"]
    places = sorted((p for p in measured["loss"] if p.split()[0] == f"{dim}"), key=lambda p: int(p.split()[1]))
    steps = [int(place.split()[1]) for place in places]
    figure, axes = new_axes(2)
    for axis, of in zip(axes, ("items", "loss"), strict=True):
        for name, look in LOOKS.items():
            ratios = [np.divide(measured[of][place][name], measured[of][place]["muon"]) for place in places]
            error = [2 * one.std(ddof=1) / len(one) ** 0.5 for one in ratios]
            style = {"fmt": f"{look.marker}-", "color": look.colour, "label": look.label, "capsize": 2, "lw": 1.2}
            axis.errorbar(steps, [one.mean() for one in ratios], error, **style)
        axis.axhline(1, color=GREY, lw=0.8)
        frame(axis, "steps $T$", f"{of} over Muon's", log="xy")
    key(axes[0], below=2)
    return figure
