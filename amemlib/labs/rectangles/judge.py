"""What the lab says of its numbers: counts of shapes, tiles and heads beside predictions, and the learning rates."""

import numpy as np

from amemlib.experiments.base import COUNT_BAND, Results, standard_error
from amemlib.labs.rectangles.expected import expected_tiled_capacity, law_of_shapes
from amemlib.labs.rectangles.measure import pair_of
from amemlib.problem import Problem
from amemlib.verdicts import refuse, verdict

HEAD_BAND = 0.1
"""For a one-hot side, beyond two standard errors: at d = 64 the head items differ more from their mean."""
LAW_BAND = 0.2
"""How far a shape's count may lie from the power law through the geometric mean of all with m ≤ n; its rivals are off
by more than a factor of 1.5 at a ratio of sixteen."""
RATE_BAND = 0.25
"""How far a best learning rate may lie from a scale times one constant, relative: a rival is off by two and more."""
ONE_HOT = 10**9
"""A dimension in which random outputs are orthogonal, as one-hot ones are."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """counts[map], rate, loss for each of `shapes`; tiles[map] for each of `tilings`; `…_error` beside.

    fused[name] for each of `part_scales`; head and embedding[map] for each of `one_hot_dims`. predicted: polar, tiles,
    head, and law.
    """
    array = lambda *keys: results.array(*keys).astype(float)  # noqa: E731
    mean = lambda *keys: array(*keys).mean(1).tolist()  # noqa: E731
    error = lambda *keys: standard_error(array(*keys)).tolist()  # noqa: E731
    measured = {"counts": {name: mean("shapes", "counts", name) for name in ("polar", "jordan", "sgd")}}
    measured |= {"polar_error": error("shapes", "counts", "polar")}
    measured |= {"rate": mean("shapes", "rate"), "rate_error": error("shapes", "rate"), "loss": mean("shapes", "loss")}
    measured |= {"at_edge": bool(array("shapes", "at_edge").any())}
    measured |= {"tiles": {"polar": mean("tiles", "count")}, "tiles_error": error("tiles", "count")}
    measured["fused"] = {name: mean("fused", name) for name in ("fused", "apart", "other", "size")}
    for side in ("head", "embedding"):
        measured[side] = {name: mean("one_hot", side, name) for name in ("sgd", "polar", "equal", "sign")}
    measured["head_error"] = error("one_hot", "head", "polar")
    return measured, predict(config)


def predict(config) -> dict:
    """Everything that has a prediction, from the config alone."""
    p = Problem.power_law(config.n_items, 1, config.alpha).frequencies
    shapes = [pair_of("shapes", text) for text in config.shapes]
    tiled = pair_of("tiled", config.tiled)
    return {
        "polar": [expected_tiled_capacity(p, *shape) for shape in shapes],
        "tiles": {"polar": [expected_tiled_capacity(p, *tiled, *pair_of("tilings", text)) for text in config.tilings]},
        "head": {"polar": [expected_tiled_capacity(p, ONE_HOT, dim) for dim in config.one_hot_dims]},
        "law": [law_of_shapes(config.alpha, *shape) for shape in shapes],
    }


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """shapes, tiles: the polar counts, within `COUNT_BAND` and two standard errors. head: `HEAD_BAND`.

    law: m n^(1/2α) up to one constant, where m ≤ n. wide, tall: the best rate is √max(m, n) up to one constant, for
    shapes with m ≤ n, and for those with m ≥ n. All are one answer for these sizes and the limit.
    """
    shapes = np.array([pair_of("shapes", text) for text in config.shapes], float)
    rows, columns = shapes.T
    counts, error = (
        np.array(measured["counts"]["polar"], float),
        np.nan_to_num(np.array(measured["polar_error"], float)),
    )
    sgd = np.array(measured["counts"]["sgd"], float)
    verdicts, exponent = {}, 1 / (2 * config.alpha)

    def near(found, errors, band):
        found, errors = np.array(found, float), np.nan_to_num(np.array(errors, float))
        return lambda law: bool((np.abs(found - law) <= band * np.array(law, float) + 2 * errors).all())

    is_count = near(counts, error, COUNT_BAND)
    square = predicted["polar"][0]
    rivals = {
        "the first shape's items": np.full(len(shapes), square),
        "by the number of parameters": square * (rows * columns / (rows[0] * columns[0])) ** ((1 + exponent) / 2),
    }
    verdicts["shapes"] = _one(is_count(predicted["polar"]), refuse(is_count, rivals))
    is_tile = near(measured["tiles"]["polar"], measured["tiles_error"], COUNT_BAND)
    a, b = np.array([pair_of("tilings", text) for text in config.tilings], float).T
    rivals = {
        "cutting costs nothing": np.full(len(a), predicted["tiles"]["polar"][0]),
        "in proportion to the tiles": predicted["tiles"]["polar"][0] / (a * b),
    }
    verdicts["tiles"] = _one(is_tile(predicted["tiles"]["polar"]), refuse(is_tile, rivals))
    is_head = near(measured["head"]["polar"], measured["head_error"], HEAD_BAND)
    rivals = {"all items": np.full(len(config.one_hot_dims), config.n_items), "SGD's": measured["head"]["sgd"]}
    verdicts["head"] = _one(is_head(predicted["head"]["polar"]), refuse(is_head, rivals))

    small, large = np.minimum(rows, columns), np.maximum(rows, columns)
    wide, tall = rows <= columns, rows >= columns
    is_law = lambda law: _spread((counts / law)[wide]) <= LAW_BAND  # noqa: E731
    rivals = {
        "by the number of parameters": (rows * columns) ** ((1 + exponent) / 2),
        "by the smaller side alone": small ** (1 + exponent),
        "by the larger side alone": large ** (1 + exponent),
        "SGD's items": np.maximum(sgd, 1),
    }
    verdicts["law"] = _one(is_law(np.array(predicted["law"])), refuse(is_law, rivals))
    rate = np.array(measured["rate"], float)
    scales = {
        "no scale": np.ones(len(shapes)),
        "the smaller side's root": np.sqrt(small),
        "√max(1, m/n) with inputs of length one": np.sqrt(np.maximum(1, rows / columns)),
        "the fourth root of mn": (rows * columns) ** 0.25,
    }
    for name, held in (("wide", wide), ("tall", tall)):
        is_rate = lambda scale, held=held: _spread((rate / scale)[held]) <= RATE_BAND  # noqa: E731
        verdicts[name] = _one(is_rate(np.sqrt(large)), refuse(is_rate, scales))
    return verdicts


def _one(answer, refused) -> dict:
    return verdict(answer, answer, refused)


def _spread(ratios: np.ndarray) -> float:
    """The furthest of some ratios from their geometric mean."""
    return float(np.abs(ratios / np.exp(np.log(ratios).mean()) - 1).max())
