"""`generative-leap`: how many samples find a subspace, by the order of the first Hermite tensor that labels leave.

A lab on Damian, Lee and Bruna, arXiv:2506.05500.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.generative_leap.judge import judge, summarise
from amemlib.labs.generative_leap.measure import CONTROLS, measure_control, measure_memory, measure_samples

PAPER = "arXiv:2506.05500"
CLAIM = (
    "for Gaussian multi-index models a sample complexity of n = Θ(d^(1 ∨ k*/2)), k* the generative leap exponent, is "
    "necessary in the class of low-degree polynomials, and sufficient by a sequential procedure based on a spectral "
    "U-statistic over Hermite tensors (abstract)"
)


@dataclass(frozen=True)
class LeapConfig:
    """Sizes of the lab.

    low_dims: for the tasks that need n ∝ d. sign_dims, bump_dims: for k* = 3 and k* = 4. bins: of the labels. level:
    the overlap, less that of chance, that counts as found. control_dim, control_samples: where statistics of the wrong
    order must fail. alpha, memory_dims, noises, ratios: the memory with noisy keys, B/(σ² d^α) at every noise σ. share:
    of the items without noise, at which batches are compared.
    """

    low_dims: tuple[int, ...] = (64, 128, 256, 384)
    sign_dims: tuple[int, ...] = (40, 64, 96, 144)
    bump_dims: tuple[int, ...] = (64, 96, 144, 192, 256)
    bins: int = 8
    level: float = 0.5
    control_dim: int = 64
    control_samples: int = 20_000
    alpha: float = 1.5
    memory_dims: tuple[int, ...] = (48, 96, 192)
    noises: tuple[float, ...] = (3.0, 6.0)
    ratios: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    share: float = 0.7
    seeds: int = 16
    first_seed: int = 0

    def __post_init__(self):
        for name in ("low_dims", "sign_dims", "bump_dims", "memory_dims"):
            check_dims(name, getattr(self, name), count=2, least=8)
        check_count("bins", self.bins, least=2)
        check_count("control_dim", self.control_dim, least=8)
        check_count("control_samples", self.control_samples, least=100)
        check_alpha(self.alpha, above=1.0)
        for name in ("noises", "ratios"):
            values = getattr(self, name)
            for value in values:
                check_positive(name, value)
            if len(values) < 2 or list(values) != sorted(set(values)):
                raise ValueError(f"{name} must hold two or more increasing numbers, got {list(values)}")
        for name in ("level", "share"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be in (0, 1), got {getattr(self, name)!r}")
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)

    def dims(self, task: str) -> tuple[int, ...]:
        """The dimensions of a task."""
        return {"sign": self.sign_dims, "bump": self.bump_dims}.get(task, self.low_dims)


def grids(config: LeapConfig) -> dict[str, Grid]:
    """Samples by task and dimension, each task a grid; statistics of the wrong order; the memory by noise."""
    seeds = {"seed": draws(config)}
    samples = {
        task: Grid(measure_samples, {"dim": config.dims(task)} | seeds, task=task)
        for task in ("cubic", "quartic", "leap", "sign", "bump")
    }
    return samples | {
        "controls": Grid(measure_control, {"control": tuple(CONTROLS)} | seeds),
        "memory": Grid(measure_memory, {"dim": config.memory_dims, "noise": config.noises} | seeds),
    }


EXPERIMENT = Experiment(
    name="generative-leap",
    purpose="samples that find a subspace by the order of the first Hermite tensor; the memory as order one",
    profiles={
        "smoke": LeapConfig(
            low_dims=(8, 10),
            sign_dims=(8, 10),
            bump_dims=(8, 10),
            control_dim=8,
            control_samples=200,
            memory_dims=(8, 10),
            ratios=(0.5, 4.0),
            level=0.3,
            seeds=1,
        ),
        "cpu": LeapConfig(),
        "gpu": LeapConfig(low_dims=(64, 128, 256, 384, 768), seeds=32),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5450,
)
