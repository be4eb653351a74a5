"""Losses of both updates, and their difference by pairs of a seed."""

import numpy as np

from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, numbers, order


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By task and update: loss, rate (means, geometric), draws; lead[task][update], every seed's Muon less it, nats."""
    measured = {"loss": {}, "rate": {}, "draws": {}, "lead": {}}
    for task in config.tasks:
        of = lambda key, task=task: {
            name: results.array("runs", key, task=task, update=name) for name in config.updates
        }
        draws = measured["draws"][task] = of("test")
        measured["loss"][task] = {name: values.mean() for name, values in draws.items()}
        measured["rate"][task] = {name: float(np.exp(np.log(values).mean())) for name, values in of("rate").items()}
        measured["lead"][task] = {name: draws["muon"] - values for name, values in draws.items() if name != "muon"}
    return measured, {}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """recall, text: siblings end below Muon. shared: below what a matrix has of its own gradients alone."""
    lead = {task: {k: np.asarray(v, float) for k, v in told.items()} for task, told in measured["lead"].items()}
    found = {task: {"Muon less siblings": told["siblings"]} for task, told in lead.items()}
    shared = {task: told["siblings"] - told["own"] for task, told in lead.items() if "own" in told}
    verdicts = {task: order(_each("nats,", found.get(task, {}), config.seeds)) for task in ("recall", "text")}
    return verdicts | {"shared": order(_each("nats, own less siblings,", shared, config.seeds))}


def _each(name: str, found: dict[str, np.ndarray], draws: int) -> list[dict]:
    if not found:
        return []
    values = np.array(list(found.values()))
    return numbers(name, values.mean(1), standard_error(values), draws, limit=0, scale=DIFFERENCE, at=list(found))
