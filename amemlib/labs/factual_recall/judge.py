"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.factual_recall.measure import MAPS
from amemlib.verdicts import refuse, verdict

CAPACITY_BAND = 0.07
"""How far a capacity may lie from the cone's, relative and beyond two standard errors: it is measured to 4 %, and Adam
stops after a fixed number of steps."""
EXPONENT_BAND = 0.12
"""How far an exponent of N log N may lie from 1: half the way to the nearest rival, the law without the logarithm."""
SHARE_BAND = 0.02
"""How far a share of items may lie from the core's prediction, beyond two standard errors: its 4 %, of a half."""
LEARNT = 0.99
"""The share of facts that counts as all of them."""
EXACT = 1e-9
"""How far a curve may lie from its exact reduction: rounding, over thousands of steps."""
RATIO_BAND = 0.06
"""How far a ratio of times may lie from its limit: the next order is one over the logarithm of the start."""
PLATEAU_BAND, LONG = 0.02, 3.0
"""How far a plateau may lie from its law, relative, where the ratio of times is at least `LONG`; without a wait there
is no plateau."""
PACE_BAND = 0.12
"""How far the ratio of a polar step's times may lie from that of constant pace, which ignores that the gradient turns
as it is followed."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """measured: `linear` and `mlp` hold counts, their errors and exponents; `uniform[map]`, (dims, loads), and errors;
    `accuracy`, (heads, widths), and `learnt`, the share of draws in which all facts are; `flow`, (answers, subjects).
    predicted: the same where there is a prediction. Exponents are of N log N."""
    measured, predicted = {}, {}
    counts, expected = results.array("linear", "count"), results.array("expected linear", "count")
    measured["linear"] = _told(counts) | {"exponent": _exponent(np.square(config.dims), counts.mean(1))}
    predicted["linear"] = {"counts": expected.tolist(), "exponent": _exponent(np.square(config.dims), expected)}
    shapes = list(results.grids["mlp"].axes["shape"].values())
    mlp = results.array("mlp", "count")
    measured["mlp"] = _told(mlp) | {"shapes": [[shape["dim"], shape["width"]] for shape in shapes]}
    for axis, fixed in (("width", ("dim", config.mlp_dim)), ("dim", ("width", config.mlp_width))):
        along = [k for k, shape in enumerate(shapes) if shape[fixed[0]] == fixed[1]]
        sizes = [shapes[k][axis] for k in along]
        measured["mlp"][f"{axis}_exponent"] = _exponent(sizes, mlp.mean(1)[along])
        measured["mlp"][f"{axis}_raw"] = _slope(sizes, mlp.mean(1)[along])
    for name in MAPS:
        shares = results.array("uniform", name)
        measured.setdefault("uniform", {})[name] = shares.mean(2).tolist()
        measured.setdefault("uniform_error", {})[name] = standard_error(shares, 2).tolist()
        predicted.setdefault("uniform", {})[name] = results.array("expected uniform", name).tolist()
    accuracy = results.array("recall", "accuracy")
    measured["accuracy"] = accuracy.mean(2).tolist()
    measured["learnt"] = (accuracy >= LEARNT).mean(2).tolist()
    read = lambda measure, *keys: results.array(measure, *keys).mean(2).tolist()  # noqa: E731
    stages = {"sgd": ("ratio", "mixed", "relation", "answer"), "polar": ("ratio", "mixed", "relation", "answer")}
    for told, measure in ((measured, "flow"), (predicted, "expected flow")):
        told["flow"] = {name: {key: read(measure, name, key) for key in keys} for name, keys in stages.items()}
    measured["flow"]["learnt"] = {key: read("flow", "learnt", key) for key in stages["sgd"]}
    measured["flow"]["plateau"] = read("flow", "plateau")
    measured["flow"]["difference"] = results.array("flow", "difference").max((1, 2)).tolist()
    predicted["flow"]["learnt"] = {"ratio": read("expected flow", "learnt", "ratio")}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """linear: the count is the cone's, and N log N grows as d². mlp: N log N grows as m d, along both.

    either: attention that stores, and an MLP, are each enough, and neither is not.
    sequence: the flow is its reduction, and relation and fact are learnt at times of the given ratio.
    plateau: between them the loss is log D.
    uniform, muon: one step on equal items recovers the core's shares, and steps of constant pace give the ratio of
    times; predictions for these sizes, so both answers are one.
    """
    counts, error = _numbers(measured["linear"]["counts"]), _errors(measured["linear"]["error"])
    expected = _numbers(predicted["linear"]["counts"])
    near = (np.abs(counts - expected) <= CAPACITY_BAND * expected + 2 * error).all()
    is_exponent = lambda value: bool(abs(measured["linear"]["exponent"] - value) <= EXPONENT_BAND)  # noqa: E731
    squares, first = np.square(config.dims), counts[0]
    rivals = {
        "N ~ d, as many as directions": _exponent(squares, first * np.sqrt(squares / squares[0])),
        "N ~ d² without the logarithm": _exponent(squares, first * squares / squares[0]),
        "N ~ d³": _exponent(squares, first * (squares / squares[0]) ** 1.5),
    }
    verdicts = {"linear": verdict(near, is_exponent(1.0), refuse(is_exponent, rivals))}

    told = measured["mlp"]
    are_exponents = lambda pair: bool(  # noqa: E731
        abs(told["width_exponent"] - pair[0]) <= EXPONENT_BAND and abs(told["dim_exponent"] - pair[1]) <= EXPONENT_BAND
    )
    rivals = {"the width alone": (1.0, 0.0), "the dimension alone": (0.0, 1.0), "d² at any width": (0.0, 2.0)}
    verdicts["mlp"] = verdict(None, are_exponents((1.0, 1.0)), refuse(are_exponents, rivals))

    learnt = _numbers(measured["learnt"])
    corners = (learnt[-1, 0], learnt[0, -1], learnt[0, 0])
    is_pattern = lambda pattern: all(found == said for found, said in zip(corners, pattern, strict=True))  # noqa: E731
    rivals = {
        "attention alone stores": (1, 0, 0),
        "the MLP alone stores": (0, 1, 0),
        "both are needed": (0, 0, 0),
        "embeddings suffice": (1, 1, 1),
    }
    verdicts["either"] = verdict(None, is_pattern((1, 1, 0)), refuse(is_pattern, rivals))

    flow, law = measured["flow"], _numbers(predicted["flow"]["learnt"]["ratio"])
    ratio, S, D = _numbers(flow["learnt"]["ratio"]), np.array(config.n_subjects), np.array(config.n_answers)[:, None]
    is_ratio = lambda value: bool((np.abs(ratio / value - 1) <= RATIO_BAND).all())  # noqa: E731
    rivals = {"S/D, attention that does not learn": S / D, "S/R": S / config.n_relations, "all at once": 1.0}
    verdicts["sequence"] = verdict(max(flow["difference"]) <= EXACT, is_ratio(law), refuse(is_ratio, rivals))
    long = law >= LONG
    level = lambda value: (  # noqa: E731
        bool((np.abs(_numbers(flow["plateau"]) / (value + 0 * law) - 1) <= PLATEAU_BAND)[long].all())
    )
    R = config.n_relations
    rivals = {"log R": np.log(R), "log R D": np.log(R * D), "half log D": np.log(D) / 2}
    verdicts["plateau"] = verdict(None, level(np.log(D)) if long.any() else None, refuse(level, rivals))

    shares, noise = (_numbers([measured[key][name] for name in MAPS]) for key in ("uniform", "uniform_error"))
    is_share = lambda law: bool(  # noqa: E731
        (np.abs(shares - _numbers([law[name] for name in MAPS])) <= SHARE_BAND + 2 * np.nan_to_num(noise)).all()
    )
    core = predicted["uniform"]
    rivals = {
        "as many as SGD": core | {"polar": core["sgd"]},
        "Muon ahead by as much": {"sgd": core["polar"], "polar": core["sgd"]},
    }
    verdicts["uniform"] = verdict(is_share(core), is_share(core), refuse(is_share, rivals))

    pace = _numbers(flow["polar"]["ratio"])
    is_pace = lambda value: bool((np.abs(pace / value - 1) <= PACE_BAND).all())  # noqa: E731
    expected = is_pace(_numbers(predicted["flow"]["polar"]["ratio"]))
    rivals = {"gradient descent's ratio": _numbers(predicted["flow"]["sgd"]["ratio"]), "all at once": 1.0}
    verdicts["muon"] = verdict(expected, expected, refuse(is_pace, rivals))
    return verdicts


def _told(draws: np.ndarray) -> dict:
    return {"counts": draws.mean(1).tolist(), "error": standard_error(draws).tolist()}


def _slope(x, y) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _exponent(sizes, counts) -> float:
    """Slope of log(N log N) over the logarithm of the size."""
    counts = np.asarray(counts, dtype=float)
    return _slope(sizes, counts * np.log(counts))


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)


def _errors(values) -> np.ndarray:
    """Standard errors, 0 where a single draw has none."""
    return np.nan_to_num(_numbers(values))
