"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.lr_transfer import expected
from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, count_band, equivalence, numbers
from amemlib.problem import Problem

SMALL = 32
"""The least dimension from which a rate is transferred."""
_SCALES = {"scaled": 0.0, "unscaled": -0.5, "as d": 0.5}
"""Rates of a larger memory, and by which power of d they change c."""
POWERS = {"η* ∝ 1": -0.5, "η* ∝ d^(1/4)": -0.25, "η* ∝ d^(3/4)": 0.25, "η* ∝ d": 0.5}
"""Rivals of η* ∝ √d, by how much log₂ c* moves when d doubles."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By optimizer and α: `best`, mean log₂ c* by d, with `best_error`; `loss` curves; `drift`, its change when d
    doubles, with error; `cost`, by d from SMALL on, of the rate of the largest smaller memory SMALL at the largest d,
    scaled as √d, not scaled, scaled as d, over the gain. sketch[T]: medians by width, their exponents. predicted: for
    Muon the law's best and curves.
    """
    measured = {
        name: {str(alpha): _memory(config, results.array("rates", name, alpha=alpha)) for alpha in config.alphas}
        for name in ("sgd", "polar")
    }
    measured["sketch"] = {str(steps): _sketch(config, results, str(steps)) for steps in config.steps}
    predicted = {
        "polar": {str(alpha): _law(config, alpha) for alpha in config.alphas},
        "sketch": {str(config.steps[0]): 0.5, str(config.steps[-1]): -0.5},
    }
    return measured, predicted


def _doublings(config) -> tuple[np.ndarray, int]:
    """Doublings of d from the first dimension on, and the place of the memory whose rate is transferred."""
    d = np.array(config.dims)
    return np.log2(d / d[0]), int(np.argmax(d >= min(SMALL, d[-2])))


def _memory(config, losses: np.ndarray) -> dict:
    """Numbers of one optimizer at one α from its losses by dimension, draw and rate."""
    x, (doublings, start) = np.array(config.log_rates), _doublings(config)
    vertices = np.array([[expected.vertex(x, row)[0] for row in rows] for rows in losses])
    drifts = np.array([np.polyfit(doublings, column, 1)[0] for column in vertices.T])
    mean = losses.mean(1)
    least = [expected.vertex(x, row) for row in mean]
    gain = least[start][1] - least[-1][1]
    # the curve through the rates of the largest memory, by its logarithm, which is nearly a parabola
    curve = np.polynomial.Polynomial.fit(x, np.log(mean[-1]), min(6, len(x) - 1))
    rates = {key: least[start][0] + power * (doublings[-1] - doublings[start]) for key, power in _SCALES.items()}
    return {
        "best": vertices.mean(1),
        "best_error": np.atleast_1d(standard_error(vertices)),
        "loss": mean,
        "loss_error": standard_error(losses),
        "drift": drifts.mean(),
        "drift_error": standard_error(drifts, 0),
    } | {key: (np.exp(curve(rate)) - least[-1][1]) / gain for key, rate in rates.items()}


def _law(config, alpha: float) -> dict:
    """The same of Muon by its law."""
    x, (doublings, start) = np.array(config.log_rates), _doublings(config)
    problems = [Problem.power_law(n_items=config.n_items, dim=dim, alpha=alpha) for dim in config.dims]
    best, least = np.transpose([expected.muon_best(problem) for problem in problems])
    rates = best[start] + np.array(list(_SCALES.values())) * (doublings[-1] - doublings[start])
    costs = (expected.muon_losses(problems[-1], rates) - least[-1]) / (least[start] - least[-1])
    return {
        "best": best,
        "least": least,
        "loss": [expected.muon_losses(problem, x) for problem in problems],
        "drift": np.polyfit(doublings, best, 1)[0],
    } | dict(zip(_SCALES, costs, strict=True))


def _sketch(config, results: Results, steps: str) -> dict:
    """Medians by width after a number of steps; `lead`: by how much the cost of transfer falls faster than the gap."""
    draws = {name: results.array("sketch", steps, name) for name in ("shift", "gap", "transfer")}
    medians = {name: np.median(values, axis=(1, 2)) for name, values in draws.items()}
    exponents = {f"{name}_exponent": -slope(config.widths, values) for name, values in medians.items()}
    by_seed = zip(*(np.median(draws[name], axis=2).T for name in ("gap", "transfer")), strict=True)
    leads = [slope(config.widths, gap) - slope(config.widths, cost) for gap, cost in by_seed]
    return {
        **medians,
        **exponents,
        "diverges": results.array("sketch", steps, "diverges").mean((1, 2)),
        "lead": exponents["transfer_exponent"] - exponents["gap_exponent"],
        "lead_error": standard_error(np.array(leads), 0),
    }


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """muon: log₂ c* on the law at every α and d, its drift the law's; limit: none. sgd: no drift; no law is known.
    cost: what the transferred rate of Muon costs, scaled as √d and not, on the law.
    fast: after one step the cost of transfer falls faster than the gap with the sketch's width by a power 1/2;
    edge: after many more slowly by one.
    """
    verdicts = {
        "muon": _judge_muon(config, measured["polar"], predicted["polar"]),
        "sgd": _judge_drift(config, measured["sgd"], None),
        "cost": _judge_cost(config, measured["polar"], predicted["polar"]),
    }
    for name, steps, limit in (("fast", config.steps[0], 0.5), ("edge", config.steps[-1], -0.5)):
        lead, error = (measured["sketch"][str(steps)][key] for key in ("lead", "lead_error"))
        rivals = {"cost as the gap": 0.0, "half as much": limit / 2}
        verdicts[name] = numbers(
            "exponent of the cost less the gap's",
            lead,
            error,
            config.seeds,
            limit=limit,
            band=EXPONENT,
            scale=DIFFERENCE,
            rivals=rivals,
        )
    return {name: equivalence(judged) for name, judged in verdicts.items()}


def _by_alpha(config, told: dict, key: str) -> np.ndarray:
    return np.array([told[str(alpha)][key] for alpha in config.alphas])


def _judge_muon(config, measured: dict, predicted: dict) -> list[dict]:
    best, error, law = (
        _by_alpha(config, *of) for of in ((measured, "best"), (measured, "best_error"), (predicted, "best"))
    )
    at = [f"{alpha}, {d}" for alpha in config.alphas for d in config.dims]
    band = np.log2(1 + count_band(config.dims))
    judged = numbers("log₂ c* at α, d =", best, error, config.seeds, law=law, band=band, scale=DIFFERENCE, at=at)
    return judged + _judge_drift(config, measured, _by_alpha(config, predicted, "drift"))


def _judge_drift(config, measured: dict, law) -> list[dict]:
    drift, error = (_by_alpha(config, measured, key) for key in ("drift", "drift_error"))
    rivals = {name: power + (0 if law is None else law) for name, power in POWERS.items()}
    given = {"law": law, "limit": 0, "band": EXPONENT, "scale": DIFFERENCE, "at": config.alphas, "rivals": rivals}
    return numbers("change of log₂ c* when d doubles, α =", drift, error, config.seeds, **given)


def _judge_cost(config, measured: dict, predicted: dict) -> list[dict]:
    judged, error = [], [_cost_error(config, measured[str(alpha)]) for alpha in config.alphas]
    for key, exchanged in {"scaled": "unscaled", "unscaled": "scaled"}.items():
        found, law, rival = (
            _by_alpha(config, *of) for of in ((measured, key), (predicted, key), (predicted, exchanged))
        )
        given = {"law": law, "band": count_band(config.dims[-1]), "at": config.alphas}
        rivals = {"the two exchanged": rival}
        judged += numbers(f"cost, {key}, α =", found, error, config.seeds, rivals=rivals, **given)
    return judged


def _cost_error(config, told: dict) -> float:
    """Standard error of a cost as if the draws of its two losses were independent: no less than that of their
    difference, for they share their memories."""
    x, (_, start) = np.array(config.log_rates), _doublings(config)
    (_, small), (best, large) = (expected.vertex(x, told["loss"][place]) for place in (start, -1))
    near = np.abs(x - best) <= 1
    return float(np.sqrt(2) * told["loss_error"][-1][near].max() / (small - large))
