"""`advantage-regression`: what a reward teaches: regression on the optimal advantage, and teachers of low variance.

A study of Brantley, Chen, Gao, Lee, Sun, Zhan and Zhang, arXiv:2505.20686, and of Razin, Wang, Strauss, Wei, Lee and
Arora, arXiv:2503.15477.

Claim: offline samples from a reference policy estimate the optimal value V*, and on-policy updates by a least-squares
regression with a single generation per prompt optimize the KL-regularized objective; a perfectly accurate reward model
of low variance can teach more slowly than a less accurate one, and one that is good for one policy can be slow for
another.

Caveats: the law of V* − J is of next order in η, and the record may lack its values at the times of the run. No law is
known of Muon in the memory. Shares of tables have the exact interval of a binomial.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.advantage_regression import measure
from amembook.companions.advantage_regression.judge import PARTS, judge, summarise
from amembook.companions.advantage_regression.teachers import measure_teachers
from amembook.run.base import (
    Alpha,
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Naturals,
    Positive,
    Positives,
    Several,
    draws,
    some_of,
)
from amembook.run.studies import headline
from amemlib.checks import check_count, check_dims


@dataclass(frozen=True)
class RegressionConfig(Config):
    """Sizes of a table of policies, of the race on another (`race_…`), and of the memory as a policy."""

    n_prompts: Count = 64
    n_answers: Several = 64
    beta: Positive = 0.5  # weight of the KL term
    rates: Positives = (0.1, 0.3, 0.6)  # η of the floor
    offline: Counts = (4, 16, 64, 256)  # samples of V* for the floor
    floor_steps: Count = 2500  # averaged over the later half
    betas: Positives = (0.1, 0.25, 0.5, 1.0, 2.0)  # where the variance at the start is compared, as groups
    groups: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (2, 4, 8)
    race_betas: Positives = (0.5, 0.1)
    race_prompts: Count = 24
    race_offline: Naturals = (0, 64, 8)  # samples of V*, 0 for the exact one
    race_rates: Positives = (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    budget: Count = 1024  # generations a prompt of the race, offline ones among them
    n_items: Several = 64
    dim: Several = 32
    alpha: Alpha = 1.0
    labels: Several = 8
    memory_beta: Positive = 0.2
    memory_steps: Annotated[int, partial(check_count, least=16)] = 256  # generations a prompt
    sgd_rates: Positives = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
    polar_rates: Positives = (0.25, 0.5, 1.0, 2.0, 4.0)
    n_arms: Several = 100  # answers of a table that a reward model teaches
    tables: Count = 3  # a draw
    lean: Positive = 4.0  # how far the logits of the two policies lean towards low and towards high rewards
    horizon: Positive = 5000.0  # when a flow is given up
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    seeds: Count = 20
    first_seed: Natural = 0


def grids(config: RegressionConfig) -> dict[str, Grid]:
    """The identity; the floor by rate and offline samples; variances at the start; the race; the memory; teachers."""
    seeds = {"seed": draws(config)}
    floors = {f"{count}": {"n_offline": count, "group": 1} for count in config.offline}
    floors |= {"exact": {"n_offline": 0, "group": 1}, "group": {"n_offline": 0, "group": 4}}
    racers = {f"star {count}": {"n_offline": count, "group": 1} for count in config.race_offline}
    racers |= {f"group {count}": {"n_offline": 0, "group": count} for count in config.groups}
    race = {"beta": config.race_betas, "racer": racers}
    every = {
        "identity": Grid(measure.measure_identity, seeds),
        "floor": Grid(measure.measure_floor, {"rate": config.rates, "baseline": floors} | seeds),
        "variance": Grid(measure.measure_variance, {"beta": config.betas, "group": config.groups} | seeds),
        "race": Grid(measure.measure_race, race | seeds, n_prompts=config.race_prompts),
        "memory": Grid(measure.measure_memory, {"n_offline": (0, 8)} | seeds),
        "teachers": Grid(measure_teachers, seeds),
    }
    return {part: every[part] for part in config.parts}


EXPERIMENT = Experiment(
    name="advantage-regression",
    purpose=headline(__doc__),
    profiles={
        "smoke": RegressionConfig(
            n_prompts=4, n_answers=6, rates=(0.1, 0.3), offline=(4, 16), floor_steps=20, betas=(0.5,), groups=(2, 4),
            race_betas=(0.5,), race_prompts=2, race_rates=(0.5, 1.0), budget=80, n_items=8, dim=4, labels=4,
            memory_steps=16, sgd_rates=(8.0,), polar_rates=(1.0,), n_arms=10, tables=1, horizon=50.0, seeds=2,
        ),
        "cpu": RegressionConfig(),
        # the floor alone, beside the law of the times at which a run is averaged
        "long": RegressionConfig(parts=("floor",), rates=(0.1, 0.3), offline=(4, 64), seeds=96, first_seed=64_000),
        # the race again, of the group and at the rates that were best in `confirm`
        "race": RegressionConfig(
            parts=("race",), race_offline=(0, 64), groups=(8,), race_rates=(0.25, 1.0, 2.0, 8.0), seeds=48,
            first_seed=68_200,
        ),
        # the exact V* at the β that this left undecided, each racer at its best rate there
        "exact": RegressionConfig(
            parts=("race",), race_offline=(0,), groups=(8,), race_betas=(0.1,), race_rates=(0.25, 2.0), seeds=100,
            first_seed=70_820,
        ),
        # the same, which `exact` left open too: with its scatter 600 draws tell a lead of 0.006 from none
        "decide": RegressionConfig(
            parts=("race",), race_offline=(0,), groups=(8,), race_betas=(0.1,), race_rates=(0.25, 2.0), seeds=600,
            first_seed=71_000,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6350,
    added={"parts": PARTS},
)  # fmt: skip
