"""`weak-to-strong`: a student outdoes its teacher where they see different things; on two memories, Muon more than SGD.

A lab on Dong, Li, Li, Lee and Lei, arXiv:2502.05075.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.weak_to_strong.judge import judge, summarise
from amemlib.labs.weak_to_strong.measure import measure_memories, measure_regression

PAPER = "arXiv:2502.05075"
CLAIM = (
    "in ridgeless regression the variance of the weak teacher is inherited by the strong student in the intersection "
    "of their feature subspaces, while reduced by a factor of dim(V_s)/N in the subspace of discrepancy, with N "
    "pseudo-labels (abstract)"
)


@dataclass(frozen=True)
class StrongConfig:
    """Sizes of the lab.

    n_labels: n true labels of the teacher. weak_dim, strong_dim: d_w, d_s. shared: directions in common, cosine one;
    half_shared: as many with the cosine √½ beside them. pseudo: N. repeats: regressions a draw.
    n_items, width: two memories of so many items, keys and answers of so many coordinates; weak_width and strong_width
    of a key's are seen; overlaps: by both. spread: a paraphrase's noise in units of a key. copies: paraphrases of an
    item that the weak one labels; tests: fresh ones.
    """

    n_labels: int = 150
    weak_dim: int = 40
    strong_dim: int = 20
    shared: tuple[int, ...] = (0, 5, 10, 20)
    half_shared: int = 20
    pseudo: tuple[int, ...] = (40, 80, 160, 640)
    repeats: int = 60
    n_items: int = 150
    width: int = 128
    weak_width: int = 32
    strong_width: int = 96
    overlaps: tuple[int, ...] = (0, 16, 32)
    spread: float = 0.7
    copies: tuple[int, ...] = (1, 4, 16, 64)
    tests: int = 16
    seeds: int = 10
    first_seed: int = 0

    def __post_init__(self):
        for name in ("weak_dim", "strong_dim", "repeats", "n_items", "width", "tests", "seeds"):
            check_count(name, getattr(self, name))
        check_count("n_labels", self.n_labels, least=max(self.weak_dim, self.strong_dim) + 2)
        check_dims("pseudo", self.pseudo, count=2, least=self.strong_dim + 2)
        check_dims("copies", self.copies, count=2)
        for value in (*self.shared, self.half_shared):
            if not 0 <= value <= min(self.weak_dim, self.strong_dim):
                raise ValueError(f"shared must be at most the smaller dimension, got {value!r}")
        check_positive("spread", self.spread)
        check_count("weak_width", self.weak_width)
        check_count("strong_width", self.strong_width)
        if self.weak_width + self.strong_width > self.width:
            raise ValueError(f"width must hold weak_width + strong_width, got {self.width!r}")
        for value in self.overlaps:
            if not 0 <= value <= min(self.weak_width, self.strong_width):
                raise ValueError(f"overlaps must be at most the smaller width, got {value!r}")
        if len(self.overlaps) < 2 or list(self.overlaps) != sorted(set(self.overlaps)):
            raise ValueError(f"overlaps must hold at least two ascending numbers, got {list(self.overlaps)}")
        check_count("first_seed", self.first_seed, least=0)


def grids(config: StrongConfig) -> dict[str, Grid]:
    """Regressions by what teacher and student share; the two memories by draw."""
    seeds = {"seed": draws(config)}
    cases = {f"{count} shared": {"shared": count, "cosine": 1.0} for count in config.shared}
    cases |= {"slanted": {"shared": config.half_shared, "cosine": 0.5**0.5}}
    return {
        "regression": Grid(measure_regression, {"case": cases} | seeds),
        "memories": Grid(measure_memories, seeds),
    }


EXPERIMENT = Experiment(
    name="weak-to-strong",
    purpose="what a student keeps of its teacher's errors, by what both see; two memories, SGD against Muon",
    profiles={
        "smoke": StrongConfig(
            n_labels=20,
            weak_dim=6,
            strong_dim=4,
            shared=(0, 4),
            half_shared=4,
            pseudo=(8, 16),
            repeats=4,
            n_items=16,
            width=24,
            weak_width=8,
            strong_width=16,
            overlaps=(0, 8),
            copies=(1, 4),
            tests=4,
            seeds=2,
        ),
        "cpu": StrongConfig(),
        "gpu": StrongConfig(repeats=200, seeds=20),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
