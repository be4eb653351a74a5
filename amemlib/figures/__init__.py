"""Records and arrays in, matplotlib figures out. Nothing is computed here and no number is typed into a picture.

One file a chapter; the palette is in `style`.
"""

from amemlib.figures.memory import counts_figure, frequencies_figure, overlap_figure
from amemlib.figures.one_step import capacity_by_alpha_figure, capacity_figure, local_slopes_figure, signal_figure

__all__ = [
    "capacity_by_alpha_figure",
    "capacity_figure",
    "counts_figure",
    "frequencies_figure",
    "local_slopes_figure",
    "overlap_figure",
    "signal_figure",
]
