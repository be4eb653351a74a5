"""Losses over the least one, by β, and what the rule of the horizon costs beside the best β tried."""

import numpy as np

from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, RATIO, numbers, order

NEAR = 0.8
"""The best β's loss in excess over that of the rule is above this: the rule costs less than a quarter of the excess."""
AVERAGE = 1.5
"""Without an average the excess is more than this many times that of the rule."""
STANDS, FALLS = 0.75, 1.5
"""From the middle horizon to the longest the excess without an average keeps more than this share of itself, while that
of the rule falls by more than this factor."""
SAME_QUOTIENT = 1.3
"""Of two runs with the same batch over 1 − β one has more than this many times the other's excess."""
ARRIVED = 0.005
"""Nats over the least loss; on exact gradients every memory of at most T/20 steps ends nearer than that."""
SHORT = 20.0
LATE = 0.05
"""Nats; on exact gradients a memory of T/3 steps at the shortest horizon is further away than that."""
CONSTANT = 0.95


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By "α T batch" in words, a list over the β that ran there: betas, excess (nats over the least loss), its error,
    rate (geometric mean), draws (the excess of each). drift, least: by α in words; gradient: its largest norm at a
    least loss.

    predicted: rule, the β of the horizon by T in words.
    """
    least = {
        f"{alpha:g}": results.array("minimum", "least", alpha=alpha) for alpha in results.grids["minimum"].axes["alpha"]
    }
    measured = {key: {} for key in ("betas", "excess", "excess_error", "rate", "draws")}
    for label, run in results.grids["runs"].axes["run"].items():
        place = label.rpartition(" ")[0]
        excess = results.array("runs", "loss", run=label) - least[f"{run['alpha']:g}"]
        rate = np.exp(np.log(results.array("runs", "rate", run=label)).mean())
        told = run["beta"], excess.mean(), float(standard_error(excess[None])[0]), rate, excess.tolist()
        for key, value in zip(measured, told, strict=True):
            measured[key].setdefault(place, []).append(value)
    drift = {word: results.array("minimum", "drift", alpha=float(word)) for word in least}
    measured |= {
        "drift": {word: values.mean(0) for word, values in drift.items()},
        "drift_error": {word: standard_error(values, 0) for word, values in drift.items()},
        "least": {word: values.mean() for word, values in least.items()},
        "gradient": results.array("minimum", "gradient").max(),
    }
    return measured, {"rule": {f"{steps}": 1 - config.horizon / steps for steps in config.steps}}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """rule: `NEAR` at every α, horizon and batch. average: `AVERAGE`. floor: `STANDS` and `FALLS`. drift: the mean
    polar factor at the least loss is not 0. constant: one β, 0.95, is behind the rule at every horizon but the longest.
    quotient: `SAME_QUOTIENT`, the smallest batch at β = 0.95 and the third at 0.8. exact: `ARRIVED` and `LATE`.
    """
    draws = {place: np.array(values) for place, values in measured["draws"].items()}
    betas = {place: [float(beta) for beta in values] for place, values in measured["betas"].items()}
    steps_of = lambda place: place.split(" ")[1]
    noisy = [place for place in draws if place.split(" ")[2] != "0"]

    def at(place: str, beta: float) -> np.ndarray:
        return draws[place][int(np.abs(np.array(betas[place]) - beta).argmin())]

    rule = {place: at(place, float(predicted["rule"][steps_of(place)])) for place in draws}
    best = {place: values[int(values.mean(1).argmin())] for place, values in draws.items()}
    *short, last = (f"{steps}" for steps in config.steps)
    verdicts = {
        "rule": order(_ratios("best over rule", {place: best[place] / rule[place] for place in noisy}, NEAR)),
        "average": order(_ratios("none over rule", {place: at(place, 0) / rule[place] for place in noisy}, AVERAGE)),
    }
    ends = {place: place.replace(f" {short[-1]} ", f" {last} ") for place in noisy if steps_of(place) == short[-1]}
    ends = {place: end for place, end in ends.items() if end in draws}
    stands = {place: at(end, 0) / at(place, 0) for place, end in ends.items()}
    falls = {place: rule[place] / rule[end] for place, end in ends.items()}
    verdicts["floor"] = order(
        _ratios("none, longest over middle", stands, STANDS) + _ratios("rule, middle over longest", falls, FALLS)
    )
    drift = {
        f"α = {word}, batch {batch}": (measured["drift"][word][k], measured["drift_error"][word][k])
        for word in measured["drift"]
        for k, batch in enumerate(config.batch_sizes)
    }
    mean, error = np.array(list(drift.values())).T
    verdicts["drift"] = order(_numbers("drift", mean, error, config.seeds, 0, list(drift)))
    early = {place: at(place, CONSTANT) / rule[place] for place in noisy if steps_of(place) in short}
    verdicts["constant"] = order(_ratios("β = 0.95 over rule", early, 1))
    middle, small = config.steps[len(config.steps) // 2], f"{config.batch_sizes[0]}"
    first, third = (f"{config.alpha:g} {middle} {batch}" for batch in (small, config.third_batch))
    of_both = {f"{small} and {config.third_batch}": at(first, CONSTANT) / at(third, 0.8)}
    verdicts["quotient"] = order(_ratios("excess at the same quotient, batches", of_both, SAME_QUOTIENT))
    room = {}
    for place in (place for place in draws if place not in noisy):
        for beta in betas[place]:
            if 1 / (1 - beta) <= int(steps_of(place)) / SHORT:
                room[f"{place}, β = {beta:g}"] = ARRIVED - at(place, beta)
            elif steps_of(place) == short[0] and beta == CONSTANT:
                room[f"{place}, β = {beta:g}"] = at(place, beta) - LATE
    verdicts["exact"] = order(_each("nats inside the bound", room, 0, DIFFERENCE))
    return verdicts


def _ratios(name: str, found: dict[str, np.ndarray], limit: float) -> list[dict]:
    return _each(name, found, limit, RATIO)


def _each(name: str, found: dict[str, np.ndarray], limit: float, scale: str) -> list[dict]:
    if not found:
        return []
    values = np.array(list(found.values()))
    return _numbers(name, values.mean(1), standard_error(values), values.shape[1], limit, list(found), scale)


def _numbers(name, mean, error, draws, limit, at, scale=DIFFERENCE) -> list[dict]:
    return numbers(name, mean, error, draws, limit=limit, scale=scale, at=at)
