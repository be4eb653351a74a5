"""The picture of the study: items and loss over Muon's against the number of steps."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, name_lines, new_axes, optimizer, plain_ticks, points

LOOKS = {
    "plain_sgd": optimizer("sgd", "SGD, plain")._replace(marker="v"),
    "sgd": optimizer("sgd", "SGD, steps\nof one length"),
    "muon": optimizer("polar", "Muon"),
}
OTHERS = {
    "newton_muon": "Newton–Muon",
    "siblings_polar": "three siblings + 0.6 Muon",
    "matched_polar": "$W^*$ + 0.6 Muon",
    "kfac_polar": "K-FAC + 0.6 Muon",
    "soap": "SOAP",
}


def runs_figure(record: dict, dim: int) -> Figure:
    """Items at the rate best for items, and loss at that best for loss, over Muon's on the same draw, against T.

    Above all eight updates, the five that whiten in grey; below those five near 1, each with its own look.
    """
    measured = record["measured"]
    places = sorted((p for p in measured["loss"] if p.split()[0] == f"{dim}"), key=lambda p: int(p.split()[1]))
    steps = np.array([int(place.split()[1]) for place in places])
    figure, axes = new_axes(4, figsize=(8.0, 6.6))
    whitening = kinds(OTHERS)
    for column, of in enumerate(("items", "loss")):
        whole, near = axes[column], axes[2 + column]
        for look, name in (*((look, name) for name, look in LOOKS.items()), *whitening):
            ratios = [np.divide(measured[of][place][name], measured[of][place]["muon"]) for place in places]
            mean, error = [one.mean() for one in ratios], [one.std(ddof=1) / len(one) ** 0.5 for one in ratios]
            if name in LOOKS:
                points(whole, steps, mean, look, error=error, ls="-", lw=1.2)
                continue
            whole.plot(steps, mean, "-", color=GREY, lw=0.8, alpha=0.6)
            beside = steps * 1.05 ** (list(OTHERS).index(name) - 2)
            points(near, beside, mean, look._replace(label=OTHERS[name]), error=error, ls="-", lw=1.0)
        near.axhline(1, color=LOOKS["muon"].colour, lw=1.2)
        frame(whole, "steps $T$", f"{of} over Muon's", log="xy")
        frame(near, "steps $T$", f"{of} over Muon's", log="x")
    whole, near = axes[0], axes[2]
    places = {"SGD, plain": (3, (0, -14)), "SGD, steps\nof one length": (1, (10, -12)), "Muon": (1, (0, -9))}
    name_lines(whole, places=places)
    whole.set_ylim(top=2)
    for axis, values in ((axes[0], [0.1, 0.2, 0.5, 1]), (axes[1], [1, 2, 3])):
        plain_ticks(axis.yaxis, values)
    style = {"textcoords": "offset points", "fontsize": 10, "color": GREY}
    whole.annotate("five that whiten", (steps[0], 1.35), (6, 3), **style)
    key(near, below=3)
    return figure
