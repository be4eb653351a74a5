"""Pictures of the true iterates: capacity and exponents by the number of steps, residual weights, races, horizons."""

import numpy as np
from matplotlib.figure import Figure

from amemlib.figures.style import COLOURS, SERIES, log_log, new_axes, reference_line

_STEP_MARKERS = "os^Dv*"


def iterates_capacity_figure(records: list[dict]) -> Figure:
    """Figure 4(a–c): records of `many-steps`, one α a panel; counts against d after 1, …, T steps.

    Two standard errors; lines are the closed recursion, dotted the exponents of Theorem 9 through its last point.
    """
    figure, axes = new_axes(len(records), sharey=True)
    for axis, record in zip(axes, records, strict=True):
        dims = np.array(record["config"]["dims"], dtype=float)
        for step, (colour, marker, name) in enumerate(
            zip(SERIES, _STEP_MARKERS, record["predicted"]["slope"], strict=False), 1
        ):
            counts = np.array(record["measured"]["seed_counts"][name])
            error = 2 * counts.std(1, ddof=1) / np.sqrt(counts.shape[1]) if counts.shape[1] > 1 else None
            axis.errorbar(dims, counts.mean(1), error, fmt=marker, color=colour, ms=4, capsize=2, label=f"$T = {step}$")
            predicted = record["predicted"]["counts"][name]
            axis.plot(dims, predicted, "-", color=colour, lw=1.1)
            reference_line(axis, dims, record["predicted"]["slope"][name], (dims[-1], predicted[-1]))
        log_log(axis, "embedding dimension $d$", "recovered items")
        axis.set_title(rf"$\alpha = {record['config']['alpha']:g}$", fontsize=11)
    for axis in axes[1:]:
        axis.set_ylabel("")
    handles, labels = axes[0].get_legend_handles_labels()
    handles += axes[0].plot([], [], "-", color=COLOURS["theory"], lw=1.2)
    handles += axes[0].plot([], [], ":", color=COLOURS["theory"], lw=1.2)
    labels += ["closed recursion", r"exponent $\kappa_T$"]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def iterates_exponents_figure(records: list[dict], low: float, high: float) -> Figure:
    """Figure 4(e): fitted exponent against T with 95 % intervals, one α a panel.

    True iterates, thresholded iterates, the closed recursion at the same sizes, κ_T, and the band [κ_T − low,
    κ_T + high] that the Conjecture is held to.
    """
    figure, axes = new_axes(len(records), sharey=True)
    for axis, record in zip(axes, records, strict=True):
        measured, predicted = record["measured"], record["predicted"]
        names = list(predicted["slope"])
        steps = np.arange(1, len(names) + 1)
        limit = np.array(list(predicted["slope"].values()))
        axis.fill_between(steps, limit - low, limit + high, color=COLOURS["theory"], alpha=0.12, lw=0, label="the bar")
        axis.plot(steps, limit, ":", color=COLOURS["theory"], label=r"$\kappa_T$, Theorem 9")
        for shift, colour, marker, kind, label in (
            (-0.06, COLOURS["polar"], "o", "", "true iterates"),
            (0.06, COLOURS["cubic"], "v", "thresholded_", r"thresholded, $\theta$ fixed"),
        ):
            slope = np.array(list(measured[kind + "slope"].values()))
            interval = np.abs(np.array(list(measured[kind + "interval"].values())).T - slope)
            axis.errorbar(steps + shift, slope, interval, fmt=marker, color=colour, capsize=3, label=label)
        lines = ("sharp_slope", "polar", "closed recursion"), ("thresholded_slope", "cubic", "thresholded, sharp")
        for key, colour, label in lines:
            axis.plot(steps, list(predicted[key].values()), "-", color=COLOURS[colour], lw=1.2, label=label)
        axis.set_xticks(steps)
        axis.set_xlabel("steps $T$")
        axis.set_title(rf"$\alpha = {record['config']['alpha']:g}$", fontsize=11)
    axes[0].set_ylabel("fitted exponent of $d$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def residual_profile_figure(record: dict, edges, thresholds: dict) -> Figure:
    """Mean of 1 − p̂_ii by rank after each step, one panel for each d; dotted: where the recursion's 0/1 would jump.

    edges: (b + 1,) first ranks of the bins and N + 1. thresholds: d ↦ (T,) d_1, …, d_T.
    """
    figure, axes = new_axes(len(thresholds), sharey=True)
    centres = np.sqrt(np.asarray(edges[:-1], dtype=float) * np.maximum(np.asarray(edges[1:], dtype=float) - 1, 1))
    for axis, (dim, removed) in zip(axes, thresholds.items(), strict=True):
        rows = record["measured"]["profile"][record["config"]["dims"].index(dim)]
        for step, (colour, marker, row, d_t) in enumerate(zip(SERIES, _STEP_MARKERS, rows, removed, strict=False), 1):
            axis.plot(centres, row, marker + "-", color=colour, lw=1, ms=3.5, label=f"after step {step}")
            axis.axvline(d_t, color=colour, ls=":", lw=1.2)
        axis.set_xscale("log")
        axis.set_xlabel("rank $i$")
        axis.set_title(f"$d = {dim}$", fontsize=11)
    axes[0].set_ylabel(r"residual weight $1-\hat p_{ii}$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def iterates_trend_figure(record: dict) -> Figure:
    """Local exponents against d for every T: simulated and from the closed recursion far beyond, dotted κ_T."""
    figure, (axis,) = new_axes(figsize=(7.6, 4.8))
    middles = lambda dims: np.sqrt(np.array(dims[1:], dtype=float) * np.array(dims[:-1], dtype=float))  # noqa: E731
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    far = middles(config["far_dims"])
    for step, (colour, marker, name) in enumerate(zip(SERIES, _STEP_MARKERS, predicted["slope"], strict=False), 1):
        style = {"color": colour, "marker": marker, "ls": "none"}
        axis.plot(
            middles(config["trend_dims"]), measured["trend_local_slopes"][name], **style, ms=7, label=f"$T = {step}$"
        )
        axis.plot(far, predicted["far_local_slopes"][name], "-", color=colour, lw=1.2)
        axis.axhline(predicted["slope"][name], color=colour, ls=":", lw=1)
    axis.plot([], [], "-", color=COLOURS["theory"], label="closed recursion")
    axis.plot([], [], ":", color=COLOURS["theory"], label=r"$\kappa_T$")
    axis.set_xscale("log", base=2)
    axis.set_xlabel("embedding dimension $d$")
    axis.set_ylabel("local exponent of the capacity")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def learning_rate_figure(record: dict) -> Figure:
    """Counts against η/√d after 1, …, T steps, and how many of the d most frequent items are recovered."""
    config, measured = record["config"], record["measured"]
    figure, (left, right) = new_axes(2)
    for step, (colour, marker) in enumerate(zip(SERIES, _STEP_MARKERS[: config["steps"]], strict=False), 1):
        for axis, key in ((left, "scan_counts"), (right, "scan_head")):
            values = np.array(measured[key])[:, step - 1]
            axis.plot(config["rates"], values, marker + "-", color=colour, lw=1, ms=4, label=f"$T = {step}$")
    left.set_ylabel("recovered items")
    right.set_ylabel("recovered among the $d$ most frequent")
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_ylim(bottom=0)
        axis.set_xlabel(r"learning rate $\eta/\sqrt{d}$")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def race_figure(record: dict, ceiling: float) -> Figure:
    """Figure 5(a): recovered items against the step, Muon and two schedules of gradient descent; left counts, right the
    loss of the literal schedule. ceiling: d²/(2 log N)."""
    measured = record["measured"]
    figure, (left, right) = new_axes(2, width_ratios=(1.6, 1))
    series = {
        "muon": ("Muon", COLOURS["polar"], "o"),
        "descent": (r"GD, $\eta_t\propto\sqrt{d}/\|G_t\|$", COLOURS["sgd"], "^"),
        "literal": (r"GD, $\eta_t = \zeta_N d_{t+1}^{\alpha}$", COLOURS["newton"], "D"),
    }
    for name, (label, colour, marker) in series.items():
        counts = measured["race"][name]
        left.plot(range(1, len(counts) + 1), counts, marker + "-", color=colour, lw=1, ms=4, label=label)
    left.axhline(ceiling, color=COLOURS["theory"], ls=":", lw=1.2, label=r"$d^2/(2\log N)$")
    left.set_ylim(bottom=0)
    left.set_ylabel("recovered items")
    losses = measured["literal_loss"]
    right.plot(range(1, len(losses) + 1), losses, "D-", color=COLOURS["newton"], lw=1, ms=4)
    right.axhline(np.log(record["config"]["small_items"]), color=COLOURS["theory"], ls="--", lw=1, label=r"$\log N$")
    right.set_yscale("log")
    right.set_ylabel("loss (nats), literal schedule")
    right.legend()
    for axis in (left, right):
        axis.set_xlabel("step $t$")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def minibatch_iterates_figure(record: dict) -> Figure:
    """Figure 5(b): recovered items against samples seen, a curve a batch size; lines: distinct items expected.

    Left without momentum, right with the largest of the record's momenta.
    """
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2, sharey=True)
    titles = ("no momentum", f"momentum {max(config['momenta']):g}")
    for axis, key, title in zip(axes, ("batches", "batches_momentum"), titles, strict=True):
        for k, (colour, marker, size) in enumerate(zip(SERIES, _STEP_MARKERS, config["batch_sizes"], strict=False)):
            samples = size * np.arange(1, config["batch_steps"] + 1)
            axis.plot(samples, measured[key][k], marker, color=colour, ms=4, label=f"$B = {size}$")
            axis.plot(samples, record["predicted"]["observed"][k], "-", color=COLOURS["theory"], lw=1.2)
        log_log(axis, "samples seen, $Bt$", "recovered items", base=10)
        axis.set_title(title, fontsize=11)
    axes[1].set_ylabel("")
    handles, labels = axes[0].get_legend_handles_labels()
    handles += axes[0].plot([], [], "-", color=COLOURS["theory"], lw=1.2)
    figure.legend(handles, [*labels, "distinct items expected"], loc="outside lower center", ncols=3)
    return figure


def momentum_figure(record: dict) -> Figure:
    """Left: counts against the step at the largest d, one curve a momentum. Right: fitted exponents, dotted κ_T."""
    config, measured = record["config"], record["measured"]
    figure, (left, right) = new_axes(2)
    steps = np.arange(1, config["steps"] + 1)
    for k, (colour, marker, beta) in enumerate(zip(SERIES, _STEP_MARKERS, config["momenta"], strict=False)):
        label = rf"momentum $\beta = {beta:g}$"
        left.plot(steps, measured["momentum_counts"][k][-1], marker + "-", color=colour, lw=1, label=label)
        slope = np.array(measured["momentum_slope"][k])
        interval = np.abs(np.array(measured["momentum_interval"][k]).T - slope)
        right.errorbar(steps + 0.08 * (k - 1), slope, interval, fmt=marker, color=colour, capsize=3, label=label)
    right.plot(steps, list(record["predicted"]["slope"].values()), ":", color=COLOURS["theory"], label=r"$\kappa_T$")
    left.set_ylim(bottom=0)
    left.set_ylabel("recovered items")
    left.set_title(f"$d = {config['momentum_dims'][-1]}$", fontsize=11)
    right.set_ylabel("fitted exponent of $d$")
    for axis in (left, right):
        axis.set_xticks(steps)
        axis.set_xlabel("steps $T$")
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def horizon_figure(record: dict) -> Figure:
    """Left: recovered items over d²/(2 log N) against the step. Right: steps to half of the end, and Theorem 9's."""
    config, measured = record["config"], record["measured"]
    dims = np.array(config["horizon_dims"], dtype=float)
    figure, (left, right) = new_axes(2)
    for colour, marker, dim, counts in zip(SERIES, _STEP_MARKERS, dims, measured["horizon"], strict=False):
        share = np.array(counts) / dim**2 * 2 * np.log(config["small_items"])
        left.plot(range(1, len(counts) + 1), share, marker + "-", color=colour, lw=1, ms=3.5, label=f"$d = {dim:g}$")
    left.set_ylim(bottom=0)
    left.set_xlabel("step $t$")
    left.set_ylabel(r"recovered items / $\frac{d^2}{2\log N}$")
    left.legend(ncols=2)
    right.plot(dims, measured["horizon_steps"]["half"], "o", color=COLOURS["polar"], label="to a half")
    right.plot(dims, measured["horizon_steps"]["ninety"], "s", color=COLOURS["smoothed_sign"], label="to 90 %")
    right.plot(
        dims, record["predicted"]["horizon_steps"]["half"], ":", color=COLOURS["theory"], label=r"$d^{\kappa_t}=d^2/2$"
    )
    right.set_xscale("log", base=2)
    right.set_ylim(bottom=0)
    right.set_xlabel("embedding dimension $d$")
    right.set_ylabel("steps")
    right.legend()
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
    names = list(predicted["slope"])
    overlaps = np.array(measured["overlaps"][k])[upper]
    styles = {"free": (COLOURS["sgd"], "^", "free"), "pulled": (COLOURS["polar"], "o", "with the pull")}
    for kind, (colour, marker, label) in styles.items():
        left.plot(np.array(predicted[f"overlaps_{kind}"][k])[upper], overlaps, marker, color=colour, label=label)
        right.plot(steps, [predicted[f"sd_{kind}"][name][k] for name in names], "-", color=colour, label=label)
    ends = [min(left.get_xlim()[0], left.get_ylim()[0]), max(left.get_xlim()[1], left.get_ylim()[1])]
    left.plot(ends, ends, ":", color=COLOURS["theory"], lw=1)
    left.set_xlabel(r"predicted $\omega_{st}$")
    left.set_ylabel("measured")
    left.legend()
    right.plot(
        steps, [measured["interaction_sd"][name][k] for name in names], "s", color=COLOURS["theory"], label="measured"
    )
    right.set_xticks(steps)
    right.set_ylim(bottom=0)
    right.set_xlabel("step $t$")
    right.set_ylabel(r"interactions, $\|W_t\|_F/d$")
    right.legend()
    figure.suptitle(f"$d = {dim}$", fontsize=11)
    return figure
