"""Pictures of the true iterates: exponents by the number of steps, residual weights, races."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, alpha_of, frame, key, kinds, name_lines, new_axes, optimizer, points, series


def iterates_exponents_figure(records: list[dict], low: float, high: float) -> Figure:
    """Figure 4(e): fitted exponent against T with 95 % intervals, one α a panel.

    True iterates, thresholded iterates and their sharp counts at the same sizes, κ_T, and the band [κ_T − low,
    κ_T + high] that the Conjecture was first held to.
    """
    figure, axes = new_axes(len(records), sharey=True)
    series_ = ((-0.06, "true iterates", "", None), (0.06, r"thresholded, $\theta$ fixed", "thresholded_", "sharp"))
    for axis, record in zip(axes, records, strict=True):
        measured, predicted = record["measured"], record["predicted"]
        limit = np.array([*predicted["slope"].values()])
        steps = np.arange(1, len(limit) + 1)
        axis.fill_between(steps, limit - low, limit + high, color=GREY, alpha=0.12, lw=0, label="the bar")
        axis.plot(steps, limit, ":", color=GREY, label=r"$\kappa_T$, Theorem 9")
        for look, (shift, label, kind, line) in kinds(series_):
            slope, interval = ([*measured[kind + field].values()] for field in ("slope", "interval"))
            points(axis, steps + shift, slope, look, interval=interval, label=label, capsize=3)
            if line:
                law = [*predicted["thresholded_slope"].values()]
                axis.plot(steps, law, "-", color=look.colour, lw=1.2, label=f"thresholded, {line}")
        frame(axis, "steps $T$", title=alpha_of(record))
        axis.set_xticks(steps)
    for axis in axes[::2]:
        axis.set_ylabel("fitted exponent of $d$")
    key(axes[0], below=2)
    return figure


def residual_profile_figure(record: dict, edges, thresholds: dict) -> Figure:
    """Mean of 1 − p̂_ii by rank after each step, one panel for each d; dotted: where the recursion's 0/1 would jump.

    edges: (b + 1,) first ranks of the bins and N + 1. thresholds: d ↦ (T,) d_1, …, d_T.
    """
    figure, axes = new_axes(len(thresholds), sharey=True)
    centres = np.sqrt(np.asarray(edges[:-1], dtype=float) * np.maximum(np.asarray(edges[1:], dtype=float) - 1, 1))
    for axis, (dim, removed) in zip(axes, thresholds.items(), strict=True):
        rows = record["measured"]["profile"][record["config"]["dims"].index(dim)]
        for step, (look, (row, d_t)) in enumerate(series(zip(rows, removed, strict=True)), 1):
            points(axis, centres, row, look, fmt=look.marker + "-", lw=1, ms=3.5, label=f"after step {step}")
            axis.axvline(d_t, color=look.colour, ls=":", lw=1.2)
        frame(axis, "rank $i$", title=f"$d = {dim}$", log="x")
    axes[0].set_ylabel(r"residual weight $1-\hat p_{ii}$")
    key(axes[0], below=5)
    return figure


def learning_rate_figure(record: dict) -> Figure:
    """Counts against η/√d after 1, …, T steps, and how many of the d most frequent items are recovered."""
    config, measured = record["config"], record["measured"]
    figure, (left, right) = new_axes(2)
    panels = {"scan_counts": (left, "recovered items"), "scan_head": (right, "of the $d$ most frequent")}
    for name, (axis, label) in panels.items():
        for look, step in series(range(1, config["steps"] + 1), "$T = {}$"):
            points(axis, config["rates"], np.array(measured[name])[:, step - 1], look, fmt=look.marker + "-", lw=1)
        frame(axis, r"learning rate $\eta/\sqrt{d}$", label, log="x", base=2, zero=True)
    key(left, below=5)
    return figure


def race_laws_figure(record: dict) -> Figure:
    """A record of `race`: counts of Muon and of gradient descent against the step, lines are what predicts each.

    One α a panel, two standard errors of the draws.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(len(config["alphas"]), sharey=True)
    steps = range(1, config["steps"] + 1)
    looks = {"muon": optimizer("polar", "Muon"), "descent": optimizer("sgd", "gradient descent")}
    for k, (axis, alpha) in enumerate(zip(axes, config["alphas"], strict=True)):
        for name, look in looks.items():
            error, law = measured[f"{name}_errors"][k], predicted[name][k]
            points(axis, steps, measured[name][k], look, error=error, law=law, ms=4)
        frame(axis, "step $T$", title=rf"$\alpha = {alpha:g}$")
        axis.xaxis.get_major_locator().set_params(integer=True)
    # the panels share their limits, so the last word comes when all of them are drawn
    axes[0].set_ylim(bottom=0)
    for axis in axes[::2]:
        axis.set_ylabel("recovered items")
    name_lines(axes[0], places={"Muon": (3, (-6, 8)), "gradient descent": (8, (6, -14))})
    key(axes[0], {"predicted": "-"}, below=2)
    return figure


def domain_figure(record: dict) -> Figure:
    """A record of `iterates-domain`: counts against T, lines what predicts them, one rate a panel; hollow and dashed at
    the smaller d. Two standard errors.
    """
    config, law = record["config"], np.array(record["predicted"]["counts"])
    counts, looks = np.array(record["measured"]["counts"]), np.array(config["looks"])
    figure, axes = new_axes(len(config["rates"]), 3, sharey=True, figsize=(8.0, 3.8))
    for axis, rate, drawn, expected in zip(axes, config["rates"], counts, law, strict=True):
        for k, (look, _) in enumerate(series(config["alphas"], r"$\alpha = {:g}$")):
            for which, dim in enumerate(config["dims"]):
                small = dim < max(config["dims"])
                style = {"mfc": "white", "label": None} if small else {"label": look.label}
                points(axis, looks, drawn[k, which].T, look, ms=4.5, **style)
                axis.plot(looks, expected[k, which], "--" if small else "-", color=look.colour, lw=1.2)
        frame(axis, "steps $T$", title=rf"$\eta = {rate:g}\sqrt{{d}}$", log="x")
        axis.set_xticks(looks, looks)
        axis.minorticks_off()
    # the panels share their limits, so the last word comes when all of them are drawn
    axes[0].set_ylim(bottom=0)
    axes[0].set_ylabel("recovered items")
    small, large = sorted(config["dims"])
    key(axes[0], {f"$d = {large}$": "-", f"$d = {small}$, hollow": "--"}, below=5)
    return figure


def ratio_figure(record: dict) -> Figure:
    """A record of `iterates-ratio`: true over thresholded counts against d, a number of steps a series, two standard
    errors of the draws; lines: the same of what predicts both.
    """
    config, measured, law = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes()
    ratios = [
        np.array(true) / thresholded
        for part in ("below", "last")
        for true, thresholded in zip(measured[f"{part}_true"], measured[f"{part}_thresholded"], strict=True)
    ]
    expected = np.array(law["true"]) / law["thresholded"]
    for look, step in series(range(1, config["steps"] + 1), "$T = {}$"):
        means = [one[:, step - 1].mean() for one in ratios]
        errors = [one[:, step - 1].std(ddof=1) / len(one) ** 0.5 for one in ratios]
        points(axis, config["dims"], means, look, error=errors, law=expected[:, step - 1])
    frame(axis, "dimension $d$", "true count / thresholded count", log="x", base=2)
    axis.set_xticks(config["dims"], config["dims"])
    axis.minorticks_off()
    key(axis, {"recursion and formula": "-"}, below=3)
    return figure


def minibatch_iterates_figure(record: dict) -> Figure:
    """Figure 5(b): recovered items against samples seen, a curve a batch size; lines: distinct items expected.

    Left without momentum, right with the largest of the record's momenta.
    """
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2, sharey=True)
    titles = {"batches": "no momentum", "batches_momentum": f"momentum {max(config['momenta']):g}"}
    for axis, (name, title) in zip(axes, titles.items(), strict=True):
        for k, (look, size) in enumerate(series(config["batch_sizes"], "$B = {}$")):
            samples = size * np.arange(1, config["batch_steps"] + 1)
            points(axis, samples, measured[name][k], look)
            axis.plot(samples, record["predicted"]["observed"][k], "-", color=GREY, lw=1.2)
        frame(axis, "samples seen, $Bt$", title=title, log="xy")
    axes[0].set_ylabel("recovered items")
    key(axes[0], {"distinct items expected": "-"}, below=3)
    return figure


def momentum_figure(record: dict) -> Figure:
    """Left: counts against the step at the largest d, one curve a momentum. Right: fitted exponents, dotted κ_T."""
    config, measured = record["config"], record["measured"]
    figure, (left, right) = new_axes(2)
    steps = np.arange(1, config["steps"] + 1)
    for k, (look, _) in enumerate(series(config["momenta"], r"$\beta = {:g}$")):
        points(left, steps, measured["momentum_counts"][k][-1], look, fmt=look.marker + "-", lw=1)
        slope, interval = measured["momentum_slope"][k], measured["momentum_interval"][k]
        points(right, steps + 0.08 * (k - 1), slope, look, interval=interval, capsize=3)
    right.plot(steps, list(record["predicted"]["slope"].values()), ":", color=GREY, label=r"$\kappa_T$")
    frame(left, "steps $T$", "recovered items", f"$d = {config['momentum_dims'][-1]}$", zero=True)
    frame(right, "steps $T$", "fitted exponent of $d$")
    for axis in (left, right):
        axis.set_xticks(steps)
        name_lines(axis)
    return figure
