"""The picture of published maps: items over Muon's, predicted and counted."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, new_axes

LABELS = {
    "polar": "Muon",
    "power_0.25": "$s^{1/4}$ (DynMuon, first)",
    "power_0.1": "$s^{1/10}$",
    "power_-0.1": "$s^{-1/10}$",
    "power_-0.25": "$s^{-1/4}$ (DynMuon, last)",
    "power_-0.5": "$s^{-1/2}$",
    "soft": "Soft-Muon",
    "contra": "Contra-Muon",
    "soft_polar": "Soft-polar",
    "tempered": "Tempered Muon",
    "clip_0.25": "clipped at the quartile",
    "clip_0.5": "clipped at the median",
    "kaon": "Kaon, 5 steps",
    "random_half": "random, 1/2 to 3/2",
    "random_exponential": "random, exponential",
    "rows_half": "half of the rows (Dion2)",
    "rows_half_random": "half of the rows, by chance",
    "rows_quarter": "a quarter of the rows",
}
"""Names of the steps in pictures and tables, in their order."""
PICTURED = (
    "power_-0.1",
    "contra",
    "clip_0.25",
    "tempered",
    "random_half",
    "random_exponential",
    "power_0.25",
    "rows_half",
)
"""The steps of the picture, of which its page speaks; the table has all."""


def items_figure(record: dict, alpha: float) -> Figure:
    """Items over Muon's of some steps at each d: counted points with two standard errors, predicted lines."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    a, names = config["alphas"].index(alpha), PICTURED
    figure, (axis,) = new_axes(figsize=(5.0, 4.0))
    places = np.arange(len(names))[::-1]
    for k, (look, _) in enumerate(kinds(config["dims"], "$d = {}$")):
        value, error, law = (
            np.array([part[key_][name][k][a] for name in names])
            for part, key_ in ((measured, "ratio"), (measured, "ratio_error"), (predicted, "ratio"))
        )
        at = places + 0.15 * (1 - 2 * k)
        axis.errorbar(value, at, xerr=2 * error, fmt=look.marker, color=look.colour, ms=5, label=look.label)
        axis.plot(law, at, "|", color=look.colour, ms=12, mew=2)
    axis.axvline(1, color=GREY, lw=0.8, ls=":")
    axis.set_yticks(places, [LABELS[name] for name in names])
    frame(axis, "recalled facts over Muon's")
    axis.plot([], [], "|", color=GREY, ms=12, mew=2, label="predicted")
    key(axis, below=3)
    return figure
