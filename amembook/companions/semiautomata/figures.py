"""Pictures of the study: agreement and words needed, and a memory of letters."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import frame, key, name_lines, new_axes, optimizer, points, series
from amembook.run.base import arrays


def price_figure(machines: dict, letters: dict) -> Figure:
    """Left: agreement of two machines beyond chance, by letters over N, on λ^{2T}; dotted: with a renamed machine.
    Right: words after which counts tell nine letters of ten, by (T − 1)/(N − 1), on the law; dashed: if leads were
    independent."""
    config, measured, predicted = machines["config"], machines["measured"], machines["predicted"]
    figure, axes = new_axes(2)
    for k, (look, n) in enumerate(series(config["states"], "$N = {}$")):
        pair, law = measured["agreement"][k], predicted["agreement"][k]
        lengths = np.arange(1, len(pair["excess"]) + 1)
        some = np.arange(0, len(lengths), max(1, n // 4))
        points(axes[0], lengths[some] / n, np.array(pair["excess"])[some], look, error=arrays(pair["error"])[some])
        axes[0].plot(lengths / n, law["limit"], "-", color=look.colour, lw=1.2)
        axes[0].axhline(np.mean(pair["renamed"]), color=look.colour, ls=":", lw=1.2)
    frame(axes[0], "letters read over states $T/N$", "agreement beyond chance", log="y")
    axes[0].legend()
    words, law = letters["measured"]["words"], letters["predicted"]["words"]
    for k, (look, n) in enumerate(series(letters["config"]["learn_states"], "$N = {}$")):
        x = (np.array(words["lengths"][k]) - 1) / (n - 1)
        points(axes[1], x, words["needed"][k], look, error=arrays(words["error"][k]), law=law["needed"][k])
        axes[1].plot(x, law["rivals"]["independent Gaussian leads"][k], "--", color=look.colour, lw=1.2)
    frame(axes[1], "word length $(T-1)/(N-1)$", "words needed", log="y")
    name_lines(axes[1])
    key(axes[1], {"shared counts": "-", "independent": "--"}, loc="lower right")
    return figure


def memory_figure(record: dict) -> Figure:
    """Share of the letters that move which one step finds, from words of several lengths: left by the number of words,
    right by looks at a letter. Lines join the points of a length, solid the shortest."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2, sharey=True)
    price = measured["price"]
    marks = ("o", "s", "^", "D")
    lines = ("-", "--", ":", "-.")
    for axis, x in zip(axes, (price["words"], predicted["price"]["looks"]), strict=True):
        for name in ("polar", "sgd"):
            for k in range(len(config["price_lengths"])):
                look = optimizer(name)._replace(marker=marks[k], label=optimizer(name).label if k == 0 else None)
                error = arrays(price[f"{name}_error"][k])
                points(axis, x[k], price[name][k], look, error=error, fmt=marks[k] + lines[k])
    frame(axes[0], "words", "share of letters found", log="x", zero=True)
    frame(axes[1], "looks at a letter", log="x", zero=True)
    lengths = {f"$T = {T}$": line for T, line in zip(config["price_lengths"], lines, strict=False)}
    key(axes[1], lengths, loc="lower right")
    return figure
