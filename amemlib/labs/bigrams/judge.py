"""What the lab says of its numbers: first steps and spectra beside predictions, and who is first at the minimum."""

import math
from functools import partial

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.bigrams import expected
from amemlib.labs.bigrams.measure import MAPS
from amemlib.labs.bigrams.text import copied, targets
from amemlib.verdicts import refuse, verdict

DROP_BAND = 0.15
"""How far the drop of a first step may lie from its prediction, relative and beyond its standard errors: the head word
alone is a tenth of a gradient, and its vectors' lengths differ by 1/√d."""
RATIO_FACTOR = 1.3
"""How far Muon's drop over gradient descent's may lie from its prediction, as a factor: both bands together."""
NUCLEAR_BAND = 0.05
"""How far a nuclear norm may lie from its prediction, relative and beyond two standard errors."""


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
            measured[key][name] = values.mean(axis).tolist()
            measured[f"{key}_error"][name] = standard_error(values, axis).tolist()
    nuclear = results.array("first", "nuclear")
    measured |= {"nuclear": nuclear.mean(2).tolist(), "nuclear_error": standard_error(nuclear, 2).tolist()}
    drops = [np.log(results.array("first", "drop", name)) for name in ("polar", "sgd")]
    measured |= {"log_ratio": (drops[0] - drops[1]).mean(2).tolist()}
    measured |= {"log_ratio_error": standard_error(drops[0] - drops[1], 2).tolist()}
    last = [np.log(np.maximum(results.array("late", "steps", name)[:, :, -1], 1)) for name in MAPS]
    lead, width = (last[0] - last[1]).mean(1), standard_error(last[0] - last[1])
    width = width * student_t.ppf(0.975, max(config.seeds - 1, 1))
    measured["lead"] = {"log": lead.tolist(), "interval": np.stack([lead - width, lead + width], 1).tolist()}
    measured["least"] = results.array("late", "least").mean(1).tolist()
    return measured, predict(config)


def predict(config) -> dict:
    """Drops, nuclear norms and their rivals, all from the table of bigrams and d."""
    held = {name: targets(name, config.n_words) for name in config.first}
    copy = copied(config.n_words)
    over = lambda find: [[find(given, dim) for given in held.values()] for dim in config.dims]  # noqa: E731
    by_map = lambda find: {name: over(partial(find, name=name)) for name in MAPS}  # noqa: E731
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
    """first: drops of soft targets within `DROP_BAND`; ratio: Muon's over descent's within `RATIO_FACTOR`; spectrum:
    nuclear norms within `NUCLEAR_BAND`. late: descent is first at the last level on the text, its interval below 0.
    """
    soft = [k for k, name in enumerate(config.first) if name != "copy"]
    take = lambda told: np.array([np.array(told[name], float)[:, soft] for name in MAPS])  # noqa: E731
    drops, error = take(measured["first"]), np.nan_to_num(take(measured["first_error"]))
    farthest = norm.ppf(1 - 0.025 / drops.size)
    is_drop = lambda law: bool((np.abs(drops - law) <= DROP_BAND * law + farthest * error).all())  # noqa: E731
    rivals = {
        "to second order": take(predicted["second_order"]),
        "one item a context": take(predicted["contexts"]),
        "without noise": take(predicted["no_noise"]),
    }
    met = is_drop(take(predicted["first"]))
    verdicts = {"first": verdict(met, met, refuse(is_drop, rivals), config.seeds)}

    log_ratio, spread = (np.array(measured[name], float)[:, soft] for name in ("log_ratio", "log_ratio_error"))
    ratio = lambda key: np.log(take(predicted[key])[1] / take(predicted[key])[0])  # noqa: E731
    band = math.log(RATIO_FACTOR) + farthest * np.nan_to_num(spread)
    is_ratio = lambda law: bool((np.abs(log_ratio - law) <= band).all())  # noqa: E731
    rivals = {
        "no difference": np.zeros_like(log_ratio),
        "to second order": ratio("second_order"),
        "one item a context": ratio("contexts"),
    }
    met = is_ratio(ratio("first"))
    verdicts["ratio"] = verdict(met, met, refuse(is_ratio, rivals), config.seeds)

    norms, scatter = (np.array(measured[name], float)[:, soft] for name in ("nuclear", "nuclear_error"))
    far = NUCLEAR_BAND * norms + 2 * np.nan_to_num(scatter)
    is_norm = lambda key: bool((np.abs(norms - np.array(predicted[key])[:, soft]) <= far).all())  # noqa: E731
    rivals = {"one item a context": "nuclear_contexts", "a Gaussian matrix of its norm": "nuclear_gaussian"}
    met = is_norm("nuclear")
    verdicts["spectrum"] = verdict(met, met, refuse(is_norm, rivals), config.seeds)

    low, high = measured["lead"]["interval"][config.late.index("1")] if "1" in config.late else (math.nan, math.nan)
    leads = {"descent": high < 0, "Muon": low > 0, "neither": low <= 0 <= high}
    verdicts["late"] = verdict(
        leads["descent"], leads["descent"], refuse(leads.get, {"Muon": "Muon", "neither": "neither"}), config.seeds
    )
    return verdicts
