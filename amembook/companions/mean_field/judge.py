"""Measured numbers beside predicted ones, and the verdicts."""

from collections.abc import Iterator

import numpy as np

from amembook.run.base import Results, standard_error
from amembook.run.claims import equivalence, exponents, numbers, order
from amemlib.scaling import fit_exponent

STRETCH = 1.8
"""The largest derivative of a neuron's speed by its height, 12 s² − 20 s⁴ at s² = 0.3: Grönwall's rate."""
SLOW = -0.75


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By kind of step: `gap`, m times the mean square difference of the networks by (d, m, start and marks), and
    `distance`, m times that of the neurons by (d, m, marks), with errors; `most`, m times the largest gap on the way.
    Exponents in m by d with intervals: `most_slope`, and `distance_slope` at the last mark of the flow; in d at the
    largest width, `dim_slope`. predicted: `start`, m times the mean gap of independent neurons, 1 − 3/(d(d + 2)), by d;
    `time` by kind and d.
    """
    measured = {key: {} for key in ("gap", "gap_error", "distance", "distance_error", "most", "most_error")}
    m = np.array(config.widths, dtype=float)[None, :, None]
    every = {}
    for kind in ("flow", "polar"):
        for key in ("gap", "distance", "most"):
            draws = results.array(kind, key).astype(float)
            draws = draws * (m if key == "most" else m[..., None])
            every[kind, key] = draws
            measured[key][kind], measured[f"{key}_error"][kind] = draws.mean(-1), standard_error(draws, -1)
    for name, draws in (("most", every["flow", "most"]), ("distance", every["flow", "distance"][:, :, -1])):
        fits = [fit_exponent(config.widths, row / m[0]) for row in draws]
        measured[f"{name}_slope"] = [fit.slope for fit in fits]
        measured[f"{name}_interval"] = [[fit.low, fit.high] for fit in fits]
    fit = fit_exponent(config.dims, every["flow", "most"][:, -1])
    measured["dim_slope"], measured["dim_interval"] = fit.slope, [fit.low, fit.high]
    dims = np.array(config.dims, dtype=float)
    times = {kind: results.array(kind, "time").astype(float)[:, 0] for kind in ("flow", "polar")}
    return measured, {"start": 1 - 3 / (dims * (dims + 2)), "time": times}


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """gap: the largest mean square difference of the two networks on the way falls as 1/m, in every dimension.
    dimension: m times it, at the largest width, does not grow with d. shrinks: at the marks from one half on it is
    smaller than at the start. neurons: at the end the exponent of their mean square distance is above −3/4. muon: at
    the last mark of Muon m times the gap is larger than under the flow at the same mark.
    """
    draws = config.seeds
    rivals = {"m^(−3/4)": -0.75, "m^(−1/2)": -0.5, "m^(−5/4)": -1.25}
    fit, of_fit = (measured["most_slope"], measured["most_interval"]), {"at": config.dims, "points": len(config.widths)}
    yield "gap", equivalence(exponents("exponent in m at d =", *fit, None, -1.0, rivals, draws, **of_fit))
    fit, of_fit = (measured["dim_slope"], measured["dim_interval"]), {"points": len(config.dims)}
    rivals = {"m gap ∝ d^(1/4)": 0.25, "m gap ∝ √d": 0.5, "m gap ∝ d": 1.0}
    yield "dimension", equivalence(exponents("exponent in d", *fit, None, 0.0, rivals, draws, **of_fit))

    flow, error = (measured[key]["flow"] for key in ("gap", "gap_error"))
    late = [k + 1 for k, mark in enumerate(config.marks) if mark >= 0.5]
    marks = np.array(config.marks)[np.array(late, dtype=int) - 1]
    at = [f"{d}, {m}, {mark}" for d in config.dims for m in config.widths for mark in marks]
    less, spread = flow[:, :, :1] - flow[:, :, late], np.hypot(error[:, :, :1], error[:, :, late])
    yield "shrinks", order(numbers("less than at the start at d, m, mark =", less, spread, draws, limit=0, at=at))
    slope, (low, high) = measured["distance_slope"], np.moveaxis(measured["distance_interval"], -1, 0)
    held_to = {"limit": SLOW, "low": low, "high": high, "at": config.dims}
    yield "neurons", order(numbers("exponent in m at d =", slope, draws=draws, **held_to))

    judged, same = [], config.polar_marks[-1]
    if same in config.marks:
        here, at = list(config.marks).index(same) + 1, [f"{d}, {m}" for d in config.dims for m in config.widths]
        more = measured["gap"]["polar"][:, :, -1] - flow[:, :, here]
        spread = np.hypot(measured["gap_error"]["polar"][:, :, -1], error[:, :, here])
        judged = numbers("Muon's m gap less the flow's at d, m =", more, spread, draws, limit=0, at=at)
    yield "muon", order(judged)
