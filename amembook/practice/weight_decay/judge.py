"""Items under a bound beside those of one step, the bound at which they double, and what decay gains on batches."""

import numpy as np

from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import DIFFERENCE, RATIO, SMALL, check, equivalence, numbers, order

GAP = 0.02
"""Nats: the certificate of every bounded minimum with a radius of at most `CERTIFIED`."""
CERTIFIED = 16.0
GAINS = 1.1
"""Without decay the loss is less than this many times that of the best λ > 0."""
EXPONENT_BAND = 0.15
"""What two draws in three of a slope over a factor of three in d scatter by, at d = 32 to 96."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By "α d": one, [draw]; items, [R][draw]; loss, one_loss and gap, [R], gap the largest; double: [draw], the R at
    which the items are twice those of one step, on a line through log R between the radii. exponent: of that in d, by
    draw. norm: the largest ‖W‖_op λ of all. By batch, then by 1/λ in words: runs, [draw], and run_items, run_rate.

    predicted: the exponent of the doubling radius.
    """
    keys = ("items", "loss", "one_loss", "gap")
    measured = {key: {} for key in ("one", *keys, "double")}
    for place in results.grids["bounded"].axes["place"]:
        of = {key: results.array("bounded", key, place=place).T for key in keys}
        one = results.array("bounded", "one", place=place)
        measured["one"][place] = one.tolist()
        measured["items"][place] = of["items"].tolist()
        measured["loss"][place], measured["one_loss"][place] = of["loss"].mean(1), of["one_loss"].mean(1)
        measured["gap"][place] = of["gap"].max(1)
        measured["double"][place] = [
            _doubling(np.array(config.radii), column / first) for column, first in zip(of["items"].T, one, strict=True)
        ]
    doubled = np.array([measured["double"][f"{config.alpha:g} {dim}"] for dim in config.dims])
    measured["exponent"] = [slope(config.dims, column) for column in doubled.T]
    measured["norm"] = max(results.array(grid, "norm").max() for grid in ("bounded", "runs"))
    for name, key in (("runs", "loss"), ("run_items", "items"), ("run_rate", "rate")):
        measured[name] = {
            f"{batch}": {
                f"{radius:g}": results.array("runs", key, batch_size=batch, radius=radius).tolist()
                for radius in results.grids["runs"].axes["radius"]
            }
            for batch in config.batch_sizes
        }
    return measured, {"exponent": 0.0}


def _doubling(radii: np.ndarray, ratio: np.ndarray) -> float:
    """Where a ratio first passes 2, on a line through log R; NaN where it does not, or has from the first radius on."""
    above = np.flatnonzero(ratio >= 2)
    if not len(above) or above[0] == 0:
        return np.nan
    k = int(above[0])
    share = (2 - ratio[k - 1]) / (ratio[k] - ratio[k - 1])
    return float(radii[k - 1] * (radii[k] / radii[k - 1]) ** share)


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """bound: ‖W‖_op ≤ 1/λ in every run. certificate: `GAP`. strong: at the smallest radius the items are those of one
    step. double: the doubling radius has no power of d in it. gain: `GAINS`, by batch.
    """
    draws = config.seeds
    radii = [float(R) for R in config.radii]
    certified = [k for k, R in enumerate(radii) if R <= CERTIFIED]
    gap = max((float(of[k]) for of in measured["gap"].values() for k in certified), default=np.nan)
    ratios = {
        place: np.asarray(items, dtype=float) / np.asarray(measured["one"][place], dtype=float)
        for place, items in measured["items"].items()
    }
    mean, rival = (np.array([of[k].mean() for of in ratios.values()]) for k in (0, -1))
    error = np.array([standard_error(of[:1])[0] for of in ratios.values()])
    given = {"law": 1.0, "band": SMALL, "rivals": {f"R = {radii[-1]:g}": rival}, "at": list(ratios)}
    strong = equivalence(numbers(f"items over one step's, R = {radii[0]:g}", mean, error, draws, **given))
    slopes = np.asarray(measured["exponent"], dtype=float)
    given = {"law": predicted["exponent"], "band": EXPONENT_BAND, "scale": DIFFERENCE}
    given["rivals"] = {"√d": 0.5, "d^¼": 0.25}
    double = numbers("exponent of the doubling radius", slopes.mean(), standard_error(slopes, 0), draws, **given)
    gains = {}
    for batch, of in measured["runs"].items():
        losses = {radius: np.asarray(values, dtype=float) for radius, values in of.items()}
        best = min((radius for radius in losses if float(radius) > 0), key=lambda radius: losses[radius].mean())
        gains[f"batch {batch}"] = GAINS * losses[best] / losses["0"]
    table = np.array(list(gains.values()))
    gain = numbers(
        "1.1 times the best decayed loss over none",
        table.mean(1),
        standard_error(table),
        config.run_seeds,
        limit=1,
        scale=RATIO,
        at=list(gains),
    )
    return {
        "bound": check(measured["norm"], 1, draws=draws, name="norm times decay"),
        "certificate": check(gap, GAP, draws=draws, name="largest gap"),
        "strong": strong,
        "double": equivalence(double),
        "gain": order(gain),
    }
