"""Pictures: items of the first step, the logits of the sign, low ranks, and many steps beside the track."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, MAPS, PALE, frame, key, kinds, new_axes, optimizer, points, series

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
    found = np.array([measured["first"][name][-1] for name in names])
    error = np.array([measured["first_error"][name][-1] for name in names], dtype=float)
    polar = {"muon", "normuon", "shampoo", "one_sided_shampoo", "soap"}
    entries = {"sign", "adam"}
    group = [0 if name in polar else 1 if name in entries else 2 for name in names]
    colours = (MAPS["polar"].colour, kinds(("entries", ""), "{}")[0][0].colour, PALE)
    labels = ("the polar factor", "the sign", "others")
    y = np.arange(len(names))
    for which, (colour, label) in enumerate(zip(colours, labels, strict=True)):
        at = [k for k in y if group[k] == which]
        axis.barh(y[at], found[at], 0.7, xerr=2 * error[at], color=colour, label=label, ecolor=GREY)
    law = {name: "muon" for name in polar} | {"sign": "sign", "adam": "sign", "sgd": "sgd"}
    told = [(k, predicted["first"][law[name]][-1]) for k, name in enumerate(names) if name in law]
    axis.plot([v for _, v in told], [k for k, _ in told], "|", color="black", ms=12, mew=1.8, label="predicted")
    axis.set_yticks(y, [NAMES[name] for name in names])
    config = record["config"]
    title = rf"$\alpha = {config['first_alpha']:g}$, $d = {config['first_dims'][-1]}$"
    frame(axis, "items of the first step", title=title, log="x")
    axis.set_xlim(left=4)
    key(axis, below=4, columnspacing=0.8, handlelength=1.2)
    return figure


def sign_figure(record: dict, alpha: str) -> Figure:
    """Left: signals of sign(G), and deviations of its logits by the rival's rank, largest d. Right: items by d."""
    figure, axes = new_axes(2)
    measured, predicted, dims = record["measured"], record["predicted"], record["config"]["dims"]
    ranks = 2.0 ** (np.arange(len(measured["logits"]["signal"][alpha][-1])) + 0.5)
    words = {"signal": "own logit", "rivals": "rivals' deviation"}
    for look, name in kinds(words, "{}"):
        found, error = (np.array(measured[key][name][alpha][-1]) for key in ("logits", "logits_error"))
        law = predicted["logits"][name][alpha][-1]
        points(axes[0], ranks, found, look._replace(label=words[name]), error=error, law=law)
    other = "gaussian", "gaussian_rivals"
    for name, label in zip(other, ("if entries were Gaussian", None), strict=True):
        axes[0].plot(ranks, predicted["logits"][name][alpha][-1], ":", color=GREY, lw=1.3, label=label)
    frame(axes[0], "rank", "logits of sign(G)", rf"$\alpha = {alpha}$, $d = {dims[-1]}$", log="xy")
    axes[0].set_ylim(bottom=0.3)
    axes[0].legend()
    (mine, _), _ = kinds(("sign", ""), "{}")
    for look, name in ((mine, "sign"), (optimizer("sgd"), "sgd")):
        found, error = (np.array(measured[key][name][alpha]) for key in ("sign", "sign_error"))
        points(axes[1], dims, found, look, error=error, law=predicted["sign"][name][alpha])
    axes[1].plot(
        dims, predicted["sign"]["without_head"][alpha], "--", color=mine.colour, lw=1.2, label="rare rivals alone"
    )
    frame(axes[1], "dimension $d$", "items of one step", log="x", base=2, zero=True)
    axes[1].set_xticks(dims, [str(dim) for dim in dims])
    axes[1].legend()
    return figure


def rank_figure(record: dict) -> Figure:
    """Share of Muon's items against r/d at the largest d: low-rank polar on its prediction, Dion's first step open."""
    figure, (axis,) = new_axes()
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    fractions = np.array(config["fractions"])
    for look, alpha in series([f"{a:g}" for a in config["alphas"]], r"$\alpha = {}$"):
        polar = predicted["rank"]["polar"][alpha][-1]
        read = lambda told, alpha=alpha, polar=polar: np.array(told[alpha][-1]) / polar
        error = read(measured["rank_error"]["low_rank"])
        points(axis, fractions, read(measured["rank"]["low_rank"]), look, error=error)
        law = np.append(read(predicted["rank"]["low_rank"]), 1)
        axis.plot(np.append(fractions, 1), law, color=look.colour, lw=1.2)
        axis.plot(fractions, read(measured["rank"]["dion"]), look.marker, color=look.colour, mfc="none")
    axis.plot([0, 1], [0, 1], ":", color=GREY, lw=1.2, label="in proportion")
    axis.plot([], [], "o", color=GREY, mfc="none", label="Dion's first step")
    frame(axis, "rank over dimension, $r/d$", "share of Muon's items", rf"$d = {config['rank_dims'][-1]}$", zero=True)
    axis.set_xlim(0, 1.02)
    axis.legend()
    return figure
