"""Pictures of one SGD step: who is recovered at which rank, the constant, the loss, and batches on the scale √d."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, new_axes


def recovery_profile_figure(x, limit, profiles: dict) -> Figure:
    """Probability of recovery against the scaled rank i / d^{1/2α}: the limit as a line, shares of draws as points.

    x, limit: (n,). profiles: label ↦ (scaled ranks, shares, standard errors), each (k,).
    """
    figure, (axis,) = new_axes()
    axis.plot(x, limit, "-", color=COLOURS["theory"], lw=1.4, label=r"limit $\prod_j\Phi((j/x)^\alpha)$")
    for colour, marker, (label, (ranks, shares, errors)) in zip(SERIES, "os^Dv", profiles.items(), strict=False):
        axis.errorbar(ranks, shares, 2 * np.asarray(errors), fmt=marker, color=colour, ms=4, capsize=2, label=label)
    axis.set_xlim(left=0, right=max(x))
    axis.set_xlabel(r"scaled rank $i/d^{\,1/2\alpha}$")
    axis.set_ylabel("share of draws that recover the item")
    axis.legend()
    return figure


def sgd_constant_figure(records: list[dict], constants: dict) -> Figure:
    """SGD counts over d^{1/2α} from records of `one-step`, with finite-d predictions and the limit C_α, for several α.

    constants: α ↦ C_α.
    """
    figure, (axis,) = new_axes()
    for colour, marker, record in zip(SERIES, "os^Dv", records, strict=False):
        alpha, dims = record["config"]["alpha"], np.array(record["config"]["sgd_dims"], dtype=float)
        scale = dims ** (1 / (2 * alpha))
        counts = np.array(record["measured"]["seed_counts"]["sgd"])
        error = 2 * counts.std(1, ddof=1) / np.sqrt(counts.shape[1])
        label = rf"$\alpha = {alpha:g}$, $C_\alpha = {constants[alpha]:.3f}$"
        axis.errorbar(dims, counts.mean(1) / scale, error / scale, fmt=marker, color=colour, capsize=2, label=label)
        axis.plot(dims, np.array(record["predicted"]["counts"]["sgd"]) / scale, "-", color=colour, lw=1.2)
        axis.axhline(constants[alpha], color=colour, ls=":", lw=1.2)
    axis.set_xscale("log", base=2)
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel(r"recovered items / $d^{\,1/2\alpha}$")
    axis.set_title("lines: prediction at this $d$; dotted: limit", fontsize=11)
    axis.legend()
    return figure


def sgd_loss_figure(etas, losses: dict, bounds: dict) -> Figure:
    """Loss after one SGD step against the learning rate, with the bound of Theorem 5 as a dotted line, for several d.

    etas: (n,) in units of √d / p₁. losses: d ↦ (n,). bounds: d ↦ number.
    """
    figure, (axis,) = new_axes()
    for colour, marker, dim in zip(SERIES, "os^Dv", losses, strict=False):
        axis.plot(etas, losses[dim], marker + "-", color=colour, ms=4, lw=1.2, label=f"$d = {dim}$")
        axis.axhline(bounds[dim], color=colour, ls=":", lw=1.2)
    axis.plot([], [], ":", color=COLOURS["theory"], label="bound: log 2 × frequency not recovered")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel(r"learning rate $\eta$, in units of $\sqrt{d}/p_1$")
    axis.set_ylabel("loss after one step")
    axis.legend()
    return figure


def sgd_batch_figure(record: dict, limit_b, limit) -> Figure:
    """SGD counts over d^{1/2α} against B/√d from a record of `critical-batch`; black: the limit C_α(b); dots: sharp.

    limit_b, limit: (n,) the limit curve.
    """
    config, measured = record["config"], record["measured"]
    figure, (axis,) = new_axes(figsize=(7.0, 4.8))
    batch_sizes = np.array(config["sgd_batch_sizes"], dtype=float)
    for colour, marker, k in zip(SERIES, "os^Dv", range(len(config["sgd_dims"])), strict=False):
        dim = config["sgd_dims"][k]
        scale = dim ** (1 / (2 * config["alpha"]))
        counts = np.array(measured["counts"]["sgd"][k]) / scale
        error = 2 * np.array(measured["counts_error"]["sgd"][k]) / scale
        x = batch_sizes / np.sqrt(dim)
        axis.errorbar(x, counts, error, fmt=marker, color=colour, ms=4, lw=0.8, label=f"$d = {dim}$")
        axis.plot(x, np.array(record["predicted"]["counts"]["sgd"][k]) / scale, "-", color=colour, lw=1)
    axis.plot(limit_b, limit, "--", color=COLOURS["theory"], lw=1.4, label=r"limit $C_\alpha(b)$")
    axis.axhline(limit[-1], color=COLOURS["theory"], lw=1, ls=":", label=r"population limit $C_\alpha$")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlim(limit_b[0], limit_b[-1])
    axis.set_ylim(0.8 * limit[0], 1.2 * max(limit))
    axis.set_xlabel(r"batch size over $\sqrt{d}$")
    axis.set_ylabel(r"recovered items / $d^{\,1/2\alpha}$")
    axis.legend(ncols=2)
    return figure


def flat_figure(dims, ratios: tuple, limit: float, counts: dict, expected: dict) -> Figure:
    """Equal frequencies. Left: Muon's signal-to-noise ratio over SGD's against d. Right: recovered items of both.

    ratios: (measured, standard errors, predicted), each (n,). counts, expected: map ↦ (n,).
    """
    figure, (left, right) = new_axes(2)
    measured, errors, predicted = ratios
    left.errorbar(dims, measured, 2 * np.asarray(errors), fmt="o", color=COLOURS["polar"], capsize=2, label="measured")
    left.plot(dims, predicted, "-", color=COLOURS["polar"], lw=1.2, label="predicted")
    left.axhline(limit, color=COLOURS["theory"], ls=":", lw=1.2, label=r"limit $8/3\pi$")
    left.axhline(1, color=COLOURS["theory"], ls="--", lw=0.8, label="equal")
    left.set_ylabel("signal-to-noise ratio, Muon / SGD")
    for name, row in counts.items():
        right.plot(dims, row, MARKERS[name], color=COLOURS[name], label=LABELS[name])
        right.plot(dims, expected[name], "-", color=COLOURS[name], lw=1.2)
    right.set_yscale("log")
    right.set_ylabel("recovered items")
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xlabel("embedding dimension $d$")
        axis.legend()
    return figure
