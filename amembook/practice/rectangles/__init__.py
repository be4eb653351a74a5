"""`rectangles`: Muon on rectangles, tiles, fused and one-hot matrices, beside predictions; learning-rate scales.

A question of practice, ours; the second learning-rate scale is that of arXiv:2502.16982.

Claim: a Muon step on a memory of m outputs and n ≥ m inputs stores m n^(1/(2α)) items, what polar factors of tiles lose
is predicted, and both learning-rate scales in use are one law for inputs of two lengths.

Caveats: one step on the population, N = 2048. Counts are held to 3 % in total, the power law and the best rates to 5 %
of a constant that is fitted. Fused parts and embeddings are measured and not judged.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from amembook.networks import rectangle_law as expected
from amembook.practice.rectangles.measure import measure_fused, measure_one_hot, measure_shape, measure_tiles, pair_of
from amembook.run.base import (
    Alpha,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positives,
    Results,
    Several,
    Sizes,
    draws,
    each,
    standard_error,
)
from amembook.run.claims import SIZES, SMALL, count_band, equivalence, family, numbers
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.problem import Problem

LAW_BAND = RATE_BAND = SMALL
"""The band of a shape's count over the power law, and of its best rate over a scale, each over one constant: both
sides of a ratio are measured."""
ONE_HOT = 10**9
"""A dimension in which random outputs are orthogonal, as one-hot ones are."""


Pairs = Annotated[tuple[str, ...], each(pair_of)]


@dataclass(frozen=True)
class RectanglesConfig(Config):
    """One population step on memories of m outputs and n inputs, "m x n" in words."""

    alpha: Alpha = 1.5
    n_items: Several = 2048
    shapes: Pairs = (
        "128x128", "256x256", "128x256", "256x128", "128x512", "512x128", "64x256", "256x64", "64x1024", "1024x64",
    )  # fmt: skip
    tiled: Annotated[str, pair_of] = "256x256"  # the matrix that is cut
    tilings: Pairs = ("1x1", "2x1", "4x1", "16x1", "1x4", "2x2", "4x4")  # into blocks of rows and columns
    parts_dim: Several = 128  # d of the three memories that are fused
    part_scales: Positives = (1.0, 0.3, 0.1)  # size of the first one's gradient beside the others'
    one_hot_dims: Sizes = (64, 128)  # d of an embedding and of a head
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        rows, columns = pair_of("tiled", self.tiled)
        for text in self.tilings:
            a, b = pair_of("tilings", text)
            if rows % a or columns % b:
                raise ValueError(f"tilings must divide {self.tiled}, got {text}")


def grids(config: RectanglesConfig) -> dict[str, Grid]:
    """Shapes, tilings, fused parts and one-hot sides, each over the draws."""
    sizes, seeds = fixed(config, "shapes", "tilings", "part_scales", "one_hot_dims"), {"seed": draws(config)}
    return {
        "shapes": Grid(measure_shape, {"shape": config.shapes} | seeds, config=sizes),
        "tiles": Grid(measure_tiles, {"tiling": config.tilings} | seeds, config=sizes),
        "fused": Grid(measure_fused, {"scale": config.part_scales} | seeds, config=sizes),
        "one_hot": Grid(measure_one_hot, {"dim": config.one_hot_dims} | seeds, config=sizes),
    }


def summarise(config: RectanglesConfig, results: Results) -> tuple[dict, dict]:
    """counts[map], rate, loss for each of `shapes`; tiles[map] for each of `tilings`; `…_error` beside.

    fused[name] for each of `part_scales`; head and embedding[map] for each of `one_hot_dims`. predicted: polar, tiles,
    head, and law.
    """
    array = lambda *keys: results.array(*keys).astype(float)
    mean = lambda *keys: array(*keys).mean(1)
    error = lambda *keys: standard_error(array(*keys))
    measured = {
        "counts": {name: mean("shapes", "counts", name) for name in ("polar", "jordan", "sgd")},
        "polar_error": error("shapes", "counts", "polar"),
        "rate": mean("shapes", "rate"),
        "rate_error": error("shapes", "rate"),
        "loss": mean("shapes", "loss"),
        "at_edge": array("shapes", "at_edge").any(),
        "tiles": {"polar": mean("tiles", "count")},
        "tiles_error": error("tiles", "count"),
    }
    measured["fused"] = {name: mean("fused", name) for name in ("fused", "apart", "other", "size")}
    for side in ("head", "embedding"):
        measured[side] = {name: mean("one_hot", side, name) for name in ("sgd", "polar", "equal", "sign")}
    measured["head_error"] = error("one_hot", "head", "polar")
    return measured, predict(config)


def predict(config: RectanglesConfig) -> dict:
    """Everything that has a prediction, from the config alone."""
    p = Problem.power_law(config.n_items, 1, config.alpha).frequencies
    items = lambda *sides: expected.expected_tiled_capacity(p, *sides)
    shapes, tiled = [pair_of("shapes", text) for text in config.shapes], pair_of("tiled", config.tiled)
    return {
        "polar": [items(*shape) for shape in shapes],
        "tiles": {"polar": [items(*tiled, *pair_of("tilings", text)) for text in config.tilings]},
        "head": {"polar": [items(ONE_HOT, dim) for dim in config.one_hot_dims]},
        "law": [expected.law_of_shapes(*shape, config.alpha) for shape in shapes],
    }


def judge(config: RectanglesConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """shapes, tiles, head: the polar counts. law: m n^(1/2α) up to one constant, where m ≤ n. wide, tall: the best rate
    is √max(m, n) up to one constant, for shapes with m ≤ n, and for those with m ≥ n. All are for these sizes.
    """
    rows, columns = np.array([pair_of("shapes", text) for text in config.shapes], float).T
    small, large, area = np.minimum(rows, columns), np.maximum(rows, columns), rows * columns
    exponent, counts = 1 + 1 / (2 * config.alpha), measured["counts"]["polar"]

    def total(at: str, items, error, law, rivals: dict, band=SIZES) -> dict:
        held_to = {"law": law[None], "band": band, "rivals": rivals, "at": [at]}
        return equivalence(family("items", items[None], error[None], config.seeds, **held_to))

    square = predicted["polar"][0]
    rivals = {
        "the first shape's items": square,
        "by the number of parameters": square * (area / area[0]) ** (exponent / 2),
    }
    yield "shapes", total("all shapes", counts, measured["polar_error"], predicted["polar"], rivals)

    a, b = np.array([pair_of("tilings", text) for text in config.tilings], float).T
    law, tiles = predicted["tiles"]["polar"], measured["tiles"]["polar"]
    rivals = {"cutting costs nothing": law[0], "in proportion to the tiles": law[0] / (a * b)}
    yield "tiles", total("all tilings", tiles, measured["tiles_error"], law, rivals)

    law, heads = predicted["head"]["polar"], measured["head"]["polar"]
    rivals = {"all items": config.n_items, "SGD's": measured["head"]["sgd"]}
    yield "head", total("one-hot outputs", heads, measured["head_error"], law, rivals, count_band(config.one_hot_dims))

    def scaled(values, error, law, rivals: dict, held, band) -> dict:
        """Measured over a scale of the geometric mean of `held`, which one constant is left to."""
        level = lambda scale: np.exp(np.log(values / scale)[held].mean()) * scale[held]
        others = {name: level(scale) for name, scale in rivals.items()}
        held_to = {"law": level(law), "band": band, "rivals": others, "at": np.array(config.shapes)[held]}
        return equivalence(numbers("shape", values[held], error[held], config.seeds, **held_to))

    wide, tall = rows <= columns, rows >= columns
    rivals = {
        "by the number of parameters": area ** (exponent / 2),
        "by the smaller side alone": small**exponent,
        "by the larger side alone": large**exponent,
    }
    error = np.fmax(measured["polar_error"], np.sqrt(counts / config.seeds) / 2)
    yield "law", scaled(counts, error, predicted["law"], rivals, wide, LAW_BAND)

    rivals = {
        "no scale": np.ones(len(area)),
        "the smaller side's root": np.sqrt(small),
        "√max(1, m/n) with inputs of length one": np.sqrt(np.maximum(1, rows / columns)),
        "the fourth root of mn": area**0.25,
    }
    for name, held in (("wide", wide), ("tall", tall)):
        yield name, scaled(measured["rate"], measured["rate_error"], np.sqrt(large), rivals, held, RATE_BAND)


TINY = {"n_items": 128, "shapes": ("16x32", "32x16"), "tiled": "16x16", "tilings": ("1x1", "4x1"), "parts_dim": 8}
EXPERIMENT = Experiment(
    name="rectangles",
    purpose=headline(__doc__),
    profiles={
        "smoke": RectanglesConfig(part_scales=(1.0,), one_hot_dims=(16,), seeds=2, **TINY),
        "cpu": RectanglesConfig(),
        # five draws left shapes and tiles undecided: 31 decide them if the law is off by half its band
        "many": RectanglesConfig(seeds=40, first_seed=58_200),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
