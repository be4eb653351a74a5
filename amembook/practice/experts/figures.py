"""Pictures of the study: a layer of experts with two routers, one memory by its tokens, a warm momentum."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, new_axes, optimizer, points, series
from amembook.practice.experts.expected import layer_of, rule_of_gain

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
            told = (measured["layers"], measured["layers_error"], predicted["layers"])
            found, error, law = (np.array(table[name][routing], float) for table in told)
            for top_k, line, fill in [(1, "-", None), *((k, "--", "white") for k in several)]:
                held = [at for at, (_, k) in enumerate(layers) if k == top_k]
                held.sort(key=lambda at: layers[at][0])
                x = [layers[at][0] for at in held]
                look = optimizer(name, f"{optimizer(name).label}, {top_k} a token")
                points(axis, x, found[held], look, error=error[held], mfc=fill or look.colour)
                axis.plot(x, law[held], line, color=look.colour, lw=1.2)
        frame(axis, "experts $E$", "items of one step" if axis is axes[0] else "", title, log="xy", base=2)
    axes[0].set_yscale("log")
    key(axes[0], below=2)
    return figure


def gain_figure(record: dict) -> Figure:
    """Left: items of one memory by its tokens, on predictions, with what the tokens show. Right: Muon's over SGD's, and
    the rule, dotted."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    b, dims = np.array(config["batch_sizes"]), config["dims"]
    for name in MAPS:
        told = (measured["batch"], measured["batch_error"], predicted["batch"])
        found, error, law = (table[name][-1] for table in told)
        points(axes[0], b, found, optimizer(name), error=np.array(error), law=law)
    axes[0].plot(b, predicted["distinct"][-1], ":", color=GREY, label="different items seen")
    frame(axes[0], "tokens $b$", "items of one step", f"$d = {dims[-1]}$", log="xy", base=2)
    axes[0].legend()
    for k, (look, _) in enumerate(series(dims, "$d = {}$")):
        found, law = (
            np.divide(table["batch"]["polar"][k], table["batch"]["sgd"][k]) for table in (measured, predicted)
        )
        relative = [np.divide(measured["batch_error"][name][k], measured["batch"][name][k]) for name in MAPS]
        points(axes[1], b, found, look, error=found * np.hypot(*relative), law=law)
        muon, sgd = (predicted["population"][name][k] for name in MAPS)
        rule = [rule_of_gain(seen, muon, sgd) for seen in predicted["distinct"][k]]
        axes[1].plot(b, rule, ":", color=look.colour)
    frame(axes[1], "tokens $b$", "Muon's items over SGD's", log="xy", base=2)
    key(axes[1], {"rule": ":"})
    return figure


def momentum_figure(record: dict) -> Figure:
    """Items of a polar step on a warm momentum against the tokens of one step, by β, on predictions; W stays at 0."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes()
    b = config["momentum_batches"]
    axis.plot(b, predicted["one_batch"], "--", color=GREY, label="no momentum, predicted")
    for k, (look, _) in enumerate(series(config["momenta"], r"$\beta = {}$")):
        error = np.array(measured["momentum_error"][k])
        points(axis, b, measured["momentum"][k], look, error=error, law=predicted["momentum"][k])
    axis.axhline(predicted["population"]["polar"][-1], color=GREY, lw=1, ls=":", label="the population's")
    frame(axis, "tokens of an expert in a step, $b$", "items of a Muon step", log="x", base=2, zero=True)
    axis.legend()
    return figure
