"""`reward-variance`: a reward of low variance is a slow teacher, however accurate; one of high variance may be none.

A lab on Razin, Wang, Strauss, Wei, Lee and Arora, arXiv:2503.15477.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.reward_variance.judge import judge, summarise
from amemlib.labs.reward_variance.measure import measure_memory, measure_rare, measure_scale, measure_teachers

PAPER = "arXiv:2503.15477"
CLAIM = (
    "regardless of how accurate a reward model is, if it induces low reward variance, the objective has a flat "
    "landscape, so that a perfectly accurate model can be slower than a less accurate one; and a model that works well "
    "for one language model can induce low variance for another (abstract)"
)


@dataclass(frozen=True)
class VarianceConfig:
    """Sizes of the lab.

    n_arms: answers of a table. tables: how many a draw has. lean: how far the logits of the two policies lean towards
    low and towards high rewards. scales: factors of a reward. arms: numbers of arms of which one is good. horizon: when
    a flow is given up. n_items, dim, labels: the memory as a policy; sgd_rate, polar_rate: for rewards scaled as one;
    sgd_rates, polar_rates: of which the best is taken where each prompt has its own scale. level: the mean reward
    that counts as learnt. most_steps: when the memory is given up.
    """

    n_arms: int = 100
    tables: int = 12
    lean: float = 4.0
    scales: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03)
    arms: tuple[int, ...] = (30, 100, 300, 1000)
    horizon: float = 5000.0
    n_items: int = 64
    dim: int = 32
    labels: int = 8
    sgd_rate: float = 32.0
    polar_rate: float = 0.5
    sgd_rates: tuple[float, ...] = tuple(2.0**k for k in range(10, 18))
    polar_rates: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    level: float = 0.5
    most_steps: int = 4000
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for name in ("n_arms", "dim", "labels", "n_items"):
            check_count(name, getattr(self, name), least=2)
        for name in ("tables", "most_steps", "seeds"):
            check_count(name, getattr(self, name))
        for name in ("lean", "horizon", "sgd_rate", "polar_rate"):
            check_positive(name, getattr(self, name))
        check_dims("arms", self.arms, count=2, least=6)
        for name in ("scales", "sgd_rates", "polar_rates"):
            for value in getattr(self, name):
                check_positive(name, value)
        if len(self.scales) < 2:
            raise ValueError(f"scales must hold at least two factors, got {list(self.scales)}")
        if not 1 / self.labels < self.level < 1:
            raise ValueError(f"level must be in (1/labels, 1), got {self.level!r}")
        check_count("first_seed", self.first_seed, least=0)


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
        "gpu": VarianceConfig(tables=20, seeds=10),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5600,
)
