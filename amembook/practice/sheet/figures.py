"""The picture of the study: losses by rate, and the best rates by width."""

import numpy as np
from matplotlib.figure import Figure

from amembook.figures.style import frame, key, kinds, new_axes, optimizer, points
from amembook.practice.sheet import EXPERIMENT, rates
from amembook.run.base import config_of

NAMES = {"adamw": "AdamW", "muon": "Muon, match_rms_adamw", "original": "Muon, original"}


def rates_figure(record: dict) -> Figure:
    """Left: test loss by rate at the middle width; a cross, Muon at AdamW's best rate. Right: best rates by width."""
    config, measured = config_of(EXPERIMENT, record["config"]), record["measured"]
    dims = config.dims
    middle = dims[len(dims) // 2]
    figure, (left, right) = new_axes(2)
    looks = [optimizer("adamw"), *(look for look, _ in kinds(("muon", "original")))]
    for look, (arm, name) in zip(looks, NAMES.items(), strict=True):
        look = look._replace(label=name)
        points(left, rates(config, arm), np.array(measured["test"][f"{middle} {arm}"]), look, ls="-")
        logs = np.log(np.array([measured["rate"][f"{dim} {arm}"] for dim in dims]))
        best, error = np.exp(logs.mean(1)), logs.std(1, ddof=1) / config.seeds**0.5
        points(right, dims, best, look, error=best * error, ls="-")
    at = np.exp(np.log(np.array(measured["rate"][f"{middle} adamw"])).mean())
    left.plot(at, np.mean(measured["start"][f"{middle}"]), "x", color=looks[1].colour, ms=11, mew=2)
    frame(left, "learning rate of the matrices", "test loss, nats a word", f"$d={middle}$", log="x")
    frame(right, "width $d$", "best learning rate", log="xy", base=2)
    right.set_xticks(dims, [f"{dim}" for dim in dims])
    key(left, below=3)
    return figure
