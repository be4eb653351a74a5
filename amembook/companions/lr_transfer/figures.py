"""Pictures: losses and best rates of the memory, and what a sketch's rate costs beside what width gains."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, new_axes, optimizer, points, reference_line, series


def rates_figure(record: dict) -> Figure:
    """Left: loss of one Muon step by c = η/√d and d, on the law, at the last α. Right: the best c by d, of Muon on the
    law and of SGD; dotted, a rate that does not depend on d. Bars: two standard errors."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    c, dims = 2.0 ** np.array(config["log_rates"]), np.array(config["dims"], dtype=float)
    last = str(config["alphas"][-1])
    told, law = measured["polar"][last], predicted["polar"][last]
    for n, (look, _) in enumerate(series(config["dims"], "$d={}$")):
        error = np.array(told["loss_error"][n], dtype=float)
        points(axes[0], c, told["loss"][n], look, error=error, law=law["loss"][n], ms=4)
    frame(axes[0], r"$c=\eta/\sqrt{d}$", "loss (nats)", rf"Muon, $\alpha={last}$", log="xy", base=2)
    axes[0].set_ylim(top=60)
    axes[0].legend(ncols=2)
    for name, label in (("sgd", "SGD"), ("polar", "Muon")):
        for alpha, line in zip(config["alphas"], ("o", "s"), strict=False):
            told = measured[name][str(alpha)]
            best = 2.0 ** np.array(told["best"], dtype=float)
            error = best * np.log(2) * np.array(told["best_error"], dtype=float)
            look = optimizer(name, rf"{label}, $\alpha={alpha}$")._replace(marker=line)
            law = 2.0 ** np.array(predicted[name][str(alpha)]["best"]) if name == "polar" else None
            points(axes[1], dims, best, look, error=error, law=law)
    start = 2.0 ** measured["polar"][last]["best"][0]
    reference_line(axes[1], dims, -0.5, (dims[0], start), r"$\eta$ free of $d$")
    frame(axes[1], "dimension $d$", r"best $c=\eta^*/\sqrt{d}$", log="xy", base=2)
    axes[1].set_yscale("log", base=2)
    key(axes[1], below=3)
    return figure


def sketch_figure(record: dict) -> Figure:
    """Medians by width of the sketch: what is lost by it (gap) and what its best rate costs without it, after the first
    and the last number of steps; dotted, exponents of one half and one."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    widths = np.array(config["widths"], dtype=float)
    for axis, steps, slopes in zip(axes, (config["steps"][0], config["steps"][-1]), ((0.5, 1), (1, 0.5)), strict=True):
        told = measured["sketch"][str(steps)]
        for (look, name), slope in zip(kinds(("gap", "transfer")), slopes, strict=True):
            label = {"gap": "gap to the limit", "transfer": "cost of the rate"}[name]
            axis.plot(widths, told[name], look.marker, color=look.colour, label=label)
            reference_line(axis, widths, -slope, (widths[0], told[name][0]))
        title = f"{steps} step{'s' if steps > 1 else ''}"
        frame(axis, "width of the sketch $n$", "loss", title, log="xy", base=2)
    axes[0].plot([], [], ":", color=GREY, lw=1.2, label="exponents ½ and 1")
    key(axes[0])
    return figure
