"""Pictures of the study: worst cases by stopping time, certificates, the memory."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, new_axes, optimizer, points

_NAMES = {"constant": "constant", "dynamic": "single steps joined", "silver": "silver", "anytime": "blocks joined"}
_LOOKS = {name: look for look, name in kinds([*_NAMES, "nesterov", "one repeat"])}


def worst_figure(record: dict) -> Figure:
    """Worst f − f* by stopping time, of each schedule: at T, and times T at all stopping times from T on."""
    measured, predicted = record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    times = np.array(measured["times"], dtype=float)
    for name in _NAMES:
        look = _LOOKS[name]
        style = {"color": look.colour, "marker": look.marker, "ms": 3.5, "lw": 1, "label": _NAMES[name]}
        axes[0].plot(times, measured["worst"][name], **style)
        # the last octaves lack what comes after them
        shown = times <= times[-1] / 4
        axes[1].plot(times[shown], (times * np.array(measured["envelope"][name]))[shown], **style | {"label": None})
    shown = times[(times >= 16) & (times <= times[-1] / 4)]
    law = shown ** (1 + predicted["limit"])
    start = np.flatnonzero(times == shown[0])[0]
    level = times[start] * measured["envelope"]["anytime"][start]
    axes[1].plot(shown, 0.8 * level * law / law[0], ":", color=GREY, lw=1.4, label=r"$T^{1-1.119}$")
    frame(axes[0], "stopping time $T$", "worst case at $T$", log="xy")
    frame(axes[1], "stopping time $T$", r"$T\times$ worst case from $T$ on", log="xy")
    axes[1].set_ylim(0.02, 2)
    key(axes[0], below=2)
    axes[1].legend()
    return figure


def certificate_figure(record: dict) -> Figure:
    """Certified worst cases over all smooth convex functions, by stopping time, on what the family reaches."""
    measured, predicted = record["measured"], record["predicted"]
    figure, (axis,) = new_axes()
    times = np.arange(1, len(measured["certified"]["silver"]) + 1)
    labels = {"anytime": "blocks joined, $c=5$", "one repeat": "blocks joined, $c=1$", "silver": "silver"}
    for name, label in labels.items():
        bound, law = measured["certified"][name], predicted["certified"][name]
        points(axis, times, bound, _LOOKS[name]._replace(label=label), law=law)
    axis.axhline(predicted["bounce"], color=GREY, ls="--", lw=1, label=r"$1/(2\rho^2)$")
    frame(axis, "stopping time $T$", "worst case at $T$", log="y")
    axis.legend()
    return figure


def memory_figure(record: dict) -> Figure:
    """Items of the memory by number of steps. Left: rates within the certificate. Right: beyond it, and Muon."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2, sharey=True)
    times = 2 ** np.arange(1, config["memory_levels"] + 1) - 1
    within = {name: _NAMES[name] for name in ("constant", "dynamic", "anytime", "silver")} | {"nesterov": "Nesterov"}
    for name, label in within.items():
        items, error = measured["items"][name], np.array(measured["items_error"][name])
        points(axes[0], times, items, _LOOKS[name]._replace(label=label), error=error, ls="-", lw=0.8)
    # the rate that is there soonest, on the mean
    needed = {name: count for name, count in measured["needed"].items() if count is not None}
    factor, rate = (
        min((name for name in needed if name.startswith(own)), key=needed.get).removeprefix(own)
        for own in ("rate 2^", "muon ")
    )
    sgd = optimizer("sgd", rf"SGD, rate $2^{{{factor}}}/L$")
    for look, name in ((sgd, f"rate 2^{factor}"), (optimizer("polar", f"Muon, rate {rate}"), f"muon {rate}")):
        error = np.array(measured["items_error"][name])
        points(axes[1], times, measured["items"][name], look, error=error, ls="-", lw=0.8)
    for axis, title in zip(axes, ("within the certificate", "beyond it"), strict=True):
        axis.axhline(config["n_items"], color=GREY, lw=1, ls=":")
        frame(axis, "steps", "items recovered" if axis is axes[0] else "", title, log="x", base=2)
        axis.legend()
    return figure
