"""`position-states`: positions that attention can move, against rotary ones, on a task of finding and stepping.

On Zhu, Wang, Cai, Lee, Li and Wang, arXiv:2501.00712.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.position_states.judge import judge, summarise
from amembook.companions.position_states.measure import measure_exact, measure_training
from amembook.companions.position_states.states import STARTS
from amembook.run.base import (
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    NonNegatives,
    Positive,
    Several,
    draws,
)
from amemlib.checks import check_count, check_dims

PAPER = "arXiv:2501.00712"
CLAIM = (
    "TAPE introduces dynamic, context-aware positional encodings, overcoming the constraints of traditional fixed "
    "patterns; by enforcing permutation and orthogonal equivariance, it ensures the stability of positional encodings "
    "during updates (abstract)"
)


@dataclass(frozen=True)
class PositionStatesConfig(Config):
    """Identities of rotary positions, and the networks that are trained on them."""

    exact_lengths: Annotated[tuple[int, ...], partial(check_dims, count=1, least=6)] = (
        8,
        12,
        16,
    )  # T of the identities
    length: Count = 8  # T of the task
    symbols: Count = 16
    offsets: Several = 4  # how many offsets d a question may have
    dim: Count = 32
    content_planes: Count = 8
    rotary_planes: Count = 8
    top: Positive = 2.0  # the largest angle
    ratio: Positive = 10.0  # that over the smallest
    # sizes of the map by which layer 1 looks for its own symbol at the start
    matches: NonNegatives = (0.0, 0.7, 1.5)
    steps: Count = 600  # at most: a run ends when it is solved
    batch_size: Count = 64
    lr: Positive = 0.005
    muon_lr: Positive = 0.01
    n_questions: Count = 2000  # fresh ones
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if len(self.matches) < 2 or list(self.matches) != sorted(set(self.matches)):
            raise ValueError(f"matches must rise, two or more, got {list(self.matches)}")
        check_count("length", self.length, least=self.offsets)
        check_count("symbols", self.symbols, least=max(2 * self.length, *self.exact_lengths))
        check_count("dim", self.dim, least=2 * self.content_planes)


def muon_cases(config: PositionStatesConfig) -> dict[str, dict]:
    """What Muon trains: a hop without a match and with the second one, a start at zero with the last."""
    first, second, last = config.matches[0], config.matches[1], config.matches[-1]
    pairs = [("hop", first), ("hop", second), ("zero", last)]
    return {f"{begin} {match:g}": {"begin": begin, "match": match} for begin, match in pairs}


def grids(config: PositionStatesConfig) -> dict[str, Grid]:
    """Identities by length; networks by start and match, trained by Adam; some of them by Muon."""
    seeds, begins = {"seed": draws(config)}, {"begin": tuple(STARTS), "match": config.matches}
    planes = {name: getattr(config, name) for name in ("content_planes", "rotary_planes", "top", "ratio")}
    both = {"planes": planes, "training": {name: getattr(config, name) for name in ("steps", "lr", "muon_lr")}}
    return {
        "exact": Grid(measure_exact, {"length": config.exact_lengths} | seeds, planes=planes),
        "adam": Grid(measure_training, begins | seeds, optimizer="adam", **both),
        "muon": Grid(measure_training, {"case": muon_cases(config)} | seeds, optimizer="muon", **both),
    }


EXPERIMENT = Experiment(
    name="position-states",
    purpose="positions that attention moves: their symmetry, the law of a hop, and which start lets them learn to step",
    profiles={
        "smoke": PositionStatesConfig(
            exact_lengths=(6,),
            length=4,
            symbols=8,
            offsets=2,
            dim=8,
            content_planes=2,
            rotary_planes=2,
            matches=(0.0, 1.0),
            steps=8,
            batch_size=8,
            n_questions=50,
            seeds=2,
        ),
        "cpu": PositionStatesConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
