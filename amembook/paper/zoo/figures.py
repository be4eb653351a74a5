"""Pictures of published maps: curves over the spectrum, items predicted and counted, items against loss."""

import numpy as np
import torch
from matplotlib.figure import Figure

from amembook.figures.style import GREY, PALE, frame, key, kinds, new_axes
from amembook.paper.zoo.maps import published_maps
from amemlib.equivalents import SpectralLaw
from amemlib.problem import Problem

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
_SHOWN = ("power_0.25", "power_-0.25", "contra", "soft_polar", "clip_0.5", "kaon")


def curves_figure(alpha: float, n_items: int, dim: int) -> Figure:
    """Six maps over the density of log s of a power law, each in units of its value at the median."""
    problem = Problem.power_law(n_items, dim, alpha)
    law = SpectralLaw.solve(problem.frequencies, dim)
    median, s = float(law.quantile(0.5)), law.singular_values
    inside = (s > median / 100) & (s < problem.frequencies[0].item() * 1.3)
    s, density = s[inside], (law.density * law.singular_values)[inside]
    figure, (axis,) = new_axes()
    body = density[s < 30 * median].max()
    axis.fill_between(s / median, 2 * np.minimum(density / body, 1), color=PALE, alpha=0.6, lw=0, label="spectrum")
    maps = published_maps(problem, law)
    level = torch.tensor([median], dtype=torch.float64)
    for look, name in kinds(_SHOWN):
        values = maps[name](torch.tensor(s)) / maps[name](level)
        axis.plot(s / median, values, "-", color=look.colour, lw=1.5, label=LABELS[name])
    axis.set_ylim(0, 3)
    frame(axis, "singular value over the median", "$f(s)$ over $f$(median)", log="x")
    key(axis, below=2)
    return figure


def items_figure(record: dict, alpha: float) -> Figure:
    """Items over Muon's by step at each d: counted points with two standard errors, predicted lines."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    a, names = config["alphas"].index(alpha), [name for name in LABELS if name != "polar"]
    figure, (axis,) = new_axes(figsize=(5.0, 6.0))
    places = np.arange(len(names))[::-1]
    for k, (look, _) in enumerate(kinds(config["dims"], "$d = {}$")):
        value, error, law = (
            np.array([part[key_][name][k][a] for name in names])
            for part, key_ in ((measured, "ratio"), (measured, "ratio_error"), (predicted, "ratio"))
        )
        at = places + 0.15 * (1 - 2 * k)
        axis.errorbar(
            value, at, xerr=2 * error, fmt=look.marker, color=look.colour, ms=4, label=f"counted, {look.label}"
        )
        axis.plot(law, at, "|", color=look.colour, ms=12, mew=2, label=f"predicted, {look.label}")
    axis.axvline(1, color=GREY, lw=0.8, ls=":")
    axis.set_yticks(places, [LABELS[name] for name in names])
    frame(axis, "items over Muon's")
    key(axis, below=2)
    return figure
