"""`step-sizes`: the best learning rate of Muon by shape, by width and by batch, one step and many.

A question of practice about the scales of arXiv:2502.16982 and arXiv:2502.07529.
"""

from dataclasses import dataclass

from amembook.practice.step_sizes.judge import judge, summarise
from amembook.practice.step_sizes.measure import measure_run, measure_shape, measure_step
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positive,
    Several,
    SteepAlpha,
    draws,
)

PAPER = "ours; the scales are those of arXiv:2502.16982 and arXiv:2502.07529"
CLAIM = (
    "the scale √(m/n) is wrong for wide matrices, the best single step is predicted by width and hardly moves with the "
    "batch, and over many steps a rate scaled by 0.2 √max(m, n) on normalized inputs does not transfer over width"
)


@dataclass(frozen=True)
class StepSizesConfig(Config):
    """One step of the polar map, embeddings of length one, and runs of Muon by width."""

    alpha: SteepAlpha = 1.5
    n_items: Several = 2048
    base: Count = 128  # d of the square that a shape is compared with
    wide_rows: AscendingCounts = (64, 128)  # m of wide matrices
    wide_ratios: AscendingCounts = (2, 4, 8)  # n/m of wide matrices
    dims: AscendingCounts = (64, 128, 256, 512)  # d of squares
    batch_dim: Count = 128
    batch_sizes: AscendingCounts = (64, 256, 1024, 4096, 16384, 65536)
    run_dims: AscendingCounts = (32, 64, 128, 256)
    run_steps: Count = 60
    run_batch: Count = 256
    horizon: Positive = 24.0  # of the rule 1/(1 − β) = T/horizon
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.run_steps < self.horizon:
            raise ValueError(f"run_steps must be at least the horizon {self.horizon:g}, got {self.run_steps}")


def shapes(config: StepSizesConfig) -> dict[str, dict]:
    """The square and the wide matrices, m × n in words."""
    pairs = [(config.base, config.base)]
    pairs += [(rows, rows * ratio) for rows in config.wide_rows for ratio in config.wide_ratios]
    return {f"{rows}x{columns}": {"rows": rows, "columns": columns} for rows, columns in pairs}


def grids(config: StepSizesConfig) -> dict[str, Grid]:
    """Shapes, widths, batches and runs, each over the draws."""
    seeds = {"seed": draws(config)}
    return {
        "shapes": Grid(measure_shape, {"shape": shapes(config)} | seeds),
        "widths": Grid(measure_step, {"dim": config.dims} | seeds, batch_size=0),
        "batches": Grid(measure_step, {"batch_size": config.batch_sizes} | seeds, dim=config.batch_dim),
        "runs": Grid(measure_run, seeds),
    }


EXPERIMENT = Experiment(
    name="step-sizes",
    purpose="the best learning rate of Muon on the memory by shape, width and batch, and whether it transfers",
    profiles={
        "smoke": StepSizesConfig(
            n_items=64,
            base=16,
            wide_rows=(4, 8),
            wide_ratios=(2, 4),
            dims=(4, 8),
            batch_dim=8,
            batch_sizes=(8, 16),
            run_dims=(4, 8),
            run_steps=3,
            run_batch=8,
            horizon=1.5,
            seeds=1,
        ),
        "cpu": StepSizesConfig(),
        "confirm": StepSizesConfig(first_seed=3850),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3850,
)
