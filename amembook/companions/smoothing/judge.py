"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.smoothing import expected
from amembook.companions.smoothing.measure import EXPONENTS, pull_of
from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import count_band, equivalence, exponents, numbers
from amemlib.scaling import fit_exponent

KINDS = ("plain", "smoothed", "sign")
"""At one learning rate c/d^power each, the same c at every d."""
BEST = {"best_plain": "plain", "best_smoothed": "smoothed"}
"""At the best of several rates for each d."""


def limit_of(kind: str, dims) -> float:
    """k − 1, k/2 and, for signs, the slope of d log d over these d, at k = 4."""
    dims = np.array(dims, dtype=float)
    return {"plain": 3.0, "smoothed": 2.0, "sign": slope(dims, dims * np.log(dims))}[kind]


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
        told = (needed.mean(1), standard_error(needed), [rates[k] for k in best])
        told += (inside.all() or name in KINDS, fit.slope, [fit.low, fit.high])
        for key, value in zip(keys, told, strict=True):
            measured[key][name] = value
        laws = [
            _law(pull_of(kind, dim), dim, np.array(rates) / dim ** EXPONENTS[kind], config.level, config.share)
            for dim in dims
        ]
        predicted["samples"][name], predicted["slope"][name] = laws, slope(dims, laws)
        predicted["local"][name] = np.diff(np.log(laws)) / np.diff(np.log(dims))
        predicted["limit"][name] = limit_of(kind, dims)
    best, inside, needed = _best(*(results.array("radius", key).astype(float) for key in ("samples", "spent")))
    measured["radius"], measured["radius_error"] = needed.mean(1), standard_error(needed)
    measured["rate"]["radius"] = [config.sweep_rates[k] for k in best]
    measured["inside"]["radius"] = inside.all()
    eta = np.array(config.sweep_rates) / config.sweep_dim ** EXPONENTS["plain"]
    predicted["radius"] = [
        _law(pull_of("smoothed", config.sweep_dim, multiple), config.sweep_dim, eta, config.level, config.share)
        for multiple in config.multiples
    ]
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """plain, smoothed, sign, best_plain, best_smoothed: sample sizes and their exponent are the law's; the exponent is
    its limit. Nothing is judged where the best learning rate of a size is an end of its grid, or one at which a draw
    did not arrive. radius: sample sizes are the law's at every λ.
    """
    verdicts, draws = {}, config.seeds
    for name, limit in predicted["limit"].items():
        if not measured["inside"][name]:
            verdicts[name] = equivalence([])
            continue
        dims = getattr(config, f"{name}_dims")
        found, error = (measured[key][name] for key in ("samples", "samples_error"))
        law, fit = predicted["samples"][name], (measured["slope"][name], measured["interval"][name])
        judged = numbers("samples at d =", found, error, draws, law=law, band=count_band(dims), at=dims)
        rivals = {f"n ∝ d^{value:g}": value for value in (1.0, 1.5, 2.0, 2.5, 3.0) if abs(value - limit) > 0.2}
        rivals[f"n ∝ d^{limit + 0.25:.3g}"] = limit + 0.25
        judged += exponents("exponent", *fit, predicted["slope"][name], limit, rivals, draws)
        verdicts[name] = equivalence(judged)

    if not measured["inside"]["radius"]:
        return verdicts | {"radius": equivalence([])}
    found, error = (measured[key] for key in ("radius", "radius_error"))
    multiples = np.array(config.multiples, dtype=float)
    shapes = {
        "n ∝ 1/(1 + λ²)": 1 / (1 + multiples**2 * config.sweep_dim**0.5),
        "n ∝ 1/(1 + λ⁴/d)": 1 / (1 + multiples**4),
    }
    rivals = {name: shape * np.exp(np.log(found / shape).mean()) for name, shape in shapes.items()}
    given = {"law": predicted["radius"], "band": count_band(config.sweep_dim), "at": config.multiples, "rivals": rivals}
    return verdicts | {"radius": equivalence(numbers("samples at λ/d^(1/4) =", found, error, draws, **given))}


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
