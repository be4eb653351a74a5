"""Best rates beside the scales of libraries and the law of the loss."""

import numpy as np

from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, RATIO, SIZES, equivalence, numbers, order

WRONG = 1.2
"""√(m/n) says less than the best rate of a wide matrix over the square's by more than this factor."""
BETTER = 1.2
"""And it is off by more than this many times what √max(1, m/n) is off by."""
FLAT = 1.6
"""From the smallest batch to the largest, a factor of a thousand in tokens, the best step rises by less than this."""
ROOT = 0.25
"""Over the runs the best rate for inputs of length one grows with d by a smaller power than this; √d would be 1/2."""
COST = 0.1
"""Nats that the rate of the narrowest run costs the widest more as d than as √d, and more as √d than not scaled."""
LARGE_BATCH = 16
"""Tokens an item of the memory's side from which on the law of a batch's best step is held to."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """shapes, widths, batches: log₂ of the best rate, a list of draws each, by shape in words, d, batch. runs: log₂ of
    the best rate by width, a list a draw; power: that of d, a draw; carried: nats, unscaled, as √d and as d.

    predicted: widths, batches: the law's log₂, batches the mean over what the draws have shown.
    """
    measured = {
        "shapes": {name: results.array("shapes", "best", shape=name) for name in results.grids["shapes"].axes["shape"]},
        "widths": results.array("widths", "best"),
        "batches": results.array("batches", "best"),
        "runs": results.array("runs", "best"),
        "carried": results.array("runs", "carried"),
    }
    x = np.log2(config.run_dims)
    measured["power"] = [np.polyfit(x, one, 1)[0] for one in measured["runs"]]
    predicted = {name: results.array(name, "law") for name in ("widths", "batches")}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """third: `WRONG` and `BETTER` for every wide shape. widths: the best rate on the law at every d. batches: the same
    from `LARGE_BATCH` tokens a dimension on. flat: `FLAT`. root: `ROOT`. carried: `COST`.
    """
    shapes = {name: np.array(values) for name, values in measured["shapes"].items()}
    square, *wide = shapes
    off, better = {}, {}
    for name in wide:
        m, n = map(int, name.split("x"))
        change = shapes[name] - shapes[square]
        # for inputs of length one the scales are √m and √max(m, n), each over that of the square
        third, first = (np.log2(side / config.base) / 2 for side in (m, max(m, n)))
        off[name] = 2.0 ** (change - third)
        better[name] = 2.0 ** (np.abs(change - third) - np.abs(change - first))
    third = _each("best rate over √(m/n)'s,", off, WRONG, RATIO)
    third += _each("error of √(m/n) over that of √max(1, m/n),", better, BETTER, RATIO)

    def on_law(name: str, at, keep) -> dict:
        found, law = (np.array(told[name], float)[keep] for told in (measured, predicted))
        ratio = 2.0 ** (found - law)
        rivals = {"one rate for all": 2.0 ** (law.mean() - law.mean(1)), "√d": np.full(len(law), np.nan)}
        if name == "widths":
            root = np.log2(np.array(at)) / 2
            rivals["√d"] = 2.0 ** (root - root.mean() - law.mean(1) + law.mean())
        else:
            del rivals["√d"]
        given = {"law": 1.0, "band": SIZES, "rivals": rivals, "at": at}
        return equivalence(
            numbers("best rate over the law,", ratio.mean(1), standard_error(ratio), config.seeds, **given)
        )

    batches = np.array(config.batch_sizes)
    large = batches >= LARGE_BATCH * config.batch_dim
    rise = np.array(measured["batches"], float)
    slope, carried = np.array(measured["power"], float), np.array(measured["carried"], float)
    costs = {"√d over none": carried[:, 1] - carried[:, 0], "d over √d": carried[:, 2] - carried[:, 1]}
    return {
        "third": order(third),
        "widths": on_law("widths", config.dims, np.full(len(config.dims), True)),
        "batches": on_law("batches", batches[large], large) if large.sum() > 1 else equivalence([]),
        "flat": order(_each("allowed over the rise,", {"all": FLAT / 2.0 ** (rise[-1] - rise[0])}, 1, RATIO)),
        "root": order(_each("below the power", {f"{ROOT:g}": ROOT - slope}, 0, DIFFERENCE)),
        "carried": order(_each("cost, nats,", costs, COST, DIFFERENCE)),
    }


def _each(name: str, found: dict[str, np.ndarray], limit: float, scale: str) -> list[dict]:
    values = np.array(list(found.values()))
    error = standard_error(values)
    return numbers(name, values.mean(1), error, values.shape[1], limit=limit, scale=scale, at=list(found))
