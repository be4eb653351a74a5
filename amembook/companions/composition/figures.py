"""Pictures of the study: the staircase of hops, steps by k, samples of one step, one answer a sample."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, optimizer, points, series
from amembook.run.base import arrays

_BY = {"adam": "Adam", "muon": "Muon"}


def staircase_figure(record: dict) -> Figure:
    """Left: the step at which each hop was learnt, by N, on a mixture. Right: the same of the ordinary transformer, one
    line a draw."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    learnt = arrays(measured["easy"]["learnt"])
    hops = 2 ** np.arange(learnt.shape[-1])
    for look, (k, things) in series(enumerate(config["train_things"]), ""):
        points(axes[0], hops, learnt[0, 0, k].T, look._replace(label=f"$N={things}$"), ls="-", lw=0.8)
    frame(axes[0], "hop", "steps until it is learnt", "attention only, a mixture", log="x", base=2, zero=True)
    _hops(axes[0], hops)
    axes[0].legend(loc="lower right")
    net = arrays(measured["net"]["learnt"])[0]
    ((look, _),) = kinds(["a draw"], "{}")
    for k, draw in enumerate(net):
        named = {"label": look.label} if k == 0 else {}
        axes[1].plot(hops, draw, look.marker + "-", color=look.colour, lw=0.8, **named)
    frame(axes[1], "hop", "", "an ordinary transformer, a mixture", log="x", base=2, zero=True)
    _hops(axes[1], hops)
    axes[1].legend(loc="lower right")
    return figure


def regimes_figure(record: dict) -> Figure:
    """Accuracy of the longest hop at the end of training, one point a draw, by what was trained on; with the steps."""
    config, measured = record["config"], record["measured"]
    figure, (axis,) = new_axes()
    easy, alone, net = (arrays(measured[key]["accuracy"])[..., -1] for key in ("easy", "alone", "net"))
    steps = {key: arrays(measured[key]["steps"]) for key in ("easy", "alone", "net")}
    at = config["train_things"].index(config["only_things"][0])
    rows = []
    for by, name in enumerate(_BY.values()):
        for data, regime in enumerate(("mixture", "curriculum")):
            rows.append((f"{name}, {regime}", easy[data, by, at], steps["easy"][data, by, at]))
        rows.append((f"{name}, {config['k']}-hop alone", alone[by, 0], steps["alone"][by, 0]))
    for data, regime in enumerate(("mixture", f"{config['k']}-hop alone")):
        rows.append((f"transformer, {regime}", net[data], steps["net"][data]))
    ((look, _),) = kinds(["a draw"], "{}")
    for height, (_, shares, _) in enumerate(rows):
        axis.plot(shares, np.full(len(shares), -height), look.marker, color=look.colour, alpha=0.6)
    names = [f"{name}: {np.median(taken):.0f} steps" for name, _, taken in rows]
    axis.set_yticks(-np.arange(len(rows)), names)
    for chance in (1 / config["only_things"][0], 1 / config["net_things"]):
        axis.axvline(chance, color=GREY, lw=1, ls=":")
    frame(axis, "right answers at the end")
    axis.set_xlim(0, 1.04)
    return figure


def growth_figure(record: dict) -> Figure:
    """Left: steps until all hops are learnt, by k, on a mixture (solid) and a curriculum (dashed), with two standard
    errors. Right: accuracy of the k-hop alone at the end, one point a draw; dotted: chance."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    ks, grown = config["growth_ks"], arrays(measured["growth"]["steps"])
    for name, dash, by_things in zip(("mixture", "curriculum"), ("-", "--"), grown, strict=True):
        for (look, N), steps in zip(series(config["growth_things"], ""), by_things, strict=True):
            look = look._replace(label=f"{name}, $N={N}$")
            points(axes[0], ks, steps, look, ls=dash, lw=0.8)
    frame(axes[0], "$k$", "steps", "all hops", log="x", base=2, zero=True)
    _hops(axes[0], ks)
    axes[0].legend()
    shares = arrays(measured["by_k"]["accuracy"])
    for place, (look, N) in enumerate(series(config["alone_things"], "$N = {}$")):
        for hop, draws in zip(config["alone_ks"], shares[place], strict=True):
            x = hop * 2 ** (0.2 * (place - (len(shares) - 1) / 2) + np.linspace(-0.06, 0.06, len(draws)))
            axes[1].plot(x, draws, look.marker, color=look.colour, alpha=0.7)
        axes[1].axhline(1 / N, color=look.colour, lw=1, ls=":")
    frame(axes[1], "$k$", "right answers at the end", "the $k$-hop alone", log="x", base=2, zero=True)
    _hops(axes[1], config["alone_ks"])
    axes[1].set_xlim(config["alone_ks"][0] / 1.4, config["alone_ks"][-1] * 1.4)
    # its N has the colour of the left panel: a marker of a legend inside the axes would look like a draw
    return figure


def samples_figure(record: dict) -> Figure:
    """Left: samples until all keys are alone, all places answered, against 2 log(kN)/log N; line: the law. Right: share
    of places after one step, one place answered a sample, by answers a place; line: the law of the gradient step."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    k, N = np.array(measured["needed_sizes"], dtype=float).T
    needed, error, law = (
        arrays(values) for values in (measured["needed"], measured["needed_error"], predicted["needed"])
    )
    for look, things in series(sorted(set(N.tolist())), "$N = {:g}$"):
        here = np.flatnonzero(things == N)
        here = here[np.argsort(k[here])]
        points(axes[0], k[here], needed[here], look, error=error[here], law=law[here])
    frame(axes[0], "number of permutations $k$", "samples needed", "all places answered", log="x", base=2, zero=True)
    name_lines(axes[0])
    row = config["sparse_sizes"].index("8 8") if "8 8" in config["sparse_sizes"] else 0
    for name in ("polar", "sgd"):
        share, error = (arrays(measured[key][name])[row] for key in ("share", "share_error"))
        law = arrays(predicted["share"]["sgd"])[row] if name == "sgd" else None
        points(axes[1], config["per_place"], share, optimizer(name), error=error, law=law)
    frame(axes[1], "answers a place", "share of places", "one place answered a sample", zero=True)
    axes[1].set_xticks(config["per_place"])
    axes[1].legend(loc="lower right")
    return figure


def _hops(axis, hops) -> None:
    axis.set_xticks(hops, [str(hop) for hop in hops])
    axis.minorticks_off()
