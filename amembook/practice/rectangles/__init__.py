"""`rectangles`: Muon on matrices that are not square, in tiles, fused, and with one side one-hot; learning-rate scales.

A question of practice about the update of arXiv:2502.16982.
"""

from dataclasses import dataclass
from typing import Annotated

from amembook.practice.rectangles.judge import judge, summarise
from amembook.practice.rectangles.measure import measure_fused, measure_one_hot, measure_shape, measure_tiles, pair_of
from amembook.run.base import Alpha, Config, Count, Experiment, Grid, Natural, Positives, Several, Sizes, draws, each

PAPER = "ours; the second learning-rate scale is that of arXiv:2502.16982"
CLAIM = (
    "a Muon step on a memory of m outputs and n ≥ m inputs stores m n^(1/(2α)) items, what polar factors of tiles lose "
    "is predicted, and both learning-rate scales in use are one law for inputs of two lengths"
)


Pairs = Annotated[tuple[str, ...], each(pair_of)]


@dataclass(frozen=True)
class RectanglesConfig(Config):
    """One population step on memories of m outputs and n inputs, "m x n" in words."""

    alpha: Alpha = 1.5
    n_items: Several = 2048
    shapes: Pairs = (
        "128x128",
        "256x256",
        "128x256",
        "256x128",
        "128x512",
        "512x128",
        "64x256",
        "256x64",
        "64x1024",
        "1024x64",
    )
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
    seeds = {"seed": draws(config)}
    return {
        "shapes": Grid(measure_shape, {"shape": config.shapes} | seeds),
        "tiles": Grid(measure_tiles, {"tiling": config.tilings} | seeds),
        "fused": Grid(measure_fused, {"scale": config.part_scales} | seeds),
        "one_hot": Grid(measure_one_hot, {"dim": config.one_hot_dims} | seeds),
    }


EXPERIMENT = Experiment(
    name="rectangles",
    purpose="Muon on rectangles, tiles, fused and one-hot matrices, counted beside predictions; learning-rate scales",
    profiles={
        "smoke": RectanglesConfig(
            n_items=128,
            shapes=("16x32", "32x16"),
            tiled="16x16",
            tilings=("1x1", "4x1"),
            parts_dim=8,
            part_scales=(1.0,),
            one_hot_dims=(16,),
            seeds=2,
        ),
        "cpu": RectanglesConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
