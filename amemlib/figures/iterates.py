"""Pictures of the true iterates: capacity and exponents by the number of steps, residual weights, races, horizons."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import (
    GREY,
    alpha_of,
    frame,
    key,
    kinds,
    log_middles,
    new_axes,
    optimizer,
    points,
    reference_line,
    series,
)


def iterates_capacity_figure(records: list[dict]) -> Figure:
    """Figure 4(a–c): records of `many-steps`, one α a panel; counts against d after 1, …, T steps.

    Two standard errors; lines are the closed recursion, dotted the exponents of Theorem 9 through its last point.
    """
    figure, axes = new_axes(len(records), sharey=True)
    for axis, record in zip(axes, records, strict=True):
        dims, predicted = record["config"]["dims"], record["predicted"]
        for step, (look, name) in enumerate(series(predicted["slope"]), 1):
            counts, law = record["measured"]["seed_counts"][name], predicted["counts"][name]
            points(axis, dims, counts, look, law=law, label=f"$T = {step}$")
            reference_line(axis, dims, predicted["slope"][name], (dims[-1], law[-1]))
        frame(axis, "embedding dimension $d$", title=alpha_of(record), log="xy", base=2)
    axes[0].set_ylabel("recovered items")
    columns = 2 + len(records[0]["predicted"]["slope"])
    key(axes[0], {"closed recursion": "-", r"exponent $\kappa_T$": ":"}, below=columns)
    return figure


def iterates_exponents_figure(records: list[dict], low: float, high: float) -> Figure:
    """Figure 4(e): fitted exponent against T with 95 % intervals, one α a panel.

    True iterates, thresholded iterates, the closed recursion at the same sizes, κ_T, and the band [κ_T − low,
    κ_T + high] that the Conjecture is held to.
    """
    figure, axes = new_axes(len(records), sharey=True)
    series_ = (
        (-0.06, "true iterates", "", "closed recursion", "sharp_slope"),
        (0.06, r"thresholded, $\theta$ fixed", "thresholded_", "thresholded, sharp", "thresholded_slope"),
    )
    for axis, record in zip(axes, records, strict=True):
        measured, predicted = record["measured"], record["predicted"]
        limit = np.array([*predicted["slope"].values()])
        steps = np.arange(1, len(limit) + 1)
        axis.fill_between(steps, limit - low, limit + high, color=GREY, alpha=0.12, lw=0, label="the bar")
        axis.plot(steps, limit, ":", color=GREY, label=r"$\kappa_T$, Theorem 9")
        for look, (shift, label, kind, line, law) in kinds(series_):
            slope, interval = ([*measured[kind + field].values()] for field in ("slope", "interval"))
            points(axis, steps + shift, slope, look, interval=interval, label=label, capsize=3)
            axis.plot(steps, [*predicted[law].values()], "-", color=look.colour, lw=1.2, label=line)
        frame(axis, "steps $T$", title=alpha_of(record))
        axis.set_xticks(steps)
    axes[0].set_ylabel("fitted exponent of $d$")
    key(axes[0], below=3)
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


def iterates_trend_figure(record: dict) -> Figure:
    """Local exponents against d for every T: simulated and from the closed recursion far beyond, dotted κ_T."""
    figure, (axis,) = new_axes(figsize=(7.6, 4.8))
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    near, far = log_middles(config["trend_dims"]), log_middles(config["far_dims"])
    for step, (look, name) in enumerate(series(predicted["slope"]), 1):
        points(axis, near, measured["trend_local_slopes"][name], look, ms=7, label=f"$T = {step}$")
        axis.plot(far, predicted["far_local_slopes"][name], "-", color=look.colour, lw=1.2)
        axis.axhline(predicted["slope"][name], color=look.colour, ls=":", lw=1)
    frame(axis, "embedding dimension $d$", "local exponent of the capacity", log="x", base=2)
    key(axis, {"closed recursion": "-", r"$\kappa_T$": ":"}, below=4)
    return figure


def learning_rate_figure(record: dict) -> Figure:
    """Counts against η/√d after 1, …, T steps, and how many of the d most frequent items are recovered."""
    config, measured = record["config"], record["measured"]
    figure, (left, right) = new_axes(2)
    panels = {"scan_counts": (left, "recovered items"), "scan_head": (right, "recovered among the $d$ most frequent")}
    for name, (axis, label) in panels.items():
        for look, step in series(range(1, config["steps"] + 1), "$T = {}$"):
            points(axis, config["rates"], np.array(measured[name])[:, step - 1], look, fmt=look.marker + "-", lw=1)
        frame(axis, r"learning rate $\eta/\sqrt{d}$", label, log="x", base=2, zero=True)
    key(left, below=5)
    return figure


def race_figure(record: dict, ceiling: float) -> Figure:
    """Figure 5(a): recovered items against the step, Muon and two schedules of gradient descent; left counts, right the
    loss of the literal schedule. ceiling: d²/(2 log N)."""
    measured = record["measured"]
    figure, (left, right) = new_axes(2, width_ratios=(1.6, 1))
    literal = {"fmt": "D--", "mfc": "white"}
    runs = {
        "muon": (optimizer("polar", "Muon"), {"fmt": "o-"}),
        "descent": (optimizer("sgd", r"GD, $\eta_t\propto\sqrt{d}/\|G_t\|$"), {"fmt": "^-"}),
        "literal": (optimizer("sgd", r"GD, $\eta_t = \zeta_N d_{t+1}^{\alpha}$"), literal),
    }
    for name, (look, style) in runs.items():
        counts = measured["race"][name]
        points(left, range(1, len(counts) + 1), counts, look, lw=1, **style)
    left.axhline(ceiling, color=GREY, ls=":", lw=1.2, label=r"$d^2/(2\log N)$")
    frame(left, "step $t$", "recovered items", zero=True)
    losses = measured["literal_loss"]
    points(right, range(1, len(losses) + 1), losses, optimizer("sgd"), label=None, lw=1, **literal)
    right.axhline(np.log(record["config"]["small_items"]), color=GREY, ls="--", lw=1, label=r"$\log N$")
    frame(right, "step $t$", "loss (nats), literal schedule", log="y")
    key(right)
    key(left, below=4)
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
    for k, (look, _) in enumerate(series(config["momenta"], r"momentum $\beta = {:g}$")):
        points(left, steps, measured["momentum_counts"][k][-1], look, fmt=look.marker + "-", lw=1)
        slope, interval = measured["momentum_slope"][k], measured["momentum_interval"][k]
        points(right, steps + 0.08 * (k - 1), slope, look, interval=interval, capsize=3)
    right.plot(steps, list(record["predicted"]["slope"].values()), ":", color=GREY, label=r"$\kappa_T$")
    frame(left, "steps $T$", "recovered items", f"$d = {config['momentum_dims'][-1]}$", zero=True)
    frame(right, "steps $T$", "fitted exponent of $d$")
    for axis in (left, right):
        axis.set_xticks(steps)
    key(right, below=4)
    return figure


def horizon_figure(record: dict) -> Figure:
    """Left: recovered items over d²/(2 log N) against the step. Right: steps to half of the end, and Theorem 9's."""
    config, measured = record["config"], record["measured"]
    dims = config["horizon_dims"]
    figure, (left, right) = new_axes(2)
    for k, (look, dim) in enumerate(series(dims, "$d = {}$")):
        counts, ceiling = measured["horizon"][k], dim**2 / (2 * np.log(config["small_items"]))
        points(left, range(1, len(counts) + 1), counts, look, scale=ceiling, fmt=look.marker + "-", lw=1, ms=3.5)
    frame(left, "step $t$", r"recovered items / $\frac{d^2}{2\log N}$", zero=True)
    key(left, ncols=2)
    for look, (name, label) in kinds({"half": "to a half", "ninety": "to 90 %"}.items()):
        points(right, dims, measured["horizon_steps"][name], look, label=label)
    right.plot(dims, record["predicted"]["horizon_steps"]["half"], ":", color=GREY, label=r"$d^{\kappa_t}=d^2/2$")
    frame(right, "embedding dimension $d$", "steps", log="x", base=2, zero=True)
    key(right)
    return figure


def pull_figure(record: dict, dim: int) -> Figure:
    """Left: overlap of the updates of every two steps, measured against predicted; right: size of the interactions.

    Predicted with residual weights taken as independent of the embeddings (free), and with the pull of W.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    k = config["dims"].index(dim)
    figure, (left, right) = new_axes(2)
    upper = np.triu_indices(config["steps"], 1)
    steps = np.arange(1, config["steps"] + 1)
    overlaps = np.array(measured["overlaps"][k])[upper]
    for look, (kind, label) in kinds({"free": "free", "pulled": "with the pull"}.items()):
        points(left, np.array(predicted[f"overlaps_{kind}"][k])[upper], overlaps, look, label=label)
        sizes = [predicted[f"sd_{kind}"][name][k] for name in predicted["slope"]]
        right.plot(steps, sizes, "-", color=look.colour, label=label)
    ends = [min(left.get_xlim()[0], left.get_ylim()[0]), max(left.get_xlim()[1], left.get_ylim()[1])]
    left.plot(ends, ends, ":", color=GREY, lw=1)
    frame(left, r"predicted $\omega_{st}$", "measured")
    sizes = [measured["interaction_sd"][name][k] for name in predicted["slope"]]
    right.plot(steps, sizes, "s", color=GREY, label="measured")
    frame(right, "step $t$", r"interactions, $\|W_t\|_F/d$", zero=True)
    right.set_xticks(steps)
    for axis in (left, right):
        key(axis)
    figure.suptitle(f"$d = {dim}$", fontsize=11)
    return figure
