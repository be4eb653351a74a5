"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.induction.expected import fewest_lengths
from amembook.companions.induction.measure import MAPS
from amembook.run.base import Results, slope, slope_error, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, SIZES, equivalence, numbers, order
from amembook.run.study import above, by_part, claims_by_part

SAFE, LOST = 0.8, 1.5  # below and above what g⁴ R the accuracy elsewhere is compared
FOURTH = (1 + SIZES) ** 4 - 1
FEWEST_LATE = 20  # draws from which on the transition after many steps is judged by order


PARTS = ("step", "few", "exact")
"""One step on many sequences; on few, and many steps; what is computed of all sequences."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Of the parts that were measured. measured: `critical[map][seen or unseen]` by shape, with errors; `accuracy`,
    (shapes, scales); `cost` by power; `samples`, `training` by draw; of all sequences `far`, (first lengths, shapes),
    and `least`, (first lengths, scales). predicted: critical scales of all sequences, R and its rivals by shape; costs
    in closed form."""
    return by_part(config, results, {"step": _read_step, "few": _read_few, "exact": _read_exact})


def _read_step(config, results: Results) -> tuple[dict, dict]:
    grid = results.grids["transition"]
    measured = {"shapes": [list(shape.values()) for shape in grid.axes["shape"].values()]}
    predicted = {key: results.array("expected", key) for key in ("max_sum", "largest", "count")}
    table = lambda read: {name: {where: read(name, where) for where in ("seen", "unseen")} for name in MAPS}
    measured["critical"] = table(lambda *keys: results.array("transition", *keys).mean(1))
    measured["critical_error"] = table(lambda *keys: standard_error(results.array("transition", *keys)))
    predicted["critical"] = table(lambda *keys: results.array("expected", *keys))
    measured["accuracy"] = results.array("transition", "accuracy").mean(1)
    for part in (measured, predicted):
        part["exponent"] = slope(predicted["max_sum"], part["critical"]["sgd"]["seen"])
    measured["cost"] = {key: results.array("cost", key).mean(1) for key in ("count", "tokens")}
    measured["cost_draws"] = results.array("cost", "tokens")
    fewest = [fewest_lengths(config.first_length, power, config.cost_scale) for power in config.cost_powers]
    predicted["cost"] = {"count": fewest}
    return measured, predicted


def _read_few(config, results: Results) -> tuple[dict, dict]:
    ratios = {grid: results.array(grid, "max_sum") for grid in ("samples", "training")}
    measured = {"samples": {"critical": results.array("samples", "sgd", "seen"), "max_sum": ratios["samples"]}}
    measured["training"] = {"critical": results.array("training", "sgd"), "max_sum": ratios["training"]}
    return measured, {}


def _read_exact(config, results: Results) -> tuple[dict, dict]:
    shapes = results.grids["far"].axes["shape"].values()
    measured = {"far_shapes": [list(shape.values()) for shape in shapes]}
    measured["far"] = {
        name: {where: results.array("far", name, where) for where in ("seen", "unseen")} for name in MAPS
    }
    measured["least"] = {"tokens": results.array("least", "least"), "max_sum": results.array("least", "max_sum")}
    predicted = {f"far_{key}": results.array("far", key) for key in ("max_sum", "count")}
    return measured, predicted | {
        "least": {key: results.array("least", key) for key in ("cheapest", "linear", "equal")}
    }


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """transition: the critical scale is that of all sequences, and goes as R^(−1/4). ratio: its power −4 is R, and no
    other number of the distribution. accuracy: elsewhere it is higher where g⁴ R is below 1 than where it is above.
    unseen: at a new length the critical scale is that of all sequences, and R^(−1/2). samples: in a small sample the
    ratio is the sample's own. cheapest: q_l ∝ l has the shortest sequences of all powers.
    muon, muon_unseen: a polar step's critical scale is that of all sequences, and 1, or √n at a new length.
    training: after one step R counts, after many the number of lengths. late: many steps lie between the two, and
    rise. limits, muon_limits: for all sequences and long lengths the four critical scales are their limits. least: the
    least cost of any shares is the closed form.
    """
    return claims_by_part(config, measured, predicted, {"step": _step, "few": _few, "exact": _exact})


def _step(config, measured: dict, predicted: dict) -> dict[str, dict]:
    R, largest, n = (predicted[key] for key in ("max_sum", "largest", "count"))
    draws, at = config.seeds, [f"{count:g}, {power:g}" for count, power in measured["shapes"]]

    def scales(step: str, where: str, limit=None, rivals: dict | None = None) -> list[dict]:
        critical, error = (measured[key][step][where] for key in ("critical", "critical_error"))
        own = predicted["critical"][step][where]
        name = "critical scale at lengths, power ="
        return numbers(name, critical, error, draws, law=own, limit=limit, band=SIZES, at=at, rivals=rivals or {})

    critical, error = (measured[key]["sgd"]["seen"] for key in ("critical", "critical_error"))
    law, limit = predicted["exponent"], -1 / 4
    rivals = {"g² R": -1 / 2, "g³ R": -1 / 3, "g⁸ R": -1 / 8}
    beside = {"law": law, "limit": limit, "band": EXPONENT, "scale": DIFFERENCE}
    beside |= {"rivals": {name: value - limit + law for name, value in rivals.items()}}
    exponent = numbers("exponent of R", measured["exponent"], slope_error(R, critical, error), draws, **beside)
    rivals = {"the largest share": largest, "one over the number of lengths": 1 / n, "√R": R**0.5}
    held_to = {"limit": R, "band": FOURTH, "at": at, "rivals": rivals}
    ratio = numbers("g⁻⁴ at lengths, power =", critical**-4, 4 * critical**-5 * error, draws, **held_to)

    accuracy, g4R = measured["accuracy"], np.outer(R, np.array(config.scales, dtype=float) ** 4)
    # means of shares of draws: what every draw has, if the mean is as near to all or none
    below, above = accuracy[g4R < SAFE], accuracy[g4R > LOST]
    least, most = (below.min(), above.max()) if below.size and above.size else (np.nan, np.nan)
    spread = np.hypot(*(np.sqrt(share * (1 - share) / (draws - 1)) for share in (least, most)))
    held_to = {"limit": 0, "scale": DIFFERENCE}
    split = numbers("least accuracy below less the largest above", least - most, spread, draws, **held_to)

    rivals = {"as at the lengths of training": R**-0.25, "the largest share": largest**-0.5, "their number": n**0.5}
    unseen = scales("sgd", "unseen", R**-0.5, rivals)

    tokens, least = measured["cost_draws"], list(config.cost_powers).index(1)
    others = np.array([row for k, row in enumerate(tokens) if k != least]) / tokens[least]
    beside = {"limit": 1, "at": [power for power in config.cost_powers if power != 1]}
    error = standard_error(others)
    cheapest = numbers("mean tokens over those of q ∝ l, at q ∝ l^", others.mean(1), error, draws, **beside)

    rivals = {"as a gradient step": R**-0.25, "fourth root of the number of lengths": n**0.25}
    muon = scales("polar", "seen", 1.0, rivals)
    rivals = {"as a gradient step": R**-0.5, "as at the lengths of training": R**0}
    muon_unseen = scales("polar", "unseen", n**0.5, rivals)

    verdicts = {"transition": scales("sgd", "seen") + exponent, "ratio": ratio, "unseen": unseen}
    verdicts |= {"muon": muon, "muon_unseen": muon_unseen}
    verdicts = {name: equivalence(judged) for name, judged in verdicts.items()}
    return verdicts | {"accuracy": order(split), "cheapest": order(cheapest)}


def _few(config, measured: dict, predicted: dict) -> dict[str, dict]:
    draws = config.seeds
    critical, own = measured["samples"]["critical"], measured["samples"]["max_sum"]
    over = critical * own**0.25
    rival = over.mean(1) / (critical * config.sample_lengths**-0.25).mean(1)
    held_to = {"limit": 1, "band": SIZES, "at": config.sample_sizes, "rivals": {"R of all sequences": rival}}
    name, error = "critical scale over R^(−1/4) of the sample, sequences =", standard_error(over)
    samples = numbers(name, over.mean(1), error, draws, **held_to)

    trained, ratios = measured["training"]["critical"], measured["training"]["max_sum"]
    early, late = trained[:, 0] * ratios**0.25, trained[:, -1] / config.train_lengths**0.25
    held_to = {"draws": len(ratios), "limit": 1, "band": SIZES}
    rivals = [{"the number of lengths": (trained[:, 0] / config.train_lengths**0.25).mean() ** -1 * early.mean()}]
    rivals += [{"as after one step": late.mean() / (trained[:, -1] * ratios**0.25).mean()}]
    training = []
    for name, over, own in zip(("R^(−1/4), first step", "n^(1/4), last step"), (early, late), rivals, strict=True):
        training += numbers(f"critical scale over {name}", over.mean(), standard_error(over, 0), rivals=own, **held_to)
    verdicts = {"samples": equivalence(samples), "training": equivalence(training)}
    # the first record has too few draws, and another rule
    if len(ratios) > FEWEST_LATE:
        limit = config.train_lengths**0.25
        steps = config.train_steps
        more = {"after all steps less R^(−1/4)": trained[:, -1] - ratios**-0.25}
        more |= {"n^(1/4) less after all steps": limit - trained[:, -1]}
        more |= {f"after {steps[-1]} steps less after {steps[-2]}": trained[:, -1] - trained[:, -2]}
        verdicts["late"] = above("critical scale,", more)
    return verdicts


def _exact(config, measured: dict, predicted: dict) -> dict[str, dict]:
    R, n = predicted["far_max_sum"][-1], predicted["far_count"][-1]
    at = [f"{count:g}, {power:g}" for count, power in measured["far_shapes"]]

    def far(name: str, where: str, limit, rival) -> list[dict]:
        held_to = {"limit": limit, "band": SIZES, "at": at, "rivals": {"as at the other lengths": rival}}
        return numbers(f"g, {where}, at lengths, power =", measured["far"][name][where][-1], **held_to)

    sgd, polar = (R**-0.25, R**-0.5), (R**0, n**0.5)
    limits = far("sgd", "seen", *sgd) + far("sgd", "unseen", *sgd[::-1])
    muon = far("polar", "seen", *polar) + far("polar", "unseen", *polar[::-1])
    at = [f"{first}, {scale:g}" for first in config.least_lengths for scale in config.least_scales]
    rivals = {"linear on whole lengths": predicted["least"]["linear"], "equal shares": predicted["least"]["equal"]}
    held_to = {"limit": predicted["least"]["cheapest"], "band": SIZES, "at": at, "rivals": rivals}
    least = numbers("least tokens at first length, g =", measured["least"]["tokens"], **held_to)
    return {"limits": equivalence(limits), "muon_limits": equivalence(muon), "least": equivalence(least)}
