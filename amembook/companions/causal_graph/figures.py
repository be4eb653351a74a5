"""Pictures of the study: scores and edges, scores by distance, edges found by sample size, a Muon step, peers."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, new_axes, optimizer, points, series
from amembook.run.base import arrays


def score_matrices_figure(scores: dict, parents: dict) -> Figure:
    """Scores of the first gradient as a heat map for each graph, (T, T) with j ≤ i; a ring around every true edge."""
    figure, axes = new_axes(len(scores), 3, figsize=(8.0, 3.2))
    top = max(np.max(np.asarray(matrix)) for matrix in scores.values())
    for axis, (name, matrix) in zip(axes, scores.items(), strict=True):
        matrix = np.asarray(matrix)
        shown = np.where(np.tril(np.ones_like(matrix)) > 0, matrix, np.nan)
        image = axis.imshow(shown, cmap="RdBu_r", vmin=-top, vmax=top)
        edges = [(parent, child) for child, parent in enumerate(parents[name]) if parent >= 0]
        axis.plot(*np.transpose(edges), "o", ms=6, mfc="none", mec="black", mew=0.9)
        frame(axis, "attended place $j$", "" if axis in axes[1:] else "token $i$", name)
        axis.grid(visible=False)
    figure.colorbar(image, ax=axes, label="score $z_{ij}$", shrink=0.8)
    return figure


def exact_scores_figure(record: dict) -> Figure:
    """Left: every score of the first draw of each graph against its exact mean; edges filled. Right: by distance.

    Right: the mean score of the pairs of each lag on a chain for several lengths, the limit law, and the χ² information
    of the pair itself, which is no law of theirs.
    """
    figure, axes = new_axes(2)
    graphs, measured, predicted = record["config"]["graphs"], record["measured"], record["predicted"]
    for look, name in kinds(graphs, "{}"):
        places = np.tril_indices(record["config"]["length"])
        exact, sampled = (np.array(scores[name])[places] for scores in (predicted["exact_scores"], measured["scores"]))
        axes[0].plot(exact, sampled, look.marker, color=look.colour, ms=4, alpha=0.6, label=look.label)
    ends = np.array(axes[0].get_xlim())
    axes[0].plot(ends, ends, color=GREY, lw=1, label="equal")
    frame(axes[0], "exact mean", "score in a sample")
    axes[0].legend()
    lengths = list(measured["profile"].items())[1::2]
    for look, (length, profile) in series(lengths):
        axes[1].plot(profile, look.marker, color=look.colour, label=f"$T = {length}$")
    axes[1].plot(predicted["profile"]["ours"], color=GREY, label=r"$\langle K,M_{ij}\rangle$")
    chi2 = predicted["profile"]["χ² of the pair"]
    axes[1].plot(chi2, ":", color=GREY, label=r"$\chi^2$ of the pair")
    axes[1].set_ylim(top=1.6 * chi2[1])
    frame(axes[1], "distance along the chain", "mean score")
    axes[1].legend()
    return figure


def recovery_figure(record: dict) -> Figure:
    """Share of edges found against sequences, a panel a graph: first gradient and Muon step, on expected curves.

    Bars are two standard errors. Dotted: what a Muon step finds in an infinite sample.
    """
    graphs, n = record["config"]["graphs"], record["config"]["n_sequences"]
    figure, axes = new_axes(len(graphs), 3, sharey=True, figsize=(8.0, 3.8))
    measured, predicted = arrays(record["measured"]), record["predicted"]
    for axis, graph in zip(axes, graphs, strict=True):
        for step in ("sgd", "polar"):
            share, law = (part["recovered"][step][graph] for part in (measured, predicted))
            points(axis, n, share, optimizer(step), error=measured["recovered_error"][step][graph], law=law)
        axis.axhline(predicted["population"]["polar"][graph], color=optimizer("polar").colour, ls=":", lw=1)
        frame(axis, "sequences $n$", "" if axis in axes[1:] else "share of edges found", graph, log="x", base=2)
    key(axes[0], {"Muon, infinite sample": ":"}, below=3)
    return figure


def needed_figure(record: dict) -> Figure:
    """Sequences needed for 90 % of the edges against the gap, all cases; the expected numbers and three power laws."""
    figure, (axis,) = new_axes()
    predicted, measured = record["predicted"], record["measured"]
    names = sorted(predicted["gap"], key=predicted["gap"].get)
    gaps = np.array([predicted["gap"][name] for name in names])
    needed, expected = (arrays([part["needed"]["sgd"][name] for name in names]) for part in (measured, predicted))
    error = np.array([measured["needed_log_error"][name] for name in names], dtype=float)
    ends = np.transpose([needed * np.exp(-2 * error), needed * np.exp(2 * error)])
    points(axis, gaps, needed, optimizer("sgd", "measured"), interval=ends)
    axis.plot(gaps, expected, "x", color="black", ms=8, label="expected")
    for slope, style in ((-1.0, "--"), (-2.0, "-"), (-4.0, ":")):
        line = expected[0] * (gaps / gaps[0]) ** slope
        axis.plot(gaps, line, style, color=GREY, lw=1, label=f"slope {slope:g}")
    frame(axis, "gap between an edge's score and the next", "sequences for 90 % of the edges", log="xy", base=2)
    axis.legend()
    return figure


def peers_figure(record: dict) -> Figure:
    """Accuracy of the trained network and its peers for each graph, left on kernels as in training, right on others."""
    figure, axes = new_axes(2, sharey=True)
    graphs = record["config"]["graphs"]
    places = np.arange(len(graphs))
    titles = {"inside": f"as in training, α = {record['config']['alpha']:g}"}
    titles["outside"] = f"other kernels, α = {record['config']['ood_alpha']:g}"
    peers = ("unigram counts", "previous counts", "graph counts", "network")
    for axis, (where, title) in zip(axes, titles.items(), strict=True):
        accuracy = record["measured"]["training"][where]["accuracy"]
        for k, (look, peer) in enumerate(kinds(peers, "{}")):
            axis.bar(places + (k - 1.5) / 5, accuracy[peer], 0.18, color=look.colour, label=look.label)
        axis.set_xticks(places, graphs)
        frame(axis, "", "accuracy" if axis is axes[0] else "", title)
    axes[0].set_ylim(top=1.45 * max(max(accuracy[peer]) for peer in peers))
    axes[0].legend(ncols=2)
    return figure
