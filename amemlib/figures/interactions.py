"""Pictures of the interactions: their law by blocks of ranks, what bounds them, and the expansion of the proof."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes


def interaction_blocks_figure(record: dict, name: str) -> Figure:
    """rms of √d γ by pair of blocks against d, and the largest interaction over its predicted sd; one map of a record.

    Left: two standard errors, the leading-order law as lines, dotted what the formula for rare items says. Right: the
    maximum of as many normals as lines.
    """
    figure, (left, right) = new_axes(2)
    dims = np.array(record["config"]["dims"], dtype=float)
    measured, predicted = record["measured"], record["predicted"]
    keys = [key for key in measured["rms"] if key.startswith(name + " ")]
    for colour, marker, key in zip(SERIES, "os^Dv*", keys, strict=True):
        error = 2 * np.array(measured["rms_error"][key])
        left.errorbar(
            dims, measured["rms"][key], error, fmt=marker, color=colour, capsize=2, label=key.partition(" ")[2]
        )
        left.plot(dims, predicted["rms"][key], "-", color=colour, lw=1.1)
        left.plot(dims, predicted["rms_rare"][key], ":", color=colour, lw=1.1)
        right.plot(dims, measured["z_largest"][key], marker, color=colour)
        right.plot(dims, predicted["z_largest"][key], "-", color=colour, lw=1.1)
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xlabel("embedding dimension $d$")
    left.set_ylabel(r"rms of $\sqrt{d}\,\gamma_{ij}$")
    right.set_ylabel(r"largest $\sqrt{d}\,|\gamma_{ij}|$ / predicted sd")
    right.set_ylim(bottom=0)
    figure.suptitle(LABELS[name], fontsize=11)
    figure.legend(loc="outside lower center", ncols=6)
    return figure


def head_pairs_figure(ratios, variances, errors, curve_ratios, curve) -> Figure:
    """d · Var γ_ij of two head items against the ratio of their weights, two standard errors, and the law as a line."""
    figure, (axis,) = new_axes()
    axis.errorbar(
        ratios, variances, 2 * np.asarray(errors), fmt="o", color=COLOURS["polar"], capsize=2, label="measured"
    )
    axis.plot(curve_ratios, curve, color=COLOURS["theory"], label=r"$(q_i^2+q_j^2)/(q_i+q_j)^2$")
    axis.axhline(1, color=COLOURS["theory"], ls=":", label="formula for rare items")
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("ratio of weights, $q_j/q_i$")
    axis.set_ylabel(r"$d\,\mathrm{Var}\,\gamma_{ij}$")
    axis.legend()
    return figure


def lipschitz_figure(weights, gradients, bounds, pair_weights, rms, proved) -> Figure:
    """Left: gradient of an interaction in its own pair against q_i/λ, and its bound. Right: rms of √d γ, and Eq. (51).

    weights, gradients, bounds: (n,). pair_weights: min(q_i, q_j)/λ of each bin, rms: of √d γ there, proved: the shape
    1 + min/λ.
    """
    figure, (left, right) = new_axes(2)
    left.plot(weights, gradients, ".", color=COLOURS["smoothed_sign"], label="measured")
    left.plot(weights, bounds, ".", color=COLOURS["theory"], label="bound from Prop. 26")
    log_log(left, r"weight $q_i/\lambda$", r"$\|\nabla\gamma_{ij}\|$ in $(u_i, v_i)$", base=10)
    right.plot(pair_weights, rms, "o-", color=COLOURS["smoothed_sign"], label=r"rms of $\sqrt{d}\,\gamma_{ij}$")
    right.plot(pair_weights, proved, "-", color=COLOURS["theory"], label=r"$1+\min(q_i,q_j)/\lambda$")
    log_log(right, r"smaller weight, $\min(q_i,q_j)/\lambda$", r"rms of $\sqrt{d}\,\gamma_{ij}$", base=10)
    for axis in (left, right):
        axis.legend(loc="upper left")
    return figure


def expansion_error_figure(orders, errors: dict, scale: float) -> Figure:
    """Largest error of the expansion against its order T, one curve for each λ/‖G₂‖; dashed: the size of d^{-1/2}."""
    figure, (axis,) = new_axes()
    for colour, marker, (label, values) in zip(SERIES, "os^Dv", errors.items(), strict=False):
        axis.plot(orders, values, marker + "-", color=colour, lw=1, label=rf"$\lambda = {label}\,\|G_2\|$")
    axis.axhline(scale, color=COLOURS["theory"], ls="--", lw=1, label=r"$d^{-1/2}$")
    axis.set_yscale("log")
    axis.set_xlabel("order $T$ of the expansion")
    axis.set_ylabel(r"largest error in $U_1^\top h_\lambda(G)V_1$")
    axis.legend()
    return figure


def regime_figure(dims, curves: dict) -> Figure:
    """Scales of λ in units of the bulk scale t₀ against d, one curve each: what a proof needs, what there is."""
    figure, (axis,) = new_axes()
    for colour, marker, (label, values) in zip(SERIES, MARKERS.values(), curves.items(), strict=False):
        axis.plot(dims, values, marker + "-", color=colour, lw=1, ms=4, label=label)
    log_log(axis, "embedding dimension $d$", r"in units of $t_0$")
    axis.legend()
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
    figure, (axis,) = new_axes(figsize=(6.6, 2.9))
    right = [first, *(step[2] for step in steps)]
    left = [*(step[0] for step in steps), ""]
    kept = max(place for place, weight in enumerate(right) if weight != r"\mu")
    for place in range(len(right)):
        axis.plot(place, 0, "o", ms=26, mfc="white", mec=COLOURS["theory"], mew=1.6, zorder=2)
        axis.text(place, 0, f"$k_{place}$", ha="center", va="center", fontsize=13, zorder=3)
        factors = right[place] if place == kept else rf"{right[place]}\,{left[place]}"
        factors = r"\mu\,\mu" if place > kept else factors
        colour = COLOURS["sgd"] if place == kept else COLOURS["theory"]
        bracket = rf"$\dfrac{{{factors}}}{{D_{place}}}$"
        axis.text(place, -0.62, bracket, ha="center", va="center", fontsize=15, color=colour)
    for place, (near, word, far) in enumerate(steps):
        arrow = {"arrowstyle": "->", "lw": 1.6, "color": COLOURS["polar"]}
        axis.annotate("", (place + 0.82, 0), (place + 0.18, 0), arrowprops=arrow)
        axis.text(place + 0.5, 0.24, f"${word}$", ha="center", fontsize=15, color=COLOURS["polar"])
        axis.text(place + 0.22, 0.1, f"${near}$", ha="center", fontsize=12)
        axis.text(place + 0.76, 0.1, f"${far}$", ha="center", fontsize=12)
    axis.text(-0.3, 0.1, f"${first}$", ha="center", fontsize=12)
    axis.set(xlim=(-0.5, len(steps) + 0.35), ylim=(-1.0, 0.55))
    axis.axis("off")
    return figure
