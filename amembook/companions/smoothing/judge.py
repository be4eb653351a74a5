"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.smoothing import expected
from amembook.companions.smoothing.measure import EXPONENTS, horizon_of, pull_of
from amembook.run.base import Results, scaled, slope, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, count_band, equivalence, exponents, numbers
from amemlib.scaling import fit_exponent

KINDS = ("plain", "smoothed", "sign")
"""At one learning rate c/d^power each, the same c at every d."""
BEST = {"best_plain": "plain", "best_smoothed": "smoothed"}
"""At the best of several rates for each d."""

LATE = ("plain", "smoothed")
"""Whose largest rate is sought."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By grid: `samples`, their error, `rate`, whether it is `inside` its grid, `slope` with its `interval`; under
    `radius` the samples by multiple. predicted: `samples`, `slope`, `local` between neighbouring d, `limit`, `radius`.
    """
    if "samples" not in config.parts:
        return _largest(config, results)
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
        # k − 1, k/2 and, for signs, the slope of d log d over these d, at k = 4
        predicted["limit"][name] = {"plain": 3, "smoothed": 2, "sign": slope(dims, np.array(dims) * np.log(dims))}[kind]
    best, inside, needed = _best(*(results.array("radius", key).astype(float) for key in ("samples", "spent")))
    measured["radius"], measured["radius_error"] = needed.mean(1), standard_error(needed)
    measured["rate"]["radius"] = [config.sweep_rates[k] for k in best]
    measured["inside"]["radius"] = inside.all()
    eta = np.array(config.sweep_rates) / config.sweep_dim ** EXPONENTS["plain"]
    predicted["radius"] = [
        _law(pull_of("smoothed", config.sweep_dim, multiple), config.sweep_dim, eta, config.level, config.share)
        for multiple in config.multiples
    ]
    if "largest" in config.parts:
        for told, own in zip((measured, predicted), _largest(config, results), strict=True):
            told |= own
    return measured, predicted


def _largest(config, results: Results) -> tuple[dict, dict]:
    """By kind: `largest`, c = η_max d^power of the largest rate, with its error; `largest_slope` of η_max in d with its
    interval; the `shares` late on, by d and rate. predicted: `largest`, `largest_slope`, `shares`.
    """
    keys = ("largest", "largest_error", "largest_slope", "largest_interval", "shares")
    measured, predicted = {key: {} for key in keys}, {key: {} for key in ("largest", "largest_slope", "shares")}
    for kind in LATE:
        dims, rates = (np.array(getattr(config, f"late_{kind}_{of}"), dtype=float) for of in ("dims", "rates"))
        shares = results.array(f"late_{kind}", "shares").astype(float)
        found = np.array([[expected.largest_rate(rates, one, config.share) for one in row.T] for row in shares])
        steps = found / dims[:, None] ** EXPONENTS[kind]
        whole = np.isfinite(steps).all()
        fit = fit_exponent(dims, steps) if whole else None
        told = (found.mean(1), standard_error(found), fit.slope if fit else np.nan)
        told += ([fit.low, fit.high] if fit else [np.nan, np.nan], shares.mean(2))
        for key, value in zip(keys, told, strict=True):
            measured[key][kind] = value
        laws = [
            [
                expected.late_share(
                    *pull_of(kind, int(d)), int(d), c / d ** EXPONENTS[kind], config.level, horizon_of(kind, int(d))
                )
                for c in rates
            ]
            for d in dims
        ]
        law = np.array([expected.largest_rate(rates, np.array(row), config.share) for row in laws])
        predicted["shares"][kind], predicted["largest"][kind] = laws, law
        predicted["largest_slope"][kind] = slope(dims, law / dims ** EXPONENTS[kind])
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """largest_plain, largest_smoothed: the largest rate at which a share of the neurons arrives is the law's, and falls
    as d^(−k/2) on the plain loss and as d^(−3/2) on the smoothed one. plain, smoothed, sign, best_plain, best_smoothed:
    sample sizes and their exponent are the law's; the exponent is its limit. Nothing is judged where the best learning
    rate of a size is an end of its grid, or one at which a draw did not arrive. radius: sizes are the law's at every λ.
    """
    verdicts, draws = {}, config.seeds
    for kind in LATE if "largest" in config.parts else ():
        dims, limit = getattr(config, f"late_{kind}_dims"), -EXPONENTS[kind]
        found, error, law = measured["largest"][kind], measured["largest_error"][kind], predicted["largest"][kind]
        judged = numbers("largest c at d =", found, error, draws, law=law, band=count_band(dims), at=dims)
        law, (low, high) = predicted["largest_slope"][kind], measured["largest_interval"][kind]
        rivals = {f"η ∝ d^{power:g}": power for power in (-1.0, -1.25, -1.5, -1.75, -2.0) if abs(power - law) > 0.2}
        given = {"law": law, "limit": limit, "band": EXPONENT, "scale": DIFFERENCE, "rivals": rivals}
        judged += numbers("exponent", measured["largest_slope"][kind], draws=draws, low=low, high=high, **given)
        verdicts[f"largest_{kind}"] = equivalence(judged)
    if "samples" not in config.parts:
        return verdicts
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
    rivals = {name: scaled(shape, found) for name, shape in shapes.items()}
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
