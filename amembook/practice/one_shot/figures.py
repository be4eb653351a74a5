"""The pictures of the study: the loss law with its extrapolation, and what was predicted beside what came."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import GREY, Look, frame, key, new_axes, optimizer, points
from amembook.practice.one_shot.expected import best, law
from amembook.run.claims import SMALL

LOOKS: dict[str, Look] = {
    "adam": optimizer("adamw", "Adam"),
    "sgd": optimizer("sgd", "SGD, steps of one length"),
    "muon": optimizer("muon", "Muon"),
}


def shot_figure(record: dict) -> Figure:
    """Left: excess by flops, screening open, runs full, lines the law with its 5 %. Right: measured over predicted."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, (left, right) = new_axes(2)
    at = np.array([config["rung"], config["shot"]])
    for k, (name, look) in enumerate(LOOKS.items()):
        rungs = best(name)
        left.plot(list(rungs), list(rungs.values()), look.marker, mfc="white", color=look.colour)
        flops = np.geomspace(max(rungs), at[-1], 20)
        values = law(name, flops)
        left.plot(flops, values, "--", color=look.colour, lw=1.1)
        left.fill_between(flops, values / (1 + SMALL), values * (1 + SMALL), color=look.colour, alpha=0.1, lw=0)
        draws = [measured[grid]["excess"][name] for grid in ("rung", "shot")]
        left.plot(at, [np.mean(one) for one in draws], look.marker, color=look.colour, label=look.label)
        ratio = np.divide(draws[0], predicted["rung"][name])
        points(right, [k - 0.15], ratio[None], look._replace(label=None))
        right.plot([k + 0.15], np.divide(draws[1], predicted["shot"][name]), "*", color=look.colour, ms=13)
    frame(left, "flops", "excess loss, nats", log="xy")
    left.set_yticks([0.8, 1, 1.2, 1.4, 1.6], ["0.8", "1", "1.2", "1.4", "1.6"])
    left.set_yticks([], minor=True)
    right.axhspan(1 / (1 + SMALL), 1 + SMALL, color=GREY, alpha=0.12, lw=0)
    right.axhline(1, color=GREY, lw=0.8)
    right.set_xticks(range(len(LOOKS)), ["Adam", "SGD", "Muon"])
    right.set_xlim(-0.5, len(LOOKS) - 0.5)
    frame(right, "", "measured over predicted")
    key(left, {"predicted": "--"})
    return figure
