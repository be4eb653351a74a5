"""Pictures of the study: errors with and without thoughts, one step of V₃₁ by SGD and by Muon."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, optimizer, points, series


def thinking_figure(record: dict) -> Figure:
    """Left: errors without thoughts, by n/d, on the floor. Right: errors by thoughts, on E tr(I − ηS)^{2k}/d.

    Bars are two standard errors.
    """
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    ((look, _),) = kinds([""])
    ratios = np.array(config["contexts"]) / config["dim"]
    answer = measured["answer"]
    points(axes[0], ratios, answer["error"], look, error=_errors(answer["spread"]), law=predicted["answer"]["error"])
    frame(axes[0], "examples a dimension, $n/d$", "relative squared error", "without thoughts", log="xy", base=2)
    thinking = measured["thinking"]
    for k, (look, _) in enumerate(series(config["dims"], "$d = {}$")):
        law = predicted["thinking"]["errors"][k]
        points(axes[1], config["kept"], thinking["errors"][k], look, error=_errors(thinking["spread"][k]), law=law)
    limit = predicted["thinking"]["limit"]
    axes[1].plot(config["kept"], limit, "--", color=GREY, lw=1.2, label=r"$d\to\infty$")
    frame(axes[1], "thoughts $k$", "", f"$n = {config['ratio']}d$", log="y")
    name_lines(axes[1])
    return figure


def step_figure(record: dict) -> Figure:
    """Left: errors by thoughts after one step of V₃₁, λ ∝ 1/i, SGD's up to where its rate is best. Right: the cosine
    of that step to the identity, by the decay of the spectrum; hollow: from a chain of one thought."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2)
    step, kept, at = measured["step"], config["step_kept"], list(config["exponents"]).index(1.0)
    for name in ("sgd", "polar"):
        # the rate of SGD's step is tuned for the last but one: beyond, it is too large for a few prompts
        shown = slice(-1 if name == "sgd" else None)
        errors, spread = (np.array(step[name][key][-1][at], dtype=float)[shown] for key in ("errors", "spread"))
        points(axes[0], kept[shown], errors, optimizer(name), error=_errors(spread))
    axes[0].plot(kept, step["exact"]["errors"][-1][at], "--", color=GREY, lw=1.2, label="gradient descent")
    frame(axes[0], "thoughts", "relative squared error", r"$\lambda_i = 1/i$", log="xy")
    axes[0].legend()
    for name in ("sgd", "polar"):
        for k, fill in ((0, "white"), (-1, None)):
            shown = optimizer(name, f"{optimizer(name).label}, {config['chains'][k]} thought{'s' if k else ''}")
            law = predicted["step"]["cosine"][k] if name == "sgd" else None
            points(axes[1], config["exponents"], step[name]["cosine"][k], shown, law=law, mfc=fill)
    frame(axes[1], "decay $a$ of $\\lambda_i = i^{-a}$", "cosine of the step to $-I$", zero=True)
    axes[1].legend(loc="lower left")
    return figure


def _errors(values) -> np.ndarray:
    return np.nan_to_num(np.array(values, dtype=float))
