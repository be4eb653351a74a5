"""Pictures of minibatches: their spectrum, and capacity against batch size."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import (
    GREY,
    MAPS,
    device_points,
    frame,
    key,
    name_lines,
    new_axes,
    optimizer,
    points,
    reference_line,
    series,
)

FULL = 0.9
"""The share of a whole memory's items from which a picture calls it full."""


def median_figure(shares, measured: dict, finer, predicted: dict) -> Figure:
    """Median singular value times d^α against B / d^α for several d; points measured, lines the predicted law.

    shares: (n,), finer: (m,). measured: d ↦ (n,), predicted: d ↦ (m,), 0 where fewer than d/2 items are seen.
    """
    figure, (axis,) = new_axes()
    for look, dim in series(measured, "$d = {}$"):
        points(axis, shares, measured[dim], look)
        axis.plot(finer, predicted[dim], "-", color=look.colour, lw=1.2)
    label = r"$s_{d/2}(G_0)\; d^{\,\alpha}$"
    frame(axis, r"batch size over $d^{\,\alpha}$", label, log="x", base=2, zero=True)
    key(axis)
    return figure


def capacity_against_batch_figure(record: dict, dim: int) -> Figure:
    """Figures 1(b) and 3: one record of `critical-batch` at one d: Muon and SGD against B, with the observed items.

    Points with two standard errors; lines are sharp predictions. A ring marks the first batch that fills the memory.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    k, batch_sizes = config["dims"].index(dim), config["batch_sizes"]
    figure, (axis,) = new_axes(figsize=(5.0, 4.6))
    shown = "different facts in the batch"
    axis.plot(batch_sizes, predicted["distinct"]["polar"][k], "--", color=GREY, lw=1.2, label=shown)
    axis.plot(batch_sizes, predicted["counts"]["polar"][k], "-", color=optimizer("polar").colour, lw=1.2)
    muon, wholes = "Muon (line: formula)", {"polar": "Muon, all the data", "sgd_at_dims": "SGD, all the data"}
    for name, look in (("polar", optimizer("polar", muon)), ("sgd_at_dims", optimizer("sgd", "SGD"))):
        points(axis, batch_sizes, measured["counts"][name][k], look, error=measured["counts_error"][name][k])
        whole = measured["population"][name][k]
        axis.plot(batch_sizes, [whole] * len(batch_sizes), ":", color=look.colour, lw=1, label=wholes[name])
        first = next((i for i, count in enumerate(measured["counts"][name][k]) if count >= FULL * whole), None)
        if first is not None:
            place = batch_sizes[first], measured["counts"][name][k][first]
            axis.plot(*place, "o", color=look.colour, ms=12, mfc="none", mew=1.5)
            words = f"{look.label.split()[0]} full\nat $B = {batch_sizes[first]}$"
            above = {"textcoords": "offset points", "xytext": (-9, 7), "ha": "right", "color": look.colour}
            axis.annotate(words, place, **above)
    title = rf"$d = {dim}$, $\alpha = {config['alpha']:g}$"
    frame(axis, "batch size $B$", "recalled facts", title, log="xy", base=2)
    axis.set_ylim(0.8, 6 * max(measured["counts"]["polar"][k]))
    ends = {shown: (-4, (-8, 6)), muon: (-1, (-1, -14)), "SGD": (len(batch_sizes) // 2 - 2, (8, 6))}
    name_lines(axis, places=ends | {wholes["polar"]: (0, (1, 8)), wholes["sgd_at_dims"]: (-1, (-1, -15))})
    return figure


def half_batch_figure(record: dict) -> Figure:
    """Half-capacity batch against d for Muon and SGD: measured, sharp prediction (lines) and theorem (dotted)."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (axis,) = new_axes(figsize=(5.0, 4.6))
    for name, field in (("polar", "dims"), ("sgd", "sgd_dims")):
        dims, half = config[field], measured["half_batch"][name]
        slope, (low, high) = measured["slope"][name], measured["interval"][name]
        label = f"{MAPS[name].label}: {slope:.2f} [{low:.2f}, {high:.2f}], limit {predicted['slope'][name]:.2f}"
        device_points(axis, record, partial(_half_batch, name, field), optimizer(name, label))
        reference_line(axis, dims, predicted["slope"][name], (dims[-1], half[-1]))
    frame(axis, "embedding dimension $d$", "half-capacity batch", log="xy", base=2)
    key(axis, {"formula": "-", "exponent of the theorem": ":"}, below=1)
    return figure


def _half_batch(name: str, field: str, record: dict) -> dict:
    measured, predicted = (record[side]["half_batch"][name] for side in ("measured", "predicted"))
    return {"x": record["config"][field], "draws": measured, "law": predicted}


def sightings_figure(batches: dict) -> Figure:
    """How many facts of a batch are seen once, twice, …, and how many of these one step recalls, a panel a batch.

    batches: title ↦ (m, times, mask): the number that all the data give, (N,) sightings and (N,) what is recalled.
    """
    figure, panels = new_axes(len(batches), sharey=True)
    colour, places = optimizer("polar").colour, np.arange(4)
    for axis, (title, (m, times, mask)) in zip(panels, batches.items(), strict=True):
        kind, mask = np.minimum(np.asarray(times).astype(int), 4), np.asarray(mask)
        far = np.arange(len(mask)) >= m
        bottom = np.zeros(4)
        for chosen, label, style in (
            (mask & ~far, "recalled, up to rank $m$", {"color": colour}),
            (mask & far, "recalled, beyond", {"color": colour, "alpha": 0.45}),
            (~mask, "not recalled", {"color": "none", "edgecolor": GREY}),
        ):
            height = np.bincount(kind[chosen], minlength=5)[1:]
            axis.bar(places, height, 0.7, bottom, label=label, **style)
            bottom += height
        axis.set_xticks(places, ["once", "twice", "3 times", "more"])
        frame(axis, "seen", "facts" if axis is panels[0] else "", title)
    key(panels[-1])
    return figure
