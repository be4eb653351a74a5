"""Pictures of the study: counts of shapes, what tiles lose, learning rates by shape, one-hot sides."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, new_axes, optimizer, points
from amembook.practice.rectangles.measure import pair_of


def shapes_figure(record: dict) -> Figure:
    """Left: items of a step by shape, polar on its predictions. Right: what cutting one matrix into tiles leaves."""
    figure, axes = new_axes(2)
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    order = np.argsort(predicted["polar"])
    take = lambda values: np.array(values, float)[order]
    x = np.arange(len(order))
    points(axes[0], x, take(measured["counts"]["polar"]), optimizer("polar"), error=take(measured["polar_error"]))
    axes[0].plot(x, take(predicted["polar"]), "_", color="black", ms=11, mew=1.6, label="predicted")
    for name, look in (("jordan", optimizer("muon")), ("sgd", optimizer("sgd"))):
        axes[0].plot(x, take(measured["counts"][name]), look.marker, color=look.colour, label=look.label)
    names = [config["shapes"][k].replace("x", "×") for k in order]
    axes[0].set_xticks(x, names, rotation=60, ha="right", fontsize=9)
    frame(axes[0], "outputs × inputs", "items of one step", log="y")
    axes[0].legend()
    x, law = np.arange(len(config["tilings"])), np.array(predicted["tiles"]["polar"])
    found, error = (np.array(told, float) / law[0] for told in (measured["tiles"]["polar"], measured["tiles_error"]))
    axes[1].bar(x, found, 0.6, yerr=2 * error, color=optimizer("polar").colour, alpha=0.6, ecolor=GREY)
    axes[1].plot(x, law / law[0], "_", color="black", ms=16, mew=1.6)
    axes[1].set_xticks(x, [text.replace("x", "×") for text in config["tilings"]])
    frame(
        axes[1],
        f"blocks of rows × columns of {config['tiled'].replace('x', '×')}",
        "items left of the whole's",
        zero=True,
    )
    return figure


def rates_figure(record: dict) -> Figure:
    """Best learning rate of polar over the root of the larger side, against outputs over inputs; unit embeddings."""
    figure, (axis,) = new_axes()
    config, measured = record["config"], record["measured"]
    shapes = np.array([pair_of("shapes", text) for text in config["shapes"]], float)
    ratio, root = shapes[:, 0] / shapes[:, 1], np.sqrt(shapes.max(1))
    rate, error = (np.array(measured[name], float) / root for name in ("rate", "rate_error"))
    points(axis, ratio, rate, optimizer("polar", "best rate"), error=error)
    wide = ratio <= 1
    axis.axhline(np.exp(np.log(rate[wide]).mean()), color=GREY, lw=1.2)
    frame(axis, "outputs over inputs, $m/n$", r"$\eta^*/\sqrt{\max(m,n)}$", log="x", base=2, zero=True)
    key(axis, {"both scales, constant from wide shapes": "-"})
    return figure


def one_hot_figure(record: dict) -> Figure:
    """Items of a head (left) and of an embedding (right) by d: SGD, polar with its prediction, equal rows, sign."""
    figure, axes = new_axes(2, sharey=True)
    config, measured = record["config"], record["measured"]
    x = np.arange(len(config["one_hot_dims"]))
    looks = [optimizer("sgd"), optimizer("polar")]
    looks += [look for look, _ in kinds(("tokens at one length", "sign, Adam's first step"), "{}")]
    for axis, side in zip(axes, ("head", "embedding"), strict=True):
        for k, (look, name) in enumerate(zip(looks, ("sgd", "polar", "equal", "sign"), strict=True)):
            axis.bar(x + (k - 1.5) / 5, measured[side][name], 0.18, color=look.colour, label=look.label)
        axis.axhline(config["n_items"], color=GREY, lw=1, ls="--")
        axis.set_xticks(x, [f"$d = {dim}$" for dim in config["one_hot_dims"]])
        frame(
            axis,
            "",
            "items of one step" if axis is axes[0] else "",
            f"{side}, one-hot {'outputs' if side == 'head' else 'inputs'}",
            log="y",
        )
    axes[0].plot(x - 0.1, record["predicted"]["head"]["polar"], "_", color="black", ms=12, mew=1.6, label="predicted")
    key(axes[0], below=3)
    return figure
