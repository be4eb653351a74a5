"""Pictures of the study: who is ahead by association and at the end, drops of first steps, modes of the text."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, key, kinds, name_lines, new_axes, optimizer, points, series

MAPS = ("sgd", "polar")
NAMES = {"sgd": "gradient descent", "polar": "Muon (polar)"}


def shares_of(config: dict) -> tuple[list[int], list[float]]:
    """Where among the first steps' targets the shares of association stand, and the shares."""
    held = [k for k, name in enumerate(config["first"]) if name != "copy"]
    return held, [float(config["first"][k]) for k in held]


def lead_figure(record: dict) -> Figure:
    """Left: Muon's first drop over gradient descent's by the share of association, and d. Right: best steps to the
    minimum of the text, by how near. Lines on the left are predicted; bars are two standard errors."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    held, shares = shares_of(config)
    for row, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
        log_ratio, error = (np.array(measured[name][row])[held] for name in ("log_ratio", "log_ratio_error"))
        law = np.divide(predicted["first"]["polar"][row], predicted["first"]["sgd"][row])[held]
        ends = np.exp(np.stack([log_ratio - 2 * error, log_ratio + 2 * error], 1))
        points(axes[0], shares, np.exp(log_ratio), look, interval=ends, law=law)
    axes[0].axhline(1, color=GREY, ls=":", lw=1.2)
    frame(axes[0], "share of association", "Muon's first drop / descent's", zero=True)
    name_lines(axes[0])
    row = config["late"].index("1")
    for name in MAPS:
        steps, error = (measured[key][name][row] for key in ("steps", "steps_error"))
        look = optimizer(name, NAMES[name])
        points(axes[1], config["levels"], steps, look, error=np.array(error), fmt=look.marker + "-")
    axes[1].invert_xaxis()
    title = f"the text, $d = {config['late_dim']}$"
    frame(axes[1], "loss above the least, relative", "steps", title, log="x", zero=True)
    name_lines(axes[1])
    return figure


def drops_figure(record: dict) -> Figure:
    """What the best first step takes off the loss by the share of association, both maps, on the prediction; dotted:
    to second order."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2, sharey=True)
    held, shares = shares_of(config)
    for row, (axis, dim) in enumerate(zip(axes, config["dims"][:2], strict=True)):
        for name in MAPS:
            look = optimizer(name, NAMES[name])
            drop, error, law, rough = (
                np.array(table[name][row], float)[held]
                for table in (measured["first"], measured["first_error"], predicted["first"], predicted["second_order"])
            )
            points(axis, shares, drop, look, error=error, law=law)
            axis.plot(shares, rough, ":", color=look.colour)
        label = "drop of the loss, nats" if axis is axes[0] else ""
        frame(axis, "share of association", label, f"$d = {dim}$", log="y")
    key(axes[0], {"to second order": ":"})
    return figure


def modes_figure(record: dict) -> Figure:
    """The largest singular values of the centred joint distribution: of copying, the text, and a quarter of it."""
    figure, (axis,) = new_axes()
    titles = {"copy": "one output a word", "1": "the text", "0.25": "a quarter of association", "0": "none"}
    shown = {name: title for name, title in titles.items() if name in record["predicted"]["modes"]}
    for look, name in kinds(shown, "{}"):
        values = [value for value in record["predicted"]["modes"][name] if value > 1e-8]
        axis.plot(np.arange(1, len(values) + 1), values, look.marker, color=look.colour, ms=4, label=shown[name])
    frame(axis, "rank of the mode", "singular value of $C$", log="xy")
    axis.legend()
    return figure
