"""Pictures of the study: the transition, a Muon step, small samples and training, the cheapest distribution."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, new_axes, optimizer, points, series


def transition_figure(record: dict) -> Figure:
    """Left: accuracy elsewhere against g⁴ R, by scale. Right: the critical scale against R, on R^(−1/4), and at a new
    length, on R^(−1/2). Bars are two standard errors."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    R = np.array(predicted["max_sum"])
    accuracy = np.array(measured["accuracy"], dtype=float)
    for k, (look, g) in enumerate(series(config["scales"], "$g = {}$")):
        axes[0].plot(g**4 * R, accuracy[:, k], look.marker, color=look.colour, label=look.label, alpha=0.8)
    axes[0].axvline(1, color=GREY, lw=1, ls=":")
    frame(axes[0], "$g^4R$", "accuracy elsewhere, worst length", log="x")
    axes[0].legend(loc="lower left")
    order = np.argsort(R)
    looks = kinds(["lengths of training", "a new length"], "{}")
    for (look, _), where, power in zip(looks, ("seen", "unseen"), (1 / 4, 1 / 2), strict=True):
        critical, error = (
            np.array(measured[key]["sgd"][where], dtype=float)[order] for key in ("critical", "critical_error")
        )
        points(axes[1], R[order], critical, look, error=error, law=R[order] ** -power)
    frame(axes[1], "max-sum ratio $R$", "critical scale $g$", log="xy", base=2)
    _plain_scale(axes[1])
    axes[1].legend()
    return figure


def muon_figure(record: dict) -> Figure:
    """Critical scales of a polar and of a gradient step: at the lengths of training against R, at a new length against
    the number of lengths. Lines: R^(−1/4) and 1; √n. Bars are two standard errors."""
    measured, predicted = record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    R, n = np.array(predicted["max_sum"]), np.array(predicted["count"], dtype=float)
    laws = {("sgd", "seen"): R**-0.25, ("polar", "seen"): R**0, ("polar", "unseen"): n**0.5}
    for axis, x, where in ((axes[0], R, "seen"), (axes[1], n, "unseen")):
        order = np.argsort(x, kind="stable")
        for name in ("sgd", "polar"):
            critical, error = (
                np.array(measured[key][name][where], dtype=float)[order] for key in ("critical", "critical_error")
            )
            law = laws.get((name, where))
            points(axis, x[order], critical, optimizer(name), error=error, law=None if law is None else law[order])
    frame(axes[0], "max-sum ratio $R$", "critical scale $g$", "lengths of training", log="xy", base=2)
    frame(axes[1], "number of lengths $n$", "", "a new length", log="xy", base=2)
    for axis in axes:
        _plain_scale(axis)
        axis.legend()
    return figure


def samples_figure(record: dict) -> Figure:
    """Left: critical scale by sample size, one point a draw, on the ratio of the samples themselves (line: their mean)
    and that of all sequences (dotted). Right: by training step, a thin line a draw, and the mean, between
    R^(−1/4) and n^(1/4)."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    critical, own = (np.array(measured["samples"][key], dtype=float) for key in ("critical", "max_sum"))
    ((look, _),) = kinds(["measured"], "{}")
    M = np.array(config["sample_sizes"], dtype=float)
    points(axes[0], M, critical, look, law=(own**-0.25).mean(1))
    axes[0].axhline(config["sample_lengths"] ** 0.25, color=GREY, lw=1, ls=":", label="all sequences")
    frame(axes[0], "sequences", "critical scale $g$", "small samples", log="x", base=2)
    axes[0].legend(loc="lower right")
    steps = np.array(config["train_steps"], dtype=float)
    trained, ratios = (np.array(measured["training"][key], dtype=float) for key in ("critical", "max_sum"))
    axes[1].plot(steps, trained.T, color=look.colour, lw=0.6, alpha=0.25)
    axes[1].plot(np.full(len(ratios), steps[0] / 1.6), ratios**-0.25, "_", color=GREY, ms=12, alpha=0.4)
    axes[1].plot([], [], "_", color=GREY, ms=12, label="$R^{-1/4}$")
    points(axes[1], steps, trained.T, look._replace(label="mean"), ls="-", lw=1.4)
    axes[1].axhline(config["train_lengths"] ** 0.25, color=GREY, lw=1, ls=":", label="$n^{1/4}$")
    frame(axes[1], "gradient steps", "", "training", log="x")
    axes[1].legend(loc="lower right")
    return figure


def cost_figure(record: dict, exact: dict) -> Figure:
    """Mean tokens of a training sequence that give accuracy 0.99 elsewhere, by the power of l that q is proportional
    to; beside each point the number of lengths. Lines: the least of any shares of all sequences, solid, and its closed
    form, dashed."""
    config, measured = record["config"], record["measured"]
    figure, (axis,) = new_axes()
    tokens = np.array(measured["cost_draws"], dtype=float)
    ((look, _),) = kinds(["measured"], "{}")
    points(axis, config["cost_powers"], tokens, look)
    for power, height, count in zip(config["cost_powers"], tokens.mean(1), measured["cost"]["count"], strict=True):
        axis.annotate(
            f"{count:g} lengths", (power, height), (0, 15), textcoords="offset points", ha="center", fontsize=10
        )
    first, scale = (
        exact["config"][f"least_{key}"].index(config[own])
        for key, own in (("lengths", "first_length"), ("scales", "cost_scale"))
    )
    axis.axhline(exact["measured"]["least"]["tokens"][first][scale], color=GREY, lw=1.2, label="least of any shares")
    axis.axhline(
        exact["predicted"]["least"]["cheapest"][first][scale], color=GREY, lw=1.2, ls="--", label="closed form"
    )
    axis.legend(loc="upper center")
    axis.margins(0.15, 0.25)
    frame(axis, "power $s$ in $q_l\\propto l^s$", "mean tokens of a sequence")
    return figure


def _plain_scale(axis) -> None:
    """Scales between a half and eight as plain numbers."""
    axis.set_yticks([1, 1.5, 2, 3, 4], ["1", "1.5", "2", "3", "4"])
    axis.minorticks_off()
