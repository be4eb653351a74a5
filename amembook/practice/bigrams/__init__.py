"""`bigrams`: loss of gradient descent and of Muon on a text's bigrams: first steps beside theory, and last ones.

A question of practice, ours: the update of arXiv:2502.16982 on the real conditional distributions of a text; the report
is github.com/JichuLi/Muon_associative_memory.

Claim: on soft targets the items of a step are the singular modes of the text's joint distribution; whether Muon's or
gradient descent's first step is the better one follows from them, and near a finite minimum descent is ahead.

Caveats: every step has its best length, which no run knows. The minimum is finite only where N > d²: 512 words, d = 16.
Drops and nuclear norms are held to 5 % at d = 64 and 128, their ratio to 10 %; the text is one, of Python's manuals.
"""

from dataclasses import dataclass
from typing import Annotated

from amembook.practice.bigrams.judge import judge, summarise
from amembook.practice.bigrams.measure import measure_first, measure_late, measure_run
from amembook.practice.bigrams.text import targets
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Positives, Several, Sizes, draws, each
from amembook.run.studies import headline
from amembook.run.study import fixed

Targets = Annotated[tuple[str, ...], each(lambda _, target: targets(target, 4))]


@dataclass(frozen=True)
class BigramsConfig(Config):
    """Best steps along the gradient and along its polar factor on the most frequent words of a text.

    A target is "copy" or a share.
    """

    n_words: Several = 512  # N
    dims: Sizes = (64, 128)  # of the first steps
    first: Targets = ("0", "0.25", "0.5", "0.75", "1", "copy")
    run_dim: Several = 128  # of the longer runs
    run: Targets = ("0.25", "1", "copy")
    run_steps: Several = 30
    late_dim: Several = 16  # of the runs to the minimum
    late: Targets = ("1", "copy")
    levels: Positives = (0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)  # how near, relative to it
    late_steps: Several = 300
    seeds: Count = 8
    first_seed: Natural = 0

    def limits(self) -> None:
        if list(self.levels) != sorted(self.levels, reverse=True):
            raise ValueError(f"levels must fall, got {list(self.levels)}")


def grids(config: BigramsConfig) -> dict[str, Grid]:
    """First steps by d and target, longer runs and runs to the minimum by target, each over the draws."""
    sizes, seeds = fixed(config, "dims", "first", "run", "late"), {"seed": draws(config)}
    return {
        "first": Grid(measure_first, {"dim": config.dims, "target": config.first} | seeds, config=sizes),
        "run": Grid(measure_run, {"target": config.run} | seeds, config=sizes),
        "late": Grid(measure_late, {"target": config.late} | seeds, config=sizes),
    }


TINY = {"n_words": 24, "dims": (8,), "first": ("1",), "run_dim": 8, "run": ("1",), "run_steps": 2, "late_dim": 4}
TINY |= {"late": ("1",), "levels": (0.01, 0.001), "late_steps": 20, "seeds": 2}
EXPERIMENT = Experiment(
    name="bigrams",
    purpose=headline(__doc__),
    profiles={
        "smoke": BigramsConfig(**TINY),
        "cpu": BigramsConfig(),
        "confirm": BigramsConfig(first_seed=5720),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
