"""Pictures of real word lists and of embeddings with covariances: frequencies, counts by language, batches, tables."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from amembook.figures.style import GREY, MAPS, frame, key, kinds, name_lines, new_axes, optimizer, points, series

SOURCE_LABELS = {
    "gaussian": "Gaussian,\nsame covariance",
    "inputs": "inputs from\nthe table",
    "outputs": "outputs from\nthe table",
    "shuffled": "both, in\nrandom order",
    "table": "both, words at\ntheir own rank",
}


def word_frequencies_figure(frequencies: dict, exponents: dict, fits: dict) -> Figure:
    """Frequencies by rank, and their local exponents.

    frequencies: language ↦ (N,) by rank. exponents: language ↦ (ranks, local exponents). fits: language ↦ the exponent
    of the straight line through all ranks, drawn dotted.
    """
    figure, (left, right) = new_axes(2)
    for look, (language, p) in kinds(frequencies.items()):
        left.plot(np.arange(1, len(p) + 1), p, color=look.colour, lw=1.2, label=language)
        right.plot(*exponents[language], color=look.colour, lw=1.2)
        right.axhline(fits[language], color=look.colour, ls=":", lw=1)
    frame(left, "rank $i$", "frequency $p_i$", log="xy")
    frame(right, "rank $i$", r"local exponent $-d\log p\,/\,d\log i$", log="x")
    key(left)
    key(right, {"one line through all ranks": ":"})
    return figure


def languages_figure(record: dict) -> Figure:
    """Counts by language and map, one panel a dimension: points, predictions (lines), those of the fitted power law."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(len(config["dims"]))
    x = np.arange(len(config["languages"]))
    for k, (axis, dim) in enumerate(zip(axes, config["dims"], strict=True)):
        for name in ("polar", "newton", "sgd"):
            counts, sharp, zipf = (
                [table[language][name][k] for language in config["languages"]]
                for table in (measured["seed_counts"], predicted["counts"], predicted["zipf"])
            )
            look = optimizer(name, f"{MAPS[name].label}, counted")
            points(axis, x, counts, look, zorder=3)
            axis.hlines(sharp, x - 0.35, x + 0.35, color=look.colour, lw=1.4)
            axis.plot(x + 0.22, zipf, "x", color=look.colour, ms=5)
        frame(axis, "language", title=f"$d = {dim}$", log="y")
        axis.set_xticks(x, config["languages"])
        _plain_counts(axis)
    axes[0].set_ylabel("recovered items")
    key(axes[0], {"sharp prediction for the list": "-", "for the fitted power law": "x"}, below=3)
    return figure


def language_batches_figure(record: dict) -> Figure:
    """Counts of one minibatch step against B on a real list, with predictions and half-capacity batches."""
    config, measured, predicted = record["config"], record["measured"]["batch"], record["predicted"]["batch"]
    figure, axes = new_axes(2, sharex=True)
    for axis, name in zip(axes, ("polar", "sgd"), strict=True):
        for k, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
            counts, law = (side["counts"][name][k] for side in (measured, predicted))
            points(axis, config["batch_sizes"], counts, look, law=law)
            axis.axvline(predicted["half"][name][k], color=look.colour, ls=":", lw=1.2)
        frame(axis, "batch size $B$", "recovered items", MAPS[name].label, log="xy")
        _plain_counts(axis)
    key(axes[0], {"sharp prediction": "-", "predicted half-capacity batch": ":"}, below=4)
    return figure


def covariance_figure(record: dict) -> Figure:
    """Counts against the exponent β of the covariances, one panel a dimension, points on predictions."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(len(config["dims"]), sharex=True)
    for k, (axis, dim) in enumerate(zip(axes, config["dims"], strict=True)):
        for name in ("polar", "newton", "sgd"):
            counts, law = (np.array(side["covariance"][name])[:, k] for side in (measured, predicted))
            points(axis, config["covariance_exponents"], counts, optimizer(name), law=law, zorder=3)
        frame(axis, r"covariance eigenvalues $a^{-\beta}$: $\beta$", title=f"$d = {dim}$", log="y")
        _plain_counts(axis)
    axes[0].set_ylabel("recovered items")
    places = {"newton": (5, (-2, -10)), "polar": (4, (-8, -6)), "sgd": (2, (0, -14))}
    name_lines(axes[0], places={MAPS[name].label: place for name, place in places.items()})
    key(axes[0], {"counted": "o", "prediction": "-"}, below=2)
    return figure


def table_figure(record: dict) -> Figure:
    """What a real table costs Muon, step by step: counts by source of the vectors, one series a variant."""
    config, measured, predicted = record["config"], record["measured"]["table"], record["predicted"]["table"]
    figure, axes = new_axes(len(config["dims"]), sharey=True)
    shifts = np.linspace(-0.24, 0.24, len(measured))
    for k, (axis, dim) in enumerate(zip(axes, config["dims"], strict=True)):
        for shift, (look, variant) in zip(shifts, kinds(measured, "{}"), strict=True):
            sources = measured[variant]
            y = np.arange(len(sources)) + shift
            draws = np.array([values["polar"][k] for values in sources.values()], dtype=float)
            error = 2 * draws.std(1, ddof=1) / draws.shape[1] ** 0.5
            axis.errorbar(draws.mean(1), y, xerr=error, fmt=look.marker, color=look.colour, ms=5, label=look.label)
            axis.vlines(predicted[variant][k], y[0] - 0.1, y[0] + 0.1, color=look.colour, lw=1.6)
        frame(axis, "recovered items", title=f"Muon (polar), $d = {dim}$")
        axis.set_xlim(left=0)
        axis.set_ylim(len(sources) - 0.6, -0.4)
        axis.set_yticks(np.arange(len(sources)), [SOURCE_LABELS[source] for source in sources])
    axes[0].plot([], [], "|", color=GREY, ms=10, mew=1.6, label="covariance prediction")
    key(axes[0], below=5)
    return figure


def _plain_counts(axis) -> None:
    """Counts as numbers, 10 20 50 100, on a logarithmic axis of little more than a decade."""
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(ScalarFormatter())
    axis.yaxis.set_minor_formatter(NullFormatter())
