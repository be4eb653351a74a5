"""Pictures of the study: a read-out between its dots, errors on their laws, a transformer on longer strings."""

import math

import numpy as np
from matplotlib.figure import Figure

from amembook.companions.length_generalization.expected import whole_samples
from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, optimizer, points, series


def dots_figure(record: dict) -> Figure:
    """Left: one read-out, its target and its dots. Right: errors by samples a wavelength for every ω, between lines and
    cubics; bars from the least draw to the largest; dotted: Nyquist's two samples."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    curve = measured["curve"][0]
    ((look, _),) = kinds(["read-out"], "{}")
    axes[0].plot(curve["z"], curve["target"], color=GREY, lw=1.2, label="target")
    axes[0].plot(curve["z"], curve["answer"], color=look.colour, lw=1.8, label="read-out")
    axes[0].plot(curve["points"], curve["known"], "o", color="black", ms=6, label="seen")
    title = rf"$\omega = {config['dense_frequency']}$, $m = {config['shown']}$"
    frame(axes[0], "mean of the class $z$", "answer", title)
    axes[0].set_ylim(-1.3, 2.2)
    axes[0].legend(loc="upper center", ncols=3, columnspacing=0.8, handlelength=1.2)
    for look, frequency in series(config["frequencies"], r"$\omega = {}$"):
        # z spans two units, ω/π wavelengths
        x = math.pi * np.array(whole_samples(frequency, config["ratios"])) / frequency
        _spread(axes[1], x, measured["one"][str(frequency)], look)
    last = str(config["frequencies"][-1])
    for name, line in (("lines", "-"), ("cubics", "--")):
        axes[1].plot(x, predicted["one"][last][name], line, color=GREY, lw=1.2, label=name)
    axes[1].axvline(2, color=GREY, lw=1, ls=":")
    frame(axes[1], r"samples a wavelength $\pi m/\omega$", "mean squared error", log="y")
    axes[1].legend()
    return figure


def lengths_figure(record: dict) -> Figure:
    """Trained on one length and on all up to it. Left: mean errors by m, with Muon's from one; bars hold the median 95
    times of 100, or go from the least draw to the largest. Right: worst errors."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    w = config["dense_frequency"]
    m = whole_samples(w, config["ratios"])
    one = {"the longest": measured["one"][str(w)], "all lengths": measured["all"]}
    ends = ("error_low", "error_high") if "error_low" in measured["all"] else ("least", "most")
    lines = {"the longest": predicted["one"][str(w)]["lines"], "all lengths": predicted["all"]["error"]}
    for look, name in kinds(one, "{}"):
        _spread(axes[0], m, one[name], look, ends=ends, law=lines[name])
        points(axes[1], m, one[name]["worst"], look, law=predicted["all"]["worst"] if name == "all lengths" else None)
    points(axes[0], m, measured["muon"]["error"], optimizer("muon", "the longest, Muon"), mfc="white")
    frame(axes[0], "tokens of a class $m$", "mean squared error", rf"$\omega = {w}$", log="y")
    axes[0].legend()
    frame(axes[1], "tokens of a class $m$", "worst error", zero=True)
    axes[1].legend()
    return figure


def transformer_figure(record: dict) -> Figure:
    """Left: errors by test length for every m, at one Δ; dotted: expected of lines. Right: errors at the longest by
    the training length over Δ, for every Δ."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2, sharey=True)
    errors, at = measured["transformer"], 1
    for k, (look, _) in enumerate(series(config["samples"], "$m = {}$")):
        rows = {name: errors[name][at][k] for name in ("error", "least", "most")}
        _spread(axes[0], config["longer"], rows, look, fmt=look.marker + "-", lw=1)
        beyond = slice(1, None)
        law = predicted["transformer"]["lines"][k]
        axes[0].plot(config["longer"][beyond], law[beyond], ":", color=look.colour, lw=1.4)
    title = rf"$\Delta = {config['periods'][at]}$"
    frame(axes[0], "test length over $N$", "error", title, log="xy", base=2)
    name_lines(axes[0])
    for k, (look, _) in enumerate(series(config["periods"], r"$\Delta = {}$")):
        x = np.array(config["samples"]) * (1 + 0.03 * (k - 1))
        rows = {name: np.array(errors[name])[k, :, -1] for name in ("error", "least", "most")}
        _spread(axes[1], x, rows, look)
    for name, line in (("lines", "-"), ("cubics", "--")):
        law = np.array(predicted["transformer"][name])
        axes[1].plot(config["samples"], law if law.ndim == 1 else law[:, -1], line, color=GREY, lw=1.2, label=name)
    frame(axes[1], r"training length $N/\Delta$", "", "at the longest", log="y")
    axes[1].legend()
    return figure


def _spread(axis, x, errors: dict, look, ends: tuple[str, str] = ("least", "most"), **style) -> None:
    """Medians with bars, from the least draw to the largest if not said otherwise."""
    points(axis, x, errors["error"], look, interval=np.transpose([errors[end] for end in ends]), **style)
