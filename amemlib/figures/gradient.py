"""Pictures of the gradient at W = 0: what reaches a logit, the singular spectrum and its law, the centring."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, SERIES, log_log, new_axes


def crosstalk_figure(panels: dict) -> Figure:
    """Sizes of the logits of the gradient itself by the rank of the item; one panel for each batch.

    panels: title ↦ dict of `ranks`, `signal` (the mean own logit) and, measured and predicted, the root-mean-square
    logits with the item's own output, the most frequent one and a rare one (`own`, `first`, `rare`, `…_predicted`).
    """
    figure, axes = new_axes(len(panels), sharey=True)
    series = {
        "own": ("own output", COLOURS["sgd"], "^"),
        "first": ("most frequent output", COLOURS["muon"], "P"),
        "rare": ("a rare output", COLOURS["theory"], "o"),
    }
    for axis, (title, panel) in zip(axes, panels.items(), strict=True):
        for name, (label, colour, marker) in series.items():
            axis.plot(panel["ranks"], panel[name], marker, color=colour, ms=5, label=label)
            axis.plot(panel["ranks"], panel[name + "_predicted"], "-", color=colour, lw=1.2)
        axis.plot(panel["ranks"], panel["signal"], "--", color=COLOURS["sgd"], lw=1.2, label="signal $p_i$")
        log_log(axis, "rank $i$ of the input", "root-mean-square logit", base=10)
        axis.set_title(title, fontsize=11)
    axes[1].set_ylabel("")
    axes[0].legend()
    return figure


def spectrum_figure(spectra: dict, laws: dict, dim: int) -> Figure:
    """Singular values in units of t₀ and their closed-form law: left sorted, right the density per unit of log s.

    spectra: α ↦ (seeds, d) singular values / t₀. laws: α ↦ `SpectralLaw` in units of t₀.
    """
    figure, (left, right) = new_axes(2)
    for colour, marker, (alpha, values) in zip(SERIES, "os^Dv", spectra.items(), strict=False):
        law, values = laws[alpha], np.asarray(values)
        measured = np.sort(values, axis=1)[:, ::-1].mean(0)
        share = (np.arange(dim) + 0.5) / dim
        shown = np.linspace(0, dim - 1, 30).astype(int)
        left.plot(share[shown], measured[shown], marker, color=colour, ms=4)
        within = 1 - law.share_below(law.singular_values) > share[0] / 2
        s = law.singular_values[within]
        left.plot(1 - law.share_below(s), s, "-", color=colour, lw=1.2, label=rf"$\alpha = {alpha:g}$")
        edges = np.geomspace(values.min(), values.max(), 40)
        counts, _ = np.histogram(values, edges)
        density = counts / values.size / np.diff(np.log(edges))
        right.plot(np.sqrt(edges[1:] * edges[:-1]), density, marker, color=colour, ms=4)
        seen = (s > edges[0]) & (s < edges[-1])
        right.plot(s[seen], (s * law.density[within])[seen], "-", color=colour, lw=1.2)
    left.set_yscale("log")
    left.set_ylim(bottom=min(np.min(values) for values in spectra.values()))
    left.set_xlabel("share of singular values above")
    left.set_ylabel(r"singular value $s / t_0$")
    right.set_xscale("log")
    right.set_xlabel(r"singular value $s / t_0$")
    right.set_ylabel(r"density of $\log s$")
    left.legend(title="lines: closed form", title_fontsize=9.5)
    return figure


def batch_spectrum_figure(spectra: dict, laws: dict, scale: float, dim: int) -> Figure:
    """Sorted singular values of minibatch gradients in units of t₀ = `scale`, with the law of the same frequencies.

    spectra: label ↦ (d,) singular values. laws: label ↦ `SpectralLaw`.
    """
    figure, (axis,) = new_axes()
    for colour, marker, (label, s) in zip(SERIES, "os^Dv", spectra.items(), strict=False):
        values = np.sort(np.asarray(s))[::-1] / scale
        law = laws[label]
        order = np.arange(1, dim + 1)
        seen = values > law.singular_values[0] / scale
        shown = np.unique(np.geomspace(1, seen.sum(), 40).astype(int)) - 1
        axis.plot(order[shown], values[shown], marker, color=colour, ms=4, label=label)
        grid = law.singular_values
        total = law.share_below(grid[-1])
        rank = dim * (total - law.share_below(grid))
        # outliers are atoms of mass 1/d: the middle of each step is where its item stands
        axis.plot(rank + 0.5, grid / scale, "-", color=colour, lw=1.2)
    log_log(axis, "order $k$", r"singular value $s_k / t_0$", base=10)
    axis.set_xlim(0.9, dim * 1.1)
    axis.legend()
    return figure


def centring_figure(n_items, moves, predicted, bound, flipped, dim: int) -> Figure:
    """How far the logits of one Muon step move when the gradient is not centred, against N at fixed d; units 1/√d.

    n_items: (n,). moves: (n, seeds) standard deviation of the change of a logit. predicted: (n,) to first order.
    bound: (n,) what Eq. (21) allows. flipped: (n, seeds) bool, whether the smallest singular value changed its sign.
    """
    figure, (axis,) = new_axes()
    n_items, moves, flipped = np.asarray(n_items), np.asarray(moves), np.asarray(flipped)
    x = np.broadcast_to(n_items[:, None], moves.shape)
    axis.plot(n_items, bound, "--", color=COLOURS["theory"], lw=1.2, label=r"bound $\sqrt{d}\,\|G - G_0\| / t_0$")
    axis.axhline(1, color=COLOURS["theory"], lw=1, ls=":", label="size of the interactions")
    axis.plot(x[~flipped], moves[~flipped], "o", color=COLOURS["polar"], ms=4, label="measured, one draw each")
    axis.plot(
        x[flipped], moves[flipped], "D", color=COLOURS["newton"], ms=5, label=r"$\det G$ and $\det G_0$ differ in sign"
    )
    axis.plot(n_items, predicted, "-", color=COLOURS["polar"], lw=1.2, label="first order in $G - G_0$")
    log_log(axis, "items $N$", r"change of a logit $\times\sqrt{d}$")
    axis.set_title(f"$d = {dim}$", fontsize=11)
    axis.legend(loc="center left", bbox_to_anchor=(0.0, 0.62))
    return figure
