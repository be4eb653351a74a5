"""Pictures of minibatches: what they show of the items, their spectrum, and capacity against batch size."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes, reference_line


def occupancy_figure(batch_sizes, drawn: dict, exact: dict, law: dict) -> Figure:
    """Distinct items in a batch against its size: drawn (points), exact expectation (lines), power law (dotted).

    drawn: label ↦ (n, draws). exact, law: label ↦ (n,).
    """
    figure, (axis,) = new_axes()
    for colour, marker, label in zip(SERIES, "os^Dv", drawn, strict=False):
        counts = np.asarray(drawn[label], dtype=float)
        axis.errorbar(
            batch_sizes, counts.mean(1), 2 * counts.std(1), fmt=marker, color=colour, ms=4, capsize=2, label=label
        )
        axis.plot(batch_sizes, exact[label], "-", color=colour, lw=1.2)
        axis.plot(batch_sizes, law[label], ":", color=colour, lw=1.2)
    log_log(axis, "batch size $B$", "distinct items")
    axis.plot([], [], "-", color=COLOURS["theory"], label="exact expectation")
    axis.plot([], [], ":", color=COLOURS["theory"], label=r"$\Gamma(1-1/\alpha)\,(B/\zeta)^{1/\alpha}$")
    axis.legend()
    return figure


def tails_figure(m, measured: dict, bounds: dict) -> Figure:
    """Largest frequency (left) and energy (right) beyond rank m for several batches, each with the order of its bound.

    measured, bounds: label ↦ pair of (n,) arrays, the largest frequency and the energy.
    """
    figure, axes = new_axes(2)
    for axis, part, name in zip(axes, (0, 1), (r"\|q_{>m}\|_\infty", r"\|q_{>m}\|_2^2"), strict=True):
        for colour, label in zip(SERIES, measured, strict=False):
            axis.plot(m, measured[label][part], "-", color=colour, lw=1.4, label=label)
            axis.plot(m, bounds[label][part], ":", color=colour, lw=1.2)
        log_log(axis, "rank $m$", f"${name}$", base=10)
    axes[0].plot([], [], ":", color=COLOURS["theory"], label="order of Lemma 15")
    axes[0].legend()
    return figure


def median_figure(shares, measured: dict, predicted: dict) -> Figure:
    """Median singular value times d^α against B / d^α for several d; points measured, lines the predicted law.

    shares: (n,). measured, predicted: d ↦ (n,), 0 where fewer than d/2 items are seen.
    """
    figure, (axis,) = new_axes()
    for colour, marker, dim in zip(SERIES, "os^Dv", measured, strict=False):
        axis.plot(shares, measured[dim], marker, color=colour, ms=4.5, label=f"$d = {dim}$")
        axis.plot(shares, predicted[dim], "-", color=colour, lw=1)
    axis.set_xscale("log", base=2)
    axis.set_ylim(bottom=0)
    axis.set_xlabel(r"batch size over $d^{\,\alpha}$")
    axis.set_ylabel(r"$s_{d/2}(G_0)\; d^{\,\alpha}$")
    axis.legend()
    return figure


def capacity_against_batch_figure(record: dict, dim: int) -> Figure:
    """Figures 1(b) and 3: one record of `critical-batch` at one d: Muon and SGD against B, with the observed items.

    Points with two standard errors, open where the longest prefix is drawn; lines are sharp predictions.
    """
    config, measured, k = record["config"], record["measured"], record["config"]["dims"].index(dim)
    figure, (axis,) = new_axes(figsize=(7.0, 5.0))
    batch_sizes = np.array(config["batch_sizes"], dtype=float)
    observed = np.array(record["predicted"]["distinct"]["polar"][k])
    axis.plot(batch_sizes, observed, "--", color=COLOURS["theory"], lw=1.2, label="distinct items in the batch")
    axis.plot(
        batch_sizes, record["predicted"]["counts"]["polar"][k], "-", color=COLOURS["polar"], lw=1.2, label="sharp"
    )
    for key, name in (("polar", "polar"), ("sgd_at_dims", "sgd")):
        counts, error = np.array(measured["counts"][key][k]), 2 * np.array(measured["counts_error"][key][k])
        axis.errorbar(batch_sizes, counts, error, fmt=MARKERS[name], color=COLOURS[name], capsize=2, label=LABELS[name])
        prefix = np.maximum(measured["prefixes"][key][k], 0.5)
        axis.plot(batch_sizes, prefix, MARKERS[name], color=COLOURS[name], mfc="white", ms=4)
        axis.axhline(measured["population"][key][k], color=COLOURS[name], lw=1, ls=":")
    axis.plot([], [], "o", color=COLOURS["theory"], mfc="white", ms=4, label="longest prefix")
    axis.plot([], [], ":", color=COLOURS["theory"], lw=1, label="population")
    log_log(axis, "batch size $B$", "recovered items")
    axis.set_ylim(0.8, 6 * max(measured["counts"]["polar"][k]))
    axis.set_title(rf"$d = {dim}$, $\alpha = {config['alpha']:g}$", fontsize=11)
    axis.legend(ncols=2, loc="upper left")
    return figure


def batch_collapse_figure(record: dict) -> Figure:
    """Muon's counts over the population's against B over the half-capacity batch's limiting power, for every d."""
    config, measured = record["config"], record["measured"]
    figure, (axis,) = new_axes()
    exponent = record["predicted"]["slope"]["polar"]
    batch_sizes = np.array(config["batch_sizes"], dtype=float)
    for k in range(len(config["dims"])):
        dim, full = config["dims"][k], measured["population"]["polar"][k]
        counts, error = (np.array(measured[field]["polar"][k]) / full for field in ("counts", "counts_error"))
        x = batch_sizes / float(dim) ** exponent
        axis.errorbar(x, counts, 2 * error, fmt="os^Dv"[k % 5], color=SERIES[k % 6], ms=4, label=f"$d = {dim}$")
        axis.plot(x, np.array(record["predicted"]["counts"]["polar"][k]) / full, "-", color=SERIES[k % 6], lw=1)
    axis.axhline(1, color=COLOURS["theory"], lw=1, ls=":")
    axis.axhline(0.5, color=COLOURS["theory"], lw=1, ls=":")
    axis.set_xscale("log", base=2)
    axis.set_xlabel(r"batch size over $d^{\,\alpha + 1/2}$")
    axis.set_ylabel("recovered items / population's")
    axis.legend()
    return figure


def half_batch_figure(record: dict) -> Figure:
    """Half-capacity batch against d for Muon and SGD: measured, sharp prediction (lines) and theorem (dotted)."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes()
    for name, dims in (("polar", config["dims"]), ("sgd", config["sgd_dims"])):
        slope, (low, high) = measured["slope"][name], measured["interval"][name]
        label = f"{LABELS[name]}: {slope:.2f} [{low:.2f}, {high:.2f}], limit {predicted['slope'][name]:.2f}"
        half = measured["half_batch"][name]
        axis.plot(dims, half, MARKERS[name], color=COLOURS[name], label=label)
        axis.plot(dims, predicted["half_batch"][name], "-", color=COLOURS[name], lw=1.2)
        reference_line(axis, dims, predicted["slope"][name], (dims[-1], half[-1]))
    axis.plot([], [], "-", color=COLOURS["theory"], label="sharp prediction")
    axis.plot([], [], ":", color=COLOURS["theory"], label="exponent of the theorem")
    log_log(axis, "embedding dimension $d$", "half-capacity batch")
    axis.legend()
    return figure


def sightings_figure(ranks, sightings, mask, threshold: float, expected) -> Figure:
    """Every item of one batch, how often it was seen against its rank, filled where it was recovered.

    ranks, sightings, mask: (n,) of the seen items. threshold: sightings that a population item at capacity would have.
    expected: (n,) B p_i.
    """
    figure, (axis,) = new_axes()
    ranks, sightings, mask = np.asarray(ranks), np.asarray(sightings), np.asarray(mask)
    axis.plot(ranks[~mask], sightings[~mask], "o", color=COLOURS["sgd"], mfc="white", ms=3.5, label="not recovered")
    axis.plot(ranks[mask], sightings[mask], "o", color=COLOURS["polar"], ms=3.5, label="recovered")
    axis.plot(ranks, expected, "-", color=COLOURS["theory"], lw=1.2, label="expected $B p_i$")
    axis.axhline(threshold, color=COLOURS["theory"], lw=1, ls=":", label="$B p_m$")
    log_log(axis, "rank $i$", "times seen $B q_i$", base=10)
    axis.legend()
    return figure
