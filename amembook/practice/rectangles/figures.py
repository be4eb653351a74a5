"""Pictures of the study: counts of shapes, what tiles lose, learning rates by shape, one-hot sides."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, name_lines, new_axes, optimizer, points


def shapes_figure(record: dict) -> Figure:
    """Left: items of a step by shape, polar on its predictions. Right: what cutting one matrix into tiles leaves."""
    figure, axes = new_axes(2)
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    order = np.argsort(predicted["polar"])
    take = lambda values: np.array(values, float)[order]
    x = np.arange(len(order))
    counted, doubt = take(measured["counts"]["polar"]), take(measured["polar_error"])
    points(axes[0], x, counted, optimizer("polar", "Muon"), error=doubt)
    axes[0].plot(x, take(predicted["polar"]), "_", color="black", ms=11, mew=1.6, label="predicted")
    for name, look in (("jordan", optimizer("muon", "as shipped")), ("sgd", optimizer("sgd"))):
        axes[0].plot(x, take(measured["counts"][name]), look.marker, color=look.colour, label=look.label)
    names = [config["shapes"][k].replace("x", "×") for k in order]
    axes[0].set_xticks(x, names, rotation=60, ha="right", fontsize=9)
    axes[0].set_ylim(0.5 * min(measured["counts"]["sgd"]), 1.5 * max(predicted["polar"]))
    frame(axes[0], "outputs × inputs", "items of one step", log="y")
    name_lines(axes[0], places={"Muon": (5, (0, 16)), "as shipped": (7, (0, -16)), "SGD": (7, (0, 16))})
    key(axes[0], loc="upper left")
    x, law = np.arange(len(config["tilings"])), np.array(predicted["tiles"]["polar"])
    tiles, error = (
        np.array(values, float) / law[0] for values in (measured["tiles"]["polar"], measured["tiles_error"])
    )
    axes[1].bar(x, tiles, 0.6, yerr=2 * error, color=optimizer("polar").colour, alpha=0.6, ecolor=GREY)
    axes[1].plot(x, law / law[0], "_", color="black", ms=16, mew=1.6)
    axes[1].set_xticks(x, [text.replace("x", "×") for text in config["tilings"]])
    frame(
        axes[1],
        f"blocks of rows × columns of {config['tiled'].replace('x', '×')}",
        "items left of the whole's",
        zero=True,
    )
    return figure
