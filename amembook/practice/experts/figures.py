"""Pictures of the study: a layer of experts with two routers, one memory by its tokens, a warm momentum."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import frame, key, new_axes, optimizer, points
from amembook.practice.experts.expected import layer_of

MAPS = ("polar", "sgd")
TITLES = {"random": "router by chance", "item": "router by item"}


def layers_figure(record: dict) -> Figure:
    """Items that a layer recovers after one step of B tokens against its number of experts, for both routers.

    Filled, solid: one expert a token; open, dashed: several. Lines are predicted; bars are two standard errors.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2, sharey=True)
    layers = [layer_of("layers", text) for text in config["layers"]]
    several = sorted({k for _, k in layers if k > 1})
    for axis, (routing, title) in zip(axes, TITLES.items(), strict=True):
        for name in MAPS:
            tables = (measured["layers"], measured["layers_error"], predicted["layers"])
            items, error, law = (np.array(table[name][routing], float) for table in tables)
            for top_k, line, fill in [(1, "-", None), *((k, "--", "white") for k in several)]:
                held = [at for at, (_, k) in enumerate(layers) if k == top_k]
                held.sort(key=lambda at: layers[at][0])
                x = [layers[at][0] for at in held]
                look = optimizer(name, f"{optimizer(name).label}, {top_k} a token")
                points(axis, x, items[held], look, error=error[held], mfc=fill or look.colour)
                axis.plot(x, law[held], line, color=look.colour, lw=1.2)
        frame(axis, "experts $E$", "items of one step" if axis is axes[0] else "", title, log="xy", base=2)
    axes[0].set_yscale("log")
    key(axes[0], below=2)
    return figure
