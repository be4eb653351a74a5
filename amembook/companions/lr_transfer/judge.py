"""Measured numbers, and the verdicts."""

import numpy as np

from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import DIFFERENCE, numbers, order


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By number of steps: medians by width over all sketches, their exponents, the share of rates that diverge; `lead`:
    by how much the cost of transfer falls faster than the gap, draw by draw. predicted: that lead in the limit."""
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


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """fast: after the fewest steps the cost of transfer falls faster with the width than the gap. slow: after the most
    it falls more slowly."""
    verdicts = {}
    for name, sign, steps in (("fast", 1, config.steps[0]), ("slow", -1, config.steps[-1])):
        lead = sign * np.array(measured["sketch"][str(steps)]["lead"])
        label = "exponent of the cost less the gap's" if sign > 0 else "exponent of the gap less the cost's"
        verdicts[name] = order(
            numbers(label, lead.mean(), standard_error(lead, 0), config.seeds, limit=0, scale=DIFFERENCE)
        )
    return verdicts
