"""The only palette, and axes in the book's style.

Colours are Okabe and Ito's, which the colour-blind tell apart; every curve also has its own marker. Figures keep a
white ground, so they read the same on a light and on a dark page.
"""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from amemlib import runtime

COLOURS = {
    "polar": "#0072B2",
    "smoothed_sign": "#009E73",
    "sgd": "#D55E00",
    "newton": "#CC79A7",
    "cubic": "#E69F00",
    "muon": "#56B4E9",
    "theory": "#444444",
}
MARKERS = {"polar": "o", "smoothed_sign": "s", "sgd": "^", "newton": "D", "cubic": "v", "muon": "P"}
LABELS = {
    "polar": "Muon (polar)",
    "smoothed_sign": r"Muon ($h_\lambda$)",
    "sgd": "SGD",
    "newton": "Newton",
    "cubic": "cubic Newton–Schulz",
    "muon": "Muon as shipped (quintic)",
}
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colours for series that are not optimizers: values of α, of d, of the seed."""


def new_axes(n: int = 1, **kwargs) -> tuple[Figure, np.ndarray]:
    """A figure with a row of n axes in the book's style; `kwargs` go to `plt.subplots`. Returns (figure, (n,) axes)."""
    with mpl.rc_context(runtime.FIGURE_STYLE):
        kwargs.setdefault("figsize", (7.0 if n == 1 else 4.0 * n, 4.2 if n == 1 else 3.9))
        figure, axes = plt.subplots(1, n, squeeze=False, **kwargs)
    return figure, axes[0]


def log_log(axis, xlabel: str, ylabel: str, base: int = 2) -> None:
    """Logarithmic axes with their labels; x in powers of `base`."""
    axis.set_xscale("log", base=base)
    axis.set_yscale("log")
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)


def reference_line(axis, x, slope: float, through: tuple[float, float], label: str | None = None) -> None:
    """A dotted grey line y ∝ x^slope through one point: an exponent, drawn where its constant is not predicted."""
    x = np.asarray(x, dtype=float)
    axis.plot(x, through[1] * (x / through[0]) ** slope, ":", color=COLOURS["theory"], lw=1.2, label=label)
