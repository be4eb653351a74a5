"""`position-states`: positions that attention can move, against rotary ones, on a task of finding and stepping.

A lab on Zhu, Wang, Cai, Lee, Li and Wang, arXiv:2501.00712.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_non_negative, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.position_states.judge import judge, summarise
from amemlib.labs.position_states.measure import measure_exact, measure_training
from amemlib.labs.position_states.states import STARTS

PAPER = "arXiv:2501.00712"
CLAIM = (
    "TAPE introduces dynamic, context-aware positional encodings, overcoming the constraints of traditional fixed "
    "patterns; by enforcing permutation and orthogonal equivariance, it ensures the stability of positional encodings "
    "during updates (abstract)"
)


@dataclass(frozen=True)
class PositionStatesConfig:
    """Sizes of the lab.

    exact_lengths: T of the identities. length, symbols, offsets: T of the task, how many symbols there are, how many
    offsets d a question may have. dim, content_planes, rotary_planes: of the network; top, ratio: its largest angle and
    that over the smallest. matches: sizes of the map by which layer 1 looks for its own symbol at the start. steps,
    batch_size, lr, muon_lr: of the training, which ends before if it may; n_questions: fresh ones.
    """

    exact_lengths: tuple[int, ...] = (8, 12, 16)
    length: int = 8
    symbols: int = 16
    offsets: int = 4
    dim: int = 32
    content_planes: int = 8
    rotary_planes: int = 8
    top: float = 2.0
    ratio: float = 10.0
    matches: tuple[float, ...] = (0.0, 0.7, 1.5)
    steps: int = 600
    batch_size: int = 64
    lr: float = 0.005
    muon_lr: float = 0.01
    n_questions: int = 2000
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        check_dims("exact_lengths", self.exact_lengths, count=1, least=6)
        for name in ("steps", "batch_size", "content_planes", "rotary_planes", "n_questions"):
            check_count(name, getattr(self, name))
        check_count("offsets", self.offsets, least=2)
        check_count("length", self.length, least=self.offsets)
        check_count("symbols", self.symbols, least=max(2 * self.length, *self.exact_lengths))
        check_count("dim", self.dim, least=2 * self.content_planes)
        for name in ("top", "ratio", "lr", "muon_lr"):
            check_positive(name, getattr(self, name))
        if len(self.matches) < 2 or list(self.matches) != sorted(set(self.matches)):
            raise ValueError(f"matches must rise, two or more, got {list(self.matches)}")
        for match in self.matches:
            check_non_negative("matches", match)
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


def muon_cases(config: PositionStatesConfig) -> dict[str, dict]:
    """What Muon trains: a hop without a match and with the second one, a start at zero with the last."""
    first, second, last = config.matches[0], config.matches[1], config.matches[-1]
    pairs = [("hop", first), ("hop", second), ("zero", last)]
    return {f"{begin} {match:g}": {"begin": begin, "match": match} for begin, match in pairs}


def grids(config: PositionStatesConfig) -> dict[str, Grid]:
    """Identities by length; networks by start and match, trained by Adam; some of them by Muon."""
    seeds = {"seed": draws(config)}
    return {
        "exact": Grid(measure_exact, {"length": config.exact_lengths} | seeds),
        "adam": Grid(measure_training, {"begin": tuple(STARTS), "match": config.matches} | seeds, optimizer="adam"),
        "muon": Grid(measure_training, {"case": muon_cases(config)} | seeds, optimizer="muon"),
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
        "gpu": PositionStatesConfig(
            length=12, symbols=32, matches=(0.0, 0.5, 0.7, 1.0, 1.5, 2.0), steps=4000, n_questions=8000, seeds=10
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
