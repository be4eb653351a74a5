"""Pictures of the study: samples needed, the laws that they refuse, attention's first step, a Muon step."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, new_axes, optimizer, points


def samples_figure(record: dict) -> Figure:
    """Samples needed against L, and against V/d with V or d varied: measured on the law, random and one-hot vectors.

    Bars are two standard errors.
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
    for look, *told in series:
        found, error, law = (np.array(values, dtype=float)[along] for values in told)
        points(axes[0], cases[along, 2], found, look, error=error, law=law)
    frame(axes[0], "length $L$", "samples $N$ for 90 % of the tokens", log="xy", base=2)
    axes[0].legend()
    looks = kinds(["$d$ varied", "$V$ varied"], "{}")
    for (look, _), axis in zip(looks, (1, 0), strict=True):
        others = [k for k in range(3) if k != axis]
        along = np.flatnonzero((cases[:, others] == base[others]).all(1))
        along = along[np.argsort(cases[along, 0] / cases[along, 1])]
        found, error, law = (np.array(values, dtype=float)[along] for values in series[0][1:])
        shown = look._replace(colour=random.colour)
        points(axes[1], cases[along, 0] / cases[along, 1], found, shown, error=error)
        axes[1].plot(cases[along, 0] / cases[along, 1], law, "-" if axis else "--", color=random.colour, lw=1.2)
    frame(axes[1], "load $V/d$", "", log="xy", base=2)
    axes[1].legend()
    return figure


def laws_figure(record: dict) -> Figure:
    """Measured samples over each law, divided by the geometric mean over all sizes: by L, and by V/d at one L."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2, sharey=True)
    found, cases = (np.array(values, dtype=float) for values in (measured["samples"]["sgd"], measured["cases"]))
    by_length = (cases[:, :2] == [config["n_tokens"], config["dim"]]).all(1)
    shown = ((by_length, cases[:, 2]), (cases[:, 2] == config["length"], cases[:, 0] / cases[:, 1]))
    for look, name in kinds(predicted["laws"], "{}"):
        ratio = np.log(found / np.array(predicted["laws"][name], dtype=float))
        for axis, (chosen, x) in zip(axes, shown, strict=True):
            order = np.flatnonzero(chosen)[np.argsort(x[chosen])]
            label = name if axis is axes[0] else None
            line = look.marker + ("-" if axis is axes[0] else "")
            axis.plot(x[order], np.exp(ratio - ratio.mean())[order], line, color=look.colour, lw=0.8, label=label)
    for axis in axes:
        axis.axhline(1, color=GREY, lw=1, ls=":")
    frame(axes[0], "length $L$", "measured over law, mean 1", log="xy", base=2)
    frame(axes[1], "load $V/d$", log="xy", base=2)
    key(axes[0], below=2)
    return figure


def attention_figure(record: dict) -> Figure:
    """By samples of a label: the mark's weight after attention's first step, and the share of places that it finds."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    ((look, _),) = kinds(["measured"], "{}")
    n = config["per_label"]
    for axis, told in ((axes[0], "weight"), (axes[1], "hits")):
        error = np.array(measured["attention_error"][told], dtype=float)
        law = record["predicted"]["attention"].get(told)
        points(axis, n, measured["attention"][told], look, error=error, law=law)
    frame(axes[0], "samples of a label", "weight of the mark")
    frame(axes[1], "samples of a label", "share of sequences found", zero=True)
    axes[0].legend()
    return figure


def muon_figure(record: dict) -> Figure:
    """Left: what a polar step does to signal over noise on one-hot vectors, on its law. Right: samples that it needs
    over those of the gradient, with random vectors, by V/d; crosses, what the law of one-hot vectors would say."""
    measured, predicted = record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    look = optimizer("polar", "measured")
    order = np.argsort(predicted["noise"])
    noise, gain, error, law = (
        np.array(values, dtype=float)[order]
        for values in (
            predicted["noise"],
            measured["gain"]["polar"],
            measured["gain_error"]["polar"],
            predicted["gain"]["polar"],
        )
    )
    points(axes[0], noise, gain, look, error=error, law=law)
    axes[0].axhline((8 / (3 * np.pi)) ** 2, color=GREY, ls="--", lw=1, label=r"$(8/3\pi)^2$")
    frame(
        axes[0],
        r"noise $r=\sqrt{V(L-1)/N}$",
        "signal over noise, Muon / SGD",
        "one-hot vectors",
        log="x",
        base=2,
        zero=True,
    )
    cases = np.array(measured["cases"], dtype=float)
    load = cases[:, 0] / cases[:, 1]
    points(axes[1], load, measured["ratio"], look, error=np.array(measured["ratio_error"], dtype=float))
    axes[1].plot(load, predicted["one_hot_ratio"], "x", color="black", label="if as one-hot")
    frame(axes[1], "load $V/d$", "samples needed, Muon / SGD", "random vectors", log="x", base=2, zero=True)
    for axis in axes:
        axis.axhline(1, color=GREY, lw=1, ls=":")
        axis.legend()
    return figure
