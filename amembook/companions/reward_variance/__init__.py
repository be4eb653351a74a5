"""`reward-variance`: a reward of low variance is a slow teacher, however accurate; one of high variance may be none.

On Razin, Wang, Strauss, Wei, Lee and Arora, arXiv:2503.15477.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.reward_variance.judge import judge, summarise
from amembook.companions.reward_variance.measure import measure_memory, measure_rare, measure_scale, measure_teachers
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Positive, Positives, Several, draws, each
from amemlib.checks import check_dims

PAPER = "arXiv:2503.15477"
CLAIM = (
    "regardless of how accurate a reward model is, if it induces low reward variance, the objective has a flat "
    "landscape, so that a perfectly accurate model can be slower than a less accurate one; and a model that works well "
    "for one language model can induce low variance for another (abstract)"
)


@dataclass(frozen=True)
class VarianceConfig(Config):
    """Tables of rewards under a policy, and a memory as one."""

    n_arms: Several = 100  # answers of a table
    tables: Count = 12  # a draw
    lean: Positive = 4.0  # how far the logits of the two policies lean towards low and towards high rewards
    scales: Positives = (1.0, 0.3, 0.1, 0.03)  # factors of a reward
    arms: Annotated[tuple[int, ...], partial(check_dims, least=6)] = (30, 100, 300, 1000)  # of which one is good
    horizon: Positive = 5000.0  # when a flow is given up
    n_items: Several = 64  # of the memory
    dim: Several = 32
    labels: Several = 8
    sgd_rate: Positive = 32.0  # for rewards scaled as one
    polar_rate: Positive = 0.5
    # of which the best is taken where each prompt has its own scale
    sgd_rates: Positives = tuple(2.0**k for k in range(10, 18))
    polar_rates: Positives = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    level: float = 0.5  # the mean reward that counts as learnt
    most_steps: Count = 4000  # when the memory is given up
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if len(self.scales) < 2:
            raise ValueError(f"scales must hold at least two factors, got {list(self.scales)}")
        if not 1 / self.labels < self.level < 1:
            raise ValueError(f"level must be in (1/labels, 1), got {self.level!r}")


def grids(config: VarianceConfig) -> dict[str, Grid]:
    """Steps by a reward's scale; times by number of arms; times by teacher and policy; the memory."""
    seeds = {"seed": draws(config)}
    return {
        "scale": Grid(measure_scale, seeds),
        "rare": Grid(measure_rare, {"n_arms": config.arms}),
        "teachers": Grid(measure_teachers, seeds),
        "memory": Grid(measure_memory, seeds),
    }


EXPERIMENT = Experiment(
    name="reward-variance",
    purpose="time to learn from a reward by its variance and its accuracy; the memory, where Muon sees no scale",
    profiles={
        "smoke": VarianceConfig(
            n_arms=10,
            tables=1,
            scales=(1.0, 0.5),
            arms=(6, 10),
            horizon=50.0,
            n_items=8,
            dim=8,
            labels=4,
            sgd_rates=(1024.0,),
            polar_rates=(2.0,),
            level=0.4,
            most_steps=60,
            seeds=2,
        ),
        "cpu": VarianceConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5600,
)
