"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np
from scipy.stats import t as student_t

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.single_index import expected
from amemlib.labs.single_index.measure import ACTIVATIONS, ESCAPED, LINEAR
from amemlib.verdicts import refuse, verdict

PASS_BAND, BATCH_BAND, MUON_BAND, ESCAPE_BAND = 0.06, 0.12, 0.15, 0.12
"""How far a number may lie from its law, relative and beyond two standard errors: what the resolution of a crossing
(0.05), the steps of the learning rate, and directions and steps that come whole leave open."""
PASS_SLOPE, BATCH_SLOPE = 0.5, 0.2
"""What the slope of n/d in log d must exceed to count as a logarithm, in one pass and on the full batch."""
FLAT, FLAT_FROM = 0.05, 128
"""What slope beyond its interval counts as none, and from which d on: below, the top of a random D is not yet sharp."""
RECOVERED = 0.8
"""Share of draws with exact recovery that counts as recovery."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By name, `ratios` n/d for every dimension, `errors`, `slope` in log d and its `interval`; `rate`, the best one.

    Names: "one pass, σ" and "full batch, σ". Then `muon` by neurons, `escape` and `recovered` by dimension.
    """
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
        _tell(predicted, f"one pass, {name}", dims, np.nanmin(np.array(law), axis=1)[:, None])
    full = results.array("full-batch", "ratio").astype(float)
    for name, found in zip(results.grids["full-batch"].axes["activation"], full, strict=True):
        _tell(measured, f"full batch, {name}", dims, found)
        if name in LINEAR:
            value = ACTIVATIONS[name].value
            law = [expected.full_batch_ratios(value, d, config.level, 1, config.law_draws) for d in config.dims]
            _tell(predicted, f"full batch, {name}", dims, np.array(law).mean(1)[:, None])

    muon = results.array("muon", "ratios").astype(float).T
    measured["muon"], measured["muon_error"] = muon.mean(1).tolist(), standard_error(muon).tolist()
    square = ACTIVATIONS["quadratic"].value
    predicted["muon"] = [
        float(expected.full_batch_ratios(square, config.muon_dim, config.level, m, config.law_draws).mean())
        for m in config.neurons
    ]
    for key in ("escape", "recovered"):
        found = results.array("squared", key).astype(float)
        measured[key], measured[f"{key}_error"] = found.mean(1).tolist(), standard_error(found).tolist()
    predicted["escape"] = [
        expected.escape_steps(d, config.exact_ratio, config.rate, ESCAPED, config.law_draws) for d in config.dims
    ]
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """one-pass: n/d is the law's at every d for both activations, and grows as log d. quadratic: the same of the full
    batch. labels: n/d is the law's, and flat. truncated: it is flat; no law for its sizes is known.
    squared: the start is left after the law's steps, and all but a few draws end in the direction itself.
    muon: n/d by neurons is the law's; one answer to both questions.
    """
    dims = np.array(config.dims, dtype=float)
    shapes = {"n ∝ d": np.ones(len(dims)), "n ∝ d^(5/4)": dims**0.25, "n ∝ d^(3/2)": dims**0.5}

    def follows(names, band: float):
        def meets(law_of) -> bool:
            found = (np.array([measured[key][name] for key in ("ratios", "errors")], dtype=float) for name in names)
            return all(_near(x, e, law_of(name, x), band) for name, (x, e) in zip(names, found, strict=True))

        return meets

    def grows(names, least: float) -> bool:
        return bool(min(measured["interval"][name][0] for name in names) >= least)

    def told(names, band: float, least: float) -> dict:
        meets = follows(names, band)
        rivals = {key: lambda _, found, shape=shape: _scaled(shape, found) for key, shape in shapes.items()}
        return verdict(meets(lambda name, _: predicted["ratios"][name]), grows(names, least), refuse(meets, rivals))

    single, full = ("one pass, quadratic", "one pass, truncated"), ("full batch, quadratic",)
    verdicts = {"one-pass": told(single, PASS_BAND, PASS_SLOPE), "quadratic": told(full, BATCH_BAND, BATCH_SLOPE)}
    rivals = {"as in one pass": predicted["flat"][single[1]], "as the quadratic full batch": predicted["flat"][full[0]]}
    for key in ("labels", "truncated"):
        name = f"full batch, {key}"
        slope, half = measured["flat"][name], np.diff(np.array(measured["flat_interval"][name], dtype=float))[0] / 2
        is_slope = lambda value, slope=slope, half=half: bool(abs(slope - value) <= FLAT + half)  # noqa: E731
        near = follows((name,), BATCH_BAND)(lambda n, _: predicted["ratios"][n]) if key in LINEAR else None
        verdicts[key] = verdict(near, is_slope(0.0), refuse(is_slope, rivals))

    steps, error = (np.array(measured[key], dtype=float) for key in ("escape", "escape_error"))
    is_escape = lambda law: _near(steps, error, law, ESCAPE_BAND)  # noqa: E731
    rivals = {"any d": np.ones(len(dims)), "√d": dims**0.5, "d": dims}
    verdicts["squared"] = verdict(
        is_escape(predicted["escape"]),
        bool(min(measured["recovered"]) >= RECOVERED),
        refuse(is_escape, {name: _scaled(shape, steps) for name, shape in rivals.items()}),
    )

    found, error = (np.array(measured[key], dtype=float) for key in ("muon", "muon_error"))
    is_muon = lambda law: _near(found, error, law, MUON_BAND)  # noqa: E731
    counts = np.array(config.neurons, dtype=float)
    shapes = {"as one neuron": np.ones(len(counts)), "n ∝ 1/m": 1 / counts, "n ∝ 1/√m": counts**-0.5}
    met = is_muon(predicted["muon"])
    rivals = {name: _scaled(shape, found) for name, shape in shapes.items()}
    verdicts["muon"] = verdict(met, met, refuse(is_muon, rivals))
    return verdicts


def _tell(told: dict, name: str, dims: np.ndarray, ratios: np.ndarray) -> None:
    """Put the (d, draws) ratios of a name under the keys that `told` has."""
    large = dims >= FLAT_FROM if (dims >= FLAT_FROM).sum() > 1 else dims > 0
    slope, half = _log_slope(dims, ratios)
    flat, flat_half = _log_slope(dims[large], ratios[large])
    numbers = {
        "ratios": ratios.mean(1).tolist(),
        "errors": standard_error(ratios).tolist(),
        "slope": slope,
        "interval": [slope - half, slope + half],
        "flat": flat,
        "flat_interval": [flat - flat_half, flat + flat_half],
    }
    for key in numbers.keys() & told.keys():
        told[key][name] = numbers[key]


def _log_slope(dims: np.ndarray, ratios: np.ndarray) -> tuple[float, float]:
    """Slope of mean ratios in log d, and half of its 95 % Student interval from the draws."""
    x = np.log(dims) - np.log(dims).mean()
    weights, draws = x / (x @ x), ratios.shape[1]
    if draws < 2:
        return float(weights @ ratios.mean(1)), float("nan")
    variance = weights**2 @ ratios.var(1, ddof=1) / draws
    return float(weights @ ratios.mean(1)), float(np.sqrt(variance) * student_t.ppf(0.975, len(dims) * (draws - 1)))


def _near(found: np.ndarray, error: np.ndarray, law, band: float) -> bool:
    law = np.array(law, dtype=float)
    return bool((np.abs(found - law) <= band * law + 2 * np.nan_to_num(error)).all())


def _scaled(shape: np.ndarray, found: np.ndarray) -> np.ndarray:
    """A shape times the constant that suits the measured numbers best, as a rival may."""
    return shape * np.exp(np.log(found / shape).mean())
