"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.smoothing import expected
from amemlib.labs.smoothing.measure import EXPONENTS, pull_of
from amemlib.scaling import fit_exponent
from amemlib.verdicts import refuse, verdict

SAMPLES_BAND = 0.2
"""How far a sample size may lie from its law, relative and beyond two standard errors: a step of the learning rate
changes it by a tenth, and a share is reached when the noise says, up to a tenth early."""
SLOPE_SLACK, LIMIT_BAND, LOCAL_BAND = 0.08, 0.2, 0.3
"""How far an exponent may lie from the law's beyond its interval, and from its limit; how far the law's exponents
between neighbouring sizes may lie from the limit. Beyond, the range of d decides what exponent is found."""
LIMITS = {"plain": 3.0, "smoothed": 2.0, "sign": 1.0}
"""k − 1, k/2 and, for signs, d log d, at k = 4."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`samples[kind]` at the best rate, its error, the best `rate` and whether it is `inside` its grid, `slope[kind]`
    with its `interval`; the same by multiple under `radius`. predicted: `samples`, `slope`, `radius`.
    """
    keys = ("samples", "samples_error", "rate", "inside", "slope", "interval")
    measured, predicted = {key: {} for key in keys}, {"samples": {}, "slope": {}, "local": {}}
    for kind in LIMITS:
        dims, rates = (getattr(config, f"{kind}_{name}") for name in ("dims", "rates"))
        found = results.array(kind, "samples").astype(float)
        best, needed = _best(found)
        fit = fit_exponent(dims, needed)
        told = (needed.mean(1).tolist(), standard_error(needed).tolist(), [rates[k] for k in best])
        told += (bool(((best > 0) & (best < len(rates) - 1)).all()), fit.slope, [fit.low, fit.high])
        for key, value in zip(keys, told, strict=True):
            measured[key][kind] = value
        law = [
            _law(pull_of(kind, dim), dim, np.array(rates) / dim ** EXPONENTS[kind], config.level, config.share)
            for dim in dims
        ]
        predicted["samples"][kind], predicted["slope"][kind] = law, _slope(dims, law)
        predicted["local"][kind] = (np.diff(np.log(law)) / np.diff(np.log(dims))).tolist()
    best, needed = _best(results.array("radius", "samples").astype(float))
    measured["radius"], measured["radius_error"] = needed.mean(1).tolist(), standard_error(needed).tolist()
    measured["rate"]["radius"] = [config.sweep_rates[k] for k in best]
    eta = np.array(config.sweep_rates) / config.sweep_dim ** EXPONENTS["plain"]
    predicted["radius"] = [
        _law(pull_of("smoothed", config.sweep_dim, multiple), config.sweep_dim, eta, config.level, config.share)
        for multiple in config.multiples
    ]
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """plain, smoothed, sign: sample sizes and their exponent are the law's; the exponent is near its limit, and so are
    the law's between all neighbouring sizes. Nothing is judged where the best learning rate is an end of its grid.
    radius: sample sizes are the law's at every λ; one answer to both questions.
    """
    verdicts = {}
    for kind, limit in LIMITS.items():
        if not measured["inside"][kind]:
            verdicts[kind] = verdict(None, None)
            continue
        found, error = (np.array(measured[key][kind], dtype=float) for key in ("samples", "samples_error"))
        slope, (low, high) = measured["slope"][kind], measured["interval"][kind]
        near = _near(found, error, predicted["samples"][kind])
        follows = abs(slope - predicted["slope"][kind]) <= SLOPE_SLACK + (high - low) / 2
        is_slope = lambda value, slope=slope: bool(abs(slope - value) <= LIMIT_BAND)  # noqa: E731
        settled = np.abs(np.array(predicted["local"][kind]) - limit).max() <= LOCAL_BAND
        rivals = {f"n ∝ d^{value:g}": value for value in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0) if value != limit}
        verdicts[kind] = verdict(near and bool(follows), is_slope(limit) and bool(settled), refuse(is_slope, rivals))

    found, error = (np.array(measured[key], dtype=float) for key in ("radius", "radius_error"))
    multiples = np.array(config.multiples, dtype=float)
    met = _near(found, error, predicted["radius"])
    shapes = {
        "no gain": np.ones(len(found)),
        "n ∝ 1/(1 + λ²)": 1 / (1 + multiples**2 * config.sweep_dim**0.5),
        "n ∝ 1/(1 + λ⁴/d)": 1 / (1 + multiples**4),
    }
    rivals = {name: shape * np.exp(np.log(found / shape).mean()) for name, shape in shapes.items()}
    verdicts["radius"] = verdict(met, met, refuse(lambda law: _near(found, error, law), rivals))
    return verdicts


def _best(found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rate with the fewest samples in the mean, and the (x, draws) samples there, of (x, draws, rates)."""
    best = np.argmin(np.nan_to_num(found.mean(1), nan=np.inf), axis=1)
    return best, found[np.arange(len(found)), :, best]


def _law(pull, dim: int, eta: np.ndarray, level: float, share: float) -> float:
    return float(np.nanmin([expected.samples_needed(pull, dim, rate, level, share) for rate in eta]))


def _slope(x, y) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _near(found: np.ndarray, error: np.ndarray, law) -> bool:
    law = np.array(law, dtype=float)
    return bool((np.abs(found - law) <= SAMPLES_BAND * law + 2 * np.nan_to_num(error)).all())
