"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.mean_field import dynamics
from amemlib.scaling import fit_exponent
from amemlib.verdicts import refuse, verdict

WIDTH_LIMIT = -1.0
WIDTH_BAND, SLOPE_SLACK = 0.15, 0.1
"""How far the mean exponent in the width may lie from −1, and each from that of neurons that do not hear each other,
beyond its interval: a third of the way to the rival −1/2, and a fifth."""
ALONE_BAND = 0.35
"""How far a distance may lie from that of neurons that do not hear each other, relative and beyond two standard errors:
neurons of a network give way to each other, which is left out there."""
FLAT = 0.5
"""The exponent in d below which a distance counts as one that does not grow; ours, a polynomial is all that is claimed.
A twentieth of the stretch that Grönwall's lemma has to allow would be far above."""
STRETCH = 1.8
"""The largest derivative of a neuron's speed by its height, 12 s² − 20 s⁴ at s² = 0.3: Grönwall's rate."""
FARTHER = 10.0
"""By what factor Muon's neurons are farther from their infinite network than the flow's, at its largest width."""


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
        measured[name], measured[f"{name}_error"] = found.mean(2).tolist(), standard_error(found, 2).tolist()
        widths = config.widths if name == "flow" else config.polar_widths
        fits = [fit_exponent(widths, row) for row in found]
        measured["width_slope"][name] = [fit.slope for fit in fits]
        measured["width_interval"][name] = [[fit.low, fit.high] for fit in fits]
        measured["captured"][name] = results.array(name, "captured").astype(float)[:, -1].mean(1).tolist()
        law = getattr(dynamics, {"flow": "flow", "polar": "polar_flow"}[name])
        predicted["time"][name] = [dynamics.horizon(law, dim, config.until) for dim in config.dims]
    fit = fit_exponent(config.dims, flow[:, -1])
    measured["dim_slope"], measured["dim_interval"] = fit.slope, [fit.low, fit.high]
    measured["polar_dim_slope"] = fit_exponent(config.dims, polar[:, -1]).slope
    same = config.widths.index(config.polar_widths[-1])
    measured["ratio"] = (polar[:, -1].mean(1) / flow[:, same].mean(1)).tolist()
    predicted["alone"], predicted["alone_error"] = alone.mean(2).tolist(), standard_error(alone, 2).tolist()
    predicted["width_slope"] = [fit_exponent(config.widths, row).slope for row in alone]
    predicted["dim_slope"] = fit_exponent(config.dims, alone[:, -1]).slope
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """width: distances and exponents in m are those of neurons that hear independent paths; their mean is near −1.
    dimension: the exponent in d is that of such neurons; it is below one half, although the time grows as d.
    muon: at its largest width the distance is more than ten times that of the flow, in every dimension.
    """
    slopes, intervals = (np.array(measured[key]["flow"], dtype=float) for key in ("width_slope", "width_interval"))
    found, error, alone = (
        np.array(numbers, dtype=float) for numbers in (measured["flow"], measured["flow_error"], predicted["alone"])
    )
    near = (np.abs(found - alone) <= ALONE_BAND * alone + 2 * np.nan_to_num(error)).all()
    slack = SLOPE_SLACK + (intervals[:, 1] - intervals[:, 0]) / 2
    follows = (np.abs(slopes - np.array(predicted["width_slope"])) <= slack).all()
    is_slope = lambda value: bool(abs(slopes.mean() - value) <= WIDTH_BAND)  # noqa: E731
    rivals = {"D² ∝ m^0": 0.0, "D² ∝ m^(−1/2)": -0.5, "D² ∝ m^(−3/2)": -1.5, "D² ∝ m^(−2)": -2.0}
    verdicts = {"width": verdict(bool(near and follows), is_slope(WIDTH_LIMIT), refuse(is_slope, rivals))}

    slope, (low, high) = measured["dim_slope"], measured["dim_interval"]
    follows = bool(abs(slope - predicted["dim_slope"]) <= SLOPE_SLACK + (high - low) / 2)
    is_flat = lambda value: bool(value <= FLAT)  # noqa: E731
    time = np.array(predicted["time"]["flow"], dtype=float)
    rivals = {
        name: np.polyfit(np.log(config.dims), 2 * STRETCH * part * time, 1)[0]
        for name, part in (("D² ∝ e^(2HT)", 1.0), ("D² ∝ e^(2HT/20)", 0.05))
    }
    verdicts["dimension"] = verdict(follows, is_flat(slope), refuse(is_flat, rivals | {"D² ∝ d": 1.0}))

    is_farther = lambda ratio: bool((np.array(ratio, dtype=float) >= FARTHER).all())  # noqa: E731
    met = is_farther(measured["ratio"])
    rivals = {"as the flow": [1.0], "three times the flow": [3.0]}
    verdicts["muon"] = verdict(None, met, refuse(is_farther, rivals))
    return verdicts
