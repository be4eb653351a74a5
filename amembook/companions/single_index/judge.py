"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np
from scipy.stats import t as student_t

from amembook.companions.single_index import expected
from amembook.companions.single_index.measure import ACTIVATIONS, ESCAPED, LINEAR
from amembook.run.base import Results, scaled, standard_error
from amembook.run.claims import DIFFERENCE, SIZES, count_band, equivalence, numbers

FLAT, FLAT_FROM = 0.05, 128
"""The band of a slope of n/d in log d where there is to be none: n/d is about 2.5, so it is 0.02 of an exponent of n.
From which d on it is taken: below, the top of a random D is not yet sharp."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By name, `ratios` n/d for every dimension, `errors`, `slope` in log d and its `interval`; `rate`, the best one.

    Names: "one pass, σ" and "full batch, σ". Then `muon` by neurons, `escape` and `recovered` by dimension.
    """
    if "samples" not in config.parts:
        return _muon_dims(config, results)
    dims = np.array(config.dims)
    measured = {key: {} for key in ("ratios", "errors", "slope", "interval", "flat", "flat_interval", "rate")}
    predicted = {"ratios": {}, "slope": {}, "flat": {}}
    single = results.array("one-pass", "ratios").astype(float)
    for name, found in zip(results.grids["one-pass"].axes["activation"], single, strict=True):
        best = np.argmin(np.nan_to_num(found.mean(1), nan=np.inf), axis=1)
        _tell(measured, f"one pass, {name}", dims, found[np.arange(len(dims)), :, best])
        measured["rate"][name] = [config.rates[k] for k in best]
        law = [
            [expected.one_pass_samples(*ACTIVATIONS[name], d, c, config.level) / d for c in config.rates]
            for d in config.dims
        ]
        _tell(predicted, f"one pass, {name}", dims, np.nanmin(law, axis=1)[:, None])
    full = results.array("full-batch", "ratio").astype(float)
    for name, found in zip(results.grids["full-batch"].axes["activation"], full, strict=True):
        _tell(measured, f"full batch, {name}", dims, found)
        if name in LINEAR:
            value = ACTIVATIONS[name].value
            law = [expected.full_batch_ratios(value, d, config.level, 1, config.law_draws) for d in config.dims]
            _tell(predicted, f"full batch, {name}", dims, np.mean(law, axis=1)[:, None])

    muon = results.array("muon", "ratios").astype(float).T
    measured["muon"], measured["muon_error"] = muon.mean(1), standard_error(muon)
    square = ACTIVATIONS["quadratic"].value
    predicted["muon"] = [
        expected.full_batch_ratios(square, config.muon_dim, config.level, m, config.law_draws).mean()
        for m in config.neurons
    ]
    for key in ("escape", "recovered"):
        found = results.array("squared", key).astype(float)
        measured[key], measured[f"{key}_error"] = found.mean(1), standard_error(found)
    predicted["escape"] = [
        expected.escape_steps(d, config.exact_ratio, config.rate, ESCAPED, config.law_draws) for d in config.dims
    ]
    if "muon" in config.parts:
        for told, own in zip((measured, predicted), _muon_dims(config, results), strict=True):
            told |= own
    return measured, predicted


def _muon_dims(config, results: Results) -> tuple[dict, dict]:
    """`muon_dims`: n/d of m neurons by (d, m), with its error, and the law's."""
    found = results.array("muon-dims", "ratios").astype(float)
    square = ACTIVATIONS["quadratic"].value
    law = [
        [expected.full_batch_ratios(square, d, config.level, m, config.law_draws).mean() for m in config.neurons]
        for d in config.muon_dims
    ]
    return {"muon_dims": found.mean(1), "muon_dims_error": standard_error(found, 1)}, {"muon_dims": law}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """one-pass: n/d is the law's at every d for both activations, and grows as log d. quadratic: the same of the full
    batch. labels: n/d is the law's, and flat. truncated: it is flat; no law for its sizes is known.
    squared: the start is left after the law's steps, and every draw ends in the direction itself.
    muon: n/d by neurons is the law's. muon_dims: the same in several dimensions.
    """
    by_dim = {}
    if "muon" in config.parts:
        found, counts = measured["muon_dims"], np.array(config.neurons, dtype=float)
        d = np.array(config.muon_dims, dtype=float)[:, None]
        of_dims = {"n/d ∝ 1/√m": counts**-0.5 + 0 * d, "n/d ∝ m^(−0.4)": counts**-0.4 + 0 * d}
        of_dims |= {"n/d ∝ log(d)/√m": np.log(d) * counts**-0.5}
        rivals = {name: scaled(shape, found) for name, shape in of_dims.items()}
        at = [f"{d}, {m}" for d in config.muon_dims for m in config.neurons]
        given = {"law": predicted["muon_dims"], "band": count_band(config.muon_dims)[:, None], "at": at}
        told = numbers("n/d at d, m =", found, measured["muon_dims_error"], config.seeds, rivals=rivals, **given)
        by_dim = {"muon_dims": equivalence(told)}
    if "samples" not in config.parts:
        return by_dim
    dims, draws = np.array(config.dims, dtype=float), config.seeds
    shapes = {"n ∝ d": np.ones(len(dims)), "n ∝ d^(5/4)": dims**0.25, "n ∝ d^(3/2)": dims**0.5}

    def ratios(name: str, rivals=shapes) -> list[dict]:
        found, error = (measured[key][name] for key in ("ratios", "errors"))
        others = {key: scaled(shape, found) for key, shape in rivals.items()}
        law = predicted["ratios"][name]
        return numbers(name, found, error, draws, law=law, band=count_band(dims), at=config.dims, rivals=others)

    def flat(name: str) -> list[dict]:
        slope, (low, high) = measured["flat"][name], measured["flat_interval"][name]
        rivals = {"n ∝ d^(5/4)": measured["ratios"][name].mean() / 4}
        rivals |= {"as in one pass": predicted["flat"]["one pass, truncated"]}
        rivals |= {"as the quadratic full batch": predicted["flat"]["full batch, quadratic"]}
        given = {"limit": 0, "band": FLAT, "scale": DIFFERENCE, "low": low, "high": high, "rivals": rivals}
        return numbers("slope in log d", slope, draws=draws, **given)

    steps, error = (measured[key] for key in ("escape", "escape_error"))
    shapes_of_steps = {"any d": np.ones(len(dims)), "log² d": np.log(dims) ** 2, "√d": dims**0.5}
    rivals = {name: scaled(shape, steps) for name, shape in shapes_of_steps.items()}
    band = count_band(dims)
    left = numbers("steps", steps, error, draws, law=predicted["escape"], band=band, at=config.dims, rivals=rivals)
    recovered, error = (measured[key] for key in ("recovered", "recovered_error"))
    whole = {"limit": 1, "band": SIZES, "scale": DIFFERENCE, "at": config.dims}
    found, counts = measured["muon"], np.array(config.neurons, dtype=float)
    rivals = {name: scaled(counts**-power, found) for name, power in (("n ∝ m^(−0.4)", 0.4), ("n ∝ 1/√m", 0.5))}
    of_neurons = {"law": predicted["muon"], "band": count_band(config.muon_dim), "at": config.neurons, "rivals": rivals}
    return {
        "one-pass": equivalence(ratios("one pass, quadratic") + ratios("one pass, truncated")),
        "quadratic": equivalence(ratios("full batch, quadratic")),
        "labels": equivalence(ratios("full batch, labels", {}) + flat("full batch, labels")),
        "truncated": equivalence(flat("full batch, truncated")),
        "squared": equivalence(left + numbers("share recovered", recovered, error, draws, **whole)),
        "muon": equivalence(numbers("n/d of m neurons", found, measured["muon_error"], draws, **of_neurons)),
    } | by_dim


def _tell(told: dict, name: str, dims: np.ndarray, ratios: np.ndarray) -> None:
    """Put the (d, draws) ratios of a name under the keys that `told` has."""
    large = dims >= FLAT_FROM if (dims >= FLAT_FROM).sum() > 1 else dims > 0
    slope, half = _log_slope(dims, ratios)
    flat, flat_half = _log_slope(dims[large], ratios[large])
    numbers = {"ratios": ratios.mean(1), "errors": standard_error(ratios), "slope": slope}
    numbers |= {"interval": [slope - half, slope + half], "flat": flat}
    numbers |= {"flat_interval": [flat - flat_half, flat + flat_half]}
    for key in numbers.keys() & told.keys():
        told[key][name] = numbers[key]


def _log_slope(dims: np.ndarray, ratios: np.ndarray) -> tuple[float, float]:
    """Slope of mean ratios in log d, and half of its 95 % Student interval from the draws."""
    x = np.log(dims) - np.log(dims).mean()
    weights, draws = x / (x @ x), ratios.shape[1]
    if draws < 2:
        return (weights @ ratios.mean(1)), float("nan")
    variance = weights**2 @ ratios.var(1, ddof=1) / draws
    return (weights @ ratios.mean(1)), (np.sqrt(variance) * student_t.ppf(0.975, len(dims) * (draws - 1)))
