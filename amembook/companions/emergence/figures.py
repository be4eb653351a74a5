"""Pictures of the study: learning times and the loss, T_1 by dimension, narrow students, online SGD, samples."""

import numpy as np
from matplotlib.figure import Figure

from amembook.companions.emergence import expected
from amembook.companions.emergence.judge import WIDE
from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, optimizer, points, reference_line, series
from amembook.run.base import arrays


def emergence_figure(record: dict, alone: dict) -> Figure:
    """Left: when each direction is learnt. Right: the loss. Bars: two standard errors. Lines: one neuron and one
    direction, in the loss as jumps of a_p²/2.

    alone: times of one neuron and one direction by β, (starts, P).
    """
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    ranks = np.arange(1, config["n_teachers"] + 1)
    for look, beta in series(config["exponents"], r"$\beta = {}$"):
        case, a = f"{beta} {WIDE}", expected.amplitudes(beta, len(ranks))
        times, error = (arrays(measured[name][case]) / a for name in ("times", "times_error"))
        points(axes[0], ranks, times, look, error=error, law=np.mean(alone[beta], 0), ms=4)
        time, losses = (np.array(measured["curves"][name][case]) for name in ("time", "loss"))
        fine = np.geomspace(time[0], time[-1], 1000)
        law = ((fine[:, None, None] < alone[beta]) * a**2 / 2).sum(-1).mean(-1)
        axes[1].plot(time, losses, look.marker, color=look.colour, ms=4)
        axes[1].plot(fine[law > 0], law[law > 0], "-", color=look.colour, lw=1.2)
    frame(axes[0], "direction $p$", "learnt at time $T_p$", log="xy")
    frame(axes[1], "time $t$", "loss", log="xy")
    name_lines(axes[0])
    return figure


def sizes_figure(record: dict, first: dict, alone: dict) -> Figure:
    """Left: T_1 by dimension and degree in `first`, on that of one neuron `alone`, by degree. Right: the final loss of
    narrow students, between a direction for each neuron and the race. Bars are two standard errors."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    for look, k in kinds(config["degrees"], "$k = {}$"):
        first_times, error = (first["measured"][name][str(k)] for name in ("first", "first_error"))
        law = alone[k]
        points(axes[0], config["dims"], first_times, look, error=error, law=law)
        reference_line(axes[0], config["dims"], k / 2 - 1, (config["dims"][-1], law[-1]))
    axes[0].plot([], [], ":", color=GREY, lw=1.2, label="$d^{k/2-1}$")
    frame(axes[0], "dimension $d$", "first direction at $T_1$", log="xy", base=2)
    axes[0].legend()
    ((look, _),) = kinds(["measured"], "{}")
    widths = config["widths"]
    tail = expected.loss_tail(config["first_exponent"], config["n_teachers"])
    points(axes[1], widths, np.array(measured["floor"]) + tail, look, error=measured["floor_error"])
    for name, line, label in (("ideal", "-", "a direction each"), ("floor", "--", "race")):
        axes[1].plot(widths, np.array(predicted[name]) + tail, line, color=GREY, lw=1.2, label=label)
    frame(axes[1], "neurons $m$", "loss at the end, with tail", log="xy", base=2)
    axes[1].set_ylim(0.01, 1)
    axes[1].legend()
    return figure


def samples_figure(record: dict, batches: dict) -> Figure:
    """Left: T_p a_p of online SGD in `batches`, on the flow from the same starts. Right: samples of one neuron at its
    best learning rate times a² over d^{k−1}, by a and by d, on the law. Bars are two standard errors."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    ranks = np.arange(1, batches["config"]["sgd_teachers"] + 1)
    sgd, law = batches["measured"]["sgd"], batches["predicted"]["sgd"]["times"]
    points(axes[0], ranks, sgd["times"], optimizer("sgd", "online SGD"), error=np.array(sgd["times_error"]))
    axes[0].plot(ranks, law, "-", color=GREY, lw=1.2, label="flow, same starts")
    frame(axes[0], "direction $p$", "$T_p\\,a_p$", zero=True)
    axes[0].legend()
    k, a, dims = config["chain_degree"], np.array(config["chain_amplitudes"]), np.array(config["chain_dims"])
    sizes = {"amplitude": (1 / a, a**2 / dims[0] ** (k - 1)), "dim": (dims, a[0] ** 2 / dims ** float(k - 1))}
    for (look, name), label in zip(kinds(sizes, ""), ("by $1/a$", "by $d$"), strict=True):
        x, unit = sizes[name]
        n, error = (np.array(measured["samples"][name][part], dtype=float) * unit for part in ("n", "error"))
        law = np.array(predicted["samples"][name]["n"]) * unit
        points(axes[1], x, n, look._replace(label=label), error=error, law=law)
    frame(axes[1], "$1/a$, or $d$", f"samples $n\\,a^2/d^{k - 1}$", log="x", base=2, zero=True)
    axes[1].legend()
    return figure
