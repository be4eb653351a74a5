"""Pictures of the study: both worlds side by side, times by the power of singular values, normalised steps, batches."""

import numpy as np
from matplotlib.figure import Figure

from amembook.companions.spectral_emergence.judge import TURN
from amembook.figures.style import (
    GREY,
    MAPS,
    frame,
    key,
    kinds,
    name_lines,
    new_axes,
    optimizer,
    points,
    reference_line,
    series,
)


def worlds_figure(record: dict) -> Figure:
    """Left: items that a memory of N ≫ d recovers, by steps of SGD and Muon, on the library's predictions. Right:
    directions learnt by the flow, at γ = 1/3 and by polar steps, time in units of the first direction's."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    steps = np.arange(1, config["crowd_steps"] + 1)
    for name in ("polar", "sgd"):
        numbers = measured["crowd"][name]
        error = np.array(numbers["error"], dtype=float)
        points(axes[0], steps, numbers["items"], optimizer(name), error=error, law=predicted["crowd"][name], ms=3.5)
    frame(axes[0], "steps", "items recovered", "memory", log="xy")
    name_lines(axes[0], places={MAPS["polar"].label: (3, (-4, 10)), MAPS["sgd"].label: (4, (8, -8))})
    ranks = np.arange(config["n_teachers"] + 1)
    for look, power in zip(("sgd", None, "polar"), (1.0, TURN, 0.0), strict=True):
        times, law = (_times(part, config, power) for part in (measured, predicted))
        if look is None:
            ((shade, _),) = kinds([power], "")
            shade = shade._replace(marker="s", label=r"$\gamma=\frac{1}{3}$, learnt at once")
        else:
            name = {"sgd": r"flow, $\gamma=1$", "polar": r"polar, $\gamma=0$"}[look]
            shade = optimizer(look, name)
        order = np.sort(times / times[0])
        axes[1].plot(order, ranks[1:], shade.marker, color=shade.colour, ms=4.5, label=shade.label)
        line = np.sort(law / law[0])
        axes[1].step(np.concatenate([[line[0]], line]), ranks, where="post", color=shade.colour, lw=1.2)
    frame(axes[1], "time, first direction's $T_1=1$", "directions learnt", "features", log="x")
    key(axes[1], below=3)
    return figure


def powers_figure(record: dict) -> Figure:
    """T_p by direction (left) and T_i by fact (right), at powers γ from 0 to 1, over the first, on their laws."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    ranks = np.arange(1, config["n_teachers"] + 1)
    names = ("0", r"\frac{1}{6}", r"\frac{1}{3}", r"\frac{2}{3}", "1")
    looks = series(config["powers"], "{}")
    for n, (look, power) in enumerate(looks):
        label = rf"$\gamma={names[n]}$" if len(looks) == len(names) else rf"$\gamma={power:.2f}$"
        look = look._replace(label=label)
        times, law = (_times(part, config, power) for part in (measured, predicted))
        error = times / times[0] * np.array(measured["flow"]["times_error"][_case(config, power)], dtype=float)
        points(axes[0], ranks, times / times[0], look, error=error, law=law / law[0], ms=4)
        times, law = (
            np.array(numbers["facts"]["times"][f"{power:.3f}"], dtype=float) for numbers in (measured, predicted)
        )
        facts = np.arange(1, len(times) + 1)
        axes[1].plot(facts, times / times[0], look.marker, color=look.colour, ms=3.5, label=label)
        axes[1].plot(facts, law / law[0], "-", color=look.colour, lw=1.2)
    frame(axes[0], "direction $p$", "$T_p/T_1$", "features", log="xy")
    frame(axes[1], "fact $i$", "$T_i/T_1$", "facts at right angles", log="xy")
    for axis in axes:
        name_lines(axis)
    return figure


def rivals_figure(record: dict) -> Figure:
    """Left: T_p of steps along G/‖G‖ and of polar steps, on their laws. Right: the exponent of T_p in p of polar steps
    on batches, by samples a dimension. Bars are two standard errors."""
    config, measured, predicted = (record[part] for part in ("config", "measured", "predicted"))
    figure, axes = new_axes(2)
    ranks = np.arange(1, config["n_teachers"] + 1)
    ((look, _),) = kinds(["norm"], "")
    times, error = (np.array(measured["norm"][name], dtype=float) for name in ("times", "times_error"))
    look = look._replace(label=r"along $G/\|G\|$")
    points(axes[0], ranks, times, look, error=times * error, law=predicted["norm"]["times"], ms=4)
    polar, law = (_times(part, config, 0.0) for part in (measured, predicted))
    points(axes[0], ranks, polar, optimizer("polar", "polar factor"), law=law, ms=4)
    frame(axes[0], "direction $p$", "learnt at total length of steps", log="xy")
    name_lines(axes[0], places={r"along $G/\|G\|$": (4, (-6, 8)), "polar factor": (4, (6, 8))})
    ratios, limit = config["samples_per_dim"], -config["exponent"] / 2
    for look, dim in series(config["batch_dims"], "$d={}$"):
        exponents, error = (
            [measured["batch"][name][f"{dim} {ratio}"] for ratio in ratios] for name in ("exponent", "exponent_error")
        )
        points(axes[1], ratios, np.array(exponents, dtype=float), look, error=np.array(error, dtype=float))
    ends = np.array([ratios[0], ratios[-1]], dtype=float)
    reference_line(axes[1], ends, 0.0, (ends[0], limit), r"$-\beta/2$")
    axes[1].axhline(0, color=GREY, ls=":", lw=1.2)
    frame(axes[1], "samples a dimension, $B/d$", "exponent of $T_p$ in $p$", log="x", base=2)
    axes[1].legend()
    return figure


def _case(config: dict, power: float) -> str:
    return f"{power:.3f} {config['degree']} {config['exponent']}"


def _times(numbers: dict, config: dict, power: float) -> np.ndarray:
    return np.array(numbers["flow"]["times"][_case(config, power)], dtype=float)
