"""`anytime-descent`: gradient descent accelerated by its stepsizes alone, at every stopping time; and on the memory.

A study of Zhang, Lee, Du and Chen, arXiv:2411.17668.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.anytime_descent.judge import judge, summarise
from amembook.companions.anytime_descent.measure import (
    measure_certificate,
    measure_family,
    measure_memory,
    measure_random,
)
from amembook.run.base import (
    Alpha,
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Several,
    Sizes,
    draws,
    each,
)
from amemlib.checks import check_count

PAPER = "arXiv:2411.17668"
CLAIM = (
    "a stepsize schedule, predetermined without the stopping time, with which gradient descent converges as O(T^-1.03) "
    "(first version) or O(T^-1.119) (second) on smooth convex functions at any stopping time T (abstract)"
)
SCHEDULES = ("constant", "dynamic", "silver", "anytime")
"""All rates one; single steps joined; the silver schedule; silver blocks joined."""


@dataclass(frozen=True)
class AnytimeConfig(Config):
    """Sizes of worst cases, certificates, random functions, and of the memory."""

    repeats: Positive = 5.0  # c, a silver block of length 2^k − 1 is joined ⌈c ρ^k⌉ times
    levels: Annotated[int, partial(check_count, least=3)] = 15  # worst cases up to T = 2^levels
    certified: Count = 11  # semidefinite certificates up to that T
    functions: Count = 400  # random ones of a draw
    random_levels: Annotated[int, partial(check_count, least=3)] = 9  # each up to T = 2^random_levels
    n_items: Several = 128
    dim: Count = 32
    alpha: Alpha = 1.5
    memory_levels: Annotated[int, partial(check_count, least=3)] = 8  # trained for 2^memory_levels − 1 steps
    factors: Counts = (1, 2, 4, 6, 8, 10, 12, 14)  # powers of two that multiply the memory's certified rate
    muon_rates: Positives = (0.25, 1.0, 2.0, 4.0, 8.0, 16.0)
    seeds: Count = 5
    first_seed: Natural = 0


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
            levels=7, certified=2, functions=10, random_levels=4, n_items=24, dim=8, memory_levels=3, factors=(2, 6),
            muon_rates=(1.0,), seeds=2,
        ),
        "cpu": AnytimeConfig(),
    },
    grids=grids, summarise=summarise, judge=judge, unseen_from=3000,
)  # fmt: skip
