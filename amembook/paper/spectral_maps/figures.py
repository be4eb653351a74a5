"""Pictures of maps on singular values: the functions, what they leave small, what that does to capacity."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, MAPS, alpha_of, device_points, frame, key, name_lines, new_axes, optimizer

_LOOKS = MAPS | {
    "muon5": optimizer("muon", "quintic, 5 steps (as shipped)"),
    "cubic5": optimizer("cubic", "cubic, 5 steps"),
}


def maps_figure(s, curves: dict, values: dict) -> Figure:
    """f against s / ‖G‖_F for several maps; below, where the singular values of gradients lie.

    s: (n,) grid of s / ‖G‖_F. curves: map ↦ (n,) values of f.
    values: label ↦ (d,) measured singular values / ‖G‖_F, drawn as a bar from the 5 % to the 95 % quantile.
    """
    figure, (axis,) = new_axes(figsize=(5.0, 4.6))
    for name, curve in curves.items():
        axis.plot(s, curve, "-", color=_LOOKS[name].colour, lw=1.5, label=_LOOKS[name].label)
    low = min(np.asarray(curve).min() for curve in curves.values())
    for step, (label, spectrum) in enumerate(values.items()):
        five, median, ninety_five = np.quantile(spectrum, [0.05, 0.5, 0.95])
        height = low / 3 ** (step + 1)
        axis.plot([five, ninety_five], [height, height], "-", color=GREY, lw=5, alpha=0.5)
        axis.plot([median], [height], "|", color=GREY, ms=12, mew=2)
        axis.annotate(label, (ninety_five, height), xytext=(6, -3), textcoords="offset points", fontsize=10)
    frame(axis, r"singular value $s / \|G\|_F$", "$f(s)$", log="xy")
    key(axis, below=2)
    return figure


def _of_map(quantity: str, law: str, name: str, record: dict) -> dict:
    measured, predicted = record["measured"][quantity][name], record["predicted"][law][name]
    return {"x": record["config"]["dims"], "draws": measured, "law": predicted}


def maps_capacity_figure(record: dict, names) -> Figure:
    """Capacity against d for several maps of one record; two standard errors, sharp predictions as lines."""
    figure, (axis,) = new_axes(figsize=(5.0, 4.6))
    for name in names:
        device_points(axis, record, partial(_of_map, "seed_counts", "counts", name), _LOOKS[name])
    title = f"One population step, {alpha_of(record)} (lines: sharp)"
    frame(axis, "embedding dimension $d$", "recovered items", title, log="xy", base=2)
    places = {"muon5": (1, (6, -10)), "cubic5": (-1, (-2, 11)), "sgd": (-1, (-2, -14))}
    name_lines(axis, places={_LOOKS[name].label: place for name, place in places.items()})
    key(axis)
    return figure
