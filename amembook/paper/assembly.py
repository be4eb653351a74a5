"""Pictures of the assembled theorem: who depends on whom, the two halves of the proof on one draw, and prefixes."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from amembook.figures.schematic import new_schematic
from amembook.figures.style import frame, key, kinds, name_lines, new_axes, points, series

_BOX_WIDTH, _BOX_HEIGHT, _LINE = 0.96, 0.52, 0.16

BOXES = [
    ["Corollary 4\nthe loss"],
    ["Theorem 3 (a)\nall items up to a rank", "Any matrix\nmargins to loss"],
    ["Eq. (20)\nsignal", "Prop. 18\ninteractions", "Eq. (21)\nby Prop. 26", "Chernoff\nfrequencies"],
    ["Eqs. (17), (18)\nslope", "Lemma 13\ncurvature", "Lem. 24, 25\nfrequent pairs", "Eq. (51)\na rare item"],
    ["Lemma 12\nslope formula", "Lem. 14, 17\nthe bulk", "Lem. 21-23\nexpansion", "Lemma 27\nodd, Lipschitz"],
    ["Prop. 11\nderivatives", "Lem. 15, 16\ntail of a batch", "Lem. 19, 20\nnorms", "Prop. 26\nconstant 1"],
]
"""The proof of Theorem 3 (a) and Corollary 4 from the top; a box's first line names it. Numbers are the paper's."""
USES = {
    "Corollary 4": ["Theorem 3 (a)", "Any matrix"],
    "Theorem 3 (a)": ["Eq. (20)", "Prop. 18", "Eq. (21)", "Chernoff"],
    "Eq. (20)": ["Eqs. (17), (18)", "Lemma 13"],
    "Prop. 18": ["Lem. 24, 25", "Eq. (51)"],
    "Eqs. (17), (18)": ["Lemma 12", "Lem. 14, 17"],
    "Lem. 24, 25": ["Lem. 21-23"],
    "Eq. (51)": ["Lemma 27"],
    "Lemma 12": ["Prop. 11"],
    "Lem. 14, 17": ["Lem. 15, 16"],
    "Lem. 21-23": ["Lem. 15, 16", "Lem. 19, 20"],
    "Lemma 27": ["Prop. 26"],
}
"""What the proof of a box uses."""
_PROVES = {
    "this chapter": ["Corollary 4", "Theorem 3 (a)", "Eq. (21)", "Chernoff"],
    "The signal": ["Eq. (20)", "Eqs. (17), (18)", "Lemma 13", "Lemma 12", "Prop. 11"],
    "Interactions": ["Prop. 18", "Lem. 24, 25", "Eq. (51)", "Lemma 27", "Lem. 21-23", "Lem. 19, 20", "Prop. 26"],
    "Lemmas 14 to 17": ["Lem. 14, 17", "Lem. 15, 16"],
    "The best learning rate": ["Any matrix"],
    "SGD: where it stops": [],
}
PROVED_IN = {box: chapter for chapter, boxes in _PROVES.items() for box in boxes}
"""The chapter that proves a box, by its title; a chapter has one colour in every tree."""


def proof_tree_figure(rows: list[list[str]], needs: dict[str, list[str]], proved: dict[str, str]) -> Figure:
    """A proof as a tree: the claim on top, a line from each box down to every box that its proof uses.

    rows: the boxes from the top down, each a text whose first line names it. needs: name ↦ names of what it uses.
    proved: name ↦ the chapter that proves it, one of `PROVED_IN`'s or of SGD's, which gives the box its colour.
    """
    figure, axis = new_schematic(5.4, 1.05 * len(rows) + 0.8)
    place = {}
    for depth, row in enumerate(rows):
        for column, text in enumerate(row):
            place[text.split("\n")[0]] = ((column - (len(row) - 1) / 2) * _spacing(row), -depth)
    for name, used in needs.items():
        for other in used:
            (x0, y0), (x1, y1) = place[name], place[other]
            axis.plot([x0, x1], [y0 - _BOX_HEIGHT / 2, y1 + _BOX_HEIGHT / 2], "-", color="#999999", lw=1.3, zorder=1)
    colours = {chapter: look.colour for look, chapter in kinds(_PROVES) if chapter in proved.values()}
    for row in rows:
        for text in row:
            name = text.split("\n")[0]
            x, y = place[name]
            edge = colours[proved[name]]
            axis.add_patch(_box(x, y, _BOX_WIDTH * _spacing(row), _BOX_HEIGHT, edge))
            lines = text.split("\n")
            for k, line in enumerate(lines):
                shift = ((len(lines) - 1) / 2 - k) * _LINE
                weight = "bold" if k == 0 else "normal"
                axis.text(x, y + shift, line, ha="center", va="center", fontsize=10.2, weight=weight, zorder=3)
    for chapter, colour in colours.items():
        axis.plot([], [], "s", color=colour, ms=10, label=chapter)
    width = max(len(row) for row in rows) / 2
    axis.set(xlim=(-width, width), ylim=(-len(rows) + 0.62, 0.35))
    figure.legend(loc="outside lower center", ncols=3, title="proved in", fontsize=10.2, title_fontsize=10.2)
    return figure


def _spacing(row: list[str]) -> float:
    """Columns a box may take: rows of one or two boxes have wider ones."""
    return 1.0 if len(row) > 2 else 1.6


def _box(x: float, y: float, width: float, height: float, edge: str) -> FancyBboxPatch:
    corner = (x - width / 2, y - height / 2)
    return FancyBboxPatch(
        corner, width, height, boxstyle="round,pad=0,rounding_size=0.08", fc="white", ec=edge, lw=2.2, zorder=2
    )


def halves_figure(ranks, own, lower, upper, rival, unit: float) -> Figure:
    """Own logits between their two bounds, and the best rivals, by rank; all over `unit`, medians of bins of ranks.

    ranks: (n,) increasing. own, lower, upper, rival: (n,) logits and bounds of single items. Bands: 80 % of a bin.
    """
    figure, (axis,) = new_axes(figsize=(5.0, 4.4))
    edges = np.unique(np.geomspace(ranks[0], ranks[-1] + 1, 28).round())
    label = np.searchsorted(edges, ranks, side="right")
    middle = [np.exp(np.log(ranks[label == b]).mean()) for b in np.unique(label)]
    lines = {
        r"upper bound, $\|u_i\|^2\|v_i\|^2q_i/\lambda$ and noise": (upper, "--"),
        "own logit": (own, "-"),
        "lower bound, Eq. (20)": (lower, "--"),
        "best rival": (rival, "-"),
    }
    for look, (name, (values, line)) in kinds(lines.items()):
        bins = [np.asarray(values)[label == b] / unit for b in np.unique(label)]
        low, median, high = np.transpose([np.quantile(one, (0.1, 0.5, 0.9)) for one in bins])
        axis.plot(middle, median, line, color=look.colour, lw=1.8, label=name)
        if line == "-":
            axis.fill_between(middle, low, high, color=look.colour, alpha=0.2, lw=0)
    frame(axis, "rank $i$", r"logit $\times\sqrt{d}$", log="x")
    axis.set_yscale("symlog", linthresh=1)
    axis.set_ylim(-1.2, 4 * np.max(own) / unit)
    key(axis, below=2)
    return figure


def prefixes_figure(dims: dict, measured: dict, predicted: dict, exponents: dict) -> Figure:
    """Longest recovered prefix over d^κ against d, one colour for each α: points measured, lines predicted.

    dims: α ↦ (n,). measured, predicted: α ↦ (n,). exponents: α ↦ κ.
    """
    figure, (axis,) = new_axes()
    for look, alpha in series(dims, r"$\alpha = {:g}$"):
        scale = np.asarray(dims[alpha], dtype=float) ** exponents[alpha]
        points(axis, dims[alpha], np.asarray(measured[alpha]) / scale, look, law=np.asarray(predicted[alpha]) / scale)
    frame(axis, "embedding dimension $d$", r"longest prefix / $d^{\,1+1/2\alpha}$", log="x", base=2, zero=True)
    name_lines(axis)
    return figure
