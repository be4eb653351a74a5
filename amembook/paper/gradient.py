"""Pictures of the gradient at W = 0: its facts, the singular spectrum and its law, the centring."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, log_middles, name_lines, new_axes, optimizer, points, series


def facts_figure(s, frequencies, scale: float, running: dict) -> Figure:
    """Left: sorted singular values beside the frequencies of as many facts and the scale of the bulk. Right: what the
    k largest singular values contribute to a fact's score under the polar map.

    s, frequencies: (d,). scale: t₀. running: fact ↦ (d,) its shares, added up.
    """
    figure, (left, right) = new_axes(2)
    order = np.arange(1, len(s) + 1)
    shown = np.unique(np.geomspace(1, len(s), 60).astype(int)) - 1
    [(look, _)] = kinds(["singular values"])
    left.plot(order, frequencies, "--", color=GREY, lw=1.2, label="frequencies $p_k$")
    left.axhline(scale, color=GREY, lw=1, ls=":", label="$t_0$")
    points(left, order[shown], np.asarray(s)[shown], look._replace(label="singular values $s_k$"), ms=4)
    first, *others, last = running
    names = [first.replace(" ", "\n", 1), *others, last.replace(" (", "\n(")]
    for look, (name, shares) in series(zip(names, running.values(), strict=True)):
        right.plot(order, shares, "-", color=look.colour, lw=1.8, label=name)
    frame(left, "$k$, the largest first", "size", log="xy")
    frame(right, "the $k$ largest singular values", "Muon's score of the fact", log="x")
    # the last one is chance: it scatters over a decade
    left.set_ylim(bottom=scale / 20)
    near = {"frequencies $p_k$": (20, (6, 8)), "singular values $s_k$": (14, (-8, -8)), "$t_0$": (0, (8, 7))}
    name_lines(left, places=near)
    # each on its level
    beside = (0, (0.1, -16)), (12, (3, 9)), (-1, (-2, 8)), (149, (0, 40))
    name_lines(right, places=dict(zip(names, beside, strict=True)))
    return figure


def shares_figure(curve, drawn) -> Figure:
    """A rare fact's mean share in each direction, the loudest first, over its mean: derived, and drawn in blocks.

    curve: (d,). drawn: (m,) means over blocks of d / m directions. Both in any unit.
    """
    figure, (axis,) = new_axes()
    curve, drawn, [(look, _)] = np.asarray(curve), np.asarray(drawn), kinds(["shares"])
    width = len(curve) / len(drawn)
    axis.plot(np.arange(1, len(curve) + 1), curve / curve.mean(), "-", color=look.colour, lw=1.5, label="derived")
    middles = (np.arange(len(drawn)) + 0.5) * width + 0.5
    points(axis, middles, drawn / drawn.mean(), look._replace(label="three gradients"))
    axis.axhline(1, color=GREY, lw=1, ls="--")
    frame(axis, f"direction, of {len(curve)}, the loudest first", "mean share / its mean", zero=True)
    key(axis)
    return figure


def letters_figure(frequencies, s, scale: float, capacity: float) -> Figure:
    """The letters p, s, t₀, d, m, N and α in their places: frequencies (N,) and singular values s (d,), by rank."""
    figure, (axis,) = new_axes()
    # the last ones are chance
    shown = np.unique(np.geomspace(1, 0.95 * len(s), 40).astype(int))
    axis.plot(np.arange(1, len(frequencies) + 1), frequencies, "-", color=GREY, lw=1.4, label="$p_i$")
    [(look, _)] = kinds(["$s_k$"])
    points(axis, shown, np.asarray(s)[shown - 1], look._replace(label="$s_k$"), ms=4)
    axis.axhline(scale, color=GREY, lw=1, ls=":")
    for place, letter, side in ((len(s), "$d$", "right"), (capacity, "$m$", "left")):
        axis.axvline(place, color=GREY, lw=1, ls=":")
        axis.annotate(letter, (place, 0.96), (-4 if side == "right" else 4, 0), ("data", "axes fraction"),
                      "offset points", ha=side, va="top")  # fmt: skip
    axis.annotate("$t_0$", (1, scale), (4, 3), textcoords="offset points")
    last, middle = (np.asarray(frequencies)[rank - 1] for rank in (len(frequencies), 20 * len(s)))
    axis.annotate("$N$", (len(frequencies), last), (-3, 8), textcoords="offset points", ha="center")
    axis.annotate(r"slope $-\alpha$", (20 * len(s), middle), (6, 4), textcoords="offset points")
    frame(axis, "rank, the largest first", "size", log="xy")
    key(axis, loc="lower left")
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
