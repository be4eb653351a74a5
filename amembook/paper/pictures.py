"""What the live pictures of the chapters show, and their still versions: the equalizer of a gradient.

A page moves them by a slider, from numbers that tools/pictures.py stores; notebook and paper show some of its places.
"""

from math import inf

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

import amemlib as am
from amembook.figures.style import FIGURE_STYLE, GREY, PALE, frame, key, new_axes, optimizer

FADERS = tuple(sorted({round(1 + 255 * (k / 39) ** 2) for k in range(40)}))
"""Which of 256 singular values have a fader: the loudest one by one, the many quiet ones every dozen."""


def loudness(s: Float[Tensor, " d"], lam: float) -> Float[Tensor, " d"]:
    """How loud the step h_λ makes the direction of each singular value, beside Muon's 1 for all of them.

    Steps of one size are compared: the squares of all d add up to d. SGD is λ = ∞, Muon is λ = 0.
    """
    f = s if lam == inf else s / torch.hypot(s, torch.tensor(lam, dtype=s.dtype))
    return f * (len(s) ** 0.5 / f.norm())


def contest(W: Float[Tensor, "d d"], emb: am.Embeddings, ranks: tuple[int, ...]) -> dict[str, list]:
    """Own logit over the loudest rival's for the facts of these ranks, and the rank of the answer that wins each."""
    asked = torch.tensor(ranks) - 1
    logits = (emb.V[asked].double() @ W.double().T) @ emb.U.double().T
    rows = torch.arange(len(ranks))
    own, winners = logits[rows, asked], logits.argmax(1) + 1
    logits[rows, asked] = -inf
    return {"ratios": (own / logits.amax(1)).tolist(), "winners": winners.tolist()}


def equalizer_figure(s, steps: dict, facts: list[str], contests: dict, dim: int) -> Figure:
    """Above: the loudness of each direction under several steps. Below: own logit over the loudest rival's.

    s: (d,) singular values. steps: name of the palette ↦ λ, in their unit, or the (d,) values of another step.
    facts: names, as many as the contests of each step (`contest`) have.
    """
    figure, (above, below) = stacked_axes((5.0, 6.2))
    places, faders = np.arange(len(facts)), np.arange(len(FADERS))
    for k, (name, lam) in enumerate(steps.items()):
        look, height = optimizer(name), 0.8 / len(steps)
        heights = loudness(s, lam) if isinstance(lam, float) else loudness(lam, inf)
        shown = heights[np.array(FADERS) - 1]
        above.plot(faders, shown, look.marker + "-", color=look.colour, lw=0.8, ms=4, label=look.label)
        beside = places + height * (k - (len(steps) - 1) / 2)
        below.barh(beside, contests[name]["ratios"], 0.9 * height, color=look.colour)
    frame(above, f"singular value, of {dim}, the loudest first", "loudness of its direction", log="y")
    ticks = [*faders[:-1:8], faders[-1]]
    above.set_xticks(ticks, [str(FADERS[k]) for k in ticks])
    above.set_ylim(bottom=1e-6)
    below.axvline(1, color=GREY, lw=1, ls="--")
    below.set_yticks(places, facts)
    below.invert_yaxis()
    frame(below, "own logit / loudest rival’s")
    key(above)
    return figure


def tide(problem: am.Problem, emb: am.Embeddings, batch_size: int, seed: int) -> dict:
    """One batch: its `frequencies`; the `states` (N,) of the facts, 0 not seen, 1 seen, 2 recalled by one step of Muon;
    how many are `seen`, and how many one step recalls, of `polar` and of `sgd`.
    """
    q = am.sample_minibatch(problem, batch_size, seed)
    G = am.initial_gradient(emb, q)
    recalled = am.recovered(am.polar(G, am.gradient_rank(emb, q)), emb).cpu()
    states = torch.where(recalled, 2, (q > 0).long())
    counts = {"seen": (q > 0).sum().item(), "polar": recalled.sum().item(), "sgd": am.capacity(G, emb)}
    return counts | {"frequencies": q, "states": states}


def tide_figure(tides: dict, first: int, columns: int, exponent: float) -> Figure:
    """Facts as dots, the most frequent first and row by row, a panel a batch: seen ones hollow, recalled ones full.
    As tall as its rows.

    tides: batch size ↦ `tide`. first: how many facts are shown. exponent: a line, named B^{1/α}, after B^exponent.
    """
    with mpl.rc_context(FIGURE_STYLE):
        height = 0.1 * first / columns + 0.5
        figure, axes = plt.subplots(len(tides), 1, figsize=(6.4, height * len(tides)))
    look, order = optimizer("polar"), np.arange(first)
    for axis, (size, drawn) in zip(axes, tides.items(), strict=True):
        states, (row, column) = drawn["states"][:first].numpy(), divmod(order, columns)
        for state, style in enumerate(
            ({"color": PALE, "ms": 1}, {"color": look.colour, "mfc": "none"}, {"color": look.colour})
        ):
            axis.plot(column[states == state], row[states == state], "o", **{"ms": 3, "mew": 0.7} | style)
        down, across = divmod(round(size**exponent), columns)
        if size**exponent < first:
            axis.step(
                [-0.5, across - 0.5, columns - 0.5], np.array([down + 1, down + 1, down]) - 0.5, color=GREY, lw=1.2
            )
            axis.annotate(
                r"$B^{1/\alpha}$", (columns - 0.5, down - 0.5), (3, 0), textcoords="offset points", va="center"
            )
        axis.set_title(
            f"{size:,} samples show {drawn['seen']:,} facts, Muon recalls {drawn['polar']:,}, SGD {drawn['sgd']:,}",
            fontsize=11,
        )
        axis.invert_yaxis()
        axis.set_axis_off()
    return figure


def staircase(alpha: float, steps: int) -> dict[str, list[float]]:
    """The exponents κ_0, …, κ_steps of Theorems 9 and 10: SGD starts at 0, smoothed Muon at the landing, 1."""
    paths = {"sgd": [0.0], "smoothed_sign": [1.0]}
    for method, path in zip(("sgd", "muon"), paths.values(), strict=True):
        path += [am.theory.recovery_exponent(method, alpha, step) for step in range(1, steps + 1)]
    return paths


def staircase_figure(paths: dict, alpha: float) -> Figure:
    """The exponent of the recalled facts after each step, as stairs. paths: name ↦ (κ_0, …, κ_T)."""
    figure, (axis,) = new_axes()
    for name, path in paths.items():
        look, steps = optimizer(name, {"smoothed_sign": "smoothed Muon"}.get(name)), np.arange(len(path))
        axis.step([-0.5, *(steps + 0.5)], [path[0], *path], color=look.colour, lw=1.8, label=look.label)
    for level, words, at, side in (
        (1, "$d$ facts", steps[-1] + 0.5, "right"),
        (2, "$d^2$ facts", -0.5, "left"),
    ):
        axis.axhline(level, color=GREY, lw=0.8, ls="--")
        axis.annotate(words, (at, level), (0, -12), textcoords="offset points", ha=side, fontsize=10)
    frame(axis, "steps", r"exponent $\kappa$ of $d^\kappa$ facts", rf"$\alpha = {alpha:g}$", zero=True)
    axis.set_xticks(steps)
    key(axis, loc="lower right")
    return figure


def stacked_axes(size: tuple[float, float], heights: tuple[float, float] = (1, 1)) -> tuple[Figure, np.ndarray]:
    """Two axes in the book's style, one above the other, as the live pictures stand at every width."""
    with mpl.rc_context(FIGURE_STYLE):
        return plt.subplots(2, 1, figsize=size, height_ratios=heights)
