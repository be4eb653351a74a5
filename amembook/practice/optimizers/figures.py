"""Pictures: items of the first step."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, MAPS, PALE, frame, key, kinds, new_axes

NAMES = {
    "soap": "SOAP",
    "shampoo": "Shampoo",
    "one_sided_shampoo": "Shampoo, one side",
    "normuon": "NorMuon",
    "muon": "Muon",
    "full_dion": "Dion, full rank",
    "muon_five_steps": "Muon, five steps",
    "soap in float32": "SOAP in float32",
    "dion": "Dion, a quarter",
    "muon_squared": "Muon²",
    "adam": "Adam",
    "sign": "sign",
    "sgd": "SGD",
    "muon_without_momentum": "no momentum",
}
"""Optimizers in words, for axes."""


def first_figure(record: dict) -> Figure:
    """Items of the first step by optimizer at the largest d of the first steps; ticks: predicted."""
    figure, (axis,) = new_axes(figsize=(5.0, 4.6))
    measured, predicted = record["measured"], record["predicted"]
    names = [name for name in NAMES if name in measured["first"] and name != "muon_without_momentum"][::-1]
    items = np.array([measured["first"][name][-1] for name in names])
    error = np.array([measured["first_error"][name][-1] for name in names], dtype=float)
    polar = {"muon", "normuon", "shampoo", "one_sided_shampoo", "soap"}
    entries = {"sign", "adam"}
    group = [0 if name in polar else 1 if name in entries else 2 for name in names]
    colours = (MAPS["polar"].colour, kinds(("entries", ""), "{}")[0][0].colour, PALE)
    labels = ("the polar factor", "the sign", "others")
    y = np.arange(len(names))
    for which, (colour, label) in enumerate(zip(colours, labels, strict=True)):
        at = [k for k in y if group[k] == which]
        axis.barh(y[at], items[at], 0.7, xerr=2 * error[at], color=colour, label=label, ecolor=GREY)
    law = {name: "muon" for name in polar} | {"sign": "sign", "adam": "sign", "sgd": "sgd"}
    ticks = [(k, predicted["first"][law[name]][-1]) for k, name in enumerate(names) if name in law]
    axis.plot([v for _, v in ticks], [k for k, _ in ticks], "|", color="black", ms=12, mew=1.8, label="predicted")
    axis.set_yticks(y, [NAMES[name] for name in names])
    config = record["config"]
    title = rf"$\alpha = {config['first_alpha']:g}$, $d = {config['first_dims'][-1]}$"
    frame(axis, "items of the first step", title=title, log="x")
    axis.set_xlim(left=4)
    key(axis, below=4, columnspacing=0.8, handlelength=1.2)
    return figure
