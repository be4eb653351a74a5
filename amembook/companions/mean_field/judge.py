"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.mean_field import dynamics
from amembook.run.base import Results, standard_error
from amembook.run.claims import count_band, equivalence, exponents, numbers, order
from amemlib.scaling import fit_exponent

WIDTH_LIMIT = -1.0
STRETCH = 1.8
"""The largest derivative of a neuron's speed by its height, 12 s² − 20 s⁴ at s² = 0.3: Grönwall's rate."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """measured: `flow`, `polar`, the distances by (d, m), their errors; `width_slope` and its interval by d; under
    `dim_slope` the exponent in d at the largest width with its interval, `captured` there; `ratio` of Muon and flow.
    predicted: `alone`, the distances of neurons that hear independent paths, `width_slope`, `dim_slope`; `time` by d.
    """
    measured, predicted = {"width_slope": {}, "width_interval": {}, "captured": {}}, {"time": {}}
    flow, polar, alone = (
        results.array(*keys).astype(float) for keys in (("flow", "own"), ("polar", "own"), ("flow", "alone"))
    )
    for name, found in (("flow", flow), ("polar", polar)):
        measured[name], measured[f"{name}_error"] = found.mean(2), standard_error(found, 2)
        widths = config.widths if name == "flow" else config.polar_widths
        fits = [fit_exponent(widths, row) for row in found]
        measured["width_slope"][name] = [fit.slope for fit in fits]
        measured["width_interval"][name] = [[fit.low, fit.high] for fit in fits]
        measured["captured"][name] = results.array(name, "captured").astype(float)[:, -1].mean(1)
        law = getattr(dynamics, {"flow": "flow", "polar": "polar_flow"}[name])
        predicted["time"][name] = [dynamics.horizon(law, dim, config.until) for dim in config.dims]
    fit = fit_exponent(config.dims, flow[:, -1])
    measured["dim_slope"], measured["dim_interval"] = fit.slope, [fit.low, fit.high]
    measured["polar_dim_slope"] = fit_exponent(config.dims, polar[:, -1]).slope
    same = config.widths.index(config.polar_widths[-1])
    measured["ratio"] = polar[:, -1].mean(1) / flow[:, same].mean(1)
    predicted["alone"], predicted["alone_error"] = alone.mean(2), standard_error(alone, 2)
    predicted["width_slope"] = [fit_exponent(config.widths, row).slope for row in alone]
    predicted["dim_slope"] = fit_exponent(config.dims, alone[:, -1]).slope
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """width: distances and exponents in m are those of neurons that hear independent paths; the exponent is −1.
    dimension: the exponent in d is that of such neurons; nobody claims a limit. muon: at its largest width the distance
    is larger than the flow's, in every dimension.
    """
    draws, at = config.seeds, [f"{d}, {m}" for d in config.dims for m in config.widths]
    error = np.hypot(measured["flow_error"], predicted["alone_error"])
    band = count_band(config.dims)[:, None]
    width = numbers("distance at d, m =", measured["flow"], error, draws, law=predicted["alone"], band=band, at=at)
    fits, laws = [measured[key]["flow"] for key in ("width_slope", "width_interval")], predicted["width_slope"]
    rivals = {"D² ∝ m^(−3/4)": -0.75, "D² ∝ m^(−1/2)": -0.5, "D² ∝ m^(−3/2)": -1.5}
    width += exponents("exponent in m at d =", *fits, laws, WIDTH_LIMIT, rivals, draws, at=config.dims)

    fit, law = (measured["dim_slope"], measured["dim_interval"]), predicted["dim_slope"]
    dimension = exponents("exponent in d", *fit, law, None, {"D² ∝ d^(3/4)": 0.75, "D² ∝ d": 1.0}, draws)

    same = list(config.widths).index(config.polar_widths[-1])
    flow, polar = measured["flow"][:, same], measured["polar"][:, -1]
    spread = np.hypot(measured["flow_error"][:, same] / flow, measured["polar_error"][:, -1] / polar)
    farther = numbers(
        "Muon's over the flow's at d =", polar / flow, spread * polar / flow, draws, limit=1, at=config.dims
    )
    return {"width": equivalence(width), "dimension": equivalence(dimension), "muon": order(farther)}
