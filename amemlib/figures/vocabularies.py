"""Pictures of real word lists and of embeddings with covariances: frequencies, counts by language, batches, tables."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes

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
    for colour, (language, p) in zip(SERIES, frequencies.items(), strict=False):
        left.plot(np.arange(1, len(p) + 1), p, color=colour, lw=1.2, label=language)
        right.plot(*exponents[language], color=colour, lw=1.2)
        right.axhline(fits[language], color=colour, ls=":", lw=1)
    log_log(left, "rank $i$", "frequency $p_i$", base=10)
    left.legend()
    right.set_xscale("log")
    right.set_xlabel("rank $i$")
    right.set_ylabel(r"local exponent $-d\log p\,/\,d\log i$")
    right.plot([], [], ":", color=COLOURS["theory"], label="one line through all ranks")
    right.legend()
    return figure


def languages_figure(record: dict) -> Figure:
    """Counts by language and map, one panel a dimension: points, predictions (lines), those of the fitted power law."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(len(config["dims"]))
    x = np.arange(len(config["languages"]))
    for k, (axis, dim) in enumerate(zip(axes, config["dims"], strict=True)):
        for name in ("polar", "newton", "sgd"):
            counts = np.array([measured["seed_counts"][language][name][k] for language in config["languages"]])
            sharp = [predicted["counts"][language][name][k] for language in config["languages"]]
            zipf = [predicted["zipf"][language][name][k] for language in config["languages"]]
            style = {"fmt": MARKERS[name], "color": COLOURS[name], "capsize": 2, "zorder": 3}
            axis.errorbar(
                x, counts.mean(1), _two_errors(counts), label=f"{LABELS[name]}, counted" if k == 0 else None, **style
            )
            axis.hlines(sharp, x - 0.35, x + 0.35, color=COLOURS[name], lw=1.4)
            axis.plot(x + 0.22, zipf, "x", color=COLOURS[name], ms=5)
        axis.set_xticks(x, config["languages"])
        axis.set_yscale("log")
        _plain_counts(axis)
        axis.set_title(f"$d = {dim}$", fontsize=11)
        axis.set_xlabel("language")
    axes[0].set_ylabel("recovered items")
    axes[0].plot([], [], "-", color=COLOURS["theory"], label="sharp prediction for the list")
    axes[0].plot([], [], "x", color=COLOURS["theory"], label="for the fitted power law")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def language_batches_figure(record: dict) -> Figure:
    """Counts of one minibatch step against B on a real list, with predictions and half-capacity batches."""
    config, measured, predicted = record["config"], record["measured"]["batch"], record["predicted"]["batch"]
    figure, axes = new_axes(2, sharex=True)
    for axis, name in zip(axes, ("polar", "sgd"), strict=True):
        for k, (colour, marker, dim) in enumerate(zip(SERIES, "os^", config["dims"], strict=False)):
            label = f"$d = {dim}$" if name == "polar" else None
            axis.plot(config["batch_sizes"], measured["counts"][name][k], marker, color=colour, label=label)
            axis.plot(config["batch_sizes"], predicted["counts"][name][k], color=colour, lw=1.2)
            axis.axvline(predicted["half"][name][k], color=colour, ls=":", lw=1.2)
        log_log(axis, "batch size $B$", "recovered items", base=10)
        _plain_counts(axis)
        axis.set_title(LABELS[name], fontsize=11)
    axes[0].plot([], [], "-", color=COLOURS["theory"], lw=1.2, label="sharp prediction")
    axes[0].plot([], [], ":", color=COLOURS["theory"], lw=1.2, label="predicted half-capacity batch")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def covariance_figure(record: dict) -> Figure:
    """Counts against the exponent β of the covariances, one panel a dimension, points on predictions."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    betas = config["covariance_exponents"]
    figure, axes = new_axes(len(config["dims"]), sharex=True)
    for k, (axis, dim) in enumerate(zip(axes, config["dims"], strict=True)):
        for name in ("polar", "newton", "sgd"):
            counts = np.array(measured["covariance"][name])[:, k]
            style = {"fmt": MARKERS[name], "color": COLOURS[name], "capsize": 2, "zorder": 3}
            axis.errorbar(
                betas,
                counts.mean(1),
                _two_errors(counts),
                label=f"{LABELS[name]}, counted" if k == 0 else None,
                **style,
            )
            axis.plot(betas, np.array(predicted["covariance"][name])[:, k], color=COLOURS[name], lw=1.2)
        axis.set_yscale("log")
        _plain_counts(axis)
        axis.set_title(f"$d = {dim}$", fontsize=11)
        axis.set_xlabel(r"covariance eigenvalues $a^{-\beta}$: $\beta$")
    axes[0].set_ylabel("recovered items")
    axes[0].plot([], [], "-", color=COLOURS["theory"], lw=1.2, label="prediction")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def table_figure(record: dict) -> Figure:
    """What a real table costs Muon, step by step: counts by source of the vectors, one series a variant."""
    config, measured, predicted = record["config"], record["measured"]["table"], record["predicted"]["table"]
    figure, axes = new_axes(len(config["dims"]), figsize=(10.5, 4.6))
    for k, (axis, dim) in enumerate(zip(axes, config["dims"], strict=True)):
        for shift, colour, marker, (variant, sources) in zip(
            np.linspace(-0.24, 0.24, len(measured)), SERIES, "os^D", measured.items(), strict=False
        ):
            counts = np.array([values["polar"][k] for values in sources.values()])
            x = np.arange(len(counts)) + shift
            axis.errorbar(
                x,
                counts.mean(1),
                _two_errors(counts),
                fmt=marker,
                color=colour,
                capsize=2,
                label=None if k else variant,
            )
            axis.hlines(predicted[variant][k], x[0] - 0.1, x[0] + 0.1, color=colour, lw=1.6)
        axis.set_xticks(np.arange(len(counts)), [SOURCE_LABELS[source] for source in sources], fontsize=7.5)
        axis.set_ylim(bottom=0)
        axis.set_title(f"Muon (polar), $d = {dim}$", fontsize=11)
    axes[0].set_ylabel("recovered items")
    axes[0].plot([], [], "-", color=COLOURS["theory"], label="covariance prediction")
    figure.legend(loc="outside lower center", ncols=5)
    return figure


def _plain_counts(axis) -> None:
    """Counts as numbers, 10 20 50 100, on a logarithmic axis of little more than a decade."""
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(ScalarFormatter())
    axis.yaxis.set_minor_formatter(NullFormatter())


def _two_errors(counts: np.ndarray) -> np.ndarray:
    """Two standard errors of the mean over the last axis."""
    return 2 * counts.std(-1, ddof=1) / np.sqrt(counts.shape[-1])
