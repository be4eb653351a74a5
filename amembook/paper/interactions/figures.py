"""Pictures of the interactions: their law by blocks of ranks, what bounds them, and the expansion of the proof."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.schematic import new_schematic
from amembook.figures.style import (
    GREY,
    frame,
    key,
    kinds,
    name_lines,
    new_axes,
    optimizer,
    points,
    series,
)


def interaction_blocks_figure(record: dict, name: str) -> Figure:
    """rms of √d γ and the largest interaction over its predicted sd, a row a pair of blocks, for one map of a record.

    One below the other for each d: the points, with two standard errors where the record has them, and a stroke for
    what is predicted: left the leading-order law, right the maximum of as many normals. Crosses: the formula for rare
    items at the largest d.
    """
    figure, (left, right) = new_axes(2, sharey=True, figsize=(8.0, 4.6))
    dims, measured, predicted = record["config"]["dims"], record["measured"], record["predicted"]
    blocks = [block.partition(" ")[2] for block in measured["rms"] if block.startswith(name + " ")]
    places = np.arange(len(blocks))
    for k, (look, _) in enumerate(series(dims, "$d = {}$")):
        at = places + 0.18 * (k - (len(dims) - 1) / 2)
        for axis, quantity in ((left, "rms"), (right, "z_largest")):
            values, law = (
                np.array([part[quantity][f"{name} {block}"][k] for block in blocks]) for part in (measured, predicted)
            )
            error = [2 * measured["rms_error"][f"{name} {block}"][k] for block in blocks] if axis is left else None
            axis.plot(law, at, "|", color=GREY, ms=9, mew=1.4)
            axis.errorbar(values, at, xerr=error, fmt=look.marker, color=look.colour, ms=4, lw=1, label=look.label)
    rare = [predicted["rms_rare"][f"{name} {block}"][-1] for block in blocks]
    left.plot(rare, places, "x", color=GREY, ms=6, label="formula for rare items")
    left.plot([], [], "|", color=GREY, ms=9, mew=1.4, label="predicted")
    left.set_yticks(places, blocks)
    left.invert_yaxis()
    frame(left, r"root mean square of $\sqrt{d}\,\gamma_{ij}$")
    frame(right, r"largest $\sqrt{d}\,|\gamma_{ij}|$ / predicted sd")
    right.set_xlim(left=0)
    key(left, below=3)
    return figure


def head_pairs_figure(ratios, variances, errors, curve_ratios, curve) -> Figure:
    """d · Var γ_ij of two head items against the ratio of their weights, two standard errors, and the law as a line."""
    figure, (axis,) = new_axes()
    points(axis, ratios, variances, optimizer("polar", "measured"), error=errors)
    axis.plot(curve_ratios, curve, color=GREY, label=r"$(q_i^2+q_j^2)/(q_i+q_j)^2$")
    axis.axhline(1, color=GREY, ls=":", label="formula for rare items")
    frame(axis, "ratio of weights, $q_j/q_i$", r"$d\,\mathrm{Var}\,\gamma_{ij}$", log="x", zero=True)
    key(axis)
    return figure


def lipschitz_figure(weights, gradients, bounds, pair_weights, rms, proved) -> Figure:
    """Left: gradient of an interaction in its own pair against q_i/λ, and its bound. Right: rms of √d γ, and Eq. (51).

    weights, gradients, bounds: (n,). pair_weights: min(q_i, q_j)/λ of each bin, rms: of √d γ there, proved: the shape
    1 + min/λ.
    """
    figure, (left, right) = new_axes(2)
    colour = optimizer("smoothed_sign").colour
    left.plot(weights, gradients, ".", color=colour, label="measured")
    left.plot(weights, bounds, ".", color=GREY, label="bound from Prop. 26")
    frame(left, r"weight $q_i/\lambda$", r"$\|\nabla\gamma_{ij}\|$ in $(u_i, v_i)$", log="xy")
    right.plot(pair_weights, rms, "o-", color=colour, label=r"rms of $\sqrt{d}\,\gamma_{ij}$")
    right.plot(pair_weights, proved, "-", color=GREY, label=r"$1+\min(q_i,q_j)/\lambda$")
    frame(right, r"smaller weight, $\min(q_i,q_j)/\lambda$", r"rms of $\sqrt{d}\,\gamma_{ij}$", log="xy")
    for axis in (left, right):
        key(axis, loc="upper left")
    return figure


def expansion_error_figure(orders, errors: dict, scale: float) -> Figure:
    """Largest error of the expansion against its order T, one curve for each λ/‖G₂‖; dashed: the size of d^{-1/2}."""
    figure, (axis,) = new_axes()
    for look, (ratio, values) in series(errors.items()):
        label = rf"$\lambda = {ratio}\,\|G_2\|$"
        points(axis, orders, values, look, fmt=look.marker + "-", lw=1, label=label)
    axis.axhline(scale, color=GREY, ls="--", lw=1, label=r"$d^{-1/2}$")
    frame(axis, "order $T$ of the expansion", r"largest error in $U_1^\top h_\lambda(G)V_1$", log="y")
    key(axis)
    return figure


def regime_figure(dims, curves: dict) -> Figure:
    """Scales of λ in units of the bulk scale t₀ against d, one curve each: what a proof needs, what there is."""
    figure, (axis,) = new_axes()
    for look, label in kinds(curves, "{}"):
        points(axis, dims, curves[label], look, fmt=look.marker + "-", lw=1)
    frame(axis, "embedding dimension $d$", r"in units of $t_0$", log="xy", base=2)
    name_lines(axis)
    return figure


def leading_block_figure(K, Z, m: int) -> Figure:
    """Sizes of the entries of K and of its tail part Z, both (d, d), on one logarithmic scale; a square of side m."""
    figure, axes = new_axes(2, figsize=(8.0, 4.2), sharey=True)
    sizes = [np.log10(np.abs(np.asarray(A))) for A in (K, Z)]
    top, low = max(size.max() for size in sizes), np.quantile(sizes[1], 0.02)
    for axis, size, title in zip(axes, sizes, ("$K$", "its tail part $Z$"), strict=True):
        image = axis.imshow(size, vmin=low, vmax=top, cmap="cividis", interpolation="nearest")
        axis.plot([-0.5, m - 0.5, m - 0.5, -0.5, -0.5], [-0.5, -0.5, m - 0.5, m - 0.5, -0.5], "-", color="white", lw=2)
        axis.set(title=title, xlabel="input side")
        axis.grid(False)
    axes[0].set_ylabel("output side")
    figure.colorbar(image, ax=axes, label=r"$\log_{10}$ of the size", shrink=0.85)
    return figure


def path_figure(first: str, steps: list[tuple[str, str, str]]) -> Figure:
    """A path of the expansion: places in a row, a word and its two weights on each step, the factors of each place.

    first: the weight that the first symbol leaves at place 0. steps: (left weight, word, right weight), as TeX.
    Below each place stands its bracket, the weights on its two sides over its D; the one that Lemma 24 keeps, at the
    last place whose weight from the left is not μ, is marked, and the μ of the steps behind it are moved one to the
    right.
    """
    figure, axis = new_schematic(6.6, 2.9)
    right = [first, *(one[2] for one in steps)]
    left = [*(one[0] for one in steps), ""]
    kept = max(place for place, weight in enumerate(right) if weight != r"\mu")
    (step, _), (mark, _) = kinds(["step", "kept"])
    for place in range(len(right)):
        axis.plot(place, 0, "o", ms=26, mfc="white", mec=GREY, mew=1.6, zorder=2)
        axis.text(place, 0, f"$k_{place}$", ha="center", va="center", fontsize=13, zorder=3)
        factors = right[place] if place == kept else rf"{right[place]}\,{left[place]}"
        factors = r"\mu\,\mu" if place > kept else factors
        colour = mark.colour if place == kept else GREY
        bracket = rf"$\dfrac{{{factors}}}{{D_{place}}}$"
        axis.text(place, -0.62, bracket, ha="center", va="center", fontsize=15, color=colour)
    for place, (near, word, far) in enumerate(steps):
        arrow = {"arrowstyle": "->", "lw": 1.6, "color": step.colour}
        axis.annotate("", (place + 0.82, 0), (place + 0.18, 0), arrowprops=arrow)
        axis.text(place + 0.5, 0.24, f"${word}$", ha="center", fontsize=15, color=step.colour)
        axis.text(place + 0.22, 0.1, f"${near}$", ha="center", fontsize=12)
        axis.text(place + 0.76, 0.1, f"${far}$", ha="center", fontsize=12)
    axis.text(-0.3, 0.1, f"${first}$", ha="center", fontsize=12)
    axis.set(xlim=(-0.5, len(steps) + 0.35), ylim=(-1.0, 0.55))
    return figure
