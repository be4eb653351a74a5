"""Pictures of the study: samples needed, by length and load together, finding, a Muon step."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, optimizer, points
from amembook.run.base import arrays, standard_error


def samples_figure(record: dict, one_hot: dict) -> Figure:
    """Samples needed against L, and against V/d with V or d varied: measured on the law of shared lengths and counts.

    record: where the mean share of named tokens is the level. Dotted, the count of independent Gaussians. Bars are two
    standard errors.
    """
    figure, axes = new_axes(2, sharey=True)
    cases, needed, error = naming(record)
    base = np.array([record["config"][key] for key in ("n_tokens", "dim", "length")])
    random, single = (look for look, _ in kinds(["random vectors", "one-hot vectors"], "{}"))
    laws = {name: arrays(values) for name, values in record["predicted"]["level"].items()}
    along = _along(cases, base, 2, base[2] * np.array([1 / 2, 1, 2, 4, 8]))
    points(axes[0], cases[along, 2], needed[along], random, error=error[along], law=laws["by_counts"][along])
    axes[0].plot(cases[along, 2], laws["independent"][along], ":", color=GREY, lw=1.2)
    own = np.array(one_hot["measured"]["cases"], dtype=float)
    same = (own[:, :2] == base[:2]).all(1)
    values = (one_hot["measured"][key]["sgd"] for key in ("one_hot", "one_hot_error"))
    counts, doubt = (arrays(value)[same] for value in values)
    law = arrays(one_hot["predicted"]["one_hot"]["sgd"])[same]
    points(axes[0], own[same, 2], counts, single, error=doubt, law=law)
    frame(axes[0], "length $L$", "samples $N$ for 90 % of the tokens", log="xy", base=2)
    name_lines(axes[0])
    for (look, _), axis in zip(kinds(["$d$ varied", "$V$ varied"], "{}"), (1, 0), strict=True):
        along = _along(cases, base, axis)
        load = cases[along, 0] / cases[along, 1]
        points(axes[1], load, needed[along], look._replace(colour=random.colour), error=error[along])
        line = "-" if axis else "--"
        axes[1].plot(load, laws["by_counts"][along], line, color=random.colour, lw=1.2)
        name = None if axis else "signal and noise independent"
        axes[1].plot(load, laws["independent"][along], ":", color=GREY, lw=1.2, label=name)
    frame(axes[1], "load $V/d$", "", log="xy", base=2)
    axes[1].legend()
    return figure


def naming(record: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes (V, d, L), samples that naming needs and their standard errors, of a record of the mean share."""
    config, draws = record["config"], arrays(record["measured"]["level"])
    cases = np.transpose([config[f"level_{name}"] for name in ("tokens", "dims", "lengths")]).astype(float)
    return cases, draws.mean(1), standard_error(draws)


def _along(cases: np.ndarray, base: np.ndarray, axis: int, values=None) -> np.ndarray:
    """Which sizes are those of `base` but for one of V, d and L, in its order, or at these values of it alone."""
    others = [k for k in range(3) if k != axis]
    same = (cases[:, others] == base[others]).all(1)
    if values is not None:
        same &= np.isin(cases[:, axis], values)
    along = np.flatnonzero(same)
    return along[np.argsort(cases[along, axis])]


def grid_figure(record: dict, grid: dict) -> Figure:
    """Left: samples that naming needs over L − 1, by V/d and length, in one dimension. Right: samples of a label
    that finding needs against their law, on the line of equality. Bars are two standard errors.
    """
    figure, axes = new_axes(2)
    cases, needed, error = naming(record)
    law = arrays(record["predicted"]["level"]["by_counts"])
    for k, (look, L) in enumerate(kinds(sorted({int(L) for L in cases[:, 2]}), "$L = {}$")):
        along = np.flatnonzero(cases[:, 2] == L)
        along = along[np.argsort(cases[along, 0] / cases[along, 1])]
        load, over = cases[along, 0] / cases[along, 1], 1 / (L - 1)
        points(
            axes[0], load, over * needed[along], look, error=over * error[along], law=over * law[along], ms=9 - 5 * k
        )
    ((look, _),) = kinds(["by V, d and L"], "{}")
    measured, law = grid["measured"], np.array(grid["predicted"]["finding"], dtype=float)
    order = np.argsort(law)
    error = np.array(measured["finding_error"], dtype=float)[order]
    points(axes[1], law[order], np.array(measured["finding"])[order], look, error=error, law=law[order])
    frame(axes[0], "load $V/d$", "naming: samples over $L - 1$", log="xy", base=2)
    frame(axes[1], "law", "finding: samples of a label", log="xy", base=2)
    axes[0].legend()
    return figure


def muon_figure(record: dict) -> Figure:
    """Left: what a polar step does to signal over noise on one-hot vectors, on its law. Right: samples that it needs
    over those of the gradient, with random vectors, by V/d; crosses, what the law of one-hot vectors would say."""
    measured, predicted = record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    look = optimizer("polar", "measured")
    order = np.argsort(predicted["noise"])
    numbers = predicted["noise"], measured["gain"]["polar"], measured["gain_error"]["polar"], predicted["gain"]["polar"]
    noise, gain, error, law = (arrays(values)[order] for values in numbers)
    points(axes[0], noise, gain, look, error=error, law=law)
    axes[0].axhline((8 / (3 * np.pi)) ** 2, color=GREY, ls="--", lw=1, label=r"$(8/3\pi)^2$")
    labels = r"noise $r=\sqrt{V(L-1)/N}$", "signal over noise, Muon / SGD", "one-hot vectors"
    frame(axes[0], *labels, log="x", base=2, zero=True)
    cases = np.array(measured["cases"], dtype=float)
    load = cases[:, 0] / cases[:, 1]
    points(axes[1], load, measured["ratio"], look, error=arrays(measured["ratio_error"]))
    axes[1].plot(load, predicted["one_hot_ratio"], "x", color="black", label="if as one-hot")
    frame(axes[1], "load $V/d$", "samples needed, Muon / SGD", "random vectors", log="x", base=2, zero=True)
    for axis in axes:
        axis.axhline(1, color=GREY, lw=1, ls=":")
        axis.legend()
    return figure
