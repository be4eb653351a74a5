"""Pictures of the study: samples by dimension, statistics that fail, the memory with noisy keys."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, name_lines, new_axes, optimizer, points, series

_NAMES = {
    "cubic": "$k^*=1$: He$_3(z)$",
    "quartic": "$k^*=2$: He$_4(z)$",
    "leap": "$k^*=2$: a leap",
    "sign": "$k^*=3$: sign of three",
    "bump": "$k^*=4$: $z^2e^{-z^2}$",
}


def samples_figure(record: dict) -> Figure:
    """Samples over d at which half of the subspace is found, by dimension; lines, the law of Gaussian noise."""
    figure, (axis,) = new_axes()
    measured, config = record["measured"], record["config"]
    for look, task in kinds(_NAMES, "{}"):
        dims = np.array(config.get(f"{task}_dims", config["low_dims"]), dtype=float)
        samples, error = (np.array(measured[name][task], dtype=float) / dims for name in ("samples", "errors"))
        law = record["predicted"]["samples"].get(task)
        law = None if law is None else np.array(law) / dims
        points(axis, dims, samples, look._replace(label=_NAMES[task]), error=error, law=law)
    frame(axis, "dimension $d$", "samples over $d$", log="xy")
    ticks = sorted({*config["sign_dims"][:3], *config["bump_dims"][2::2], max(config["low_dims"])})
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    name_lines(axis)
    return figure


def controls_figure(record: dict) -> Figure:
    """Overlaps of the wrong statistics and of the right ones, on the same samples; bars, two standard errors."""
    figure, (axis,) = new_axes(figsize=(5.0, 4.6))
    overlaps, errors = (record["measured"][key] for key in ("controls", "control_errors"))
    places = np.arange(len(overlaps))[::-1]
    # the seven that must fail, the one that may find one of three, the rest
    looks = [
        look for look, count in zip(kinds(range(3)), (7, 1, len(overlaps) - 7 - 1), strict=True) for _ in range(count)
    ]
    for place, (look, _), name in zip(places, looks, overlaps, strict=True):
        axis.errorbar(overlaps[name], place, xerr=2 * errors[name], fmt=look.marker, color=look.colour, ms=6, capsize=2)
    axis.set_yticks(places, list(overlaps))
    axis.axvline(0, color=GREY, lw=1)
    axis.axvline(1 / 3, color=GREY, lw=1, ls=":")
    frame(axis, "overlap with the subspace, less chance")
    return figure


def memory_figure(record: dict) -> Figure:
    """Left: items by batch at the largest d, Muon and SGD, with noise in the keys and without. Right: the share that
    Muon keeps, by B/(σ² d^α), for every d and σ."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    dims, noises, ratios = (np.array(config[name]) for name in ("memory_dims", "noises", "ratios"))
    batches = ratios * noises[-1] ** 2 * dims[-1] ** config["alpha"]
    for name, label in (("polar", "Muon"), ("sgd", "SGD")):
        for suffix, style, text in (("", "-", "noisy keys"), ("_clean", ":", "no noise")):
            look = optimizer(name, f"{label}, {text}")
            items = measured["items"][name + suffix][-1][-1]
            points(axes[0], batches, items, look, ls=style, mfc=None if not suffix else "white")
    for look, d in series(dims.tolist(), "$d = {}$"):
        for k in range(len(noises)):
            share = measured["share"]["polar"][dims.tolist().index(d)][k]
            label = look.label if k == 0 else None
            style = {"mfc": "white"} if k else {}
            points(axes[1], ratios, share, look._replace(label=label), ls="-", lw=0.8, **style)
    frame(axes[0], "batch $B$", "items", rf"$d={dims[-1]}$, $\sigma={noises[-1]:g}$", log="xy")
    frame(axes[1], r"$B/(\sigma^2d^\alpha)$", "share of Muon's items kept", log="x", zero=True)
    axes[1].set_ylim(top=1.05)
    key(axes[0], fontsize=9)
    axes[1].legend()
    return figure
