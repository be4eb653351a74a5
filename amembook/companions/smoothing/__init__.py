"""`smoothing`: how many samples online SGD needs to find a direction behind a flat start, and what smoothing saves.

On Damian, Nichani, Ge and Lee, arXiv:2305.10633.

Claim: online SGD on a single-index model of information exponent k needs n ≳ d^(k−1) samples; on a smoothed loss n ≳
d^(k/2) suffice (abstract); k = 4 here.

Caveats: nothing is judged where the best learning rate of a size is an end of its grid, or one at which a draw did not
arrive: such a draw counts with the samples that it spent, which is less than it needs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.companions.smoothing import expected
from amembook.companions.smoothing.measure import (
    EXPONENTS,
    horizon_of,
    measure_kind,
    measure_late,
    measure_radius,
    pull_of,
)
from amembook.run.base import (
    Chance,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    NonNegatives,
    Positive,
    Positives,
    Results,
    scaled,
    slope,
    some_of,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, EXPONENT, count_band, equivalence, exponents, numbers
from amembook.run.studies import headline
from amembook.run.study import by_part, claims_by_part, means
from amemlib.checks import check_dims
from amemlib.scaling import fit_exponent

KINDS = ("plain", "smoothed", "sign")
"""At one learning rate c/d^power each, the same c at every d."""
BEST = {"best_plain": "plain", "best_smoothed": "smoothed"}
"""At the best of several rates for each d."""

LATE = ("plain", "smoothed")
"""Whose largest rate is sought."""


def _check_rising(name: str, rates: tuple) -> None:
    if list(rates) != sorted(set(rates)):
        raise ValueError(f"{name} must increase, or no rate is an end of its grid, got {rates!r}")


Large = Annotated[tuple[int, ...], partial(check_dims, least=8)]
Rates = Annotated[Positives, _check_rising]


PARTS = ("samples", "largest")
"""Samples by kind, rate and radius; the largest rate at which neurons still arrive."""


@dataclass(frozen=True)
class SmoothingConfig(Config):
    """Neurons under plain, smoothed and signed gradients, at one learning rate or the best of several."""

    plain_dims: Large = (32, 48, 64, 96)
    plain_rate: Positive = 0.15  # times d²
    smoothed_dims: Large = (96, 192, 384, 768)
    smoothed_rate: Positive = 0.4  # times d^(3/2)
    sign_dims: Large = (256, 1024, 4096)
    sign_rate: Positive = 0.3  # times d^(1/2)
    best_plain_dims: Large = (48, 96, 192)  # where the best of several rates is taken
    best_plain_rates: Rates = (1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0)
    best_smoothed_dims: Large = (96, 192, 384)
    best_smoothed_rates: Rates = (0.28, 0.4, 0.56, 0.8, 1.1)
    sweep_dim: Count = 64  # where λ varies
    multiples: NonNegatives = (0.0, 0.5, 1.0, 2.0)  # λ over d^(1/4)
    sweep_rates: Rates = (1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0)
    late_plain_dims: Large = (64, 96, 128, 192)  # where the largest rate is sought
    late_plain_rates: Rates = (2.8, 3.4, 4.0, 4.8, 5.6, 6.7, 8.0, 9.5, 11.3, 13.5)
    late_smoothed_dims: Large = (96, 192, 384)
    late_smoothed_rates: Rates = (0.4, 0.48, 0.57, 0.68, 0.8, 0.95, 1.13, 1.35, 1.6)
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    level: Chance = 0.5  # the overlap that counts
    share: Chance = 0.25  # the share of neurons that has it
    chains_per_draw: Count = 96
    seeds: Count = 6
    first_seed: Natural = 0


def grids(config: SmoothingConfig) -> dict[str, Grid]:
    """Every kind of gradient by dimension at one rate; two of them at several; the smoothed one by radius; and who is
    at the direction late on."""
    late = {f"late_{kind}": _along(config, measure_late, f"late_{kind}", kind) for kind in LATE}
    if "samples" not in config.parts:
        return late
    every = {kind: _along(config, measure_kind, kind, kind) for kind in KINDS}
    every |= {name: _along(config, measure_kind, name, kind) for name, kind in BEST.items()}
    every |= {"radius": Grid(measure_radius, {"multiple": config.multiples})}
    return every | late if "largest" in config.parts else every


def _along(config, measure: Callable[..., dict], name: str, kind: str) -> Grid:
    rates = (getattr(config, f"{name}_rate"),) if name in KINDS else getattr(config, f"{name}_rates")
    return Grid(measure, {"dim": getattr(config, f"{name}_dims")}, kind=kind, rates=rates)


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By grid: `samples`, their error, `rate`, whether it is `inside` its grid, `slope` with its `interval`; under
    `radius` the samples by multiple. predicted: `samples`, `slope`, `local` between neighbouring d, `limit`, `radius`.
    """
    return by_part(config, results, {"samples": _samples, "largest": _largest})


def _samples(config, results: Results) -> tuple[dict, dict]:
    keys = ("samples", "samples_error", "rate", "inside", "slope", "interval")
    measured = {key: {} for key in keys}
    predicted = {"samples": {}, "slope": {}, "local": {}, "limit": {}}
    for name, kind in ({kind: kind for kind in KINDS} | BEST).items():
        dims = getattr(config, f"{name}_dims")
        rates = (getattr(config, f"{name}_rate"),) if name in KINDS else getattr(config, f"{name}_rates")
        best, inside, needed = _best(*(results.array(name, key).astype(float) for key in ("samples", "spent")))
        fit = fit_exponent(dims, needed)
        row = (needed.mean(1), standard_error(needed), [rates[k] for k in best])
        row += (inside.all() or name in KINDS, fit.slope, [fit.low, fit.high])
        for key, value in zip(keys, row, strict=True):
            measured[key][name] = value
        laws = [_law(config, pull_of(kind, dim), dim, np.array(rates) / dim ** EXPONENTS[kind]) for dim in dims]
        predicted["samples"][name], predicted["slope"][name] = laws, slope(dims, laws)
        predicted["local"][name] = np.diff(np.log(laws)) / np.diff(np.log(dims))
        # k − 1, k/2 and, for signs, the slope of d log d over these d, at k = 4
        predicted["limit"][name] = {"plain": 3, "smoothed": 2, "sign": slope(dims, np.array(dims) * np.log(dims))}[kind]
    best, inside, needed = _best(*(results.array("radius", key).astype(float) for key in ("samples", "spent")))
    measured |= means({"radius": needed})
    measured["rate"]["radius"] = [config.sweep_rates[k] for k in best]
    measured["inside"]["radius"] = inside.all()
    eta = np.array(config.sweep_rates) / config.sweep_dim ** EXPONENTS["plain"]
    pulls = [pull_of("smoothed", config.sweep_dim, multiple) for multiple in config.multiples]
    predicted["radius"] = [_law(config, pull, config.sweep_dim, eta) for pull in pulls]
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
        largest = np.array([[expected.largest_rate(rates, one, config.share) for one in row.T] for row in shares])
        steps = largest / dims[:, None] ** EXPONENTS[kind]
        whole = np.isfinite(steps).all()
        fit = fit_exponent(dims, steps) if whole else None
        row = (largest.mean(1), standard_error(largest), fit.slope if fit else np.nan)
        row += ([fit.low, fit.high] if fit else [np.nan, np.nan], shares.mean(2))
        for key, value in zip(keys, row, strict=True):
            measured[key][kind] = value
        laws = []
        for d in map(int, dims):
            late = lambda eta, d=d, kind=kind: (*pull_of(kind, d), d, eta, config.level, horizon_of(kind, d))
            laws.append([expected.late_share(*late(c / d ** EXPONENTS[kind])) for c in rates])
        law = np.array([expected.largest_rate(rates, np.array(row), config.share) for row in laws])
        predicted["shares"][kind], predicted["largest"][kind] = laws, law
        predicted["largest_slope"][kind] = slope(dims, law / dims ** EXPONENTS[kind])
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """largest_plain, largest_smoothed: the largest rate at which a share of the neurons arrives is the law's, and falls
    as d^(−k/2) on the plain loss and as d^(−3/2) on the smoothed one. plain, smoothed, sign, best_plain, best_smoothed:
    sample sizes and their exponent are the law's; the exponent is its limit. radius: sizes are the law's at every λ.
    """
    claims = {"largest": _judge_largest, "samples": _judge_samples}
    return claims_by_part(config, measured, predicted, claims)


def _judge_largest(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    for kind in LATE:
        dims, limit = getattr(config, f"late_{kind}_dims"), -EXPONENTS[kind]
        largest, error, law = measured["largest"][kind], measured["largest_error"][kind], predicted["largest"][kind]
        judged = numbers("largest c at d =", largest, error, config.seeds, law=law, band=count_band(dims), at=dims)
        law, (low, high) = predicted["largest_slope"][kind], measured["largest_interval"][kind]
        rivals = {f"η ∝ d^{power:g}": power for power in (-1.0, -1.25, -1.5, -1.75, -2.0) if abs(power - law) > 0.2}
        held_to = {"law": law, "limit": limit, "band": EXPONENT, "scale": DIFFERENCE, "rivals": rivals}
        held_to |= {"draws": config.seeds, "low": low, "high": high}
        judged += numbers("exponent", measured["largest_slope"][kind], **held_to)
        yield f"largest_{kind}", equivalence(judged)


def _judge_samples(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    draws = config.seeds
    for name, limit in predicted["limit"].items():
        if not measured["inside"][name]:
            yield name, equivalence([])
            continue
        dims = getattr(config, f"{name}_dims")
        needed, error = (measured[key][name] for key in ("samples", "samples_error"))
        law, fit = predicted["samples"][name], (measured["slope"][name], measured["interval"][name])
        judged = numbers("samples at d =", needed, error, draws, law=law, band=count_band(dims), at=dims)
        rivals = {f"n ∝ d^{value:g}": value for value in (1.0, 1.5, 2.0, 2.5, 3.0) if abs(value - limit) > 0.2}
        rivals[f"n ∝ d^{limit + 0.25:.3g}"] = limit + 0.25
        judged += exponents("exponent", *fit, predicted["slope"][name], limit, rivals, draws)
        yield name, equivalence(judged)

    needed, error = (measured[key] for key in ("radius", "radius_error"))
    multiples = np.array(config.multiples, dtype=float)
    shapes = {"n ∝ 1/(1 + λ²)": 1 / (1 + multiples**2 * config.sweep_dim**0.5)}
    shapes |= {"n ∝ 1/(1 + λ⁴/d)": 1 / (1 + multiples**4)}
    held_to = {"law": predicted["radius"], "band": count_band(config.sweep_dim), "at": config.multiples}
    held_to |= {"rivals": {name: scaled(shape, needed) for name, shape in shapes.items()}}
    judged = numbers("samples at λ/d^(1/4) =", needed, error, draws, **held_to)
    yield "radius", equivalence(judged if measured["inside"]["radius"] else [])


def _best(samples: np.ndarray, spent: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best rate of each x, whether it is inside its grid, and the (x, draws) samples there, of (x, rates, draws).

    One rate for all draws, the one with the fewest samples in their mean; that of a draw that did not arrive may win,
    and is then not inside.
    """
    filled = np.where(np.isnan(samples), spent[:, None, None], samples)
    best = np.argmin(filled.mean(2), axis=1)
    rows = np.arange(len(samples))
    inside = (best > 0) & (best < samples.shape[1] - 1) & np.isfinite(samples[rows, best]).all(1)
    return best, inside, filled[rows, best]


def _law(config, pull, dim: int, eta: np.ndarray) -> float:
    return float(np.nanmin([expected.samples_needed(*pull, dim, rate, config.level, config.share) for rate in eta]))


EXPERIMENT = Experiment(
    name="smoothing",
    purpose=headline(__doc__),
    profiles={
        "smoke": SmoothingConfig(
            plain_dims=(8, 12), plain_rate=2.8, smoothed_dims=(8, 12), smoothed_rate=0.9, sign_dims=(8, 12),
            sign_rate=0.5, best_plain_dims=(8, 12), best_plain_rates=(2.8, 4.0), best_smoothed_dims=(8, 12),
            best_smoothed_rates=(1.1,), late_plain_dims=(8, 12), late_plain_rates=(4.0,), late_smoothed_dims=(8, 12),
            late_smoothed_rates=(4.0,), sweep_dim=8, multiples=(0.5,), sweep_rates=(4.0,), chains_per_draw=16, seeds=2,
        ),
        "cpu": SmoothingConfig(),
        "largest": SmoothingConfig(parts=("largest",), first_seed=5650),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5650,
    added={"parts": ("samples",)} | {f"late_{kind}_{of}": (8, 16) for kind in LATE for of in ("dims", "rates")},
)  # fmt: skip
