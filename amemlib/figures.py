"""Records and arrays in, matplotlib figures out. The only palette; no number is typed into a picture.

Colours are Okabe and Ito's, which the colour-blind tell apart; every curve also has its own marker. Figures keep a
white ground, so they read the same on a light and on a dark page.
"""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from amemlib import runtime

COLOURS = {
    "polar": "#0072B2",
    "smoothed_sign": "#009E73",
    "sgd": "#D55E00",
    "newton": "#CC79A7",
    "cubic": "#E69F00",
    "muon": "#56B4E9",
    "theory": "#444444",
}
MARKERS = {"polar": "o", "smoothed_sign": "s", "sgd": "^", "newton": "D", "cubic": "v", "muon": "P"}
LABELS = {
    "polar": "Muon (polar)",
    "smoothed_sign": r"Muon ($h_\lambda$)",
    "sgd": "SGD",
    "newton": "Newton",
    "cubic": "cubic Newton–Schulz",
    "muon": "Muon as shipped (quintic)",
}
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colours for series that are not optimizers: values of α, of d, of the seed."""


def new_axes(n: int = 1, **kwargs) -> tuple[Figure, np.ndarray]:
    """A figure with a row of n axes in the book's style; `kwargs` go to `plt.subplots`. Returns (figure, (n,) axes)."""
    with mpl.rc_context(runtime.FIGURE_STYLE):
        kwargs.setdefault("figsize", (7.0 if n == 1 else 4.0 * n, 4.2 if n == 1 else 3.9))
        figure, axes = plt.subplots(1, n, squeeze=False, **kwargs)
    return figure, axes[0]


def log_log(axis, xlabel: str, ylabel: str, base: int = 2) -> None:
    """Logarithmic axes with their labels; x in powers of `base`."""
    axis.set_xscale("log", base=base)
    axis.set_yscale("log")
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)


def reference_line(axis, x, slope: float, through: tuple[float, float], label: str | None = None) -> None:
    """A dotted grey line y ∝ x^slope through one point: an exponent, drawn where its constant is not predicted."""
    x = np.asarray(x, dtype=float)
    axis.plot(x, through[1] * (x / through[0]) ** slope, ":", color=COLOURS["theory"], lw=1.2, label=label)


def capacity_figure(record: dict, names=("polar", "sgd")) -> Figure:
    """Figure 1(a): one record of `one-step`, capacity against d for one α.

    Mean counts with two standard errors, sharp predictions as lines, limiting exponents dotted. SGD is drawn at its own
    large dimensions, filled, and at those of Muon, open.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes(figsize=(7.0, 5.0))
    for name in names:
        dims = np.array(config["sgd_dims"] if name == "sgd" else config["dims"])
        slope, (low, high) = measured["slope"][name], measured["interval"][name]
        label = f"{LABELS[name]}: fitted {slope:.2f} [{low:.2f}, {high:.2f}], limit {predicted['slope'][name]:.2f}"
        _counts_with_prediction(axis, dims, measured, predicted, name, name, label=label)
        reference_line(axis, dims, predicted["slope"][name], (dims[-1], predicted["counts"][name][-1]))
        if name == "sgd":
            _counts_with_prediction(axis, config["dims"], measured, predicted, "sgd_at_dims", name, mfc="white")
    log_log(axis, "embedding dimension $d$", "recovered items")
    axis.plot([], [], "-", color=COLOURS["theory"], lw=1.2, label="sharp prediction, nothing fitted")
    axis.plot([], [], ":", color=COLOURS["theory"], lw=1.2, label="limiting exponent")
    figure.legend(loc="outside lower center", ncols=2 if len(names) < 3 else 1)
    axis.set_title(rf"One population step, $\alpha = {config['alpha']:g}$", fontsize=11)
    return figure


def _counts_with_prediction(axis, dims, measured: dict, predicted: dict, key: str, name: str, **style) -> None:
    counts = np.array(measured["seed_counts"][key])
    error = 2 * counts.std(1, ddof=1) / np.sqrt(counts.shape[1]) if counts.shape[1] > 1 else None
    axis.errorbar(dims, counts.mean(1), error, fmt=MARKERS[name], color=COLOURS[name], capsize=2, zorder=3, **style)
    axis.plot(dims, predicted["counts"][key], "-", color=COLOURS[name], lw=1.2)


def capacity_by_alpha_figure(records: list[dict], name: str) -> Figure:
    """Figure 2 for one map: counts over d^κ, κ the limiting exponent, for several α. Flat is a reached exponent."""
    figure, (axis,) = new_axes()
    for colour, marker, record in zip(SERIES, "os^Dv", records, strict=False):
        config, alpha = record["config"], record["config"]["alpha"]
        dims = np.array(config["sgd_dims"] if name == "sgd" else config["dims"], dtype=float)
        scale = dims ** record["predicted"]["slope"][name]
        counts = np.array(record["measured"]["seed_counts"][name])
        error = 2 * counts.std(1, ddof=1) / np.sqrt(counts.shape[1]) if counts.shape[1] > 1 else 0 * scale
        fitted, limit = record["measured"]["slope"][name], record["predicted"]["slope"][name]
        label = rf"$\alpha = {alpha:g}$: fitted {fitted:.2f}, limit {limit:.2f}"
        axis.errorbar(dims, counts.mean(1) / scale, error / scale, fmt=marker, color=colour, capsize=2, label=label)
        axis.plot(dims, np.array(record["predicted"]["counts"][name]) / scale, "-", color=colour, lw=1.2)
    axis.set_xscale("log", base=2)
    axis.set_ylim(bottom=0)
    exponent = r"d^{\,1/2\alpha}" if name == "sgd" else r"d^{\,1+1/2\alpha}"
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel(rf"recovered items / ${exponent}$")
    axis.set_title(f"{LABELS[name]}, one population step (lines: sharp prediction)", fontsize=11)
    axis.legend()
    return figure


def counts_figure(dims, seed_counts: dict, predicted: dict, n_items: int) -> Figure:
    """Recovered items against d for any list of facts; shaded: two standard errors over the seeds, lines: predictions.

    seed_counts: map ↦ (len(dims), seeds) counts. predicted: map ↦ (len(dims),) expected counts.
    """
    figure, (axis,) = new_axes()
    dims = np.asarray(dims, dtype=float)
    for name, counts in seed_counts.items():
        counts = np.asarray(counts, dtype=float).reshape(len(dims), -1)
        error = 2 * counts.std(1, ddof=1) / np.sqrt(counts.shape[1]) if counts.shape[1] > 1 else None
        axis.errorbar(
            dims, counts.mean(1), error, fmt=MARKERS[name], color=COLOURS[name], capsize=2, label=LABELS[name]
        )
        axis.plot(dims, predicted[name], "-", color=COLOURS[name], lw=1.2)
    axis.axhline(n_items, color=COLOURS["theory"], lw=1, ls="--", label=f"all {n_items} items")
    axis.plot(dims, dims, color=COLOURS["theory"], lw=1, ls=":", label="as many as dimensions")
    log_log(axis, "embedding dimension $d$", "recovered items")
    axis.legend()
    return figure


def overlap_figure(overlaps, dim: int) -> Figure:
    """Histogram of the inner products of different embeddings, scaled by √d, with the standard normal density."""
    figure, (axis,) = new_axes()
    x = np.linspace(-5, 5, 201)
    axis.hist(np.sqrt(dim) * np.asarray(overlaps), bins=80, density=True, color=COLOURS["muon"], label="measured")
    axis.plot(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi), color=COLOURS["theory"], label=r"$\mathcal{N}(0, 1)$")
    axis.set_xlabel(r"$\sqrt{d}\,\langle u_i, u_j\rangle$")
    axis.set_ylabel("density")
    axis.set_title(f"{len(overlaps)} pairs in $d = {dim}$ dimensions", fontsize=11)
    axis.legend()
    return figure


def frequencies_figure(curves: dict) -> Figure:
    """Frequency against rank for several lists; left as it is, right the local exponent −Δlog p/Δlog i over octaves."""
    figure, (left, right) = new_axes(2)
    for colour, marker, (label, p) in zip(SERIES, "os^Dv", curves.items(), strict=False):
        ranks = 2 ** np.arange(int(np.log2(len(p))) + 1)
        values = np.asarray(p)[ranks - 1]
        left.plot(ranks, values, marker + "-", color=colour, lw=1, ms=4, label=label)
        middle = np.sqrt(ranks[1:] * ranks[:-1])
        right.plot(middle, -np.diff(np.log(values)) / np.log(2), marker + "-", color=colour, lw=1, ms=4, label=label)
    log_log(left, "rank $i$", "frequency $p_i$", base=10)
    right.set_xscale("log")
    right.set_xlabel("rank $i$")
    right.set_ylabel("local exponent")
    right.set_ylim(bottom=0)
    left.legend()
    return figure


def signal_figure(panels: dict) -> Figure:
    """Own logit and best rival's logit by rank, one panel a map, both in units of the panel's interaction scale.

    panels: map ↦ dict with `own`, `rival` (N,) arrays in rank order, `scale` and `predicted` (N,), the predicted own logit.
    """
    figure, axes = new_axes(len(panels), sharex=True)
    for axis, (name, panel) in zip(axes, panels.items(), strict=True):
        own, rival = np.asarray(panel["own"]) / panel["scale"], np.asarray(panel["rival"]) / panel["scale"]
        edges = np.unique(np.geomspace(1, len(own), 40).astype(int))
        middle = np.sqrt(edges[1:] * edges[:-1])
        for values, colour, label in ((rival, COLOURS["theory"], "best rival"), (own, COLOURS[name], "own (signal)")):
            quartiles = np.array(
                [np.quantile(values[a - 1 : b - 1], [0.1, 0.5, 0.9]) for a, b in zip(edges, edges[1:])]
            )
            axis.fill_between(middle, quartiles[:, 0], quartiles[:, 2], color=colour, alpha=0.2, lw=0)
            axis.plot(middle, quartiles[:, 1], MARKERS.get(name, "o"), ms=3, color=colour, label=label)
        ranks = np.arange(1, len(own) + 1)
        axis.plot(
            ranks,
            np.asarray(panel["predicted"]) / panel["scale"],
            color=COLOURS[name],
            lw=1.2,
            label="predicted signal",
        )
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=1)
        axis.set_xlabel("rank $i$")
        axis.set_title(LABELS[name], fontsize=11)
    axes[0].set_ylabel("logit / interaction scale")
    axes[0].legend(loc="lower left")
    return figure


def local_slopes_figure(dims, slopes: dict, limits: dict, measured: dict) -> Figure:
    """Local exponents of the sharp prediction against d, one curve for each α, with the limits and the measured fits.

    dims: (n,). slopes: α ↦ (n − 1,) slopes between neighbours. limits: α ↦ exponent.
    measured: α ↦ (middle d of the fit, slope, low, high).
    """
    figure, (axis,) = new_axes()
    middle = np.sqrt(np.asarray(dims[1:], dtype=float) * np.asarray(dims[:-1], dtype=float))
    for colour, marker, alpha in zip(SERIES, "os^Dv", slopes, strict=False):
        axis.plot(middle, slopes[alpha], "-", color=colour, label=rf"$\alpha = {alpha:g}$: sharp prediction")
        axis.axhline(limits[alpha], color=colour, ls=":", lw=1)
        centre, slope, low, high = measured[alpha]
        axis.errorbar([centre], [slope], [[slope - low], [high - slope]], fmt=marker, color=colour, capsize=3)
    axis.plot([], [], "o", color=COLOURS["theory"], label="fit to the counts, 95 % interval")
    axis.plot([], [], ":", color=COLOURS["theory"], label=r"limit $1 + 1/2\alpha$")
    axis.set_xscale("log", base=2)
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel("local exponent of the capacity")
    axis.legend(ncols=2)
    return figure
