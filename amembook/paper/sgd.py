"""Pictures of one SGD step: who is recovered at which rank, the constant, the loss, and batches on the scale √d."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import (
    GREY,
    device_points,
    frame,
    key,
    name_lines,
    new_axes,
    optimizer,
    plain_ticks,
    points,
    series,
)


def recovery_profile_figure(x, limit, profiles: dict) -> Figure:
    """Probability of recovery against the scaled rank i / d^{1/2α}: the limit as a line, shares of draws as points.

    x, limit: (n,). profiles: label ↦ (scaled ranks, shares, standard errors), each (k,).
    """
    figure, (axis,) = new_axes()
    axis.plot(x, limit, "-", color=GREY, lw=1.4, label=r"limit $\prod_j\Phi((j/x)^\alpha)$")
    for look, (label, (ranks, shares, error)) in series(profiles.items()):
        points(axis, ranks, shares, look, error=error, label=label)
    axis.set_xlim(left=0, right=max(x))
    frame(axis, r"scaled rank $i/d^{\,1/2\alpha}$", "share of draws that recover the item")
    key(axis)
    return figure


def _scaled_counts(record: dict) -> dict:
    dims = np.array(record["config"]["sgd_dims"], dtype=float)
    counts, law = record["measured"]["seed_counts"]["sgd"], record["predicted"]["counts"]["sgd"]
    return {"x": dims, "draws": counts, "law": law, "scale": dims ** (1 / (2 * record["config"]["alpha"]))}


def sgd_constant_figure(records: list[dict], constants: dict) -> Figure:
    """SGD counts over d^{1/2α} from records of `one-step`, with finite-d predictions and the limit C_α, for several α.

    constants: α ↦ C_α.
    """
    figure, (axis,) = new_axes()
    for look, record in series(records):
        alpha = record["config"]["alpha"]
        label = rf"$\alpha = {alpha:g}$, $C_\alpha = {constants[alpha]:.3f}$"
        device_points(axis, record, _scaled_counts, look._replace(label=label))
        axis.axhline(constants[alpha], color=look.colour, ls=":", lw=1.2)
    title = "lines: prediction at this $d$; dotted: limit"
    frame(axis, "embedding dimension $d$", r"recovered items / $d^{\,1/2\alpha}$", title, log="x", base=2)
    key(axis)
    return figure


def sgd_loss_figure(etas, losses: dict, bounds: dict) -> Figure:
    """Loss after one SGD step against the learning rate, with the bound of Theorem 5 as a dotted line, for several d.

    etas: (n,) in units of √d / p₁. losses: d ↦ (n,). bounds: d ↦ number.
    """
    figure, (axis,) = new_axes()
    for look, dim in series(losses, "$d = {}$"):
        points(axis, etas, losses[dim], look, fmt=look.marker + "-", lw=1.2)
        axis.axhline(bounds[dim], color=look.colour, ls=":", lw=1.2)
    frame(axis, r"learning rate $\eta$, in units of $\sqrt{d}/p_1$", "loss after one step", log="xy", base=2)
    name_lines(axis)
    bound, style = (etas[0], max(bounds.values())), {"textcoords": "offset points", "fontsize": 10, "color": GREY}
    axis.annotate("bound: log 2 × frequency not recovered", bound, (0, 5), **style)
    return figure


def sgd_batch_figure(record: dict, limit_b, limit) -> Figure:
    """SGD counts over d^{1/2α} against B/√d from a record of `critical-batch`; black: the limit C_α(b); dots: sharp.

    limit_b, limit: (n,) the limit curve.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes(figsize=(5.0, 4.6))
    batch_sizes = np.array(config["sgd_batch_sizes"], dtype=float)
    for k, (look, dim) in enumerate(series(config["sgd_dims"], "$d = {}$")):
        counts, error, law = (
            table["sgd"][k] for table in (measured["counts"], measured["counts_error"], predicted["counts"])
        )
        scale, places = dim ** (1 / (2 * config["alpha"])), batch_sizes / np.sqrt(dim)
        inside = (places >= limit_b[0]) & (places <= limit_b[-1])
        counts, error, law = (np.asarray(column)[inside] for column in (counts, error, law))
        points(axis, places[inside], counts, look, error=error, law=law, scale=scale, capsize=0, lw=0.8)
    axis.plot(limit_b, limit, "--", color=GREY, lw=1.4)
    axis.axhline(limit[-1], color=GREY, lw=1, ls=":")
    words = {"textcoords": "offset points", "fontsize": 10, "color": GREY}
    axis.annotate(r"limit $C_\alpha(b)$", (limit_b[np.argmax(limit)], max(limit)), (0, 5), ha="center", **words)
    axis.annotate(r"of the population, $C_\alpha$", (limit_b[0], limit[-1]), (4, 5), **words)
    frame(axis, r"batch size over $\sqrt{d}$", r"recovered items / $d^{\,1/2\alpha}$", log="xy", base=2)
    axis.set_xlim(0.85 * limit_b[0], 1.15 * limit_b[-1])
    axis.set_ylim(0.8 * limit[0], 1.25 * max(limit))
    plain_ticks(axis.yaxis, [0.5, 1, 2, 4])
    key(axis, loc="lower right")
    return figure


def flat_figure(dims, ratios: tuple, limit: float, counts: dict, expected: dict) -> Figure:
    """Equal frequencies. Left: Muon's signal-to-noise ratio over SGD's against d. Right: recovered items of both.

    ratios: (measured, standard errors, predicted), each (n,). counts, expected: map ↦ (n,).
    """
    figure, (left, right) = new_axes(2)
    measured, errors, predicted = ratios
    points(left, dims, measured, optimizer("polar", "measured"), error=errors, law=predicted)
    left.axhline(limit, color=GREY, ls=":", lw=1.2, label=r"limit $8/3\pi$")
    left.axhline(1, color=GREY, ls="--", lw=0.8, label="equal")
    for name, row in counts.items():
        points(right, dims, row, optimizer(name), law=expected[name])
    frame(left, "embedding dimension $d$", "signal-to-noise ratio, Muon / SGD", log="x", base=2)
    frame(right, "embedding dimension $d$", "recovered items", log="xy", base=2)
    left.legend()
    name_lines(right)
    return figure
