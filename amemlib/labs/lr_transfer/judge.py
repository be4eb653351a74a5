"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.lr_transfer import expected
from amemlib.problem import Problem
from amemlib.verdicts import refuse, verdict

RATE_BAND = 0.15
"""How far log₂ c* may lie from its law, beyond two standard errors: the parabola spans two half octaves."""
DRIFT_BAND = 0.25
"""How far log₂ c* may move when d doubles, for η* ∝ √d to be told from η* ∝ 1 and η* ∝ d: half of the way."""
SGD_DRIFT = 0.0, 0.4
"""The same for SGD, whose few items make the logarithms larger: the bar that the lab was given."""
COST_BAND = 0.02
"""What the transferred rate may cost, relative to what the larger memory gains; and how far a cost may lie from its
law."""
SMALL = 32
"""The least dimension from which a rate is transferred."""
_SCALES = {"scaled": 0.0, "unscaled": -0.5, "as d": 0.5}
"""Rates of a larger memory, and by which power of d they change c."""
FAST, LIMIT_BAND = 0.25, 0.2
"""How far apart the exponents of cost and gap must lie; how far their difference may be from its limit of one half."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By optimizer and α: `best`, mean log₂ c* by d, with `best_error`; `loss` curves; `drift`, its change when d
    doubles, with error; `cost`, by d from SMALL on, of the rate of the largest smaller memory SMALL at the largest d,
    scaled as √d, not scaled, scaled as d, over the gain. sketch[T]: medians by width, their exponents. predicted: for
    Muon the law's best and curves.
    """
    x, d = np.array(config.log_rates), np.array(config.dims)
    doublings = np.log2(d / d[0])
    measured = {name: {} for name in ("sgd", "polar")}
    predicted = {"polar": {}}
    start = int(np.argmax(d >= min(SMALL, d[-2])))
    for name in measured:
        for alpha in config.alphas:
            losses = results.array("rates", name, alpha=alpha)
            vertices = np.array([[expected.vertex(x, row)[0] for row in rows] for rows in losses])
            slopes = np.array([np.polyfit(doublings, column, 1)[0] for column in vertices.T])
            mean = losses.mean(1)
            told = {
                "best": vertices.mean(1).tolist(),
                "best_error": np.atleast_1d(standard_error(vertices)).tolist(),
                "loss": mean.tolist(),
                "loss_error": standard_error(losses).tolist(),
                "drift": float(slopes.mean()),
                "drift_error": float(standard_error(slopes, 0)),
            }
            least = [expected.vertex(x, row) for row in mean]
            there, octaves = least[start][0], doublings[-1] - doublings[start]
            gain = least[start][1] - least[-1][1]
            # the curve through the rates of the largest memory, by its logarithm, which is nearly a parabola
            curve = np.polynomial.Polynomial.fit(x, np.log(mean[-1]), min(6, len(x) - 1))
            for key, power in _SCALES.items():
                told[key] = float((np.exp(curve(there + power * octaves)) - least[-1][1]) / gain)
            measured[name][str(alpha)] = told
    for alpha in config.alphas:
        problems = [Problem.power_law(n_items=config.n_items, dim=dim, alpha=alpha) for dim in config.dims]
        best = [expected.muon_best(problem) for problem in problems]
        predicted["polar"][str(alpha)] = {
            "best": [one[0] for one in best],
            "least": [one[1] for one in best],
            "loss": [expected.muon_losses(problem, x).tolist() for problem in problems],
            "drift": float(np.polyfit(doublings, [one[0] for one in best], 1)[0]),
        }
        (there, small), (_, least) = best[start], best[-1]
        rates = np.array([there + power * (doublings[-1] - doublings[start]) for power in _SCALES.values()])
        costs = (expected.muon_losses(problems[-1], rates) - least) / (small - least)
        predicted["polar"][str(alpha)] |= dict(zip(_SCALES, costs.tolist(), strict=True))
    measured["sketch"] = {}
    for steps in config.steps:
        told = {}
        for name in ("shift", "gap", "transfer"):
            found = np.median(results.array("sketch", str(steps), name), axis=(1, 2))
            told[name] = found.tolist()
            told[f"{name}_exponent"] = -expected.slope(config.widths, found)
        told["diverges"] = results.array("sketch", str(steps), "diverges").mean((1, 2)).tolist()
        told["lead"] = told["transfer_exponent"] - told["gap_exponent"]
        told["lead_error"] = _lead_error(config, results, steps)
        measured["sketch"][str(steps)] = told
    predicted["sketch"] = {str(config.steps[0]): 0.5, str(config.steps[-1]): -0.5}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """muon: log₂ c* on the law at every α and d, and η* ∝ √d to within DRIFT_BAND. sgd: its drift in SGD_DRIFT. cost:
    what the transferred rate of Muon costs on the law, and less than COST_BAND of the gain. fast: after one step
    the cost of transfer falls faster than the gap with the sketch's width; edge: after many it falls more slowly.
    """
    alphas, draws, verdicts = [str(alpha) for alpha in config.alphas], config.seeds, {}
    found, error = (
        np.array([measured["polar"][a][key] for a in alphas], dtype=float) for key in ("best", "best_error")
    )
    law = np.array([predicted["polar"][a]["best"] for a in alphas])
    drift = np.array([measured["polar"][a]["drift"] for a in alphas], dtype=float)
    is_drift = lambda power: bool((np.abs(drift - power) <= DRIFT_BAND).all())  # noqa: E731
    rivals = {"η* ∝ 1": -0.5, "η* ∝ d": 0.5}
    on_law = bool((np.abs(found - law) <= RATE_BAND + 2 * np.nan_to_num(error)).all())
    verdicts["muon"] = verdict(on_law, is_drift(0.0), refuse(is_drift, rivals), draws)

    drift = np.array([measured["sgd"][a]["drift"] for a in alphas], dtype=float)
    low, high = SGD_DRIFT
    is_sgd = lambda power: bool(((drift - power >= low) & (drift - power <= high)).all())  # noqa: E731
    verdicts["sgd"] = verdict(is_sgd(0.0), is_sgd(0.0), refuse(is_sgd, rivals), draws)

    costs = {key: np.array([measured["polar"][a][key] for a in alphas], dtype=float) for key in _SCALES}
    cheap = lambda key: bool((costs[key] <= COST_BAND).all())  # noqa: E731
    law = {key: np.array([predicted["polar"][a][key] for a in alphas]) for key in _SCALES}
    on_law = all((np.abs(costs[key] - law[key]) <= COST_BAND).all() for key in ("scaled", "unscaled"))
    rivals = {"not scaled": "unscaled", "scaled as d": "as d"}
    verdicts["cost"] = verdict(bool(on_law), cheap("scaled"), refuse(cheap, rivals), draws)

    for name, steps, limit in (("fast", config.steps[0], 0.5), ("edge", config.steps[-1], -0.5)):
        told = measured["sketch"][str(steps)]
        lead, room = (math.nan if told[key] is None else told[key] for key in ("lead", "lead_error"))
        apart = lead * np.sign(limit) >= FAST
        near = lambda law, lead=lead, room=room: bool(abs(lead - law) <= LIMIT_BAND + 2 * np.nan_to_num(room))  # noqa: E731
        rivals = {"cost as the gap": 0.0, "the other way": -limit}
        verdicts[name] = verdict(bool(apart), near(limit), refuse(near, rivals), draws)
    return verdicts


def _lead_error(config, results: Results, steps: int) -> float:
    """Standard error of `lead`, from the medians of every seed."""
    gap, cost = (np.median(results.array("sketch", str(steps), name), axis=2) for name in ("gap", "transfer"))
    leads = [
        expected.slope(config.widths, one) - expected.slope(config.widths, other)
        for one, other in zip(gap.T, cost.T, strict=True)
    ]
    return float(standard_error(np.array(leads), 0))
