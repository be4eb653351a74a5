"""Pictures of the gradient at W = 0: what reaches a logit, the singular spectrum and its law, the centring."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, log_middles, name_lines, new_axes, optimizer, points, series


def crosstalk_figure(panels: dict) -> Figure:
    """Sizes of the logits of the gradient itself by the rank of the item; one panel for each batch.

    panels: title ↦ dict of `ranks`, `signal` (the mean own logit) and, measured and predicted, the root-mean-square
    logits with the item's own output, the most frequent one and a rare one (`own`, `first`, `rare`, `…_predicted`).
    """
    figure, axes = new_axes(len(panels), sharey=True)
    labels = {"own": "own output", "first": "most frequent output", "rare": "a rare output"}
    for axis, (title, panel) in zip(axes, panels.items(), strict=True):
        for look, (name, label) in kinds(labels.items()):
            points(axis, panel["ranks"], panel[name], look, law=panel[name + "_predicted"], label=label)
        axis.plot(panel["ranks"], panel["signal"], "--", color=GREY, lw=1.2, label="signal $p_i$")
        frame(axis, "rank $i$ of the input", title=title, log="xy")
    axes[0].set_ylabel("root-mean-square logit")
    places = {"own output": (0, (10, 2)), "most frequent output": (4, (0, 10)), "a rare output": (4, (0, -11))}
    name_lines(axes[0], places=places | {"signal $p_i$": (4, (-8, -6))})
    return figure


def spectrum_figure(spectra: dict, laws: dict, dim: int) -> Figure:
    """Singular values in units of t₀ and their closed-form law: left sorted, right the density per unit of log s.

    spectra: α ↦ (seeds, d) singular values / t₀. laws: α ↦ `SpectralLaw` in units of t₀.
    """
    figure, (left, right) = new_axes(2)
    for look, (alpha, values) in series(spectra.items()):
        law, values = laws[alpha], np.asarray(values)
        measured = np.sort(values, axis=1)[:, ::-1].mean(0)
        share = (np.arange(dim) + 0.5) / dim
        shown = np.linspace(0, dim - 1, 30).astype(int)
        points(left, share[shown], measured[shown], look)
        within = 1 - law.share_below(law.singular_values) > share[0] / 2
        s = law.singular_values[within]
        left.plot(1 - law.share_below(s), s, "-", color=look.colour, lw=1.2, label=rf"$\alpha = {alpha:g}$")
        edges = np.geomspace(values.min(), values.max(), 40)
        counts, _ = np.histogram(values, edges)
        points(right, log_middles(edges), counts / values.size / np.diff(np.log(edges)), look)
        seen = (s > edges[0]) & (s < edges[-1])
        right.plot(s[seen], (s * law.density[within])[seen], "-", color=look.colour, lw=1.2)
    frame(left, "share of singular values above", r"singular value $s / t_0$", log="y")
    left.set_ylim(bottom=min(np.min(values) for values in spectra.values()))
    frame(right, r"singular value $s / t_0$", r"density of $\log s$", log="x")
    key(left, title="lines: closed form", title_fontsize=10)
    return figure


def batch_spectrum_figure(spectra: dict, laws: dict, scale: float, dim: int) -> Figure:
    """Sorted singular values of minibatch gradients in units of t₀ = `scale`, with the law of the same frequencies.

    spectra: label ↦ (d,) singular values. laws: label ↦ `SpectralLaw`.
    """
    figure, (axis,) = new_axes()
    for look, label in series(spectra, "{}"):
        values, law = np.sort(np.asarray(spectra[label]))[::-1] / scale, laws[label]
        grid = law.singular_values
        seen = values > grid[0] / scale
        shown = np.unique(np.geomspace(1, seen.sum(), 40).astype(int)) - 1
        points(axis, np.arange(1, dim + 1)[shown], values[shown], look)
        rank = dim * (law.share_below(grid[-1]) - law.share_below(grid))
        # outliers are atoms of mass 1/d: the middle of each step is where its item stands
        axis.plot(rank + 0.5, grid / scale, "-", color=look.colour, lw=1.2)
    frame(axis, "order $k$", r"singular value $s_k / t_0$", log="xy")
    axis.set_xlim(0.9, dim * 1.1)
    key(axis)
    return figure


def centring_figure(n_items, moves, predicted, bound, flipped, dim: int) -> Figure:
    """How far the logits of one Muon step move when the gradient is not centred, against N at fixed d; units 1/√d.

    n_items: (n,). moves: (n, seeds) standard deviation of the change of a logit. predicted: (n,) to first order.
    bound: (n,) what Eq. (21) allows. flipped: (n, seeds) bool, whether the smallest singular value changed its sign.
    """
    figure, (axis,) = new_axes(figsize=(5.0, 4.6))
    n_items, moves, flipped = np.asarray(n_items), np.asarray(moves), np.asarray(flipped)
    x, polar = np.broadcast_to(n_items[:, None], moves.shape), optimizer("polar").colour
    bound_label, unit_label = r"bound $\sqrt{d}\,\|G - G_0\| / t_0$", "size of the interactions"
    axis.plot(n_items, bound, "--", color=GREY, lw=1.2, label=bound_label)
    axis.axhline(1, color=GREY, lw=1, ls=":", label=unit_label)
    axis.plot(x[~flipped], moves[~flipped], "o", color=polar, ms=4, label="measured, one draw each")
    flips = {"color": polar, "mfc": "white", "label": r"$\det G$ and $\det G_0$ differ in sign"}
    axis.plot(x[flipped], moves[flipped], "D", ms=5, **flips)
    axis.plot(n_items, predicted, "-", color=polar, lw=1.2, label="first order in $G - G_0$")
    frame(axis, "items $N$", r"change of a logit $\times\sqrt{d}$", f"$d = {dim}$", log="xy", base=2)
    name_lines(axis, places={bound_label: (3, (6, 10)), unit_label: (0, (4, 8))})
    key(axis, below=1)
    return figure
