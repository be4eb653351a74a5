"""Pictures of what one gradient holds: counts beside the limits, and shares by rank."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import (
    GREY,
    Look,
    frame,
    key,
    kinds,
    log_middles,
    name_lines,
    new_axes,
    optimizer,
    points,
)
from amembook.run.base import profile_bins

_LADDER = {name: optimizer(name) for name in ("sgd", "polar", "best")} | {
    "siblings_2": Look("#1B9E77", "<", "two siblings"),
    "matched": Look("#000000", "H", "$W^*$"),
}


def ladder_figure(record: dict, alpha: float, alone: float) -> Figure:
    """Recovered items over the limit of one gradient and its inputs, against d. Lines: predictions.

    alone: the share of that limit, as d → ∞, that a map of the gradient alone can have.
    """
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, (axis,) = new_axes(figsize=(5.0, 4.4))
    a, limit = config["alphas"].index(alpha), np.array(predicted["limit"])
    for name, look in _LADDER.items():
        mean, error, law = (
            np.array(table)[:, a] / limit[:, a]
            for table in (measured["counts"][name], measured["error"][name], predicted["counts"][name])
        )
        points(axis, config["dims"], mean, look, error=error, law=law)
    axis.axhline(1, color=GREY, lw=1.6)
    axis.axhline(alone, color=GREY, ls="--", lw=1.2)
    frame(axis, "embedding dimension $d$", "recalled facts / limit", log="x", base=2, zero=True)
    axis.set_xlim(right=1.08 * config["dims"][-1])
    name_lines(axis, offset=(12, 0))
    key(axis, {"limit, gradient and inputs": "-", "limit of the gradient alone ($d\\to\\infty$)": "--"}, below=1)
    return figure


def ranks_figure(record: dict, alpha: float) -> Figure:
    """Share of the items of each rank that Muon and W* recover, under the ceiling and the bound; a panel for two d.

    Bars: two standard errors, as if items were independent.
    """
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    a, largest = config["alphas"].index(alpha), len(config["dims"]) - 1
    draws = [*config["more_seeds"], config["seeds"]]
    figure, axes = new_axes(2, sharey=True)
    for axis, k in zip(axes, (1, largest), strict=True):
        dim, edges = config["dims"][k], np.r_[1, np.array(profile_bins(config["n_items"][k])) + 1]
        edges = np.r_[edges, config["n_items"][k] + 1]
        ranks, items = log_middles(edges), draws[k] * np.diff(edges)
        shown = (ranks > dim / 4) & (ranks < 20 * dim)
        for name, look in (("polar", optimizer("polar", "Muon")), ("matched", _LADDER["matched"])):
            share = np.array(measured["profile"][name][k][a])
            error = np.sqrt(share * (1 - share) / items)
            points(axis, ranks[shown], share[shown], look, error=error[shown], ls="-", lw=1.2)
        for name, line, label in (("ceiling", "-", None), ("theorem", "--", "bound")):
            axis.plot(ranks[shown], np.array(predicted[name][k][a])[shown], line, color=GREY, lw=1.5, label=label)
        frame(axis, "rank of the item", title=f"$d = {dim}$", log="x")
        axis.set_xlim(dim / 4, 40 * dim)
        tables = {"polar": measured["profile"], "matched": measured["profile"], "theorem": predicted}
        half = {name: int((np.array(of[name][k][a])[shown] > 0.5).sum()) for name, of in tables.items()}
        places = {"Muon": (half["polar"] - 1, (-8, 0)), "$W^*$": (half["matched"], (8, 4))}
        name_lines(axis, places=places | {"bound": (half["theorem"], (8, 4))})
    axes[0].set_ylabel("share recovered")
    return figure


def race_figure(own, best, line, level: float) -> Figure:
    """Own scores and those of the best rivals by rank, medians of bins with 80 % of a bin, beside what they should be.

    own, best: (N,) scores of the items of rank 1, …, N. line: (N,) expected own scores of rare items. level: of the
    best rival.
    """
    figure, (axis,) = new_axes(figsize=(5.0, 3.6))
    ranks = np.arange(1, len(own) + 1)
    edges = np.unique(np.geomspace(1, len(own) + 1, 24).round())
    label = np.searchsorted(edges, ranks, side="right")
    middle = [np.exp(np.log(ranks[label == b]).mean()) for b in np.unique(label)]
    for (look, name), values in zip(kinds(("own", "best rival")), (own, best), strict=True):
        bins = [np.asarray(values)[label == b] for b in np.unique(label)]
        low, median, high = np.transpose([np.quantile(one, (0.1, 0.5, 0.9)) for one in bins])
        axis.plot(middle, median, "-", color=look.colour, lw=1.8, label=name)
        axis.fill_between(middle, low, high, color=look.colour, alpha=0.2, lw=0)
    inside = np.asarray(line) < 1.1 * np.max(np.asarray(own))
    axis.plot(ranks[inside], np.asarray(line)[inside], "--", color=GREY, lw=1.4, label=r"$\sqrt{d}\,p_iR$")
    axis.axhline(level, color=GREY, lw=1.2, ls=":", label=r"$\sqrt{2\log N}$")
    frame(axis, "rank $i$", "score", log="x")
    key(axis)
    return figure
