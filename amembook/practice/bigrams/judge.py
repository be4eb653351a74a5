"""First steps and spectra beside predictions, and who is first at the minimum."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.stats import t as student_t

from amembook.practice.bigrams import expected
from amembook.practice.bigrams.measure import MAPS
from amembook.practice.bigrams.text import copied, targets
from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, NETWORK, SMALL, equivalence, numbers, order

DROP_BAND = NUCLEAR_BAND = SMALL
"""The bands of the drop of a first step and of a nuclear norm, at d = 64 and 128."""
RATIO_BAND = NETWORK
"""That of Muon's drop over gradient descent's: both bands together."""
NUCLEAR_RIVALS = {"one item a context": "nuclear_contexts", "a Gaussian matrix of its norm": "nuclear_gaussian"}


def summarise(config, results: Results) -> tuple[dict, dict]:
    """first[map]: drops (d, target); nuclear (d, target); run[map]: (target, step); steps[map]: (target, level);
    lead: mean and interval of log steps of descent over Muon's to the last level, by target; `…_error` beside."""
    steps = {name: results.array("late", "steps", name).astype(float) for name in MAPS}
    drops = {name: results.array("first", "drop", name) for name in MAPS}
    log_ratio, nuclear = np.log(drops["polar"]) - np.log(drops["sgd"]), results.array("first", "nuclear")
    measured = {}
    for key, values, axis in (
        ("first", drops, 2),
        ("run", {name: results.array("run", name) for name in MAPS}, 1),
        ("steps", steps, 1),
    ):
        measured[key] = {name: draws.mean(axis) for name, draws in values.items()}
        measured[f"{key}_error"] = {name: standard_error(draws, axis) for name, draws in values.items()}
    for key, values in (("nuclear", nuclear), ("log_ratio", log_ratio)):
        measured |= {key: values.mean(2), f"{key}_error": standard_error(values, 2)}
    last = {name: np.log(np.maximum(values[:, :, -1], 1)) for name, values in steps.items()}
    lead, width = (last["sgd"] - last["polar"]).mean(1), standard_error(last["sgd"] - last["polar"])
    width = width * student_t.ppf(0.975, max(config.seeds - 1, 1))
    measured["lead"] = {"log": lead, "interval": np.stack([lead - width, lead + width], 1)}
    measured["least"] = results.array("late", "least").mean(1)
    return measured, predict(config)


def predict(config) -> dict:
    """Drops, nuclear norms and their rivals, all from the table of bigrams and d."""
    held, copy = {name: targets(name, config.n_words) for name in config.first}, copied(config.n_words)
    over = lambda law: [[law(soft, dim) for soft in held.values()] for dim in config.dims]
    by_map = lambda law: {name: over(partial(law, name=name)) for name in MAPS}
    circle = 8 / (3 * math.pi)
    return {
        "first": by_map(expected.expected_drop),
        "no_noise": by_map(partial(expected.expected_drop, noise=0.0)),
        "second_order": by_map(expected.second_order_drop),
        "contexts": by_map(lambda soft, dim, name: expected.expected_drop(copy, dim, name)),
        "nuclear": over(expected.nuclear_norm),
        "nuclear_contexts": over(lambda soft, dim: expected.nuclear_norm(copy, dim)),
        "nuclear_gaussian": over(lambda soft, dim: circle * math.sqrt(dim) * soft.centred.norm().item()),
        "entropy": {name: soft.entropy for name, soft in held.items()},
        "modes": {name: expected.modes(soft)[1][:64].tolist() for name, soft in held.items()},
    }


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """first: drops of soft targets; ratio: Muon's over descent's; spectrum: nuclear norms; all beside predictions.
    late: descent is first at the last level on the text.
    """
    soft = [k for k, name in enumerate(config.first) if name != "copy"]
    take = lambda table: np.array([table[name][:, soft] for name in MAPS])
    rows = [f"d = {dim}, {config.first[k]}" for dim in config.dims for k in soft]
    laws = {key: take(predicted[key]) for key in ("first", "second_order", "contexts", "no_noise")}
    rough = {"to second order": laws["second_order"], "one item a context": laws["contexts"]}
    held_to = {"law": laws["first"], "band": DROP_BAND, "rivals": rough | {"without noise": laws["no_noise"]}}
    drops, error = take(measured["first"]), take(measured["first_error"])
    at = [f"{name}, {row}" for name in MAPS for row in rows]
    yield "first", equivalence(numbers("drop of", drops, error, config.seeds, at=at, **held_to))

    over_descent = lambda values: values[1] / values[0]
    rivals = {"no difference": 1.0} | {name: over_descent(law) for name, law in rough.items()}
    held_to = {"law": over_descent(laws["first"]), "band": RATIO_BAND, "rivals": rivals, "at": rows}
    ratio = np.exp(measured["log_ratio"][:, soft])
    error = ratio * measured["log_ratio_error"][:, soft]
    yield "ratio", equivalence(numbers("Muon over descent,", ratio, error, config.seeds, **held_to))

    rivals = {name: predicted[key][:, soft] for name, key in NUCLEAR_RIVALS.items()}
    held_to = {"law": predicted["nuclear"][:, soft], "band": NUCLEAR_BAND, "rivals": rivals, "at": rows}
    norms, error = (measured[name][:, soft] for name in ("nuclear", "nuclear_error"))
    yield "spectrum", equivalence(numbers("nuclear norm,", norms, error, config.seeds, **held_to))

    late = []
    if "1" in config.late:
        low, high = measured["lead"]["interval"][config.late.index("1")]
        interval = {"low": -high, "high": -low, "limit": 0.0, "scale": DIFFERENCE}
        late = numbers("log of Muon's steps over descent's", -(low + high) / 2, draws=config.seeds, **interval)
    yield "late", order(late)
