"""`lr-transfer`: whether the best learning rate of a small model costs a large one less than its width does.

A study of Ghosh, Wu and Bietti, arXiv:2512.22768, in a sketched regression of ours.

Claim: transfer is fast when the suboptimality it induces vanishes asymptotically faster than the finite-scale
performance gap; whether it is depends critically on problem structure.

Caveats: medians over the sketches of a draw, and only which of the two falls faster is judged, after the fewest and the
most steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from amembook.companions.lr_transfer.measure import measure_sketch
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Results,
    Several,
    draws,
    slope,
)
from amembook.run.studies import headline
from amembook.run.study import above


@dataclass(frozen=True)
class TransferConfig(Config):
    """Sizes of the sketched regression."""

    n_features: Several = 2048
    decay: float = 1.5  # feature j has the variance j^(−decay)
    widths: Dims = (32, 64, 128, 256)
    steps: AscendingCounts = (1, 64)  # of gradient descent
    sketches: Count = 40  # a seed
    seeds: Count = 20
    first_seed: Natural = 0

    def limits(self):
        if not 1 < self.decay < 10:
            raise ValueError(f"decay must be in (1, 10), for a finite second moment, got {self.decay!r}")


def grids(config: TransferConfig) -> dict[str, Grid]:
    """Sketches by width and draw."""
    return {"sketch": Grid(measure_sketch, {"width": config.widths, "seed": draws(config)})}


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By number of steps: medians by width over all sketches, their exponents, the share of rates that diverge; `lead`:
    by how much the cost of transfer falls faster than the gap, draw by draw. predicted: that lead, after one step in
    the limit of wide sketches; after many while shifts are above 1/(4T), a transient: later it is one half again."""
    measured = {str(steps): _sketch(config, results, str(steps)) for steps in config.steps}
    return {"sketch": measured}, {"sketch": {str(config.steps[0]): 0.5, str(config.steps[-1]): -0.5}}


def _sketch(config, results: Results, steps: str) -> dict:
    draws = {name: results.array("sketch", steps, name) for name in ("shift", "gap", "transfer")}
    medians = {name: np.median(values, axis=(1, 2)) for name, values in draws.items()}
    by_seed = zip(*(np.median(draws[name], axis=2).T for name in ("gap", "transfer")), strict=True)
    return {
        **medians,
        **{f"{name}_exponent": -slope(config.widths, values) for name, values in medians.items()},
        "diverges": results.array("sketch", steps, "diverges").mean((1, 2)),
        "lead": [slope(config.widths, gap) - slope(config.widths, cost) for gap, cost in by_seed],
    }


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """fast: after the fewest steps the cost of transfer falls faster with the width than the gap. slow: after the most
    it falls more slowly."""
    leads = [measured["sketch"][str(steps)]["lead"] for steps in (config.steps[0], config.steps[-1])]
    yield "fast", above("exponent of the cost less the gap's", leads[0])
    yield "slow", above("exponent of the gap less the cost's", -leads[1])


EXPERIMENT = Experiment(
    name="lr-transfer",
    purpose=headline(__doc__),
    profiles={
        "smoke": TransferConfig(n_features=32, widths=(4, 8), steps=(1, 4), sketches=2, seeds=2),
        "cpu": TransferConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6400,
)
