"""`spectral-emergence`: what a spectral optimizer does to the times at which a network learns each of many directions.

The setting is that of Ren, Nichani, Wu and Lee, arXiv:2504.19983; the question and the laws are ours.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.spectral_emergence.expected import amplitudes, batch_times, growth_times
from amemlib.labs.spectral_emergence.judge import TURN, judge, summarise
from amemlib.labs.spectral_emergence.measure import (
    RIVALS,
    measure_batch,
    measure_crowd,
    measure_facts,
    measure_power,
    measure_rival,
)

PAPER = "arXiv:2504.19983"
CLAIM = (
    "ours, on the paper's network: with the singular values of the gradient raised to the power γ, direction p of "
    "amplitude p^{−β} is learnt at T_p ∝ p^{β(3γ − 1)/2}; the paper has γ = 1, sharp emergence times and a power law"
)


@dataclass(frozen=True)
class SpectralConfig:
    """Sizes of the lab.

    powers: γ. exponent, n_teachers, dim, width, degree: β, P, d, m and k. init: length of a neuron at the start. pace:
    share of the longest neuron that a step may be. patience: runs end at that many times the last predicted time.
    other_…: a second degree and a second β at fewer powers. search_…: the alignment with the first direction by d, in
    search_draws draws. rival_…: normalised steps. few_width: neurons for n_teachers directions, where neurons compete.
    batch_…: polar steps of length lr on batches of so many samples a dimension. n_facts, fact_…: a memory of N = d
    facts. n_items, crowd_…: a memory of N ≫ d. law_draws: random starts that a law averages over.
    """

    powers: tuple[float, ...] = (0.0, 1 / 6, TURN, 2 / 3, 1.0)
    exponent: float = 1.0
    n_teachers: int = 12
    dim: int = 64
    width: int = 96
    degree: int = 4
    init: float = 0.003
    pace: float = 0.02
    patience: float = 4.0
    other_powers: tuple[float, ...] = (0.0, TURN, 2 / 3)
    other_degree: int = 6
    other_exponent: float = 1.5
    search_powers: tuple[float, ...] = (0.0, TURN, 2 / 3, 1.0)
    search_dims: tuple[int, ...] = (32, 64, 128, 256)
    search_teachers: int = 2
    search_width: int = 32
    search_init: float = 0.001
    search_pace: float = 0.03
    search_draws: int = 16
    rival_horizon: float = 5.0
    few_width: int = 24
    few_horizon: float = 1.0
    batch_dims: tuple[int, ...] = (16, 32, 64)
    samples_per_dim: tuple[int, ...] = (2, 8, 32, 128)
    batch_teachers: int = 6
    batch_width: int = 12
    batch_init: float = 0.01
    lr: float = 0.008
    n_facts: int = 32
    fact_exponent: float = 1.0
    fact_pace: float = 0.01
    n_items: int = 1024
    crowd_dim: int = 64
    crowd_alpha: float = 1.5
    crowd_steps: int = 32
    law_draws: int = 48
    seeds: int = 6
    first_seed: int = 0

    def __post_init__(self):
        for name in ("n_teachers", "dim", "search_teachers", "batch_teachers", "n_facts", "n_items", "crowd_dim"):
            check_count(name, getattr(self, name), least=2)
        for name in ("width", "search_width", "search_draws", "few_width", "batch_width", "crowd_steps"):
            check_count(name, getattr(self, name))
        for name in ("law_draws", "seeds"):
            check_count(name, getattr(self, name))
        for name in ("init", "pace", "patience", "search_init", "search_pace", "rival_horizon", "few_horizon"):
            check_positive(name, getattr(self, name))
        for name in ("batch_init", "lr", "fact_exponent", "fact_pace"):
            check_positive(name, getattr(self, name))
        for name in ("search_dims", "batch_dims", "samples_per_dim"):
            check_dims(name, getattr(self, name))
        check_alpha(self.crowd_alpha)
        for name in ("powers", "other_powers", "search_powers"):
            if not all(0 <= power <= 1 for power in getattr(self, name)):
                raise ValueError(f"{name} must be in [0, 1], got {getattr(self, name)!r}")
        if not {0.0, TURN, 1.0} <= set(self.powers):
            raise ValueError(f"powers must hold 0, 1/3 and 1, got {self.powers!r}")
        if 1 in self.other_powers or TURN not in self.other_powers:
            raise ValueError(f"other_powers must hold 1/3 and not 1, got {self.other_powers!r}")
        for name in ("exponent", "other_exponent"):
            if not 0.5 < getattr(self, name) < 10:
                raise ValueError(f"{name} must be in (1/2, 10), for Σ a_p² to converge, got {getattr(self, name)!r}")
        for name in ("degree", "other_degree"):
            if getattr(self, name) < 4 or getattr(self, name) % 2:
                raise ValueError(f"{name} must be even and above 2, got {getattr(self, name)!r}")
        for name, ambient, inside in (
            ("dim", self.dim, self.n_teachers),
            ("search_dims", min(self.search_dims), self.search_teachers),
            ("batch_dims", min(self.batch_dims), self.batch_teachers),
        ):
            if ambient < inside:
                raise ValueError(f"{name} must be at least the number of directions, {inside}, got {ambient}")
        check_count("first_seed", self.first_seed, least=0)


def cases(config: SpectralConfig) -> dict[str, dict]:
    """Power, degree and β of every flow by name, with its horizon."""
    points = [(power, config.degree, config.exponent) for power in config.powers]
    points += [(power, config.other_degree, config.exponent) for power in config.other_powers]
    points += [(power, config.degree, config.other_exponent) for power in config.other_powers]
    found = {}
    for power, degree, exponent in points:
        a = amplitudes(exponent, config.n_teachers)
        longest = 24 / a[-1] if power == 1 else config.patience * growth_times(a, power).max()
        name = f"{power:.3f} {degree} {exponent}"
        found[name] = {"power": power, "degree": degree, "exponent": exponent, "horizon": float(longest)}
    return found


def grids(config: SpectralConfig) -> dict[str, Grid]:
    """The flow by power; the search by d; normalised steps; few neurons; batches; facts at right angles; a crowd."""
    seeds = {"seed": draws(config)}
    a = amplitudes(config.exponent, config.batch_teachers)
    batches = {
        f"{dim} {ratio}": {
            "dim": dim,
            "batch": ratio * dim,
            "horizon": 8 * float(batch_times(a, dim, config.degree, ratio * dim).max()),
        }
        for dim in config.batch_dims
        for ratio in config.samples_per_dim
    }
    few = {"width": config.few_width, "horizon": config.few_horizon}
    return {
        "flow": Grid(measure_power, {"case": cases(config)} | seeds, until="learnt"),
        "search": Grid(
            measure_power,
            {"power": config.search_powers, "dim": config.search_dims, "seed": draws(config, config.search_draws)},
            n_teachers=config.search_teachers,
            width=config.search_width,
            init=config.search_init,
            pace=config.search_pace,
            horizon=1e6,
            until="aligned",
        ),
        "norm": Grid(measure_rival, seeds, rival="by norm", horizon=config.rival_horizon),
        "few": Grid(measure_rival, {"rival": tuple(RIVALS)[1:]} | seeds, **few),
        "few_polar": Grid(measure_power, seeds, power=0.0, until="learnt", **few),
        "batch": Grid(
            measure_batch,
            {"case": batches} | seeds,
            n_teachers=config.batch_teachers,
            width=config.batch_width,
            init=config.batch_init,
        ),
        "facts": Grid(
            measure_facts,
            {"power": config.powers},
            frequency_exponent=config.fact_exponent,
            pace=config.fact_pace,
            horizon=100.0,
        ),
        "crowd": Grid(measure_crowd, seeds, dim=config.crowd_dim, alpha=config.crowd_alpha, steps=config.crowd_steps),
    }


EXPERIMENT = Experiment(
    name="spectral-emergence",
    purpose="when directions are learnt by steps along a power of the gradient's singular values, Muon's among them",
    profiles={
        "smoke": SpectralConfig(
            powers=(0.0, TURN, 1.0),
            n_teachers=3,
            dim=8,
            width=16,
            init=0.1,
            pace=0.3,
            other_powers=(TURN,),
            search_powers=(1.0,),
            search_dims=(8, 16),
            search_width=8,
            search_init=0.05,
            search_pace=0.5,
            search_draws=2,
            rival_horizon=0.8,
            few_width=6,
            few_horizon=0.4,
            batch_dims=(8, 12),
            samples_per_dim=(8, 32),
            batch_teachers=3,
            batch_width=6,
            batch_init=0.05,
            lr=0.1,
            n_facts=6,
            fact_pace=0.1,
            n_items=64,
            crowd_dim=16,
            crowd_steps=3,
            law_draws=2,
            seeds=2,
        ),
        "cpu": SpectralConfig(),
        "gpu": SpectralConfig(n_teachers=24, dim=256, width=384, search_dims=(32, 64, 128, 256, 512), seeds=12),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6100,
)
