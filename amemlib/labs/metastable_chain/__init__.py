"""`metastable-chain`: a chain of thought among clusters, its rare hard steps, and who learns them.

A lab on Kim, Wu, Lee and Suzuki, arXiv:2502.01694.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.metastable_chain.judge import judge, summarise
from amemlib.labs.metastable_chain.measure import (
    measure_pipeline,
    measure_reward,
    measure_search,
    measure_step,
    measure_time,
    time_axes,
)

PAPER = "arXiv:2502.01694"
CLAIM = (
    "implementing a search protocol that rewards sparse edges improves CoT by decreasing the expected number of steps "
    "to reach different clusters; the pretrained model can be directly finetuned to favor sparse edges via policy "
    "gradient methods, and a compressed metastable representation can be distilled into a smaller model (abstract)"
)


@dataclass(frozen=True)
class MetastableChainConfig:
    """Sizes of the lab.

    clusters, states, edge, degree: K, M, ε and the permutations of a random cluster, where they do not vary. edges,
    sizes, rings: ε, M and K of the times, each varied at the others' value; circle_edge: ε of circles.
    budgets: exploration in units of M log M; search_edges: ε there; walkers, rounds: of a search, rounds in units of
    K log K; least: reports that keep a step; best: the budget of what is learnt from a search. half_lr: the rate of
    Muon there. reward_lr: of SGD and of Muon; often, rare: the largest and the smallest ε of a chain whose hard steps
    differ. step_clusters, step_states: K and M of the first gradient; step_edges, samples: of uniform clusters, samples
    a state; degrees: of random ones, from all data.
    """

    clusters: int = 10
    states: int = 24
    edge: float = 0.02
    degree: int = 8
    edges: tuple[float, ...] = (0.005, 0.01, 0.02, 0.05, 0.1)
    sizes: tuple[int, ...] = (12, 24, 48, 96)
    rings: tuple[int, ...] = (5, 9, 17, 33)
    circle_edge: float = 0.2
    budgets: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
    search_edges: tuple[float, ...] = (0.01, 0.05)
    walkers: int = 8
    rounds: float = 8.0
    least: int = 4
    best: float = 2.0
    half_lr: float = 0.1
    reward_lr: tuple[float, ...] = (1.0, 0.25)
    often: float = 0.2
    rare: float = 0.002
    step_clusters: int = 12
    step_states: int = 48
    step_edges: tuple[float, ...] = (0.01, 0.05)
    samples: tuple[int, ...] = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    degrees: tuple[int, ...] = (6, 12, 24)
    seeds: int = 8
    first_seed: int = 0

    def __post_init__(self):
        for name in ("clusters", "states", "walkers", "least", "step_clusters", "step_states", "seeds"):
            check_count(name, getattr(self, name))
        check_count("clusters", self.clusters, least=3)
        check_count("degree", self.degree, least=2)
        for name in ("sizes", "rings", "samples"):
            check_dims(name, getattr(self, name), count=2, least=2)
        check_dims("degrees", self.degrees, count=1, least=2)
        for name in ("edge", "circle_edge", "often", "rare"):
            _check_chance(name, getattr(self, name))
        for name in ("edges", "search_edges", "step_edges"):
            for edge in getattr(self, name):
                _check_chance(name, edge)
        for name in ("rounds", "best", "half_lr"):
            check_positive(name, getattr(self, name))
        for name in ("budgets", "reward_lr"):
            for value in getattr(self, name):
                check_positive(name, value)
        if len(self.reward_lr) != 2:
            raise ValueError(f"reward_lr must hold a rate for SGD and one for Muon, got {list(self.reward_lr)}")
        check_count("first_seed", self.first_seed, least=0)


def _check_chance(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be in (0, 1), got {value!r}")


def time_cases(config: MetastableChainConfig) -> dict[str, dict]:
    """What varies of a chain whose times are solved for, every case once, by name."""
    return {name: case for axis in time_axes(config).values() for name, case in axis.items()}


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
    return {
        "time": Grid(measure_time, {"case": time_cases(config)} | seeds),
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
        "gpu": MetastableChainConfig(step_clusters=24, step_states=96, seeds=16),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
