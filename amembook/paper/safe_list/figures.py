"""The figure of `safe-list`, drawn from its record."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import frame, key, new_axes, optimizer, points

LABELS = {
    "muon safe": "Muon, safe list",
    "muon plan": "Muon, formula's plan",
    "sgd plan": "SGD, formula's plan",
    "sgd safe": "SGD, safe list",
}


def lists_figure(record: dict, dim: int, law: dict) -> Figure:
    """Counts after each step at one d, arm by arm; hollow by a safe list.

    law: the formula's counts after its first steps, by arm.
    """
    figure, (axis,) = new_axes()
    k = record["config"]["dims"].index(dim)
    for arm, label in LABELS.items():
        counts = np.array(record["measured"]["counts"][arm][k]).T
        look = optimizer("polar" if arm.startswith("muon") else "sgd", label)
        points(axis, np.arange(1, len(counts) + 1), counts, look, **({"mfc": "white"} if arm.endswith("safe") else {}))
        if arm in law:
            axis.plot(np.arange(1, len(law[arm]) + 1), law[arm], color=look.colour, lw=1.4)
    frame(axis, "steps", "recalled facts", rf"$d = {dim}$, $\alpha = {record['config']['alpha']:g}$", log="y")
    key(axis, {"formula": "-"}, loc="lower right")
    return figure
