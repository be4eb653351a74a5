"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.induction.expected import fewest_lengths
from amembook.companions.induction.measure import MAPS
from amembook.run.base import Results, slope, slope_error, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, SIZES, equivalence, numbers, order

SAFE, LOST = 0.8, 1.5  # below and above what g⁴ R the accuracy elsewhere is compared
FOURTH = (1 + SIZES) ** 4 - 1


def summarise(config, results: Results) -> tuple[dict, dict]:
    """measured: `critical[map][seen or unseen]` by shape, with errors; `accuracy`, (shapes, scales); `samples` and
    `training` by draw; `cost` by power. predicted: critical scales of all sequences, R and its rivals by shape."""
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
    ratios = {grid: results.array(grid, "max_sum") for grid in ("samples", "training")}
    measured["samples"] = {"critical": results.array("samples", "sgd", "seen"), "max_sum": ratios["samples"]}
    measured["cost"] = {key: results.array("cost", key).mean(1) for key in ("count", "tokens")}
    measured["cost_draws"] = results.array("cost", "tokens")
    fewest = [fewest_lengths(config.first_length, power, config.cost_scale) for power in config.cost_powers]
    predicted["cost"] = {"count": fewest}
    measured["training"] = {"critical": results.array("training", "sgd"), "max_sum": ratios["training"]}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """transition: the critical scale is that of all sequences, and goes as R^(−1/4). ratio: its power −4 is R, and no
    other number of the distribution. accuracy: elsewhere it is higher where g⁴ R is below 1 than where it is above.
    unseen: at a new length the critical scale is that of all sequences, and R^(−1/2). samples: in a small sample the
    ratio is the sample's own. cheapest: q_l ∝ l has the shortest sequences of all powers.
    muon, muon_unseen: a polar step's critical scale is that of all sequences, and 1, or √n at a new length.
    training: after one step R counts, after many the number of lengths.
    """
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

    critical, own = measured["samples"]["critical"], measured["samples"]["max_sum"]
    over = critical * own**0.25
    rival = over.mean(1) / (critical * config.sample_lengths**-0.25).mean(1)
    held_to = {"limit": 1, "band": SIZES, "at": config.sample_sizes, "rivals": {"R of all sequences": rival}}
    name, error = "critical scale over R^(−1/4) of the sample, sequences =", standard_error(over)
    samples = numbers(name, over.mean(1), error, draws, **held_to)

    tokens, least = measured["cost_draws"], list(config.cost_powers).index(1)
    others = np.array([row for k, row in enumerate(tokens) if k != least]) / tokens[least]
    beside = {"limit": 1, "at": [power for power in config.cost_powers if power != 1]}
    error = standard_error(others)
    cheapest = numbers("mean tokens over those of q ∝ l, at q ∝ l^", others.mean(1), error, draws, **beside)

    rivals = {"as a gradient step": R**-0.25, "fourth root of the number of lengths": n**0.25}
    muon = scales("polar", "seen", 1.0, rivals)
    rivals = {"as a gradient step": R**-0.5, "as at the lengths of training": R**0}
    muon_unseen = scales("polar", "unseen", n**0.5, rivals)

    trained, ratios = measured["training"]["critical"], measured["training"]["max_sum"]
    early, late = trained[:, 0] * ratios**0.25, trained[:, -1] / config.train_lengths**0.25
    held_to = {"draws": len(ratios), "limit": 1, "band": SIZES}
    rivals = [{"the number of lengths": (trained[:, 0] / config.train_lengths**0.25).mean() ** -1 * early.mean()}]
    rivals += [{"as after one step": late.mean() / (trained[:, -1] * ratios**0.25).mean()}]
    training = []
    for name, over, own in zip(("R^(−1/4), first step", "n^(1/4), last step"), (early, late), rivals, strict=True):
        training += numbers(f"critical scale over {name}", over.mean(), standard_error(over, 0), rivals=own, **held_to)
    verdicts = {"transition": scales("sgd", "seen") + exponent, "ratio": ratio, "unseen": unseen, "samples": samples}
    verdicts |= {"muon": muon, "muon_unseen": muon_unseen, "training": training}
    verdicts = {name: equivalence(judged) for name, judged in verdicts.items()}
    return verdicts | {"accuracy": order(split), "cheapest": order(cheapest)}
