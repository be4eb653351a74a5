"""`spectral-emergence`: what a spectral optimizer does to the times at which a network learns each of many directions.

The setting is that of Ren, Nichani, Wu and Lee, arXiv:2504.19983; the question and the laws are ours.

Claim: with the singular values of the gradient raised to the power γ, direction p of amplitude p^{−β} is learnt at T_p
∝ p^{β(3γ − 1)/2}; the paper has γ = 1, sharp emergence times and a power law.

Caveats: the laws take directions one at a time and fit nothing. Exponents are held to 0.02, mean times to 3 % and only
up to γ = 1/3, batches from eight samples a dimension on: at two, exploration showed the search to be most of the time.
"""

from dataclasses import dataclass
from itertools import product
from typing import Annotated

from amembook.companions.spectral_emergence import measure
from amembook.companions.spectral_emergence.expected import amplitudes, batch_times, growth_times
from amembook.companions.spectral_emergence.judge import TURN, judge, summarise
from amembook.networks.teacher_student import check_decay, check_degree
from amembook.run.base import (
    Alpha,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Several,
    Shares,
    draws,
    some_of,
)
from amembook.run.studies import headline
from amembook.run.study import of_part

PARTS = "flow", "search", "norm", "few", "batch", "facts", "crowd", "alone"


@dataclass(frozen=True)
class SpectralConfig(Config):
    """Sizes of the flow, at a second degree and a second β at fewer powers (`other_…`); of the alignment with the first
    direction by d (`search_…`); of normalised steps; of polar steps on batches (`batch_…`); of a memory of N = d facts
    (`fact_…`) and of one of N ≫ d items (`crowd_…`); of directions by themselves (`alone_…`).
    """

    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    powers: Shares = (0.0, 1 / 6, TURN, 2 / 3, 1.0)  # γ
    exponent: Annotated[float, check_decay] = 1.0  # β
    n_teachers: Several = 12  # P
    dim: Several = 64  # d
    width: Count = 96  # m
    degree: Annotated[int, check_degree] = 4  # k
    init: Positive = 0.003  # length of a neuron at the start
    pace: Positive = 0.02  # share of the longest neuron that a step may be
    patience: Positive = 4.0  # runs end at that many times the last predicted time
    other_powers: Shares = (0.0, TURN, 2 / 3)
    other_degree: Annotated[int, check_degree] = 6
    other_exponent: Annotated[float, check_decay] = 1.5
    search_powers: Shares = (0.0, TURN, 2 / 3, 1.0)
    search_dims: Dims = (32, 64, 128, 256)
    search_teachers: Several = 2
    search_width: Count = 32
    search_init: Positive = 0.001
    search_pace: Positive = 0.03
    search_draws: Count = 16
    rival_horizon: Positive = 5.0  # of normalised steps
    few_width: Count = 24  # neurons for n_teachers directions, where neurons compete
    few_horizon: Positive = 1.0
    batch_dims: Dims = (16, 32, 64)
    samples_per_dim: Dims = (2, 8, 32, 128)  # of a batch
    batch_teachers: Several = 6
    batch_width: Count = 12
    batch_init: Positive = 0.01
    lr: Positive = 0.008  # length of a polar step on a batch
    n_facts: Several = 32
    fact_exponent: Positive = 1.0
    fact_pace: Positive = 0.01
    n_items: Several = 1024
    crowd_dim: Several = 64
    crowd_alpha: Alpha = 1.5
    crowd_steps: Count = 32
    alone_powers: Shares = (2 / 3, 1.0)
    law_draws: Count = 48  # random starts that a law averages over
    seeds: Count = 6
    first_seed: Natural = 0

    def limits(self):
        if TURN not in self.powers:
            raise ValueError(f"powers must hold 1/3, got {self.powers!r}")
        if 1 in self.other_powers or TURN not in self.other_powers:
            raise ValueError(f"other_powers must hold 1/3 and not 1, got {self.other_powers!r}")
        for name, ambient, inside in (
            ("dim", self.dim, self.n_teachers),
            ("search_dims", min(self.search_dims), self.search_teachers),
            ("batch_dims", min(self.batch_dims), self.batch_teachers),
        ):
            if ambient < inside:
                raise ValueError(f"{name} must be at least the number of directions, {inside}, got {ambient}")


def cases(config: SpectralConfig) -> dict[str, dict]:
    """Power, degree and β of every flow by name, with its horizon."""
    points = [(power, config.degree, config.exponent) for power in config.powers]
    points += [(power, config.other_degree, config.exponent) for power in config.other_powers]
    points += [(power, config.degree, config.other_exponent) for power in config.other_powers]
    flows = {}
    for power, degree, exponent in points:
        a = amplitudes(exponent, config.n_teachers)
        longest = 24 / a[-1] if power == 1 else config.patience * growth_times(a, power).max()
        flow = {"power": power, "degree": degree, "exponent": exponent, "horizon": float(longest)}
        flows[f"{power:.3f} {degree} {exponent}"] = flow
    return flows


def grids(config: SpectralConfig) -> dict[str, Grid]:
    """The flow by power; the search by d; normalised steps; few neurons; batches; facts at right angles; a crowd."""
    seeds = {"seed": draws(config)}
    a = amplitudes(config.exponent, config.batch_teachers)
    batches = {}
    for dim, ratio in product(config.batch_dims, config.samples_per_dim):
        horizon = 8 * float(batch_times(a, dim, config.degree, ratio * dim).max())
        batches[f"{dim} {ratio}"] = {"dim": dim, "batch": ratio * dim, "horizon": horizon}
    search = {"power": config.search_powers, "dim": config.search_dims, "seed": draws(config, config.search_draws)}
    first = of_part(config, "search", "width", "init", "pace", n_teachers="teachers")
    noisy = of_part(config, "batch", "width", "init", n_teachers="teachers")
    few = of_part(config, "few", "width", "horizon")
    facts = of_part(config, "fact", "pace", frequency_exponent="exponent")
    a = amplitudes(config.exponent, config.n_teachers)
    every = {
        "flow": {"flow": Grid(measure.measure_power, {"case": cases(config)} | seeds, until="learnt")},
        "search": {"search": Grid(measure.measure_power, search, **first, horizon=1e6, until="aligned")},
        "norm": {"norm": Grid(measure.measure_rival, seeds, rival="by norm", horizon=config.rival_horizon)},
        "few": {
            "few": Grid(measure.measure_rival, {"rival": tuple(measure.RIVALS)[1:]} | seeds, **few),
            "few_polar": Grid(measure.measure_power, seeds, power=0.0, until="learnt", **few),
        },
        "batch": {"batch": Grid(measure.measure_batch, {"case": batches} | seeds, **noisy)},
        "facts": {"facts": Grid(measure.measure_facts, {"power": config.powers}, **facts, horizon=100.0)},
        "crowd": {"crowd": Grid(measure.measure_crowd, seeds, **of_part(config, "crowd", "dim", "alpha", "steps"))},
        "alone": {
            "alone": Grid(measure.measure_alone, {"power": config.alone_powers} | seeds, horizon=float(48 / a[-1]))
        },
    }
    return {name: grid for part in config.parts for name, grid in every[part].items()}


EXPERIMENT = Experiment(
    name="spectral-emergence",
    purpose=headline(__doc__),
    profiles={
        "smoke": SpectralConfig(
            powers=(0.0, TURN, 1.0), n_teachers=3, dim=8, width=16, init=0.1, pace=0.3, other_powers=(TURN,),
            search_powers=(1.0,), search_dims=(8, 16), search_width=8, search_init=0.05, search_pace=0.5,
            search_draws=2, rival_horizon=0.8, few_width=6, few_horizon=0.4, batch_dims=(8, 12),
            samples_per_dim=(8, 32), batch_teachers=3, batch_width=6, batch_init=0.05, lr=0.1, n_facts=6, fact_pace=0.1,
            n_items=64, crowd_dim=16, crowd_steps=3, alone_powers=(1.0,), law_draws=2, seeds=2,
        ),
        "cpu": SpectralConfig(),
        # draws that decide the turn, and each direction by itself
        "turn": SpectralConfig(parts=("flow",), powers=(TURN,), other_powers=(TURN,), seeds=8, first_seed=65_600),
        "alone": SpectralConfig(parts=("alone",), law_draws=200, seeds=4, first_seed=65_720),
        # the other rows, each by itself, with laws of more starts: 48 of them scatter by up to a band
        "times": SpectralConfig(parts=("flow",), law_draws=200, seeds=20, first_seed=69_600),
        "search": SpectralConfig(parts=("search",), law_draws=800, search_draws=160, first_seed=69_600),
        "rivals": SpectralConfig(parts=("norm", "few"), law_draws=400, seeds=24, first_seed=69_600),
        "rivals-many": SpectralConfig(parts=("norm", "few"), law_draws=800, seeds=100, first_seed=69_400),
        "batch": SpectralConfig(parts=("batch",), samples_per_dim=(8, 32), seeds=20, first_seed=69_600),
        "company": SpectralConfig(parts=("alone",), law_draws=200, seeds=9, first_seed=69_760),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6100,
    added={"parts": PARTS[:-1], "alone_powers": (2 / 3, 1.0)},
)  # fmt: skip
