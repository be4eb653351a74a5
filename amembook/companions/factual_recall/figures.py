"""Pictures of the study: stages of learning, capacities, networks on facts, times."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, optimizer, points, series
from amembook.run.base import arrays

_DOTS = 25


def stages_figure(curves: dict, laws: dict, n_answers: int) -> Figure:
    """Probability of the relation's answers together and of the right one, by step, a panel a curve; lines: the laws.

    curves, laws: title ↦ (steps, 3), loss and the two probabilities. Dotted: 1/D, who knows the relation alone.
    """
    figure, axes = new_axes(len(curves), sharey=True)
    names = ("an answer of the relation", "the right answer")
    for axis, (title, curve) in zip(axes, curves.items(), strict=True):
        shown = np.unique(np.linspace(0, len(curve) - 1, _DOTS).astype(int))
        for column, (look, name) in enumerate(kinds(names, "{}"), 1):
            axis.plot(shown, np.asarray(curve)[shown, column], look.marker, color=look.colour, label=name)
            axis.plot(np.asarray(laws[title])[: len(curve), column], color=look.colour, lw=1.2)
        axis.axhline(1 / n_answers, color=GREY, ls=":", lw=1.2, label="$1/D$")
        frame(axis, "step", "probability" if axis is axes[0] else "", title)
    axes[0].legend()
    return figure


def capacity_figure(linear: dict, mlp: dict) -> Figure:
    """Left: items that a trained linear memory holds, by its weights, on the law of its cones; dashed that of
    independent scores; a rival law through the first point. Right: N log N over the weights, of linear and MLP
    memories. Bars are two standard errors. linear, mlp: records."""
    figure, axes = new_axes(2)
    measured, predicted = linear["measured"]["linear"], linear["predicted"]["linear"]
    weights = np.square(linear["config"]["dims"])
    counts, error = (np.array(measured[key], dtype=float) for key in ("counts", "error"))
    looks = [look for look, _ in kinds(["linear memory", "MLP, width varied", "MLP, $d$ varied"], "{}")]
    laws = {"cones in $d$ dimensions": ("cones", "-"), "independent scores": ("counts", "--")}
    points(axes[0], weights, counts, looks[0], error=error)
    axes[0].plot(weights, counts[0] * weights / weights[0], ":", color=GREY, lw=1, label=r"$N\propto d^2$")
    points(axes[1], weights, counts * np.log(counts) / weights, looks[0], error=error * (np.log(counts) + 1) / weights)
    for name, (key, style) in laws.items():
        if key not in predicted:
            # younger than the first record
            continue
        law = np.array(predicted[key])
        axes[0].plot(weights, law, style, color=looks[0].colour, lw=1.2, label=name)
        axes[1].plot(weights, law * np.log(law) / weights, style, color=looks[0].colour, lw=1.2)
    frame(axes[0], "weights $d^2$", "items $N$ held", log="xy", base=2)
    axes[0].legend()
    held, config = mlp["measured"]["mlp"], mlp["config"]
    shapes = np.array(held["shapes"])
    counts, error = (np.array(held[key], dtype=float) for key in ("counts", "error"))
    for look, column, value in ((looks[1], 0, "mlp_dim"), (looks[2], 1, "mlp_width")):
        along = shapes[:, column] == config[value]
        n, size = counts[along], 2 * shapes[along].prod(1)
        points(axes[1], size, n * np.log(n) / size, look, error=error[along] * (np.log(n) + 1) / size)
    frame(axes[1], "weights", r"$N\log N$ / weights", log="x", base=2, zero=True)
    axes[1].legend(loc="lower right")
    return figure


def recall_figure(record: dict) -> Figure:
    """Share of facts recalled, by heads and width of the MLP: mean over draws, with its number."""
    figure, (axis,) = new_axes()
    config, share = record["config"], np.array(record["measured"]["accuracy"])
    image = axis.imshow(share, cmap="cividis", vmin=0, vmax=1, aspect="auto", origin="lower")
    for (row, column), value in np.ndenumerate(share):
        axis.text(column, row, f"{value:.2f}", ha="center", va="center", color="black" if value > 0.5 else "white")
    dim, inner = config["recall_dim"], config["head_dim"]
    axis.set_xticks(range(len(config["widths"])), [f"{m}: {2 * m * dim}" for m in config["widths"]])
    axis.set_yticks(range(len(config["heads"])), [f"{h}: {2 * h * inner * dim}" for h in config["heads"]])
    frame(axis, "width: weights of the MLP", "heads: weights to store")
    axis.grid(visible=False)
    figure.colorbar(image, label="share of facts recalled")
    return figure


def times_figure(record: dict) -> Figure:
    """Time of the facts over time of the relations, by subjects: gradient descent with learnt attention, a panel, and
    at fixed attention gradient descent and polar steps. Lines: predicted. Bars are two standard errors, where the
    record has them."""
    config, measured, predicted = record["config"], record["measured"]["flow"], record["predicted"]["flow"]
    figure, axes = new_axes(2, sharey=True)
    x = config["n_subjects"]
    for k, (look, _) in enumerate(series(config["n_answers"], "$D = {}$")):
        points(axes[0], x, measured["learnt"]["ratio"][k], look, law=predicted["learnt"]["ratio"][k])
        for name, label in (("sgd", "gradient descent"), ("polar", "Muon")):
            shown = optimizer(name)._replace(label=None if k else label)
            open_ = {"mfc": "white"} if k else {}
            error = arrays(measured[name]["ratio_error"])[k] if "ratio_error" in measured[name] else None
            law = predicted[name]["ratio"][k]
            points(axes[1], x, measured[name]["ratio"][k], shown, error=error, law=law, **open_)
    frame(axes[0], "subjects $S$", "time of facts / time of relations", "attention learnt", log="xy", base=2)
    frame(axes[1], "subjects $S$", "", "attention fixed", log="xy", base=2)
    for axis in axes:
        axis.axhline(1, color=GREY, lw=1, ls=":")
        name_lines(axis)
    return figure
