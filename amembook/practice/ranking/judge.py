"""Losses by optimizer, their rank correlation with the track, and who is ahead of Muon."""

import numpy as np
from scipy.stats import spearmanr

from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, RATIO, numbers, order

TRACK = {
    "muon": 3250,
    "normuon": 3250,
    "muon_squared": 3325,
    "soap": 3125,
    "one_sided_shampoo": 3375,
    "shampoo": 4100,
    "adam": 5625,
    "muon_without_momentum": 8225,
}
"""Steps to a validation loss of 3.28 in KellerJordan/modded-nanogpt at f411b3d, as in the study `optimizers`."""
AGREES = 0.64
"""The rank correlation of eight from which on it is seen above chance at 5 %, one-sided."""
AHEAD = 1.0


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By "T batch": loss[optimizer], its error, rate[optimizer] (geometric mean), draws[optimizer], the loss of each;
    correlation, with the track's steps for every draw. predicted: the track."""
    measured = {key: {} for key in ("loss", "loss_error", "rate", "draws", "correlation")}
    for steps in config.steps:
        for batch in config.batch_sizes:
            place = f"{steps} {batch}"
            draws = {name: results.array("runs", "loss", run=f"{place} {name}") for name in TRACK}
            rates = {name: results.array("runs", "rate", run=f"{place} {name}") for name in TRACK}
            measured["loss"][place] = {name: values.mean() for name, values in draws.items()}
            measured["loss_error"][place] = {name: standard_error(values[None])[0] for name, values in draws.items()}
            measured["rate"][place] = {name: float(np.exp(np.log(values).mean())) for name, values in rates.items()}
            measured["draws"][place] = {name: values.tolist() for name, values in draws.items()}
            table = np.array(list(draws.values()))
            of_draw = [spearmanr(column, list(TRACK.values())).statistic for column in table.T]
            measured["correlation"][place] = of_draw
    return measured, {"track": TRACK}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """ranking: the mean rank correlation with the track is above `AGREES` at every horizon and batch. shampoo: Muon
    ends above Shampoo everywhere. momentum: without momentum every loss is above the worst of those with it. steps:
    Shampoo's lead over Muon shrinks from the shortest horizon to the longest.
    """
    rho = np.array(list(measured["correlation"].values()))
    places = list(measured["correlation"])
    ranking = numbers(
        "rank correlation", rho.mean(1), standard_error(rho), config.seeds, limit=AGREES, scale=DIFFERENCE, at=places
    )
    loss = {place: {name: np.array(v) for name, v in told.items()} for place, told in measured["draws"].items()}
    with_it = [name for name in TRACK if name != "muon_without_momentum"]
    leads = {place: np.log(told["muon"] / told["shampoo"]) for place, told in loss.items()}
    worst = {
        place: told["muon_without_momentum"] / np.max([told[name] for name in with_it], 0)
        for place, told in loss.items()
    }
    shrinks = {}
    if len(config.steps) > 1:
        for batch in config.batch_sizes:
            first, last = (leads[f"{steps} {batch}"] for steps in (config.steps[0], config.steps[-1]))
            shrinks[f"batch {batch}"] = first - last
    return {
        "ranking": order(ranking),
        "shampoo": order(_each("log of Muon's loss over Shampoo's", leads, 0, DIFFERENCE)),
        "momentum": order(_each("none over the worst with it", worst, AHEAD, RATIO)),
        "steps": order(_each("lead, shortest less longest", shrinks, 0, DIFFERENCE)),
    }


def _each(name: str, found: dict[str, np.ndarray], limit: float, scale: str) -> list[dict]:
    if not found:
        return []
    values = np.array(list(found.values()))
    error = standard_error(values)
    return numbers(name, values.mean(1), error, values.shape[1], limit=limit, scale=scale, at=list(found))
