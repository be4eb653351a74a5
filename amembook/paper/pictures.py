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
from amembook.figures.style import FIGURE_STYLE, GREY, frame, key, optimizer

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

    s: (d,) singular values. steps: name of the palette ↦ λ, in their unit. facts: names, as many as the contests of
    each step (`contest`) have.
    """
    figure, (above, below) = stacked_axes((5.0, 6.2))
    places, faders = np.arange(len(facts)), np.arange(len(FADERS))
    for k, (name, lam) in enumerate(steps.items()):
        look = optimizer(name)
        shown = loudness(s, lam)[np.array(FADERS) - 1]
        above.plot(faders, shown, look.marker + "-", color=look.colour, lw=0.8, ms=4, label=look.label)
        below.barh(places + 0.4 * k - 0.2, contests[name]["ratios"], 0.36, color=look.colour)
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


def stacked_axes(size: tuple[float, float], heights: tuple[float, float] = (1, 1)) -> tuple[Figure, np.ndarray]:
    """Two axes in the book's style, one above the other, as the live pictures stand at every width."""
    with mpl.rc_context(FIGURE_STYLE):
        return plt.subplots(2, 1, figsize=size, height_ratios=heights)
