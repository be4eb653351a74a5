"""`metastable-chain`: a chain of thought among clusters, its rare hard steps, and who learns them.

A study of Kim, Wu, Lee and Suzuki, arXiv:2502.01694.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.metastable_chain.judge import judge, summarise
from amembook.companions.metastable_chain.measure import (
    measure_pipeline,
    measure_reward,
    measure_search,
    measure_step,
    measure_time,
    time_axes,
)
from amembook.run.base import (
    Chance,
    Chances,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Several,
    Sizes,
    draws,
)
from amemlib.checks import check_count, check_dims

PAPER = "arXiv:2502.01694"
CLAIM = (
    "implementing a search protocol that rewards sparse edges improves CoT by decreasing the expected number of steps "
    "to reach different clusters; the pretrained model can be directly finetuned to favor sparse edges via policy "
    "gradient methods, and a compressed metastable representation can be distilled into a smaller model (abstract)"
)


ManyOf = Annotated[Dims, partial(check_dims, least=2)]


@dataclass(frozen=True)
class MetastableChainConfig(Config):
    """Sizes of the chain where they do not vary, of its times, of a search and what is learnt from it, of a policy
    gradient by reward (`reward_…`), and of the first gradient (`step_…`).
    """

    clusters: Annotated[int, partial(check_count, least=3)] = 10  # K
    states: Count = 24  # M
    edge: Chance = 0.02  # ε
    degree: Several = 8  # permutations of a random cluster
    edges: Chances = (0.005, 0.01, 0.02, 0.05, 0.1)  # ε of the times, as M and K varied at the others' value
    sizes: ManyOf = (12, 24, 48, 96)  # M of the times
    rings: ManyOf = (5, 9, 17, 33)  # K of the times
    circle_edge: Chance = 0.2  # ε of circles
    budgets: Positives = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # exploration in units of M log M
    search_edges: Chances = (0.01, 0.05)
    walkers: Count = 8  # of a search
    rounds: Positive = 8.0  # of a search, in units of K log K
    least: Count = 4  # reports that keep a step
    best: Positive = 2.0  # the budget of what is learnt from a search
    half_lr: Positive = 0.1  # of Muon there
    reward_lr: Positives = (1.0, 0.25)  # of SGD and of Muon
    often: Chance = 0.2  # the largest ε of a chain whose hard steps differ
    rare: Chance = 0.002  # the smallest
    step_clusters: Count = 12  # K
    step_states: Count = 48  # M
    step_edges: Chances = (0.01, 0.05)
    samples: ManyOf = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)  # a state, of uniform clusters
    degrees: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (6, 12, 24)  # of random ones, all data
    seeds: Count = 8
    first_seed: Natural = 0

    def limits(self):
        if len(self.reward_lr) != 2:
            raise ValueError(f"reward_lr must hold a rate for SGD and one for Muon, got {list(self.reward_lr)}")


def step_cases(config: MetastableChainConfig) -> dict[str, dict]:
    """Clusters of the first gradient: uniform ones by samples a state, random ones from all data, by name."""
    cases = {
        f"{edge:g} uniform {n}": {"edge": edge, "degree": 0, "samples": n}
        for edge in config.step_edges
        for n in config.samples
    }
    return cases | {
        f"{edge:g} random {r}": {"edge": edge, "degree": r, "samples": 0}
        for edge in config.step_edges
        for r in config.degrees
    }


def grids(config: MetastableChainConfig) -> dict[str, Grid]:
    """Times; shares of a search by budget; times after it; steps to learn hard steps; the first gradient."""
    seeds = {"seed": draws(config)}
    times = {name: case for axis in time_axes(config).values() for name, case in axis.items()}
    return {
        "time": Grid(measure_time, {"case": times} | seeds),
        "search": Grid(measure_search, {"edge": config.search_edges, "budget": config.budgets} | seeds),
        "pipeline": Grid(measure_pipeline, {"edge": config.edges} | seeds),
        "reward": Grid(measure_reward, seeds),
        "step": Grid(measure_step, {"case": step_cases(config)} | seeds),
    }


EXPERIMENT = Experiment(
    name="metastable-chain",
    purpose="walks among clusters: times between them, a search for rare steps, policy gradients and a Muon step",
    profiles={
        "smoke": MetastableChainConfig(
            clusters=3,
            states=8,
            degree=4,
            edges=(0.05, 0.2),
            sizes=(6, 12),
            rings=(3, 5),
            budgets=(1.0, 2.0),
            walkers=2,
            often=0.3,
            rare=0.05,
            step_clusters=3,
            step_states=12,
            step_edges=(0.05,),
            samples=(100, 1000),
            degrees=(4,),
            seeds=2,
        ),
        "cpu": MetastableChainConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
