"""Pictures of the chapter on associative memories: counts of any list of facts, overlaps, real frequencies."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, LABELS, MARKERS, SERIES, log_log, new_axes


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


def model_figure(v, W, names: list[str], logits, asked: str, own: int) -> Figure:
    """The model on one question: the input vector, the matrix, and the logits of the outputs that score highest.

    v: (d,). W: (d, d). names, logits: (k,) the outputs shown, highest first. own: index of the right one among them.
    """
    figure, axes = new_axes(3, figsize=(9.0, 3.6), width_ratios=(0.35, 1.0, 1.1))
    pictures = (np.asarray(v)[:, None], f"$v_i$\n{asked}"), (np.asarray(W), "$W$, one matrix\nfor all facts")
    for axis, (picture, title) in zip(axes[:2], pictures, strict=True):
        size = np.abs(picture).max()
        axis.imshow(picture, cmap="RdBu_r", vmin=-size, vmax=size, interpolation="nearest", aspect="auto")
        axis.set_title(title, fontsize=11)
        axis.set(xticks=[], yticks=[])
        axis.grid(False)
    right = axes[2]
    colours = [COLOURS["polar"] if k == own else "#bbbbbb" for k in range(len(names))]
    right.barh(np.arange(len(names))[::-1], logits, color=colours)
    right.set_yticks(np.arange(len(names))[::-1], names)
    right.set_xlabel(r"logit $u_j^\top W v_i$")
    right.set_title("answers", fontsize=11)
    return figure
