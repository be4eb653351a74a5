"""`bigrams`: gradient descent and Muon on the real conditional distributions of a text, first steps and last ones.

A question of practice about the update of arXiv:2502.16982.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.bigrams.judge import judge, summarise
from amemlib.labs.bigrams.measure import measure_first, measure_late, measure_run
from amemlib.labs.bigrams.text import targets

PAPER = "ours; the update is that of arXiv:2502.16982, the report is github.com/JichuLi/Muon_associative_memory"
CLAIM = (
    "on soft targets the items of a step are the singular modes of the text's joint distribution; whether Muon's or "
    "gradient descent's first step is the better one follows from them, and near a finite minimum descent is ahead"
)


@dataclass(frozen=True)
class BigramsConfig:
    """Best steps along the gradient and along its polar factor on the most frequent words of a text.

    n_words: N. dims, first: d and targets of the first steps. run_dim, run, run_steps: of the longer runs. late_dim,
    late, levels, late_steps: of the runs to the minimum, and how near, relative to it. A target is "copy" or a share.
    """

    n_words: int = 512
    dims: tuple[int, ...] = (64, 128)
    first: tuple[str, ...] = ("0", "0.25", "0.5", "0.75", "1", "copy")
    run_dim: int = 128
    run: tuple[str, ...] = ("0.25", "1", "copy")
    run_steps: int = 30
    late_dim: int = 16
    late: tuple[str, ...] = ("1", "copy")
    levels: tuple[float, ...] = (0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
    late_steps: int = 300
    seeds: int = 8
    first_seed: int = 0

    def __post_init__(self):
        check_dims("dims", self.dims, count=1)
        for name in ("n_words", "run_dim", "run_steps", "late_dim", "late_steps"):
            check_count(name, getattr(self, name), least=2)
        for name in ("first", "run", "late", "levels"):
            if not getattr(self, name):
                raise ValueError(f"{name} must hold at least one value")
        for name in {*self.first, *self.run, *self.late}:
            targets(name, 4)
        if list(self.levels) != sorted(self.levels, reverse=True) or min(self.levels) <= 0:
            raise ValueError(f"levels must fall and be positive, got {list(self.levels)}")
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


def grids(config: BigramsConfig) -> dict[str, Grid]:
    """First steps by d and target, longer runs and runs to the minimum by target, each over the draws."""
    seeds = {"seed": draws(config)}
    return {
        "first": Grid(measure_first, {"dim": config.dims, "target": config.first} | seeds),
        "run": Grid(measure_run, {"target": config.run} | seeds),
        "late": Grid(measure_late, {"target": config.late} | seeds),
    }


EXPERIMENT = Experiment(
    name="bigrams",
    purpose="loss of gradient descent and of Muon on a text's bigrams: first steps beside theory, and last ones",
    profiles={
        "smoke": BigramsConfig(
            n_words=24,
            dims=(8,),
            first=("1",),
            run_dim=8,
            run=("1",),
            run_steps=2,
            late_dim=4,
            late=("1",),
            levels=(0.01, 0.001),
            late_steps=20,
            seeds=2,
        ),
        "cpu": BigramsConfig(),
        "confirm": BigramsConfig(first_seed=5720),
        "gpu": BigramsConfig(n_words=2048, dims=(64, 128, 256, 512), run_dim=256, late_dim=32),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
