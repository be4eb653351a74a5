"""Pictures of the study: samples needed, by length and load together, finding, a Muon step."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, optimizer, points
from amembook.run.base import arrays


def samples_figure(record: dict, shared: dict) -> Figure:
    """Samples needed against L, and against V/d with V or d varied: measured on the law, random and one-hot vectors.

    Crosses, the law of `shared`, with the lengths that signal and noise share. Bars are two standard errors.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2, sharey=True)
    cases = np.array(measured["cases"], dtype=float)
    base = np.array([config["n_tokens"], config["dim"], config["length"]])
    random, one_hot = (look for look, _ in kinds(["random vectors", "one-hot vectors"], "{}"))
    series = ((random, measured["samples"]["sgd"], measured["samples_error"]["sgd"], predicted["laws"]["ours"]),)
    series += ((one_hot, measured["one_hot"]["sgd"], measured["one_hot_error"]["sgd"], predicted["one_hot"]["sgd"]),)
    along = np.flatnonzero((cases[:, :2] == base[:2]).all(1))
    along = along[np.argsort(cases[along, 2])]
    for look, *numbers in series:
        samples, error, law = (arrays(values)[along] for values in numbers)
        points(axes[0], cases[along, 2], samples, look, error=error, law=law)
    own = shared["config"]
    sizes = np.transpose([own["shared_tokens"], own["shared_dims"], own["shared_lengths"]])
    crosses = arrays(shared["predicted"]["shared"]["by_lengths"])
    same = (sizes[:, :2] == base[:2]).all(1)
    axes[0].plot(sizes[same, 2], crosses[same], "x", color="black", zorder=3)
    same = sizes[:, 2] == base[2]
    axes[1].plot(sizes[same, 0] / sizes[same, 1], crosses[same], "x", color="black", zorder=3, label="shared lengths")
    frame(axes[0], "length $L$", "samples $N$ for 90 % of the tokens", log="xy", base=2)
    name_lines(axes[0])
    looks = kinds(["$d$ varied", "$V$ varied"], "{}")
    for (look, _), axis in zip(looks, (1, 0), strict=True):
        others = [k for k in range(3) if k != axis]
        along = np.flatnonzero((cases[:, others] == base[others]).all(1))
        along = along[np.argsort(cases[along, 0] / cases[along, 1])]
        samples, error, law = (arrays(values)[along] for values in series[0][1:])
        shown = look._replace(colour=random.colour)
        points(axes[1], cases[along, 0] / cases[along, 1], samples, shown, error=error)
        axes[1].plot(cases[along, 0] / cases[along, 1], law, "-" if axis else "--", color=random.colour, lw=1.2)
    frame(axes[1], "load $V/d$", "", log="xy", base=2)
    axes[1].legend()
    return figure


def grid_figure(record: dict) -> Figure:
    """Left: samples that naming needs over L − 1, by V/d, for two lengths. Right: samples of a label that finding needs
    against their law, on the line of equality. Bars are two standard errors.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    load = np.array(config["product_vocabularies"]) / config["product_dim"]
    for k, (look, L) in enumerate(kinds(config["product_lengths"], "$L = {}$")):
        numbers = (measured["product"], measured["product_error"], predicted["product"])
        samples, error, law = (arrays(values)[:, k] / (L - 1) for values in numbers)
        points(axes[0], load, samples, look, error=error, law=law, ms=9 - 5 * k)
    ((look, _),) = kinds(["by V, d and L"], "{}")
    law = np.array(predicted["finding"], dtype=float)
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
