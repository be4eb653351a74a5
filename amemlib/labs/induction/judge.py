"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.induction.expected import fewest_lengths
from amemlib.labs.induction.measure import MAPS
from amemlib.verdicts import refuse, verdict

SCALE_BAND = 0.03
"""How far a critical scale may lie from that of all sequences, relative and beyond two standard errors: the largest of
16 rates in a sample is 2 % too large, and noise tokens add as much."""
EXPONENT_BAND = 0.03
"""How far the exponent of the critical scale in R may lie from −1/4: a third of the way to the nearest rival."""
LAW_BAND = 0.15
"""How far g⁴ R at the critical scale may lie from 1: corrections of order 1/(2l), and l is 8…23."""
NEW_BAND = 0.2
"""The same for g² R at a new length, where they are larger."""
SAFE, LOST = 0.8, 1.5
"""Below and above what g⁴ R the accuracy elsewhere is to be `HIGH` or more, `LOW` or less."""
HIGH, LOW = 0.99, 0.25
COUNT_BAND = 0.2
"""How far the number of lengths that is enough may lie from that of g⁴ R = 1, relative: 0.99 is asked, not a half."""
MUON_BAND = 0.05
"""How far Muon's critical scale may lie from 1: the nearest rival law is 19 % away at two lengths."""
EARLY, LATE = 0.05, 0.08
"""How far the critical scale may lie from its law after the first step and after the last, relative. What is late is
logarithmic in time."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """measured: `critical[map][seen or unseen]` by shape, with errors; `accuracy`, (shapes, scales); `samples` and
    `training` by draw; `cost` by power. predicted: critical scales of all sequences, R and its rivals by shape."""
    grid = results.grids["transition"]
    measured = {"shapes": [list(shape.values()) for shape in grid.axes["shape"].values()]}
    predicted = {key: results.array("expected", key).tolist() for key in ("max_sum", "largest", "count")}
    for name in MAPS:
        for where in ("seen", "unseen"):
            found = results.array("transition", name, where)
            measured.setdefault("critical", {}).setdefault(name, {})[where] = found.mean(1).tolist()
            measured.setdefault("critical_error", {}).setdefault(name, {})[where] = standard_error(found).tolist()
            law = results.array("expected", name, where)
            predicted.setdefault("critical", {}).setdefault(name, {})[where] = law.tolist()
    measured["accuracy"] = results.array("transition", "accuracy").mean(1).tolist()
    measured["exponent"] = _slope(predicted["max_sum"], measured["critical"]["sgd"]["seen"])
    predicted["exponent"] = _slope(predicted["max_sum"], predicted["critical"]["sgd"]["seen"])
    measured["samples"] = {
        "critical": results.array("samples", "sgd", "seen").tolist(),
        "max_sum": results.array("samples", "max_sum").tolist(),
    }
    measured["cost"] = {key: results.array("cost", key).mean(1).tolist() for key in ("count", "tokens")}
    measured["cost_draws"] = results.array("cost", "tokens").tolist()
    predicted["cost"] = {
        "count": [fewest_lengths(config.first_length, power, config.cost_scale) for power in config.cost_powers]
    }
    measured["training"] = {
        "critical": results.array("training", "sgd").tolist(),
        "max_sum": results.array("training", "max_sum").tolist(),
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """transition: the critical scale is that of all sequences, and R^(−1/4). ratio: g⁴ R = 1 there, and no other number
    of the distribution does as well. accuracy: elsewhere it is high below g⁴ R = 1 and low above; one answer to both.
    unseen: at a new length g² R = 1. samples: in a small sample the ratio is the sample's own; one answer to both.
    cheapest: as many lengths are enough as g⁴ R = 1 says, and q_l ∝ l has the shortest sequences.
    muon, muon_unseen: a polar step's critical scale is that of all sequences, and 1, or √n at a new length.
    training: after one step R counts, after many the number of lengths.
    """
    R, largest, n = (_numbers(predicted[key]) for key in ("max_sum", "largest", "count"))

    def near(name: str, where: str) -> bool:
        found, error = (_numbers(measured[key][name][where]) for key in ("critical", "critical_error"))
        law = _numbers(predicted["critical"][name][where])
        return bool((np.abs(found - law) <= SCALE_BAND * law + 2 * np.nan_to_num(error)).all())

    critical = {
        name: {key: _numbers(found) for key, found in told.items()} for name, told in measured["critical"].items()
    }
    is_exponent = lambda value: bool(abs(measured["exponent"] - value) <= EXPONENT_BAND)  # noqa: E731
    rivals = {"g² R": -1 / 2, "g³ R": -1 / 3, "g⁸ R": -1 / 8, "no dependence": 0.0}
    verdicts = {"transition": verdict(near("sgd", "seen"), is_exponent(-1 / 4), refuse(is_exponent, rivals))}

    fourth = critical["sgd"]["seen"] ** 4
    is_ratio = lambda ratio: bool((np.abs(fourth * ratio - 1) <= LAW_BAND).all())  # noqa: E731
    rivals = {"the largest share": largest, "one over the number of lengths": 1 / n, "√R": R**0.5}
    verdicts["ratio"] = verdict(is_ratio(R), is_ratio(R), refuse(is_ratio, rivals))

    accuracy, g = _numbers(measured["accuracy"]), _numbers(config.scales)
    is_split = lambda x: bool((accuracy[x < SAFE] >= HIGH).all() and (accuracy[x > LOST] <= LOW).all())  # noqa: E731
    split = is_split(np.outer(R, g**4))
    rivals = {"R alone": np.outer(R, g**0), "g² R": np.outer(R, g**2), "g⁴": np.outer(R**0, g**4)}
    verdicts["accuracy"] = verdict(split, split, refuse(is_split, rivals))

    square = critical["sgd"]["unseen"] ** 2
    is_new = lambda ratio: bool((np.abs(square * ratio - 1) <= NEW_BAND).all())  # noqa: E731
    rivals = {"as at the lengths of training": R**0.5, "the largest share": largest, "the number of lengths": 1 / n}
    verdicts["unseen"] = verdict(near("sgd", "unseen"), is_new(R), refuse(is_new, rivals))

    fourth_sample, own = _numbers(measured["samples"]["critical"]) ** 4, _numbers(measured["samples"]["max_sum"])
    is_own = lambda ratio: bool((np.abs((fourth_sample * ratio).mean(1) - 1) <= LAW_BAND).all())  # noqa: E731
    rivals = {
        "R of all sequences": 1 / config.sample_lengths,
        "one over their number": 1 / _column(config.sample_sizes),
    }
    verdicts["samples"] = verdict(is_own(own), is_own(own), refuse(is_own, rivals))

    counts, law = _numbers(measured["cost"]["count"]), _numbers(predicted["cost"]["count"])
    enough = bool((np.abs(counts / law - 1) <= COUNT_BAND).all())
    tokens = _numbers(measured["cost_draws"])
    is_cheapest = lambda power: bool((tokens.argmin(0) == list(config.cost_powers).index(power)).all())  # noqa: E731
    rivals = {f"q ∝ l^{power:g}": power for power in config.cost_powers if power != 1}
    verdicts["cheapest"] = verdict(enough, is_cheapest(1.0), refuse(is_cheapest, rivals))

    polar = critical["polar"]["seen"]
    is_one = lambda law: bool((np.abs(polar / law - 1) <= MUON_BAND).all())  # noqa: E731
    rivals = {"as a gradient step": R**-0.25, "fourth root of the number of lengths": n**0.25}
    verdicts["muon"] = verdict(near("polar", "seen"), is_one(1.0), refuse(is_one, rivals))
    squares = critical["polar"]["unseen"] ** 2
    is_count = lambda law: bool((np.abs(squares / law - 1) <= NEW_BAND).all())  # noqa: E731
    rivals = {"as a gradient step": 1 / R, "as at the lengths of training": R**0}
    verdicts["muon_unseen"] = verdict(near("polar", "unseen"), is_count(n), refuse(is_count, rivals))

    trained, ratios = _numbers(measured["training"]["critical"]), _numbers(measured["training"]["max_sum"])
    early = bool((np.abs(trained[:, 0] * ratios**0.25 - 1) <= EARLY).all())
    is_late = lambda law: bool((np.abs(trained[:, -1] / law - 1) <= LATE).all())  # noqa: E731
    rivals = {"as after one step": ratios**-0.25, "every scale": 1.0}
    verdicts["training"] = verdict(early, is_late(config.train_lengths**0.25), refuse(is_late, rivals))
    return verdicts


def _slope(ratios, scales) -> float:
    """Exponent of the scales in the ratios, NaN where one of them is not known."""
    if not np.isfinite(_numbers(scales)).all():
        return float("nan")
    return float(np.polyfit(np.log(ratios), np.log(_numbers(scales)), 1)[0])


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)


def _column(values) -> np.ndarray:
    return _numbers(values)[:, None]
