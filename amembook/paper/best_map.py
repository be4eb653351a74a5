"""Pictures of the best spectral map, of what it gains and costs, and of how many steps an iteration needs."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, PALE, alpha_of, frame, key, new_axes, optimizer, points, series

_LOOKS = {
    "polar": optimizer("polar"),
    "smoothed_best": optimizer("smoothed_sign", r"best $h_\lambda$"),
    "best": optimizer("best"),
    "best_monotone": optimizer("best_monotone"),
}
_FAMILIES = {
    "muon": optimizer("muon", "shipped quintic"),
    "cubic": optimizer("cubic", "cubic"),
    "polar_express": optimizer("polar_express"),
}


def best_maps_figure(s, curves: dict, density, lam, ratios: dict, best: dict) -> Figure:
    """Left the maps over the density of the singular values; right the signal-to-noise ratio of h_λ against λ.

    s: (n,) in units of t₀. curves: map ↦ (n,) values. density: (n,) of log s, drawn as a filled curve to scale 1.
    lam: (m,) in units of t₀. ratios: α ↦ (m,) relative to polar. best: α ↦ the same ratio of the best map.
    """
    figure, (left, right) = new_axes(2)
    left.fill_between(s, np.asarray(density) / np.max(density), color=PALE, alpha=0.6, lw=0, label="singular values")
    for name, curve in curves.items():
        left.plot(s, curve, "-", color=_LOOKS[name].colour, lw=1.7, label=_LOOKS[name].label)
    frame(left, "singular value $s / t_0$", "$f(s)$, largest value 1", log="x")
    for look, (alpha, curve) in series(ratios.items()):
        right.plot(lam, curve, "-", color=look.colour, lw=1.5, label=rf"$\alpha = {alpha:g}$")
        right.plot([lam[np.argmax(curve)]], [np.max(curve)], "o", color=look.colour)
        right.axhline(best[alpha], color=look.colour, ls=":", lw=1.3)
    frame(right, r"$\lambda / t_0$", "signal-to-noise ratio / polar's", log="x")
    key(right, {r"$h_\lambda$": "-", "best map": ":"}, loc="lower left")
    key(left, below=3)
    return figure


def steps_collapse_figure(records: list[dict], reach: dict) -> Figure:
    """Share of polar's count against slope × t₀ / ‖G‖_F: all d and families of all records; lines are predictions.

    reach: α ↦ family ↦ (number of d, number of steps) values of the horizontal axis.
    """
    figure, axes = new_axes(len(records), sharey=True)
    for axis, record in zip(axes, records, strict=True):
        config = record["config"]
        scanned = np.isin(config["dims"], config["scan_dims"])
        for family, look in _FAMILIES.items():
            measured, predicted = (
                np.array(record[side]["counts_by_steps"][family])
                / np.array(record[side]["counts"]["polar"])[scanned, None]
                for side in ("measured", "predicted")
            )
            for k, x in enumerate(reach[config["alpha"]][family]):
                points(axis, x, measured[k], look._replace(label=None if k else look.label), law=predicted[k])
        axis.axvline(2, color=GREY, ls=":", lw=1.3)
        frame(axis, r"slope at zero $\times\ t_0 / \|G\|_F$", title=alpha_of(record), log="x")
    for axis in axes[::2]:
        axis.set_ylabel("recovered items / polar's")
    key(axes[0], below=3)
    return figure


def rounding_figure(curves: dict, points: dict) -> Figure:
    """Share of the items that survive noise in G, against the noise in units of t₀.

    curves: label ↦ (noise / t₀, predicted shares). points: kind of noise ↦ rows (noise / t₀, share, …).
    """
    figure, (axis,) = new_axes()
    for look, (label, (noise, values)) in series(curves.items()):
        axis.plot(noise, values, "-", color=look.colour, lw=1.3, label=label)
    for k, (label, rows) in enumerate(points.items()):
        x, y = np.array(rows)[:, :2].T
        axis.plot(x, y, "oso"[k], color=GREY, fillstyle="full" if k else "none", label=label)
    frame(axis, r"rounding noise $\sigma / t_0$", "recovered items / without rounding", log="x")
    key(axis)
    return figure
