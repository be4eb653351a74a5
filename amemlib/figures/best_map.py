"""Pictures of the best spectral map, of what it gains and costs, and of how many steps an iteration needs."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes

_LOOK = {
    "polar": (COLOURS["polar"], "o", LABELS["polar"]),
    "smoothed_best": (COLOURS["smoothed_sign"], "s", r"best $h_\lambda$"),
    "best": (COLOURS["sgd"], "^", "best map $f^*$"),
    "best_floored": (COLOURS["cubic"], "v", "best map with a floor"),
    "best_monotone": (COLOURS["newton"], "D", "best nondecreasing map"),
}
_FAMILY = {
    "muon": (COLOURS["muon"], MARKERS["muon"], "shipped quintic"),
    "cubic": (COLOURS["cubic"], MARKERS["cubic"], "cubic"),
    "polar_express": (COLOURS["newton"], "X", "Polar Express made for the bulk"),
}


def best_maps_figure(s, curves: dict, density, lam, ratios: dict, best: dict) -> Figure:
    """Left the maps over the density of the singular values; right the signal-to-noise ratio of h_λ against λ.

    s: (n,) in units of t₀. curves: map ↦ (n,) values. density: (n,) of log s, drawn as a filled curve to scale 1.
    lam: (m,) in units of t₀. ratios: α ↦ (m,) relative to polar. best: α ↦ the same ratio of the best map.
    """
    figure, (left, right) = new_axes(2, figsize=(9.6, 4.4))
    left.fill_between(s, np.asarray(density) / np.max(density), color="#dddddd", lw=0, label="singular values")
    for name, curve in curves.items():
        colour, _, label = _LOOK[name]
        left.plot(s, curve, "-", color=colour, lw=1.7, label=label)
    left.set_xscale("log")
    left.set_xlabel("singular value $s / t_0$")
    left.set_ylabel("$f(s)$, largest value 1")
    for colour, (alpha, curve) in zip(SERIES, ratios.items(), strict=False):
        right.plot(lam, curve, "-", color=colour, lw=1.5, label=rf"$h_\lambda$, $\alpha = {alpha:g}$")
        right.plot([lam[np.argmax(curve)]], [np.max(curve)], "o", color=colour)
        right.axhline(best[alpha], color=colour, ls=":", lw=1.3, label=rf"best map, $\alpha = {alpha:g}$")
    right.set_xscale("log")
    right.set_xlabel(r"$\lambda / t_0$")
    right.set_ylabel("signal-to-noise ratio / polar's")
    right.legend(loc="lower left", ncols=2, fontsize=8.5)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def gains_figure(records: list[dict], names) -> Figure:
    """Capacity of some maps relative to polar against d, one panel a record; two standard errors of paired draws."""
    figure, axes = new_axes(len(records), sharey=True, figsize=(9.6, 4.0))
    for axis, record in zip(axes, records, strict=True):
        dims = np.array(record["config"]["dims"], dtype=float)
        polar = np.array(record["measured"]["seed_counts"]["polar"])
        sharp = np.array(record["predicted"]["counts"]["polar"])
        for name in names:
            colour, marker, label = _LOOK[name]
            ratio = np.array(record["measured"]["seed_counts"][name]) / polar
            error = 2 * ratio.std(1, ddof=1) / np.sqrt(ratio.shape[1])
            axis.errorbar(dims, ratio.mean(1), error, fmt=marker, color=colour, capsize=2, label=label)
            axis.plot(dims, record["predicted"]["counts"][name] / sharp, "-", color=colour, lw=1.2)
        axis.axhline(1, color=COLOURS["theory"], lw=1)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("embedding dimension $d$")
        axis.set_title(rf"$\alpha = {record['config']['alpha']:g}$", fontsize=11)
    axes[0].set_ylabel("recovered items / polar's")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))
    return figure


def floor_figure(records: list[dict]) -> Figure:
    """Loss against capacity, both relative to polar, along the floors of the best map; one panel a record."""
    figure, axes = new_axes(len(records), sharey=True, figsize=(9.6, 4.2))
    for axis, record in zip(axes, records, strict=True):
        measured, config = record["measured"], record["config"]
        for colour, marker, k in zip(SERIES, "osD", range(len(config["loss_dims"])), strict=False):
            points = [
                [measured[key][f"floor_{floor:g}"][k] / measured[key]["polar"][k] for floor in config["floors"]]
                for key in ("floor_counts", "floor_losses")
            ]
            axis.plot(*points, marker + "-", color=colour, lw=1, label=f"$d = {config['loss_dims'][k]}$")
            if k == len(config["loss_dims"]) - 1:
                for floor, x, y in zip(config["floors"], *points, strict=True):
                    axis.annotate(f"{floor:g}", (x, y), xytext=(5, 3), textcoords="offset points", fontsize=8.5)
        axis.plot([1], [1], "*", color=COLOURS["theory"], ms=11, label="polar")
        axis.set_yscale("log")
        axis.set_xlabel("recovered items / polar's")
        axis.set_title(rf"$\alpha = {config['alpha']:g}$", fontsize=11)
    axes[0].set_ylabel("best loss / polar's")
    axes[0].legend()
    return figure


def transformed_spectrum_figure(before, law: tuple, after: dict) -> Figure:
    """Histogram of the singular values, with their law, and of their images under several maps.

    before: (d,) s / ‖G‖_F. law: (s / ‖G‖_F, density of log₁₀ s). after: label ↦ (d,) values f(s).
    """
    figure, (left, right) = new_axes(2, figsize=(9.6, 4.0))
    left.hist(np.log10(before), bins=30, density=True, color="#cccccc", label="measured")
    left.plot(np.log10(law[0]), law[1], "-", color=COLOURS["theory"], lw=1.3, label="law")
    left.set_xlim(np.log10(np.min(before)) - 0.3, 0.1)
    left.set_xlabel(r"$\log_{10}(s / \|G\|_F)$")
    left.set_ylabel("density")
    left.legend()
    for colour, (label, values) in zip(SERIES, after.items(), strict=False):
        ordered = np.sort(values)
        right.plot(ordered, (np.arange(len(ordered)) + 0.5) / len(ordered), "-", color=colour, lw=1.6, label=label)
    right.set_xlabel("singular value after the map")
    right.set_ylabel("share of directions below it")
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure


def steps_collapse_figure(records: list[dict], reach: dict) -> Figure:
    """Share of polar's count against slope × t₀ / ‖G‖_F: all d and families of all records; lines are predictions.

    reach: α ↦ family ↦ (number of d, number of steps) values of the horizontal axis.
    """
    figure, axes = new_axes(len(records), sharey=True, figsize=(9.6, 4.2))
    for axis, record in zip(axes, records, strict=True):
        config, alpha = record["config"], record["config"]["alpha"]
        for family, (colour, marker, label) in _FAMILY.items():
            tables = [
                np.array(record[side]["counts_by_steps"][family])
                / np.array(record[side]["counts"]["polar"])[np.isin(config["dims"], config["scan_dims"]), None]
                for side in ("measured", "predicted")
            ]
            for k, x in enumerate(reach[alpha][family]):
                axis.plot(x, tables[0][k], marker, color=colour, ms=5, label=None if k else label)
                axis.plot(x, tables[1][k], "-", color=colour, lw=0.9)
        axis.axvline(2, color=COLOURS["theory"], ls=":", lw=1.3)
        axis.set_xscale("log")
        axis.set_xlabel(r"slope at zero $\times\ t_0 / \|G\|_F$")
        axis.set_title(rf"$\alpha = {alpha:g}$", fontsize=11)
    axes[0].set_ylabel("recovered items / polar's")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def rounding_figure(curves: dict, points: dict) -> Figure:
    """Share of the items that survive noise in G, against the noise in units of t₀.

    curves: label ↦ (noise / t₀, predicted shares). points: kind of noise ↦ rows (noise / t₀, share, …).
    """
    figure, (axis,) = new_axes()
    for colour, (label, (noise, values)) in zip(SERIES, curves.items(), strict=False):
        axis.plot(noise, values, "-", color=colour, lw=1.3, label=label)
    for marker, fill, (label, rows) in zip("oso", ("none", "full", "full"), points.items(), strict=False):
        x, y = np.array(rows)[:, :2].T
        axis.plot(x, y, marker, color=COLOURS["theory"], fillstyle=fill, label=label)
    log_log(axis, r"rounding noise $\sigma / t_0$", "recovered items / without rounding", base=10)
    axis.set_yscale("linear")
    axis.legend()
    return figure
