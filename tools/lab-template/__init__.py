"""`lab-name`: one line on what is measured.

A lab on Authors, arXiv:0000.00000.
"""

from dataclasses import dataclass

from amemlib.labs.lab_name.judge import judge, summarise
from amemlib.labs.lab_name.measure import measure_maximum

from amemlib.checks import check_count
from amemlib.experiments.base import Experiment, Grid, draws

PAPER = "arXiv:0000.00000"
CLAIM = "the claim as its authors state it: here, the largest of n independent normals is √(2 log n) to leading order"


@dataclass(frozen=True)
class LabConfig:
    """Sizes of the lab.

    counts: numbers n of normals, ascending. repeats: how many maxima a draw averages.
    """

    counts: tuple[int, ...] = (100, 1000, 10_000, 100_000)
    repeats: int = 100
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for name in ("repeats", "seeds"):
            check_count(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)
        if len(self.counts) < 2 or list(self.counts) != sorted(set(self.counts)):
            raise ValueError(f"counts must hold at least two ascending numbers, got {list(self.counts)}")
        check_count("counts", self.counts[0], least=2)


def grids(config: LabConfig) -> dict[str, Grid]:
    """What varies; every other argument of a measure is the config's field of that name."""
    return {"maximum": Grid(measure_maximum, {"count": config.counts, "seed": draws(config)})}


EXPERIMENT = Experiment(
    name="lab-name",
    purpose="one line for `python -m amemlib list`",
    profiles={
        "smoke": LabConfig(counts=(100, 1000), repeats=20, seeds=2),
        "cpu": LabConfig(),
        "gpu": LabConfig(counts=(100, 1000, 10_000, 100_000, 1_000_000), seeds=20),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
