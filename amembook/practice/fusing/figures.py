"""Pictures of the study: what fusing three parts leaves by what they have in common, and groups of heads."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, name_lines, new_axes, points, series


def fusing_figure(record: dict) -> Figure:
    """Left: items of three parts fused over apart, by the share of common items, on the law. Right: groups of heads."""
    figure, axes = new_axes(2)
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    alpha, parts = config["alphas"].index(config["alpha"]), config["parts"].index(3)
    at = lambda name, kind: measured[name][alpha][parts][measured["kinds"].index(kind)]
    shares = [0.0, *config["overlaps"], 1.0]
    alone = at("apart", "private")
    fused = np.array([at("fused", "private"), *measured["overlaps"], at("fused", "common")]) / alone
    error = np.array([at("fused_error", "private"), *measured["overlaps_error"], at("fused_error", "common")]) / alone
    private, common = predicted["extremes"]
    law = np.array([private, *predicted["overlaps"], common]) / (3 * predicted["alone"])
    (own, _), (permuted, _) = kinds(("items by rank", "the same inputs, orders of their own"), "{}")
    points(axes[0], shares, fused, own, error=error)
    axes[0].plot(shares, law, color=GREY, lw=1.2, label="law")
    other, doubt = (at(name, "permuted") / alone for name in ("fused", "fused_error"))
    points(axes[0], [0.0], np.array([other]), permuted, error=np.array([doubt]))
    frame(axes[0], "share of items in common", "items fused over apart", zero=True)
    axes[0].legend()
    x = np.arange(len(config["groups"]))
    for look, k in series(range(len(config["head_overlaps"]))):
        look = look._replace(label=f"{config['head_overlaps'][k]:.0%}")
        points(axes[1], x, np.array(measured["heads"][k]), look, error=np.array(measured["heads_error"][k]), ls="-")
    axes[1].axhline(1, color=GREY, lw=0.8)
    axes[1].set_xticks(x, [str(size) for size in config["groups"]])
    frame(axes[1], "heads that share a polar factor", "items over those of single heads", "share in common")
    axes[1].set_xlim(right=len(x) - 0.9)
    name_lines(axes[1], offset=(8, 0))
    return figure
