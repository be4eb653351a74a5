"""Pictures of many steps: the recursion, the bulk of the thresholded gradient, counts and exponents step by step."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes


def cobweb_figure(panels: dict) -> Figure:
    """κ_{t+1} against κ_t, one panel an α, with the staircases of the optimizers that start on the curve.

    panels: α ↦ {"kappa": (n,), "next": (n,), "paths": name ↦ (κ_0, …, κ_T)}; names as in the palette.
    """
    figure, axes = new_axes(len(panels), sharey=True)
    for axis, (alpha, panel) in zip(axes, panels.items(), strict=True):
        ends = [min(panel["kappa"]), max(panel["kappa"])]
        axis.plot(ends, ends, "-", color=COLOURS["theory"], lw=0.8)
        axis.plot(panel["kappa"], panel["next"], "-", color=COLOURS["theory"], lw=1.8, label="one step")
        for name, path in panel["paths"].items():
            path = np.asarray(path)
            x, y = np.repeat(path, 2)[:-1], np.r_[path[0], np.repeat(path[1:], 2)]
            axis.plot(x, y, "-", color=COLOURS[name], lw=1.2)
            axis.plot(path[:-1], path[1:], MARKERS[name], color=COLOURS[name], label=LABELS[name].split(" (")[0])
        axis.set_xlabel(r"exponent before the step, $\kappa_t$")
        axis.set_title(rf"$\alpha = {alpha:g}$", fontsize=11)
    axes[0].set_ylabel(r"exponent after it, $\kappa_{t+1}$")
    axes[0].legend()
    return figure


def bulk_figure(panels: dict) -> Figure:
    """Density of the singular values of G without its first m items, a panel for each m/d; histogram on the law.

    panels: title ↦ {"measured": (d,), "s": (n,), "density": (n,)}, singular values in units of m^{1/2−α} d^{−1/2}/ζ.
    """
    figure, axes = new_axes(len(panels))
    for axis, (title, panel) in zip(axes, panels.items(), strict=True):
        edges = np.linspace(0, 1.05 * max(panel["measured"]), 30)
        axis.hist(panel["measured"], edges, density=True, color=SERIES[0], alpha=0.35, label="one draw")
        shown = panel["s"] <= edges[-1]
        axis.plot(panel["s"][shown], panel["density"][shown], "-", color=COLOURS["theory"], lw=1.4, label="law")
        axis.set_title(title, fontsize=11)
        axis.set_xlabel(r"singular value $/\ m^{1/2-\alpha}d^{-1/2}\zeta_N^{-1}$")
    axes[0].set_ylabel("density")
    axes[0].legend()
    return figure


def thresholded_counts_figure(record: dict, rules: tuple[str, ...], titles: tuple[str, ...]) -> Figure:
    """Counts after every step from a record of `deflation`, a panel a rule: points on sharp lines, d_t dotted."""
    figure, axes = new_axes(len(rules), sharey=True)
    for axis, rule, title in zip(axes, rules, titles, strict=True):
        for colour, marker, k in zip(SERIES, "os^Dv", range(len(record["config"]["dims"])), strict=False):
            counts = np.array(record["measured"]["seed_counts"][rule][k])
            steps = np.arange(1, counts.shape[1] + 1)
            error = 2 * counts.std(0, ddof=1) / np.sqrt(len(counts)) if len(counts) > 1 else None
            label = f"$d = {record['config']['dims'][k]}$"
            axis.errorbar(steps, counts.mean(0), error, fmt=marker, color=colour, capsize=2, label=label)
            axis.plot(steps, record["predicted"]["counts"][rule][k], "-", color=colour, lw=1.2)
            axis.plot(steps, record["predicted"]["thresholds"][rule][k], ":", color=colour, lw=1.2)
        axis.set_yscale("log")
        axis.set_xticks(steps)
        axis.set_xlabel("steps")
        axis.set_title(title, fontsize=11)
    axes[0].plot([], [], "-", color=COLOURS["theory"], lw=1.2, label="sharp prediction")
    axes[0].plot([], [], ":", color=COLOURS["theory"], lw=1.2, label=r"threshold $d_t$")
    axes[0].set_ylabel("recovered items")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    return figure


def step_exponents_figure(records: list[dict], rules: tuple[str, ...]) -> Figure:
    """Exponent of d in the counts after every step, a panel a record: fits, sharp slopes as lines, κ_t dotted."""
    figure, axes = new_axes(len(records), sharey=True)
    for axis, record in zip(axes, records, strict=True):
        measured, predicted = record["measured"], record["predicted"]
        for rule in rules:
            slope, (low, high) = np.array(measured["slope"][rule]), np.array(measured["interval"][rule]).T
            steps = np.arange(1, len(slope) + 1)
            style = {"fmt": MARKERS[rule], "color": COLOURS[rule], "capsize": 2, "label": LABELS[rule]}
            axis.errorbar(steps, slope, [slope - low, high - slope], **style)
            axis.plot(steps, predicted["sharp_slope"][rule], "-", color=COLOURS[rule], lw=1.2)
            axis.plot(steps, predicted["slope"][rule], ":", color=COLOURS[rule], lw=1.6)
        axis.set_xlabel("steps")
        axis.set_title(rf"$\alpha = {record['config']['alpha']:g}$", fontsize=11)
    axes[0].plot([], [], "-", color=COLOURS["theory"], lw=1.2, label="sharp slope, same $d$")
    axes[0].plot([], [], ":", color=COLOURS["theory"], lw=1.6, label=r"limit $\kappa_t$")
    axes[0].set_ylabel("exponent of the capacity")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    return figure


def local_exponents_figure(panels: dict) -> Figure:
    """Local exponents of the sharp counts against d, a curve for each number of steps, limits dotted.

    panels: title ↦ {"dims": (n,), "slopes": (T, n − 1), "limits": (T,)}.
    """
    figure, axes = new_axes(len(panels), sharey=True)
    for axis, (title, panel) in zip(axes, panels.items(), strict=True):
        dims = np.asarray(panel["dims"], dtype=float)
        rows = zip(SERIES, "os^DvP", panel["slopes"], panel["limits"], strict=False)
        for step, (colour, marker, slopes, limit) in enumerate(rows, start=1):
            label = f"{step} step{'s' if step > 1 else ''}"
            axis.plot(np.sqrt(dims[1:] * dims[:-1]), slopes, marker + "-", color=colour, ms=4, lw=1.2, label=label)
            axis.axhline(limit, color=colour, ls=":", lw=1.2)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("embedding dimension $d$")
        axis.set_title(title, fontsize=11)
    axes[0].set_ylabel("local exponent of the sharp count")
    axes[-1].legend()
    return figure


def noise_share_figure(panels: dict) -> Figure:
    """Weights x_i of the thresholded SGD memory by rank, a panel for each number of steps, with the thresholds.

    panels: title ↦ {"weights": (N,), "thresholds": (t,), "recovered": number of items that the step recovers}.
    """
    figure, axes = new_axes(len(panels), sharey=True)
    for axis, (title, panel) in zip(axes, panels.items(), strict=True):
        ranks = np.arange(1, len(panel["weights"]) + 1)
        axis.plot(ranks, panel["weights"], "-", color=COLOURS["sgd"], lw=1.6)
        for threshold in panel["thresholds"]:
            axis.axvline(threshold, color=COLOURS["theory"], ls=":", lw=1)
        axis.axvline(panel["recovered"], color=COLOURS["polar"], lw=1.2)
        log_log(axis, "rank $i$", "", base=10)
        axis.set_title(title, fontsize=11)
    axes[0].set_ylabel(r"weight $x_i$ in the memory")
    axes[0].plot([], [], ":", color=COLOURS["theory"], label="thresholds")
    axes[0].plot([], [], "-", color=COLOURS["polar"], lw=1.2, label="recovered items")
    axes[0].legend(loc="upper right")
    return figure


def sgd_steps_figure(record: dict, index: int) -> Figure:
    """SGD's counts over d_t after every step at one d of a record of `deflation`, on both predictions.

    index: which of `dims`.
    """
    figure, (axis,) = new_axes()
    thresholds = np.array(record["predicted"]["thresholds"]["sgd"][index], dtype=float)
    counts = np.array(record["measured"]["seed_counts"]["sgd"][index])
    steps = np.arange(1, len(thresholds) + 1)
    error = 2 * counts.std(0, ddof=1) / np.sqrt(len(counts)) if len(counts) > 1 else 0 * thresholds
    style = {"fmt": MARKERS["sgd"], "color": COLOURS["sgd"], "capsize": 2, "label": "counted"}
    axis.errorbar(steps, counts.mean(0) / thresholds, error / thresholds, **style)
    for key, line, label in (("counts", "-", "each rival its own variance"), ("even", "--", "one variance for all")):
        values = np.array(record["predicted"][key]["sgd"][index]) / thresholds
        axis.plot(steps, values, line, color=COLOURS["theory"], lw=1.4, label=label)
    axis.set_xticks(steps)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("steps")
    axis.set_ylabel("recovered items / $d_t$")
    axis.set_title(
        rf"SGD, $\alpha = {record['config']['alpha']:g}$, $d = {record['config']['dims'][index]}$", fontsize=11
    )
    axis.legend()
    return figure


def batch_steps_figure(record: dict, rules: tuple[str, ...]) -> Figure:
    """Counts with a fresh batch every step from a record of `deflation`, a panel a rule; items seen so far dotted."""
    figure, axes = new_axes(len(rules), sharey=True)
    measured, config = record["measured"], record["config"]
    for axis, rule in zip(axes, rules, strict=True):
        for k, (colour, marker) in enumerate(zip(SERIES, "os^Dv", strict=False)):
            if k == len(config["batch_sizes"]):
                break
            steps = np.arange(1, len(measured["batch_counts"][rule][k]) + 1)
            label = f"$B = {config['batch_sizes'][k]}$"
            axis.plot(steps, measured["batch_counts"][rule][k], marker, color=colour, label=label)
            axis.plot(steps, measured["batch_sharp"][rule][k], "-", color=colour, lw=1.2)
            axis.plot(steps, measured["batch_distinct"][rule][k], ":", color=colour, lw=1.4)
        axis.set_yscale("log")
        axis.set_xlabel("steps")
        axis.set_title(f"{LABELS[rule]}, $d = {config['batch_dim']}$", fontsize=11)
    axes[0].plot([], [], "-", color=COLOURS["theory"], lw=1.2, label="sharp, for the drawn batches")
    axes[0].plot([], [], ":", color=COLOURS["theory"], lw=1.4, label="distinct items seen so far")
    axes[0].set_ylabel("items")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def delay_figure(exponents: dict, lag: int, measured: dict) -> Figure:
    """κ_t of SGD, and of Muon moved to the right by `lag` steps, with SGD's sharp local exponents.

    exponents: "sgd", "polar" ↦ (T,) from step 1 on. measured: label ↦ (T,) SGD's exponents over some d.
    """
    figure, (axis,) = new_axes()
    for name in ("sgd", "polar"):
        steps = np.arange(1, len(exponents[name]) + 1)
        shift, label = (lag, f"Muon, {lag} steps later") if name == "polar" else (0, "SGD")
        axis.plot(
            steps + shift, exponents[name], MARKERS[name] + "-", color=COLOURS[name], label=rf"$\kappa_t$, {label}"
        )
    for colour, (label, slopes) in zip(SERIES[2:], measured.items(), strict=False):
        axis.plot(np.arange(1, len(slopes) + 1), slopes, "x--", color=colour, lw=1, label=label)
    axis.axhline(1, color=COLOURS["theory"], lw=0.8)
    axis.set_xlabel("steps of SGD")
    axis.set_ylabel("exponent of the capacity")
    axis.legend()
    return figure
