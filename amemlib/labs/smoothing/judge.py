"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.smoothing import expected
from amemlib.labs.smoothing.measure import EXPONENTS, pull_of
from amemlib.scaling import fit_exponent
from amemlib.verdicts import refuse, verdict

KINDS = ("plain", "smoothed", "sign")
"""At one learning rate c/d^power each, the same c at every d."""
BEST = {"best_plain": "plain", "best_smoothed": "smoothed"}
"""At the best of several rates for each d."""
SAMPLES_BAND = 0.15
"""How far a sample size may lie from its law, relative and beyond two standard errors: a share of 96 neurons is reached
when the noise says, a few per cent early."""
BEST_BAND = 0.25
"""The same at the best of several rates, where many neurons are thrown back as others arrive: what is first reached is
then the luckiest moment of the share, and the best rate the luckiest one."""
SLOPE_SLACK, LIMIT_BAND, LOCAL_BAND = 0.08, 0.2, 0.3
"""How far an exponent may lie from the law's beyond its interval, and from its limit; how far the law's exponents
between neighbouring sizes may lie from the limit. Beyond, the range of d decides what exponent is found."""


def limit_of(kind: str, dims) -> float:
    """k − 1, k/2 and, for signs, the slope of d log d over these d, at k = 4."""
    dims = np.array(dims, dtype=float)
    return {"plain": 3.0, "smoothed": 2.0, "sign": _slope(dims, dims * np.log(dims))}[kind]


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By grid: `samples`, their error, `rate`, whether it is `inside` its grid, `slope` with its `interval`; under
    `radius` the samples by multiple. predicted: `samples`, `slope`, `local` between neighbouring d, `limit`, `radius`.
    """
    keys = ("samples", "samples_error", "rate", "inside", "slope", "interval")
    measured = {key: {} for key in keys}
    predicted = {"samples": {}, "slope": {}, "local": {}, "limit": {}}
    for name, kind in ({kind: kind for kind in KINDS} | BEST).items():
        dims = getattr(config, f"{name}_dims")
        rates = (getattr(config, f"{name}_rate"),) if name in KINDS else getattr(config, f"{name}_rates")
        found, spent = (results.array(name, key).astype(float) for key in ("samples", "spent"))
        best, inside, needed = _best(found, spent)
        fit = fit_exponent(dims, needed)
        told = (needed.mean(1).tolist(), standard_error(needed).tolist(), [rates[k] for k in best])
        told += (bool(inside.all()) or name in KINDS, fit.slope, [fit.low, fit.high])
        for key, value in zip(keys, told, strict=True):
            measured[key][name] = value
        laws = [
            _law(pull_of(kind, dim), dim, np.array(rates) / dim ** EXPONENTS[kind], config.level, config.share)
            for dim in dims
        ]
        predicted["samples"][name], predicted["slope"][name] = laws, _slope(dims, laws)
        predicted["local"][name] = (np.diff(np.log(laws)) / np.diff(np.log(dims))).tolist()
        predicted["limit"][name] = limit_of(kind, dims)
    best, inside, needed = _best(*(results.array("radius", key).astype(float) for key in ("samples", "spent")))
    measured["radius"], measured["radius_error"] = needed.mean(1).tolist(), standard_error(needed).tolist()
    measured["rate"]["radius"] = [config.sweep_rates[k] for k in best]
    measured["inside"]["radius"] = bool(inside.all())
    eta = np.array(config.sweep_rates) / config.sweep_dim ** EXPONENTS["plain"]
    predicted["radius"] = [
        _law(pull_of("smoothed", config.sweep_dim, multiple), config.sweep_dim, eta, config.level, config.share)
        for multiple in config.multiples
    ]
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """plain, smoothed, sign, best_plain, best_smoothed: sample sizes and their exponent are the law's; the exponent is
    near its limit, and so are the law's between all neighbouring sizes. Nothing is judged where the best learning rate
    of a size is an end of its grid, or one at which a draw did not arrive.
    radius: sample sizes are the law's at every λ; one answer to both questions.
    """
    verdicts = {}
    for name, limit in predicted["limit"].items():
        if not measured["inside"][name]:
            verdicts[name] = verdict(None, None)
            continue
        found, error = (np.array(measured[key][name], dtype=float) for key in ("samples", "samples_error"))
        slope, (low, high) = measured["slope"][name], measured["interval"][name]
        near = _near(found, error, predicted["samples"][name], BEST_BAND if name in BEST else SAMPLES_BAND)
        follows = abs(slope - predicted["slope"][name]) <= SLOPE_SLACK + (high - low) / 2
        is_slope = lambda value, slope=slope: bool(abs(slope - value) <= LIMIT_BAND)  # noqa: E731
        settled = np.abs(np.array(predicted["local"][name]) - limit).max() <= LOCAL_BAND
        rivals = {f"n ∝ d^{value:g}": value for value in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0) if value != limit}
        verdicts[name] = verdict(near and bool(follows), is_slope(limit) and bool(settled), refuse(is_slope, rivals))

    if not measured["inside"]["radius"]:
        return verdicts | {"radius": verdict(None, None)}
    found, error = (np.array(measured[key], dtype=float) for key in ("radius", "radius_error"))
    multiples = np.array(config.multiples, dtype=float)
    met = _near(found, error, predicted["radius"], BEST_BAND)
    shapes = {
        "no gain": np.ones(len(found)),
        "n ∝ 1/(1 + λ²)": 1 / (1 + multiples**2 * config.sweep_dim**0.5),
        "n ∝ 1/(1 + λ⁴/d)": 1 / (1 + multiples**4),
    }
    rivals = {name: shape * np.exp(np.log(found / shape).mean()) for name, shape in shapes.items()}
    verdicts["radius"] = verdict(met, met, refuse(lambda law: _near(found, error, law, BEST_BAND), rivals))
    return verdicts


def _best(found: np.ndarray, spent: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best rate of each x, whether it is inside its grid, and the (x, draws) samples there, of (x, rates, draws).

    One rate for all draws, the one with the fewest samples in their mean. A draw that did not arrive counts with the
    samples spent, which is less than it needs: such a rate may still win, and is then not inside.
    """
    filled = np.where(np.isnan(found), spent[:, None, None], found)
    best = np.argmin(filled.mean(2), axis=1)
    rows = np.arange(len(found))
    inside = (best > 0) & (best < found.shape[1] - 1) & np.isfinite(found[rows, best]).all(1)
    return best, inside, filled[rows, best]


def _law(pull, dim: int, eta: np.ndarray, level: float, share: float) -> float:
    return float(np.nanmin([expected.samples_needed(*pull, dim, rate, level, share) for rate in eta]))


def _slope(x, y) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _near(found: np.ndarray, error: np.ndarray, law, band: float) -> bool:
    law = np.array(law, dtype=float)
    return bool((np.abs(found - law) <= band * law + 2 * np.nan_to_num(error)).all())
