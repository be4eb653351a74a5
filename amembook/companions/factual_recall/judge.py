"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.run.base import MAPS, Results, slope, slope_error, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, SIZES, count_band, equivalence, numbers, order

SHARE_BAND = 0.02
"""The band of a share of items, as a difference: `SIZES` of two thirds of them."""
LEARNT = 0.99
"""The share of facts that counts as all of them."""
EXACT = 1e-9
"""How far a curve may lie from its exact reduction: rounding, over thousands of steps."""
PLATEAU, LONG = 0.02, 3.0
"""The band of a plateau, as it was fixed with the design, for a flow in which nothing is random; from what ratio of
times on there is one."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """measured: `linear` and `mlp` hold counts, their errors and exponents; `uniform[map]`, (dims, loads), and errors;
    `accuracy`, (heads, widths), and `learnt`, the share of draws in which all facts are; `flow`, (answers, subjects).
    predicted: the same where there is a prediction. Exponents are of N log N."""
    measured, predicted = {}, {}
    counts, expected = results.array("linear", "count"), results.array("expected linear", "count")
    measured["linear"] = _counts(counts) | {"exponent": _exponent(np.square(config.dims), counts.mean(1))}
    predicted["linear"] = {"counts": expected, "exponent": _exponent(np.square(config.dims), expected)}
    shapes = list(results.grids["mlp"].axes["shape"].values())
    mlp = results.array("mlp", "count")
    measured["mlp"] = _counts(mlp) | {"shapes": [[shape["dim"], shape["width"]] for shape in shapes]}
    for axis, fixed in (("width", ("dim", config.mlp_dim)), ("dim", ("width", config.mlp_width))):
        along = [k for k, shape in enumerate(shapes) if shape[fixed[0]] == fixed[1]]
        sizes = [shapes[k][axis] for k in along]
        measured["mlp"][f"{axis}_exponent"] = _exponent(sizes, mlp.mean(1)[along])
        measured["mlp"][f"{axis}_raw"] = slope(sizes, mlp.mean(1)[along])
    for name in MAPS:
        shares = results.array("uniform", name)
        measured.setdefault("uniform", {})[name] = shares.mean(2)
        measured.setdefault("uniform_error", {})[name] = standard_error(shares, 2)
        predicted.setdefault("uniform", {})[name] = results.array("expected uniform", name)
    accuracy = results.array("recall", "accuracy")
    measured["accuracy"] = accuracy.mean(2)
    measured["learnt"] = (accuracy >= LEARNT).mean(2)
    read = lambda measure, *keys: results.array(measure, *keys).mean(2)
    stages = {"sgd": ("ratio", "mixed", "relation", "answer"), "polar": ("ratio", "mixed", "relation", "answer")}
    for part, measure in ((measured, "flow"), (predicted, "expected flow")):
        part["flow"] = {name: {key: read(measure, name, key) for key in keys} for name, keys in stages.items()}
    measured["flow"]["learnt"] = {key: read("flow", "learnt", key) for key in stages["sgd"]}
    measured["flow"]["polar"]["ratio_error"] = standard_error(results.array("flow", "polar", "ratio"), 2)
    measured["flow"]["plateau"] = read("flow", "plateau")
    measured["flow"]["difference"] = results.array("flow", "difference").max((1, 2))
    predicted["flow"]["learnt"] = {"ratio": read("expected flow", "learnt", "ratio")}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """linear: the count is the cone's, and N log N grows as d². mlp: N log N grows as m d, along both.

    either: attention that stores, and an MLP, each recall more draws' facts than neither.
    sequence: relation and fact are learnt at times of the given ratio; the flow is its reduction. plateau: between them
    the loss is log D. Both are flows, in which nothing is random.
    uniform, muon: one step on equal items recovers the core's shares, and steps of constant pace give the ratio of
    times, of which the record may lack the error.
    """
    draws, counts, error = config.seeds, measured["linear"]["counts"], measured["linear"]["error"]
    law, squares = predicted["linear"]["counts"], np.square(config.dims)
    linear = numbers("items at d =", counts, error, draws, law=law, band=count_band(config.dims), at=config.dims)
    rivals = {
        "N ~ d² without the logarithm": _exponent(squares, counts[0] * squares / squares[0]),
        "N ~ d³": _exponent(squares, counts[0] * (squares / squares[0]) ** 1.5),
    }
    expected = predicted["linear"]["exponent"]
    given = {"band": EXPONENT, "scale": DIFFERENCE}
    linear += numbers(
        "exponent of N log N in d²",
        measured["linear"]["exponent"],
        _exponent_error(squares, counts, error),
        draws,
        law=expected,
        limit=1,
        rivals={name: value - 1 + expected for name, value in rivals.items()},
        **given,
    )

    mlp, shapes = measured["mlp"], np.array(measured["mlp"]["shapes"])
    found, errors, without = [], [], []
    for axis, (own, other) in {"width": (1, config.mlp_dim), "dim": (0, config.mlp_width)}.items():
        along = shapes[:, 1 - own] == other
        sizes, held, spread = shapes[along, own], mlp["counts"][along], mlp["error"][along]
        found.append(mlp[f"{axis}_exponent"])
        errors.append(_exponent_error(sizes, held, spread))
        without.append(_exponent(sizes, held[0] * sizes / sizes[0]))
    rivals = {"the width alone": (1.0, 0.0), "the dimension alone": (0.0, 1.0)}
    rivals |= {"N ~ m d without the logarithm": without}
    of_mlp = numbers(
        "exponent of N log N in the", found, errors, draws, limit=1, at=("width", "dimension"), rivals=rivals, **given
    )

    learnt = measured["learnt"]
    # a share of a few draws of which all agree: its standard error is that of one draw that does not
    one = np.sqrt(1 / draws * (1 - 1 / draws) / draws)
    lead = np.array([learnt[-1, 0], learnt[0, -1]]) - learnt[0, 0]
    given = {"limit": 0, "scale": DIFFERENCE, "at": ("attention", "MLP")}
    either = numbers("draws with all facts, more than with neither:", lead, one * np.sqrt(2), draws, **given)

    flow, limit = measured["flow"], predicted["flow"]["learnt"]["ratio"]
    S, D, R = np.array(config.n_subjects), np.array(config.n_answers)[:, None], config.n_relations
    at = [f"{d}, {s}" for d in config.n_answers for s in config.n_subjects]
    rivals = {"S/D, attention that does not learn": S / D, "S/R": S / R + 0 * limit, "a tenth more": 1.1 * limit}
    sequence = numbers(
        "ratio of times at D, S =", flow["learnt"]["ratio"], limit=limit, band=SIZES, at=at, rivals=rivals
    )
    sequence += numbers(
        "flow less its reduction", max(flow["difference"]), limit=0, band=EXACT, scale=DIFFERENCE, guard=True
    )
    long = S / np.sqrt(R * D) * np.sqrt((1 - 1 / R) / (1 - 1 / D)) >= LONG
    level = np.log(D) + 0 * limit
    rivals = {"log R": np.full(long.sum(), np.log(R)), "log (D + 1)": np.log(D + 1 + 0 * limit)[long]}
    given = {"limit": level[long], "band": PLATEAU, "rivals": rivals, "at": np.array(at)[long.ravel()]}
    plateau = numbers("plateau at D, S =", flow["plateau"][long], **given)

    shares, noise = (np.array([measured[key][name] for name in MAPS]) for key in ("uniform", "uniform_error"))
    core = {name: np.array(predicted["uniform"][name]) for name in MAPS}
    law = np.array([core[name] for name in MAPS])
    rivals = {"as many as SGD": np.array([core["sgd"]] * 2), "Muon ahead by as much": law[::-1]}
    at = [f"{name}, {d}, {load:g}" for name in MAPS for d in config.uniform_dims for load in config.loads]
    given = {"law": law, "band": SHARE_BAND, "scale": DIFFERENCE, "at": at, "rivals": rivals}
    uniform = numbers("share at map, d, N/d² =", shares, noise, draws, **given)
    at = [f"{d}, {s}" for d in config.n_answers for s in config.n_subjects]
    given = {"law": predicted["flow"]["polar"]["ratio"], "band": SIZES, "at": at}
    given |= {"rivals": {"gradient descent's ratio": predicted["flow"]["sgd"]["ratio"]}}
    pace = numbers(
        "Muon's ratio of times at D, S =",
        flow["polar"]["ratio"],
        flow["polar"].get("ratio_error", np.nan),
        draws,
        **given,
    )
    verdicts = {"linear": linear, "mlp": of_mlp, "sequence": sequence, "plateau": plateau, "uniform": uniform}
    return {name: equivalence(judged) for name, judged in (verdicts | {"muon": pace}).items()} | {
        "either": order(either)
    }


def _exponent_error(sizes, counts, error) -> float:
    """Standard error of `_exponent`: d log(N log N) = (1 + 1/log N) d log N."""
    counts = np.asarray(counts, dtype=float)
    return slope_error(sizes, counts, np.asarray(error) * (1 + 1 / np.log(counts)))


def _counts(draws: np.ndarray) -> dict:
    return {"counts": draws.mean(1), "error": standard_error(draws)}


def _exponent(sizes, counts) -> float:
    """Slope of log(N log N) over the logarithm of the size."""
    counts = np.asarray(counts, dtype=float)
    return slope(sizes, counts * np.log(counts))
