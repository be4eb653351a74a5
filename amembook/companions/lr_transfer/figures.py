"""The pictures: what a sketch's rate costs beside what width gains."""

import numpy as np
from matplotlib.figure import Figure

from amembook.companions.lr_transfer import expected
from amembook.figures.style import GREY, frame, key, kinds, log_middles, new_axes, points, series


def sketch_figure(record: dict, laws: dict[int, dict]) -> Figure:
    """Medians by width of the sketch: what it loses (gap) and what its best rate costs without it (transfer), after
    the first and the last number of steps. laws: steps ↦ {"gap": …, "transfer": …}, by width, drawn as lines."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    for axis, steps in zip(axes, (config["steps"][0], config["steps"][-1]), strict=True):
        medians = measured["sketch"][str(steps)]
        for look, name in kinds(("gap", "transfer")):
            label = {"gap": "gap to the limit", "transfer": "cost of the rate"}[name]
            points(axis, config["widths"], np.array(medians[name]), look._replace(label=label), law=laws[steps][name])
        frame(axis, "width of the sketch $n$", "loss", f"{steps} step{'s' * (steps > 1)}", log="xy", base=2)
        axis.set_ylim(1e-3, 0.3)
    key(axes[0])
    return figure


def turn_figure(record: dict) -> Figure:
    """Wide sketches. Left: medians of gap and cost by width after the most steps, the cost on the law of the largest
    eigenvalue, the gap on that of its two moments; dotted, T². Right: by how much the cost's local exponent exceeds the
    gap's, by the width over T², on those laws."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    widths, most = np.array(config["wide_widths"], dtype=float), str(config["wide_steps"][-1])
    own, laws, sizes = measured["wide"][most], predicted["wide"], (config["wide_features"], config["decay"])
    gaps = {steps: expected.gaps(widths, *sizes, steps) for steps in config["wide_steps"]}
    for (look, name), line in zip(kinds(("gap", "cost")), (gaps[int(most)], laws[most]["cost"]), strict=True):
        label = {"gap": "gap to the limit", "cost": "cost of the rate"}[name]
        points(axes[0], widths, np.array(own[name]), look._replace(label=label), law=line)
    axes[0].axvline(int(most) ** 2, color=GREY, ls=":", lw=1.2)
    frame(axes[0], "width of the sketch $n$", "loss", f"{most} steps", log="xy", base=2)
    axes[0].legend()
    for look, steps in series(config["wide_steps"], "$T={}$"):
        local = (np.array(measured["wide"][str(steps)][f"{name}_exponents"]) for name in ("cost", "gap"))
        cost, gap = local
        law = np.array(laws[str(steps)]["cost_exponents"]) - expected.local_exponents(widths, gaps[steps])
        points(axes[1], log_middles(widths) / steps**2, cost - gap, look, law=law)
    for level in (0, 0.5):
        axes[1].axhline(level, color=GREY, ls=":", lw=1.2)
    frame(axes[1], "width over squared steps, $n/T^2$", "exponent of the cost less the gap's", log="x", base=2)
    axes[1].legend()
    return figure
