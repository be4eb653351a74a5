"""`rectangles`: Muon on matrices that are not square, in tiles, fused, and with one side one-hot; learning-rate scales.

A question of practice about the update of arXiv:2502.16982.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.rectangles.judge import judge, summarise
from amemlib.labs.rectangles.measure import (
    measure_fused,
    measure_one_hot,
    measure_shape,
    measure_tiles,
    pair_of,
)

PAPER = "ours; the second learning-rate scale is that of arXiv:2502.16982"
CLAIM = (
    "a Muon step on a memory of m outputs and n ≥ m inputs stores m n^(1/2α) items, what polar factors of tiles lose "
    "is predicted, and both learning-rate scales in use are one law for inputs of two lengths"
)


@dataclass(frozen=True)
class RectanglesConfig:
    """One population step on memories of m outputs and n inputs, "m x n" in words.

    alpha, n_items: the power law and N. shapes: of the whole matrices. tiled: the matrix that is cut; tilings: into
    how many blocks of rows and columns. parts_dim, part_scales: d of the three memories that are fused, and the size of
    the first one's gradient beside the others'. one_hot_dims: d of an embedding and of a head.
    """

    alpha: float = 1.5
    n_items: int = 2048
    shapes: tuple[str, ...] = (
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
    tiled: str = "256x256"
    tilings: tuple[str, ...] = ("1x1", "2x1", "4x1", "16x1", "1x4", "2x2", "4x4")
    parts_dim: int = 128
    part_scales: tuple[float, ...] = (1.0, 0.3, 0.1)
    one_hot_dims: tuple[int, ...] = (64, 128)
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        check_alpha(self.alpha)
        for name in ("shapes", "tilings"):
            if not getattr(self, name):
                raise ValueError(f"{name} must hold at least one pair such as 4x2")
            for text in getattr(self, name):
                pair_of(name, text)
        rows, columns = pair_of("tiled", self.tiled)
        for text in self.tilings:
            a, b = pair_of("tilings", text)
            if rows % a or columns % b:
                raise ValueError(f"tilings must divide {self.tiled}, got {text}")
        check_dims("one_hot_dims", self.one_hot_dims, count=1)
        for name in ("n_items", "parts_dim"):
            check_count(name, getattr(self, name), least=2)
        if not self.part_scales or min(self.part_scales) <= 0:
            raise ValueError(f"part_scales must be positive, got {list(self.part_scales)}")
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


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
        "gpu": RectanglesConfig(n_items=8192, tiled="1024x1024", parts_dim=512, one_hot_dims=(128, 256, 512), seeds=8),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
