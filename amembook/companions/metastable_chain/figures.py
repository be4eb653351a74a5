"""Pictures of the study: times and the search, what a Muon step and a policy gradient learn, sizes of clusters."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, optimizer, points
from amembook.run.base import arrays


def times_figure(record: dict) -> Figure:
    """Left: expected steps to the last cluster, before and after search and policy gradient, and of the meta-chain, by
    ε. Right: share of rounds that report a hard step, by the budget of exploration, on its law."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    before, after, meta = (look for look, _ in kinds(["before", "after reward", "distilled"], "{}"))
    pipeline, edges = measured["pipeline"], config["edges"]
    steps = (config["clusters"] - 1) * config["states"] / np.array(edges)
    points(axes[0], edges, pipeline["before"], before, law=steps)
    error = arrays(pipeline["after_error"])
    points(axes[0], edges, pipeline["after"], after, error=error, law=predicted["pipeline"]["after"])
    points(axes[0], edges, np.full(len(edges), float(predicted["pipeline"]["meta"])), meta)
    frame(axes[0], r"chance of a hard step $\varepsilon$", "steps to the last cluster", log="xy")
    name_lines(axes[0])
    search = measured["search"]
    for k, (look, _) in enumerate(kinds(config["search_edges"], r"$\varepsilon = {}$")):
        error = arrays(search["share_error"][k])
        points(axes[1], config["budgets"], search["share"][k], look, error=error, law=predicted["search"]["share"][k])
    frame(axes[1], r"exploration over $M\log M$", "share of rounds right", log="x", base=2, zero=True)
    name_lines(axes[1])
    return figure


def learning_figure(record: dict) -> Figure:
    """Left: a hard step's entry in a first step of spectral norm one, by ε/σ; filled: uniform clusters from samples,
    hollow: random clusters from all data; line: the limit. Right: steps of a policy gradient, by 1/ε, on the laws."""
    measured, predicted = record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    step, law = measured["step"], predicted["step"]
    theta, order = np.array(law["theta"]), np.argsort(law["theta"])
    sampled = np.array(["uniform" in case for case in step["cases"]])
    for name in ("polar", "sgd"):
        entry, error = (arrays(step[key]) for key in (name, f"{name}_error"))
        look = optimizer(name)
        points(axes[0], theta[sampled], entry[sampled], look, error=error[sampled])
        points(axes[0], theta[~sampled], entry[~sampled], look._replace(label=None), error=error[~sampled], mfc="white")
    axes[0].plot(theta[order], np.array(law["limit"])[order], "-", color=GREY, lw=1.2)
    frame(axes[0], r"chance over scatter, $\varepsilon/\sigma$", "entry of a hard step", log="xy")
    axes[0].legend()
    reward = measured["reward"]
    x = 1 / np.array(reward["edge"])
    for name in ("polar", "sgd"):
        error = arrays(reward[f"{name}_error"])
        points(axes[1], x, reward[name], optimizer(name), error=error, law=predicted["reward"][name])
    frame(axes[1], r"rarity $1/\varepsilon$", "steps to one half", log="xy")
    axes[1].legend()
    return figure


def sizes_figure(record: dict) -> Figure:
    """Steps a cluster over M/ε, by M: random clusters, and circles, which take long to cross; lines: the exact law."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes()
    time = predicted["time"]
    steps, law, leading = (arrays(values) for values in (measured["time"]["steps"], time["steps"], time["leading"]))
    labels = {
        "size": rf"random, $\varepsilon = {config['edge']:g}$",
        "circle": rf"circles, $\varepsilon = {config['circle_edge']:g}$",
    }
    for (look, _), name in zip(kinds(labels.values(), "{}"), labels, strict=True):
        along = measured["time"]["axes"][name]
        points(axes[0], config["sizes"], (steps / leading)[along], look, law=(law / leading)[along])
    axes[0].axhline(1, color=GREY, ls=":", lw=1)
    frame(axes[0], "states of a cluster $M$", r"steps a cluster over $M/\varepsilon$", log="x", base=2, zero=True)
    name_lines(axes[0])
    return figure
