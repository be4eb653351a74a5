"""`weak-to-strong`: a student outdoes its teacher where they see different things; on two memories, Muon more than SGD.

On Dong, Li, Li, Lee and Lei, arXiv:2502.05075.
"""

from dataclasses import dataclass

from amembook.companions.weak_to_strong.judge import judge, summarise
from amembook.companions.weak_to_strong.measure import measure_memories, measure_regression
from amembook.run.base import Ascending, Config, Count, Dims, Experiment, Grid, Natural, Naturals, Positive, draws
from amemlib.checks import check_count

PAPER = "arXiv:2502.05075"
CLAIM = (
    "in ridgeless regression the variance of the weak teacher is inherited by the strong student in the intersection "
    "of their feature subspaces, while reduced by a factor of dim(V_s)/N in the subspace of discrepancy, with N "
    "pseudo-labels (abstract)"
)


@dataclass(frozen=True)
class StrongConfig(Config):
    """Regressions on a teacher's labels, and two memories of which one teaches the other."""

    n_labels: Count = 150  # n, true labels of the teacher
    weak_dim: Count = 40  # d_w
    strong_dim: Count = 20  # d_s
    shared: Naturals = (0, 5, 10, 20)  # directions in common, cosine one
    half_shared: Natural = 20  # as many with the cosine √½ beside them
    pseudo: Dims = (40, 80, 160, 640)  # N
    repeats: Count = 60  # regressions a draw
    n_items: Count = 150  # of the two memories
    width: Count = 128  # coordinates of keys and answers
    weak_width: Count = 32  # of a key's, which the weak memory sees
    strong_width: Count = 96
    overlaps: Ascending = (0, 16, 32)  # seen by both
    spread: Positive = 0.7  # a paraphrase's noise in units of a key
    copies: Dims = (1, 4, 16, 64)  # paraphrases of an item that the weak one labels
    tests: Count = 16  # fresh ones
    seeds: Count = 10
    first_seed: Natural = 0

    def limits(self) -> None:
        check_count("n_labels", self.n_labels, least=max(self.weak_dim, self.strong_dim) + 2)
        check_count("pseudo", min(self.pseudo), least=self.strong_dim + 2)
        check_count("shared", max(*self.shared, self.half_shared), least=0, most=min(self.weak_dim, self.strong_dim))
        check_count("width", self.width, least=self.weak_width + self.strong_width)
        check_count("overlaps", self.overlaps[0], least=0)
        check_count("overlaps", self.overlaps[-1], least=0, most=min(self.weak_width, self.strong_width))


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
        # twenty thousand regressions a case: the law is exact
        "many": StrongConfig(repeats=1000, seeds=20, first_seed=49_500),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
