"""Pictures of many steps: the bulk of the thresholded gradient, counts step by step."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import (
    GREY,
    PALE,
    frame,
    key,
    name_lines,
    new_axes,
    optimizer,
    points,
    series,
)

LIMIT, SEEN = r"limit $\kappa_t$", "distinct items seen"


def bulk_figure(panels: dict) -> Figure:
    """Density of the singular values of G without its first m items, a panel for each m/d; histogram on the law.

    panels: title ↦ {"measured": (d,), "s": (n,), "density": (n,)}, singular values in units of m^{1/2−α} d^{−1/2}/ζ.
    """
    figure, axes = new_axes(len(panels))
    for axis, (title, panel) in zip(axes, panels.items(), strict=True):
        edges = np.linspace(0, 1.05 * max(panel["measured"]), 30)
        axis.hist(panel["measured"], edges, density=True, color=PALE, label="one draw")
        shown = panel["s"] <= edges[-1]
        axis.plot(panel["s"][shown], panel["density"][shown], "-", color=GREY, lw=1.4, label="law")
        frame(axis, r"singular value $/\ m^{1/2-\alpha}d^{-1/2}\zeta_N^{-1}$", title=title)
    for axis in axes[::2]:
        axis.set_ylabel("density")
    key(axes[0])
    return figure


def thresholded_counts_figure(record: dict, rules: tuple[str, ...], titles: tuple[str, ...]) -> Figure:
    """Counts after every step from a record of `deflation`, a panel a rule: points on sharp lines, d_t dotted."""
    figure, axes = new_axes(len(rules), sharey=True)
    for axis, rule, title in zip(axes, rules, titles, strict=True):
        for k, (look, _) in enumerate(series(record["config"]["dims"], "$d = {}$")):
            counts = np.array(record["measured"]["seed_counts"][rule][k]).T
            steps = np.arange(1, len(counts) + 1)
            points(axis, steps, counts, look, law=record["predicted"]["counts"][rule][k])
            axis.plot(steps, record["predicted"]["thresholds"][rule][k], ":", color=look.colour, lw=1.2)
        frame(axis, "steps", title=title, log="y")
        axis.set_xticks(steps)
    for axis in axes[::2]:
        axis.set_ylabel("recovered items")
    name_lines(axes[-1])
    key(axes[-1], {"sharp prediction": "-", r"threshold $d_t$": ":"}, below=5)
    return figure


def sgd_steps_figure(record: dict, index: int) -> Figure:
    """SGD's counts over d_t after every step at one d of a record of `deflation`, on both predictions.

    index: which of `dims`.
    """
    figure, (axis,) = new_axes()
    config, predicted = record["config"], record["predicted"]
    thresholds = np.array(predicted["thresholds"]["sgd"][index], dtype=float)
    counts = np.array(record["measured"]["seed_counts"]["sgd"][index]).T
    steps = np.arange(1, len(thresholds) + 1)
    points(axis, steps, counts, optimizer("sgd", "counted"), scale=thresholds)
    for name, line, label in (("counts", "-", "each rival\nits own variance"), ("even", "--", "one variance for all")):
        axis.plot(steps, np.array(predicted[name]["sgd"][index]) / thresholds, line, color=GREY, lw=1.4, label=label)
    title = rf"SGD, $\alpha = {config['alpha']:g}$, $d = {config['dims'][index]}$"
    frame(axis, "steps", "recovered items / $d_t$", title, zero=True)
    axis.set_xticks(steps)
    places = {"one variance for all": (1, (8, 4)), "each rival\nits own variance": (2, (-4, -18))}
    places["counted"] = (1, (-8, -12))
    name_lines(axis, places=places)
    return figure


def delay_figure(exponents: dict, lag: int, measured: dict) -> Figure:
    """κ_t of SGD, and of Muon moved to the right by `lag` steps, with SGD's sharp local exponents in its colour.

    exponents: "sgd", "polar" ↦ (T,) from step 1 on. measured: label ↦ (T,) SGD's exponents over some d.
    """
    figure, (axis,) = new_axes()
    for name, shift, label in (("sgd", 0, "SGD"), ("polar", lag, f"Muon,\n{lag} steps later")):
        look, steps = optimizer(name, rf"$\kappa_t$ of {label}"), np.arange(1, len(exponents[name]) + 1)
        points(axis, steps + shift, exponents[name], look, fmt=look.marker + "-")
    for k, (label, slopes) in enumerate(measured.items()):
        steps, line = np.arange(1, len(slopes) + 1), ("x--", "+:", "x-.")[k]
        axis.plot(steps, slopes, line, color=optimizer("sgd").colour, lw=1, label=label)
    axis.axhline(1, color=GREY, lw=0.8)
    frame(axis, "steps of SGD", "exponent of the capacity")
    places = {r"$\kappa_t$ of SGD": (1, (8, -8)), f"$\\kappa_t$ of Muon,\n{lag} steps later": (-1, (-4, -26))}
    spots = ((3, (-12, 8)), (-1, (-8, 4)), (-1, (8, 0)))
    name_lines(axis, places=places | dict(zip(measured, spots, strict=False)))
    return figure


def far_growth_figure(record: dict, far: list[dict], steps: tuple[int, ...]) -> Figure:
    """Local exponents of Muon's counts against d after some steps, and those of the law where nobody can draw.

    far: lines of growth.csv, each with the d between which the law of `polar steps` was solved, its step and exponent.
    Points: counts of a record of `deflation`; solid, the law at its N; dashed, the law of growth.csv; dotted, κ_t.
    """
    figure, (axis,) = new_axes()
    dims = np.array(record["config"]["dims"])
    middles, ratio = np.sqrt(dims[1:] * dims[:-1]), np.log(dims[1:] / dims[:-1])
    counts = np.array(record["measured"]["seed_counts"]["polar"], dtype=float)
    law = np.array(record["predicted"]["counts"]["polar"])
    for look, step in series(steps, "{} steps"):
        at = counts[..., step - 1]
        relative = at.std(1, ddof=1) / np.sqrt(at.shape[1]) / at.mean(1)
        local, solved = (np.diff(np.log(x)) / ratio for x in (at.mean(1), law[:, step - 1]))
        error = np.hypot(relative[1:], relative[:-1]) / ratio
        name = look._replace(label="1 step") if step == 1 else look
        points(axis, middles, local, name, error=error, law=solved)
        lines = [line for line in far if line["law"] == "polar steps" and int(line["step"]) == step]
        x = [np.sqrt(float(line["low"]) * float(line["high"])) for line in lines]
        axis.plot(x, [float(line["exponent"]) for line in lines], "--", color=look.colour, lw=1.2)
        axis.axhline(record["predicted"]["slope"]["polar"][step - 1], color=look.colour, ls=":", lw=1.4)
    frame(axis, "embedding dimension $d$", "local exponent of the count", log="x", base=2)
    key(axis, {"formula": "-", "formula, four million facts": "--", r"limit $\kappa_t$": ":"}, below=3)
    return figure
