"""First steps and spectra beside predictions, and who is first at the minimum."""

import math
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
    measured = {"first": {}, "first_error": {}, "run": {}, "run_error": {}, "steps": {}, "steps_error": {}}
    for name in MAPS:
        for key, values in (
            ("first", results.array("first", "drop", name)),
            ("run", results.array("run", name)),
            ("steps", results.array("late", "steps", name).astype(float)),
        ):
            axis = 2 if key == "first" else 1
            measured[key][name] = values.mean(axis)
            measured[f"{key}_error"][name] = standard_error(values, axis)
    nuclear = results.array("first", "nuclear")
    measured |= {"nuclear": nuclear.mean(2), "nuclear_error": standard_error(nuclear, 2)}
    drops = [np.log(results.array("first", "drop", name)) for name in ("polar", "sgd")]
    measured |= {"log_ratio": (drops[0] - drops[1]).mean(2)}
    measured |= {"log_ratio_error": standard_error(drops[0] - drops[1], 2)}
    last = [np.log(np.maximum(results.array("late", "steps", name)[:, :, -1], 1)) for name in MAPS]
    lead, width = (last[0] - last[1]).mean(1), standard_error(last[0] - last[1])
    width = width * student_t.ppf(0.975, max(config.seeds - 1, 1))
    measured["lead"] = {"log": lead, "interval": np.stack([lead - width, lead + width], 1)}
    measured["least"] = results.array("late", "least").mean(1)
    return measured, predict(config)


def predict(config) -> dict:
    """Drops, nuclear norms and their rivals, all from the table of bigrams and d."""
    held = {name: targets(name, config.n_words) for name in config.first}
    copy = copied(config.n_words)
    over = lambda find: [[find(given, dim) for given in held.values()] for dim in config.dims]
    by_map = lambda find: {name: over(partial(find, name=name)) for name in MAPS}
    norms = [[given.centred.norm().item() for given in held.values()] for _ in config.dims]
    circle = 8 / (3 * math.pi)
    return {
        "first": by_map(expected.expected_drop),
        "no_noise": by_map(lambda given, dim, name: expected.expected_drop(given, dim, name, noise=0.0)),
        "second_order": by_map(expected.second_order_drop),
        "contexts": by_map(lambda given, dim, name: expected.expected_drop(copy, dim, name)),
        "nuclear": over(expected.nuclear_norm),
        "nuclear_contexts": over(lambda given, dim: expected.nuclear_norm(copy, dim)),
        "nuclear_gaussian": [
            [circle * math.sqrt(dim) * value for value in row] for dim, row in zip(config.dims, norms, strict=True)
        ],
        "entropy": {name: given.entropy for name, given in held.items()},
        "modes": {name: expected.modes(given)[1][:64].tolist() for name, given in held.items()},
    }


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """first: drops of soft targets; ratio: Muon's over descent's; spectrum: nuclear norms; all beside predictions.
    late: descent is first at the last level on the text.
    """
    soft = [k for k, name in enumerate(config.first) if name != "copy"]
    take = lambda told: np.array([told[name][:, soft] for name in MAPS])
    rows = [f"d = {dim}, {config.first[k]}" for dim in config.dims for k in soft]
    others = {"to second order": "second_order", "one item a context": "contexts", "without noise": "no_noise"}
    rivals = {name: take(predicted[key]) for name, key in others.items()}
    given = {"law": take(predicted["first"]), "band": DROP_BAND, "rivals": rivals}
    at = [f"{name}, {row}" for name in MAPS for row in rows]
    drops, error = take(measured["first"]), take(measured["first_error"])
    first = numbers("drop of", drops, error, config.seeds, at=at, **given)

    ratio = lambda values: values[1] / values[0]
    rivals = {"no difference": 1.0} | {name: ratio(take(predicted[others[name]])) for name in list(others)[:2]}
    given = {"law": ratio(take(predicted["first"])), "band": RATIO_BAND, "rivals": rivals, "at": rows}
    found = np.exp(measured["log_ratio"][:, soft])
    spread = found * measured["log_ratio_error"][:, soft]
    ratios = numbers("Muon over descent,", found, spread, config.seeds, **given)

    laws = {name: predicted[key][:, soft] for name, key in NUCLEAR_RIVALS.items()}
    given = {"law": predicted["nuclear"][:, soft], "band": NUCLEAR_BAND, "rivals": laws, "at": rows}
    norms, scatter = (measured[name][:, soft] for name in ("nuclear", "nuclear_error"))
    spectrum = numbers("nuclear norm,", norms, scatter, config.seeds, **given)

    late = []
    if "1" in config.late:
        low, high = measured["lead"]["interval"][config.late.index("1")]
        given = {"low": -high, "high": -low, "limit": 0.0, "scale": DIFFERENCE}
        late = numbers("log of Muon's steps over descent's", -(low + high) / 2, draws=config.seeds, **given)
    return {
        "first": equivalence(first),
        "ratio": equivalence(ratios),
        "spectrum": equivalence(spectrum),
        "late": order(late),
    }
