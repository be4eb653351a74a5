"""`variants`: Dion2's rows, an iteration on the Gram matrix, and Adam's first step on few tokens.

A question of practice about the step of arXiv:2512.16928 and the code of Dao-AILab/gram-newton-schulz.
"""

from dataclasses import dataclass

from amembook.practice.variants.judge import judge, summarise
from amembook.practice.variants.measure import measure_gram, measure_rows, measure_tokens
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Several,
    Shares,
    Sizes,
    SteepAlpha,
    draws,
)

PAPER = "ours; the rows are those of arXiv:2512.16928"
CLAIM = (
    "a fraction of the rows stores what a rectangle of that many rows does, the longest or any alike; Newton–Schulz "
    "on the Gram matrix keeps what Newton–Schulz keeps, in half precision after a restart alone; Adam's first step "
    "on few tokens stores what SGD's does"
)


@dataclass(frozen=True)
class VariantsConfig(Config):
    """One step of each on a power law."""

    alpha: SteepAlpha = 1.5
    n_items: Several = 4096
    dims: Sizes = (128, 256)  # of the rows
    fractions: Shares = (0.25, 0.5)  # r/d
    gram_dim: Count = 256
    expert_dim: Count = 128
    tokens: AscendingCounts = (16, 64, 256, 1024, 4096, 16384)
    seeds: Count = 10
    first_seed: Natural = 0


def grids(config: VariantsConfig) -> dict[str, Grid]:
    """Rows, iterations and tokens, each over the draws."""
    seeds = {"seed": draws(config)}
    return {
        "rows": Grid(measure_rows, {"dim": config.dims, "fraction": config.fractions} | seeds),
        "gram": Grid(measure_gram, seeds),
        "tokens": Grid(measure_tokens, {"tokens": config.tokens} | seeds),
    }


EXPERIMENT = Experiment(
    name="variants",
    purpose="half of the rows, an iteration on the Gram matrix in three formats, and Adam on few tokens: items kept",
    profiles={
        "smoke": VariantsConfig(n_items=64, dims=(16,), gram_dim=16, expert_dim=16, tokens=(16, 64), seeds=2),
        "cpu": VariantsConfig(),
        "confirm": VariantsConfig(first_seed=3800),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3800,
)
