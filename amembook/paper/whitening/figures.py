"""Pictures of what beats Muon: items against loss by step, and items against damping."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, Look, frame, key, new_axes, optimizer

_LOOKS = {
    "sgd": optimizer("sgd"),
    "polar": optimizer("polar"),
    "best": optimizer("best"),
    "newton": optimizer("newton", r"$G\Sigma_v^{-1}$"),
    "newton_muon": Look("#CC79A7", "d", r"polar of $G\Sigma_v^{-1}$"),
    "kfac": Look("#117733", "s", "K-FAC"),
    "kfac_polar": Look("#117733", "<", "K-FAC + 0.6 Muon"),
    "siblings": Look("#999933", "P", "four siblings"),
    "siblings_half": Look("#999933", "X", r"four siblings, power $-\frac{1}{2}$"),
    "siblings_polar": Look("#999933", ">", "siblings + 0.6 Muon"),
    "matched": Look("#000000", "H", "$W^*$"),
    "polar_matched": Look("#000000", "v", "polar of $W^*$"),
    "matched_polar": Look("#661100", "p", "$W^*$ + 0.6 Muon"),
    "mixed": Look("#AA4499", "h", r"$W^*$ + 0.6 $G\Sigma_v^{-1}$"),
}


def frontier_figure(record: dict, alpha: float) -> Figure:
    """Loss at the best of the rates against recovered items, both over Muon's: all steps, and those near its loss.

    Items are those of the smallest d of the record, losses those of its own grid.
    """
    config, measured = record["config"], record["measured"]
    a = config["alphas"].index(alpha)
    figure, axes = new_axes(2)
    for axis, most in zip(axes, (np.inf, 1.1), strict=True):
        for name, look in _LOOKS.items():
            x = measured["counts"][name][0][a] / measured["counts"]["polar"][0][a]
            y = measured["loss"][name][a] / measured["loss"]["polar"][a]
            if y < most:
                axis.plot(x, y, look.marker, color=look.colour, ms=8, label=look.label)
        axis.axhline(1, color=GREY, lw=0.8, ls=":")
        axis.axvline(1, color=GREY, lw=0.8, ls=":")
    frame(axes[0], "items over Muon's", "loss over Muon's", title="all steps", log="y")
    frame(axes[1], "items over Muon's", title="near Muon's loss")
    key(axes[0], below=3)
    return figure
