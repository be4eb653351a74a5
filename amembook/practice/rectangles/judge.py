"""Counts of shapes, tiles and heads beside predictions, and the learning rates."""

import numpy as np

from amembook.practice.rectangles.expected import expected_tiled_capacity, law_of_shapes
from amembook.practice.rectangles.measure import pair_of
from amembook.run.base import Results, standard_error
from amembook.run.claims import SIZES, SMALL, count_band, equivalence, family, numbers
from amemlib.problem import Problem

LAW_BAND = RATE_BAND = SMALL
"""The band of a shape's count over the power law, and of its best rate over a scale, each over one constant: both
sides of a ratio are measured."""
ONE_HOT = 10**9
"""A dimension in which random outputs are orthogonal, as one-hot ones are."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """counts[map], rate, loss for each of `shapes`; tiles[map] for each of `tilings`; `…_error` beside.

    fused[name] for each of `part_scales`; head and embedding[map] for each of `one_hot_dims`. predicted: polar, tiles,
    head, and law.
    """
    array = lambda *keys: results.array(*keys).astype(float)
    mean = lambda *keys: array(*keys).mean(1)
    error = lambda *keys: standard_error(array(*keys))
    measured = {"counts": {name: mean("shapes", "counts", name) for name in ("polar", "jordan", "sgd")}}
    measured |= {"polar_error": error("shapes", "counts", "polar")}
    measured |= {"rate": mean("shapes", "rate"), "rate_error": error("shapes", "rate"), "loss": mean("shapes", "loss")}
    measured |= {"at_edge": array("shapes", "at_edge").any()}
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
        "law": [law_of_shapes(*shape, config.alpha) for shape in shapes],
    }


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """shapes, tiles, head: the polar counts. law: m n^(1/2α) up to one constant, where m ≤ n. wide, tall: the best rate
    is √max(m, n) up to one constant, for shapes with m ≤ n, and for those with m ≥ n. All are for these sizes.
    """
    shapes = np.array([pair_of("shapes", text) for text in config.shapes], float)
    rows, columns = shapes.T
    counts, exponent = measured["counts"]["polar"], 1 / (2 * config.alpha)

    def counted(found, error, law, band, rivals, at) -> dict:
        given = {"law": law[None], "band": band, "rivals": rivals, "at": [at]}
        return equivalence(family("items", found[None], error[None], config.seeds, **given))

    square = predicted["polar"][0]
    of_shapes = {
        "the first shape's items": square,
        "by the number of parameters": square * (rows * columns / (rows[0] * columns[0])) ** ((1 + exponent) / 2),
    }
    a, b = np.array([pair_of("tilings", text) for text in config.tilings], float).T
    whole = predicted["tiles"]["polar"][0]
    of_tiles = {"cutting costs nothing": whole, "in proportion to the tiles": whole / (a * b)}
    tiles, heads = measured["tiles"]["polar"], measured["head"]["polar"]
    of_heads = {"all items": config.n_items, "SGD's": measured["head"]["sgd"]}
    head_band = count_band(config.one_hot_dims)
    verdicts = {
        "shapes": counted(counts, measured["polar_error"], predicted["polar"], SIZES, of_shapes, "all shapes"),
        "tiles": counted(tiles, measured["tiles_error"], predicted["tiles"]["polar"], SIZES, of_tiles, "all tilings"),
        "head": counted(
            heads, measured["head_error"], predicted["head"]["polar"], head_band, of_heads, "one-hot outputs"
        ),
    }
    small, large = np.minimum(rows, columns), np.maximum(rows, columns)

    def scaled(found, error, law, rivals, held, band) -> dict:
        """Measured over a scale of the geometric mean of `held`, which one constant is left to."""
        level = lambda scale: np.exp(np.log(found / scale)[held].mean()) * scale[held]
        others = {name: level(scale) for name, scale in rivals.items()}
        at = np.array(config.shapes)[held]
        given = {"law": level(law), "band": band, "rivals": others, "at": at}
        return equivalence(numbers("shape", found[held], error[held], config.seeds, **given))

    of_law = {
        "by the number of parameters": (rows * columns) ** ((1 + exponent) / 2),
        "by the smaller side alone": small ** (1 + exponent),
        "by the larger side alone": large ** (1 + exponent),
    }
    error = np.fmax(np.nan_to_num(measured["polar_error"]), np.sqrt(counts / config.seeds) / 2)
    wide, tall = rows <= columns, rows >= columns
    verdicts["law"] = scaled(counts, error, predicted["law"], of_law, wide, LAW_BAND)
    scales = {
        "no scale": np.ones(len(shapes)),
        "the smaller side's root": np.sqrt(small),
        "√max(1, m/n) with inputs of length one": np.sqrt(np.maximum(1, rows / columns)),
        "the fourth root of mn": (rows * columns) ** 0.25,
    }
    for name, held in (("wide", wide), ("tall", tall)):
        found, spread = measured["rate"], measured["rate_error"]
        verdicts[name] = scaled(found, spread, np.sqrt(large), scales, held, RATE_BAND)
    return verdicts


def _spread(ratios: np.ndarray) -> float:
    """The furthest of some ratios from their geometric mean."""
    return float(np.abs(ratios / np.exp(np.log(ratios).mean()) - 1).max())
