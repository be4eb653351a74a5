"""Pictures of the study: what each schedule keeps, the law behind it, and formats."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, PALE, frame, key, new_axes, series

NAMES = {
    "jordan": "Jordan ×5 (torch)",
    "you": "You ×5 (dion)",
    "polar_express": "Polar Express ×5",
    "polar_express_8": "Polar Express ×8",
    "polar_express_102": "Polar Express 1.02",
    "polar_express_105": "Polar Express 1.05",
    "cans": "CANS ×5",
    "turbo_muon": "Turbo-Muon ×4, rows",
    "aol": "AOL ×4",
    "cubic5": "cubic ×5",
    "deepseekv4": "DeepSeek-V4 ×10",
}
"""Schedules in words, for axes."""
RESCALED = "turbo_muon, rows rescaled"
"""Turbo-Muon as it ships: its rows are rescaled before the iteration, which makes it no spectral map."""


def sizes(records: list[dict], alpha: str) -> list[tuple[dict, int, int]]:
    """(record, place among its dims, d) of every d at which some record has this α, by d."""
    having = [record for record in records if alpha in record["measured"]["polar"]]
    sizes = [(record, at, dim) for record in having for at, dim in enumerate(record["config"]["dims"])]
    return sorted(sizes, key=lambda size: size[2])


def kept_figure(records: list[dict], alpha: str) -> Figure:
    """Share of exact Muon's items that every schedule keeps at one α, two d: bars counted, ticks predicted."""
    figure, (axis,) = new_axes(figsize=(5.0, 4.8))
    shown = sizes(records, alpha)[-2:]
    record, last, _ = shown[-1]
    names = sorted(NAMES, key=lambda name: record["predicted"]["counts"]["float32"][alpha][name][last])
    places = np.arange(len(names))
    for k, (look, (record, at, _)) in enumerate(zip(looks(shown), shown, strict=True)):
        full, measured = record["measured"]["polar"][alpha][at], record["measured"]
        read = lambda key, measured=measured, at=at: np.array(
            [measured[key]["float32"][alpha][n][at] or 0 for n in names]
        )
        kept, error = read("counts") / full, read("error") / full
        law = np.array([record["predicted"]["counts"]["float32"][alpha][name][at] for name in names])
        law = law / record["predicted"]["polar"][alpha][at]
        shipped = names.index("turbo_muon")
        # no law and no stored error for the map with rescaled rows
        kept[shipped], error[shipped], law[shipped] = measured["rows"][RESCALED][alpha][at] / full, 0, np.nan
        y = places + (k - 0.5) * 0.4
        axis.barh(y, kept, 0.36, xerr=2 * error, color=look.colour, alpha=0.75, label=look.label, ecolor=GREY)
        axis.plot(law, y, "|", color="black", ms=9, mew=1.6, label="predicted" if k else None)
    axis.axvline(1, color=GREY, lw=1)
    axis.set_yticks(places, [NAMES[name] for name in names])
    axis.set_xlim(right=1.08)
    frame(axis, "items kept of exact Muon's", title=rf"$\alpha = {alpha}$, float32")
    axis.legend(loc="lower center")
    return figure


def looks(shown: list[tuple[dict, int, int]]) -> list:
    """A look for each d."""
    return [look for look, _ in series([dim for _, _, dim in shown], "$d = {}$")]


def law_figure(records: list[dict]) -> Figure:
    """Share kept against the reach x = Λ s_{d/2} / ‖G‖_F: all schedules, d and α, on the law of h_λ for each α."""
    figure, (axis,) = new_axes()
    alphas = sorted({alpha for record in records for alpha in record["measured"]["polar"]}, key=float)
    for look, alpha in series(alphas, r"$\alpha = {}$"):
        points = [
            (record["predicted"]["reach"][alpha][name][at], items[at] / record["measured"]["polar"][alpha][at])
            for record, at, _ in sizes(records, alpha)
            for name, items in record["measured"]["counts"]["float32"][alpha].items()
        ]
        axis.plot(*np.transpose(points), look.marker, color=look.colour, ms=4.5, label=look.label)
        curve = sizes(records, alpha)[-1][0]["predicted"]["curve"][alpha]
        axis.plot(curve["reach"], curve["share"], color=look.colour, lw=1.2)
    axis.axvspan(3, 300, color=PALE, alpha=0.35, lw=0)
    axis.set_xlim(1e-3, 300)
    frame(axis, r"reach $x=\Lambda\,s_{d/2}/\|G\|_F$", "items kept of exact Muon's", log="xy")
    key(axis, {r"$h_\lambda$ with $\lambda=\|G\|_F/\Lambda$": "-"})
    return figure


def formats_figure(records: list[dict]) -> Figure:
    """What bfloat16 (filled) and float16 (open) leave of float32's items: measured against predicted, all of them."""
    figure, (axis,) = new_axes()
    alphas = sorted({alpha for record in records for alpha in record["measured"]["polar"]}, key=float)
    for look, alpha in series(alphas, r"$\alpha = {}$"):
        for name, style in (("float16", {"mfc": "none"}), ("bfloat16", {"label": look.label})):
            points = [
                [numbers["counts"][name][alpha][n][at] / numbers["counts"]["float32"][alpha][n][at] for n in NAMES]
                for record, at, _ in sizes(records, alpha)
                for numbers in (record["predicted"], record["measured"])
            ]
            pairs = np.concatenate(points[::2]), np.concatenate(points[1::2])
            axis.plot(*pairs, look.marker, color=look.colour, ms=5.5, **style)
    axis.plot([0.4, 1.02], [0.4, 1.02], color=GREY, lw=1, label="equal")
    axis.axvspan(0.4, 0.75, color=PALE, alpha=0.35, lw=0)
    frame(axis, "predicted", "items kept of float32's", "filled: bfloat16, open: float16")
    axis.legend(loc="lower right")
    return figure
