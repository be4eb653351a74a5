"""Pictures of the lab: records in, figures out."""

from matplotlib.figure import Figure

from amemlib.figures.style import GREY, frame, kinds, new_axes, points


def maximum_figure(record: dict) -> Figure:
    """The largest of n normals against n, on its prediction; dashed, the limiting law. Bars are two standard errors."""
    figure, (axis,) = new_axes()
    counts, measured, predicted = record["config"]["counts"], record["measured"], record["predicted"]
    ((look, _),) = kinds(["measured"], "{}")
    points(axis, counts, measured["maximum"], look, error=measured["maximum_error"], law=predicted["maximum"])
    axis.plot(counts, predicted["limit"], "--", color=GREY, lw=1.2, label="limit")
    frame(axis, "$n$", "largest of $n$ normals", log="x")
    axis.legend()
    return figure
