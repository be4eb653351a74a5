"""Pictures of the chapter on associative memories: counts of any list of facts, overlaps, real frequencies."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import (
    GREY,
    PALE,
    frame,
    key,
    kinds,
    log_middles,
    name_lines,
    new_axes,
    optimizer,
    points,
)


def counts_figure(dims, seed_counts: dict, predicted: dict, n_items: int) -> Figure:
    """Recalled facts against d for any list of them; bars: two standard errors over the seeds, lines: predictions.

    seed_counts: map ↦ (len(dims), seeds) counts. predicted: map ↦ (len(dims),) expected counts.
    """
    figure, (axis,) = new_axes()
    names = {"polar": "Muon", "sgd": "SGD"}
    for name, counts in seed_counts.items():
        points(axis, dims, np.reshape(counts, (len(dims), -1)), optimizer(name, names[name]), law=predicted[name])
    axis.axhline(n_items, color=GREY, lw=1, ls="--", label=f"all {n_items} facts")
    axis.plot(dims, dims, color=GREY, lw=1, ls=":", label="$d$ facts")
    frame(axis, "dimensions $d$", "recalled facts", log="xy", base=2)
    places = {"Muon": (2, (-8, 6)), "SGD": (3, (0, -12)), "$d$ facts": (3, (8, -4))}
    name_lines(axis, places=places | {f"all {n_items} facts": (0, (4, -9))})
    return figure


def overlap_figure(overlaps, dim: int) -> Figure:
    """Histogram of the inner products of different embeddings, scaled by √d, with the standard normal density."""
    figure, (axis,) = new_axes()
    x = np.linspace(-5, 5, 201)
    axis.hist(np.sqrt(dim) * np.asarray(overlaps), bins=80, density=True, color=PALE, label="measured")
    axis.plot(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi), color=GREY, label=r"$\mathcal{N}(0, 1)$")
    frame(axis, r"$\sqrt{d}\,\langle u_i, u_j\rangle$", "density", f"{len(overlaps)} pairs in $d = {dim}$ dimensions")
    key(axis)
    return figure


def frequencies_figure(curves: dict) -> Figure:
    """Frequency against rank for several lists; left as it is, right the local exponent −Δlog p/Δlog i over octaves
    from rank 16 on: before, single words make it zigzag.
    """
    figure, (left, right) = new_axes(2)
    for look, (label, p) in kinds(curves.items()):
        ranks = 2 ** np.arange(int(np.log2(len(p))) + 1)
        values, style = np.asarray(p)[ranks - 1], {"fmt": look.marker + "-", "lw": 1, "label": label}
        points(left, ranks, values, look, **style)
        points(right, log_middles(ranks)[4:], -np.diff(np.log(values))[4:] / np.log(2), look, **style)
    frame(left, "rank $i$", "frequency $p_i$", log="xy")
    frame(right, "rank $i$", "local exponent", log="x", zero=True)
    key(left)
    return figure


def shouts_figure(drawn: dict) -> Figure:
    """Who shouts: the scores of twelve answers to twelve questions, rows scaled to their loudest, for SGD and Muon.

    drawn: `ranks` and names of the facts, and the `places` from SGD (first) to Muon (last) with scores in hundredths
    and the winners among all answers, as tools/shouts.py draws them.
    """
    figure, axes = new_axes(2, figsize=(9.2, 4.4))
    ranks = drawn["ranks"]
    for axis, place, name in zip(axes, (drawn["places"][0], drawn["places"][-1]), ("SGD", "Muon"), strict=True):
        axis.imshow(place["scores"], cmap="RdBu", vmin=-100, vmax=100)
        won = [winner == rank for winner, rank in zip(place["winners"], ranks, strict=True)]
        ticks = range(len(ranks))
        axis.set_xticks(
            ticks, [drawn["answers"][str(rank)] for rank in ranks], rotation=55, ha="left", rotation_mode="anchor"
        )
        axis.set_yticks(ticks, drawn["questions"])
        axis.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        axis.grid(False)
        axis.spines[:].set_visible(False)
        for row, (right, winner) in enumerate(zip(won, place["winners"], strict=True)):
            told = "✓" if right else "→ " + drawn["answers"].get(str(winner), f"fact {winner:,}")
            axis.text(len(ranks) - 0.3, row, told, va="center", fontsize=9)
        axis.set_xlabel(f"{name}: {sum(won)} of these {len(ranks)}, {place['count']} of all facts", fontweight="bold")
    return figure
