"""`advantage-regression`: regression on the optimal advantage is policy gradient at a fixed baseline, and has a floor.

A lab on Brantley, Chen, Gao, Lee, Sun, Zhan and Zhang, arXiv:2505.20686.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.advantage_regression.judge import judge, summarise
from amemlib.labs.advantage_regression.measure import (
    measure_floor,
    measure_identity,
    measure_memory,
    measure_race,
    measure_variance,
)

PAPER = "arXiv:2505.20686"
CLAIM = (
    "offline samples from a reference policy estimate the optimal value V*, and on-policy updates by a least-squares "
    "regression with a single generation per prompt optimize the KL-regularized objective without complex exploration "
    "(abstract)"
)


@dataclass(frozen=True)
class RegressionConfig:
    """Sizes of the lab.

    n_prompts, n_answers: a table of policies. beta: weight of the KL term. rates, offline: step sizes η and numbers of
    offline samples of V* for the floor, which is averaged over the later half of floor_steps. betas, groups: where the
    variance at the start is compared. budget: generations a prompt of the race, offline ones among them; its V* from
    race_offline samples, 0 for the exact one. n_items, dim, alpha, labels, memory_beta: the memory as a policy, with
    memory_steps generations a prompt.
    """

    n_prompts: int = 64
    n_answers: int = 64
    beta: float = 0.5
    rates: tuple[float, ...] = (0.1, 0.3, 0.6)
    offline: tuple[int, ...] = (4, 16, 64, 256)
    floor_steps: int = 2500
    betas: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0, 2.0)
    groups: tuple[int, ...] = (2, 4, 8)
    race_betas: tuple[float, ...] = (0.5, 0.1)
    race_prompts: int = 24
    race_offline: tuple[int, ...] = (0, 64, 8)
    race_rates: tuple[float, ...] = (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    budget: int = 1024
    n_items: int = 64
    dim: int = 32
    alpha: float = 1.0
    labels: int = 8
    memory_beta: float = 0.2
    memory_steps: int = 256
    sgd_rates: tuple[float, ...] = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
    polar_rates: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for name in ("n_prompts", "race_prompts", "floor_steps", "budget", "seeds"):
            check_count(name, getattr(self, name))
        for name in ("n_answers", "n_items", "labels", "dim"):
            check_count(name, getattr(self, name), least=2)
        check_dims("groups", self.groups, count=1, least=2)
        for name in ("beta", "memory_beta"):
            check_positive(name, getattr(self, name))
        for name in ("rates", "betas", "race_betas", "race_rates", "sgd_rates", "polar_rates"):
            for value in getattr(self, name):
                check_positive(name, value)
        for count in self.offline:
            check_count("offline", count)
        for count in self.race_offline:
            check_count("race_offline", count, least=0)
        check_alpha(self.alpha)
        check_count("memory_steps", self.memory_steps, least=16)
        check_count("first_seed", self.first_seed, least=0)


def grids(config: RegressionConfig) -> dict[str, Grid]:
    """The identity; the floor by rate and offline samples; variances at the start; the race; the memory."""
    seeds = {"seed": draws(config)}
    floors = {f"{count}": {"n_offline": count, "group": 1} for count in config.offline}
    floors |= {"exact": {"n_offline": 0, "group": 1}, "group": {"n_offline": 0, "group": 4}}
    racers = {f"star {count}": {"n_offline": count, "group": 1} for count in config.race_offline}
    racers |= {f"group {count}": {"n_offline": 0, "group": count} for count in config.groups}
    return {
        "identity": Grid(measure_identity, seeds),
        "floor": Grid(measure_floor, {"rate": config.rates, "baseline": floors} | seeds),
        "variance": Grid(measure_variance, {"beta": config.betas, "group": config.groups} | seeds),
        "race": Grid(measure_race, {"beta": config.race_betas, "racer": racers} | seeds, n_prompts=config.race_prompts),
        "memory": Grid(measure_memory, {"n_offline": (0, 8)} | seeds),
    }


EXPERIMENT = Experiment(
    name="advantage-regression",
    purpose="regression on the optimal advantage: its identity with policy gradient, its floor, races; the memory",
    profiles={
        "smoke": RegressionConfig(
            n_prompts=4,
            n_answers=6,
            rates=(0.1, 0.3),
            offline=(4, 16),
            floor_steps=20,
            betas=(0.5,),
            groups=(2, 4),
            race_betas=(0.5,),
            race_prompts=2,
            race_rates=(0.5, 1.0),
            budget=80,
            n_items=8,
            dim=4,
            labels=4,
            memory_steps=16,
            sgd_rates=(8.0,),
            polar_rates=(1.0,),
            seeds=2,
        ),
        "cpu": RegressionConfig(),
        "gpu": RegressionConfig(seeds=10),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
