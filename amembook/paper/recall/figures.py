"""Pictures of in-context recall: sequences, the induction head, training runs, and the sweeps of Figures 6, 7 and 8."""

from functools import partial
from string import ascii_lowercase

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from amembook.figures.style import (
    GREY,
    device_points,
    frame,
    key,
    kinds,
    name_lines,
    new_axes,
    optimizer,
    points,
    reference_line,
)

OPTIMIZERS = {
    "muon": optimizer("muon", "Muon"),
    "exact_muon": optimizer("polar", "Muon, exact polar map"),
    "adamw": optimizer("adamw"),
    "sgd": optimizer("sgd"),
    "sgd_matrices": optimizer("sgd", "SGD, vectors by AdamW")._replace(marker="D"),
}
METRICS = {
    "ood": "accuracy, uniform law",
    "id": "accuracy, training law",
    "recall": "outputs recalled by $W_V$",
    "previous": "block 1: attention on the token before",
    "match": "block 2: attention on the place to copy",
    "loss": "training loss (nats)",
}


def sequences_figure(tokens, queries, sources, n_items: int) -> Figure:
    """Rows of tokens as boxes: each pair in its colour, noise pale, the questions with a heavy frame.

    tokens: (B, L) token numbers. queries, sources: (B, K) as in `tasks.Sequences`. A trigger is written a, b, c … by
    its rank (t27 after z), an output by its rank as a number.
    """
    tokens, queries, sources = (np.asarray(part) for part in (tokens, queries, sources))
    rows, length = tokens.shape
    figure, (axis,) = new_axes(figsize=(5.0, 0.36 * rows + 0.6))
    for row in range(rows):
        colour_of = {}
        for look, (query, source) in kinds(zip(queries[row], sources[row], strict=True)):
            colour_of |= dict.fromkeys((source - 1, source, query, query + 1), look.colour)
        for place, token in enumerate(tokens[row]):
            colour, box = colour_of.get(place), ((place - 0.46, row - 0.42), 0.92, 0.84)
            if colour:
                axis.add_patch(Rectangle(*box, facecolor=colour, alpha=0.28, lw=0))
            if place - 1 in queries[row]:
                axis.add_patch(Rectangle(*box, fill=False, lw=1.6))
            trigger = ascii_lowercase[token] if token < len(ascii_lowercase) else f"t{token + 1}"
            text = trigger if token < n_items else str(token - n_items + 1)
            axis.text(place, row, text, ha="center", va="center", fontsize=10, color="black" if colour else "0.45")
    axis.set_xlim(-0.7, length - 0.3)
    axis.set_ylim(rows - 0.4, -0.6)
    axis.set_yticks([])
    frame(axis, "position")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(False)
    axis.spines["left"].set_visible(False)
    return figure


def built_head_figure(dims, accuracies: dict, limit: float) -> Figure:
    """Accuracy of the head built by hand against d; accuracies: label ↦ (len(dims), seeds). `limit`: a marked d."""
    figure, (axis,) = new_axes()
    for look, (label, values) in kinds(accuracies.items()):
        values = np.asarray(values)
        axis.fill_between(dims, values.min(1), values.max(1), color=look.colour, alpha=0.2, lw=0)
        points(axis, dims, values.mean(1), look, fmt=look.marker + "-", label=label)
    axis.axvline(limit, color=GREY, ls=":", lw=1.2, label="as many dimensions\nas vectors")
    frame(axis, "dimension $d$", "accuracy, uniform law", log="x", base=2)
    axis.set_xticks(list(dims), [str(dim) for dim in dims])
    places = {"dual vectors": (1, (8, -6)), "plain outer products": (3, (20, -10))}
    name_lines(axis, places=places | {"as many dimensions\nas vectors": (0, (6, 16))})
    return figure


def value_step_figure(probability, mask) -> Figure:
    """Recall by rank after one step of SGD on W_V alone: the predicted probability, and the share of the draws.

    probability: (n,) predicted. mask: (draws, n) of 0 and 1.
    """
    figure, (axis,) = new_axes()
    share = np.asarray(mask, dtype=float).mean(0)
    ranks = np.arange(1, len(share) + 1)
    points(axis, ranks, share, optimizer("sgd", "in the network"), ms=4)
    axis.plot(ranks, probability, "-", color=GREY, lw=1.2, label="linear theory")
    frame(axis, "rank of the output", "share of draws that recall it", log="x")
    key(axis)
    return figure


def recall_dims_figure(record: dict) -> Figure:
    """Figure 6 at the end of the budget: ID and OOD accuracy against d, with 95 % intervals."""
    figure, axes = new_axes(2, sharey=True)
    for axis, metric in zip(axes, ("id", "ood"), strict=True):
        _with_intervals(axis, record, "dims", metric, "dims")
        _metric(axis, metric, "dimension $d$", log="x")
        name_lines(axis)
    axes[0].set_ylabel("accuracy")
    return figure


def recall_batches_figure(record: dict) -> Figure:
    """Figure 7: OOD accuracy and memory recall of W_V against the batch size, at the budget; 95 % intervals."""
    figure, axes = new_axes(2, sharey=True)
    for axis, metric in zip(axes, ("ood", "recall"), strict=True):
        _with_intervals(axis, record, "batch_sizes", metric, "batch_sizes")
        _metric(axis, metric, "batch size $B$", log="x")
    key(axes[0], loc="upper left")
    return figure


def recall_alphas_figure(record: dict) -> Figure:
    """Figure 8: OOD accuracy at the budget against the exponent of the outputs and of the triggers; 95 % intervals."""
    figure, axes = new_axes(2, sharey=True)
    labels = {"output_alphas": r"exponent $\alpha_o$ of the outputs"}
    labels |= {"trigger_alphas": r"exponent $\alpha_q$ of the triggers"}
    for axis, (where, label) in zip(axes, labels.items(), strict=True):
        _with_intervals(axis, record, "alphas", "ood", where)
        _metric(axis, "ood", label)
        axis.set_title("")
    axes[0].set_ylabel(METRICS["ood"])
    key(axes[0], loc="lower left")
    return figure


def long_runs_figure(record: dict, where: str = "base", metrics=("ood", "id")) -> Figure:
    """Curves to the end of the long runs, mean and range over the seeds; dotted: the budget of the comparison."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(len(metrics))
    for axis, metric in zip(axes, metrics, strict=True):
        for name, (seeds,) in measured["curves"][where][metric].items():
            steps = measured["probed"][: min(map(len, seeds))]
            values = np.array([seed[: len(steps)] for seed in seeds])
            colour, label = OPTIMIZERS[name].colour, OPTIMIZERS[name].label
            axis.fill_between(steps, values.min(0), values.max(0), color=colour, alpha=0.2, lw=0)
            axis.plot(steps, values.mean(0), color=colour, label=label)
        axis.axvline(config["steps"], color=GREY, ls=":", lw=1)
        _metric(axis, metric, "step")
    key(axes[0])
    return figure


def learnt_figure(record: dict, slopes: dict, where: str = "heavy_outputs") -> Figure:
    """The step from which W_V recalls an output for good, against its rank, a panel for each optimizer of `slopes`.

    Points: seeds; those never learnt lie on the upper edge, open. slopes: optimizer ↦ exponent of the dotted line that
    the linear theory draws through the median of the first outputs.
    """
    learnt, probed = record["measured"]["learnt"][where], record["measured"]["probed"]
    figure, axes = new_axes(len(slopes), sharey=True)
    for axis, (name, slope) in zip(axes, slopes.items(), strict=True):
        seeds = learnt[name]
        look, ranks = OPTIMIZERS[name], np.arange(1, len(seeds[0]) + 1)
        for seed in seeds:
            steps = np.array([np.nan if step is None else max(step, probed[1]) for step in seed], dtype=float)
            axis.plot(ranks, steps, look.marker, color=look.colour, ms=3.5)
            never = ranks[np.isnan(steps)]
            open_ = {"color": look.colour, "mfc": "white", "ms": 3.5, "mew": 0.7}
            axis.plot(never, np.full(len(never), 1.25 * probed[-1]), look.marker, **open_)
        first = np.nanmedian([step for seed in seeds for step in seed[:4] if step is not None] or [np.nan])
        label = f"linear theory: slope {slope:g}"
        # a flat line that lay on the first look's would not be seen
        reference_line(axis, ranks, slope, (2, max(first, (1 if slope else 1.5) * probed[1])), label)
        # where no points are: a flat line runs along the lower edge
        key(axis, loc=(0.36, 0.2) if slope else "upper right")
        looked = (probed[1], f"first look, step {probed[1]}", "top"), (probed[-1], "end of training", "bottom")
        for step, words, side in looked:
            axis.axhline(step, color=GREY, lw=0.8, zorder=0)
            axis.annotate(words, (1, step), (0, -3 if side == "top" else 3), textcoords="offset points", va=side)
        frame(axis, "rank of the output", title=look.label, log="xy")
        axis.set_ylim(0.7 * probed[1], 1.7 * probed[-1])
    for axis in axes[::2]:
        axis.set_ylabel("step from which it is recalled")
    return figure


def recall_capacity_figure(record: dict, dim: int) -> Figure:
    """Outputs that W_V recalls where n ≫ d. Left: at the end, vectors fixed, against d, beside the linear memory's
    counts; open: Muon's with long unembeddings. Right: against the step at one `dim`; means and ranges of the seeds.
    """
    config, measured, law = record["config"], record["measured"], record["predicted"]["counts"]
    figure, (over_d, over_steps) = new_axes(2)
    dims = config["fixed_dims"]
    for name, counts in measured["counts"]["fixed"].items():
        points(over_d, dims, np.maximum(counts, 1), OPTIMIZERS[name])
    (counts,) = measured["counts"]["long"].values()
    points(over_d, dims, np.maximum(counts, 1), OPTIMIZERS["muon"], mfc="white", label="Muon, long unembeddings")
    lines = {
        "many steps of Muon": ("many_steps", "--"),
        "one step of Muon": ("one_step", "-"),
        "one of SGD": ("sgd", ":"),
    }
    for label, (rule, line) in lines.items():
        over_d.plot(dims, law[rule], line, color=GREY, lw=1.2, label=label)
    title = "vectors fixed; grey: linear memory"
    frame(over_d, "dimension $d$", f"outputs recalled, of {config['n_items']}", title, log="xy", base=2)
    over_d.set_xticks(dims, [str(one) for one in dims])
    many, one, sgd = lines
    name_lines(over_d, places={many: (1, (-4, 12)), one: (2, (-4, -34)), sgd: (2, (-20, -24))})
    key(over_d, below=4)
    styles = {"trained": ("-", "trained"), "fixed": ("--", "fixed"), "long": (":", "fixed, long")}
    for vectors, (line, label) in styles.items():
        for name, rows in measured["curves"][vectors].items():
            curves = rows[config["dims" if vectors == "trained" else "fixed_dims"].index(dim)]
            # a run that diverged has fewer probes
            count = min(map(len, curves))
            values, steps = np.array([curve[:count] for curve in curves]), measured["probed"][:count]
            colour = OPTIMIZERS[name].colour
            over_steps.fill_between(steps, values.min(0), values.max(0), color=colour, alpha=0.2, lw=0)
            over_steps.plot(steps, values.mean(0), line, color=colour)
            if name == "muon":
                # the dotted curve has its word above it, the dashed one below
                up = 1.15 if vectors != "fixed" else 0.85
                over_steps.text(steps[-1], up * values.mean(0)[-1], label, ha="right", va="bottom" if up > 1 else "top")
    frame(over_steps, "step", "outputs recalled", title=f"$d={dim}$, by what the vectors are")
    over_steps.set_yscale("symlog", linthresh=10)
    over_steps.set_ylim(0, 2 * config["n_items"])
    return figure


def _with_intervals(axis, record: dict, field: str, metric: str, where: str) -> None:
    """Means over the seeds at the budget with their 95 % intervals, as far as a share goes, and each seed as a dot,
    against a field of the config. The optimizers stand side by side.
    """
    for name, means in record["measured"][metric][where].items():
        if len(means) == len(record["config"][field]):
            look, read = OPTIMIZERS[name], partial(_means, field, metric, where, name)
            device_points(axis, record, read, look, fmt=look.marker + "-", capsize=0, lw=1.3)
            for place, draws in zip(*_seeds(field, metric, where, name, record), strict=True):
                axis.plot([place] * len(draws), draws, ".", color=look.colour, ms=4, alpha=0.6)


def _means(field: str, metric: str, where: str, name: str, record: dict) -> dict:
    """Means and intervals of an optimizer, within [0, 1]; a point without runs is left out."""
    measured = record["measured"]
    x = _beside(field, metric, where, name, record)
    rows = zip(x, measured[metric][where][name], measured[f"half_{metric}"][where][name], strict=True)
    kept = np.reshape([(x, mean, half or 0.0) for x, mean, half in rows if mean is not None], (-1, 3))
    places, values, half = kept.T
    ends = np.stack([np.maximum(values - half, 0), np.minimum(values + half, 1)], 1)
    return {"x": places, "draws": values, "interval": ends}


def _seeds(field: str, metric: str, where: str, name: str, record: dict) -> tuple[list, list]:
    """Where an optimizer's points stand, and the seeds of each."""
    x, measured = _beside(field, metric, where, name, record), record["measured"]
    rows = zip(x, measured[metric][where][name], measured[f"seed_{metric}"][where][name], strict=True)
    kept = [(x, seeds) for x, mean, seeds in rows if mean is not None]
    return [x for x, _ in kept], [seeds for _, seeds in kept]


def _beside(field: str, metric: str, where: str, name: str, record: dict) -> np.ndarray:
    """The places of an optimizer's points, a little beside those of the others."""
    x = np.asarray(record["config"][field])
    logarithmic = x.min() > 0
    step = 0.06 * np.ptp(np.log2(x) if logarithmic else x) / 3
    shift = step * (list(record["measured"][metric][where]).index(name) - 1)
    return x * 2.0**shift if logarithmic else x + shift


def _metric(axis, metric: str, x: str, **scales) -> None:
    """Axes of one metric: its name as the title, and the range of a share unless it is the loss."""
    frame(axis, x, title=METRICS[metric], base=2, **scales)
    if metric != "loss":
        axis.set_ylim(-0.03, 1.03)
