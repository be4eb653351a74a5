"""`anytime-descent`: gradient descent accelerated by its stepsizes alone, at every stopping time; and on the memory.

A lab on Zhang, Lee, Du and Chen, arXiv:2411.17668.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.anytime_descent.judge import judge, summarise
from amemlib.labs.anytime_descent.measure import measure_certificate, measure_family, measure_memory, measure_random

PAPER = "arXiv:2411.17668"
CLAIM = (
    "a stepsize schedule, predetermined without the stopping time, with which gradient descent converges as O(T^-1.03) "
    "(first version) or O(T^-1.119) (second) on smooth convex functions at any stopping time T (abstract)"
)
SCHEDULES = ("constant", "dynamic", "silver", "anytime")
"""All rates one; single steps joined; the silver schedule; silver blocks joined."""


@dataclass(frozen=True)
class AnytimeConfig:
    """Sizes of the lab.

    repeats: c, a silver block of length 2^k − 1 is joined ⌈c ρ^k⌉ times. levels: worst cases up to T = 2^levels.
    certified: semidefinite certificates up to that T. functions: random ones of a draw, each up to T = 2^random_levels.
    n_items, dim, alpha, memory_levels: the memory, trained for 2^memory_levels − 1 steps. factors: powers of two that
    multiply its certified rate.
    """

    repeats: float = 5.0
    levels: int = 15
    certified: int = 11
    functions: int = 400
    random_levels: int = 9
    n_items: int = 128
    dim: int = 32
    alpha: float = 1.5
    memory_levels: int = 8
    factors: tuple[int, ...] = (1, 2, 4, 6, 8, 10, 12, 14)
    muon_rates: tuple[float, ...] = (0.25, 1.0, 2.0, 4.0, 8.0, 16.0)
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        check_positive("repeats", self.repeats)
        for name in ("levels", "random_levels", "memory_levels"):
            check_count(name, getattr(self, name), least=3)
        for name in ("certified", "functions", "dim", "seeds"):
            check_count(name, getattr(self, name))
        check_count("n_items", self.n_items, least=2)
        check_alpha(self.alpha)
        for factor in self.factors:
            check_count("factors", factor)
        for rate in self.muon_rates:
            check_positive("muon_rates", rate)
        check_count("first_seed", self.first_seed, least=0)


def grids(config: AnytimeConfig) -> dict[str, Grid]:
    """Worst cases by schedule; certificates by schedule and T; random functions and the memory by seed."""
    seeds = {"seed": draws(config)}
    names = {"schedule": SCHEDULES}
    # c = 1 has bounces within a dozen steps, which c = 5 has not
    cases = {name: {"schedule": name} for name in ("silver", "anytime")}
    cases |= {"one repeat": {"schedule": "anytime", "repeats": 1.0}}
    steps = range(1, config.certified + 1)
    return {
        "family": Grid(measure_family, names),
        "certificate": Grid(measure_certificate, {"case": cases, "n_steps": steps}),
        "random": Grid(measure_random, seeds),
        "memory": Grid(measure_memory, seeds),
    }


EXPERIMENT = Experiment(
    name="anytime-descent",
    purpose="worst cases of gradient descent by its stepsizes, at every stopping time; the same on the memory; Muon",
    profiles={
        "smoke": AnytimeConfig(
            levels=7,
            certified=2,
            functions=10,
            random_levels=4,
            n_items=24,
            dim=8,
            memory_levels=3,
            factors=(2, 6),
            muon_rates=(1.0,),
            seeds=2,
        ),
        "cpu": AnytimeConfig(),
        "gpu": AnytimeConfig(n_items=512, dim=128, seeds=10),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
