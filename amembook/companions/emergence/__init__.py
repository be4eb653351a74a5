"""`emergence`: when a network learns each of many directions, and how their sum becomes a power law of the loss.

A study of Ren, Nichani, Wu and Lee, arXiv:2504.19983.

Claim: while the learning of individual teacher neurons exhibits abrupt transitions, the juxtaposition of P ≫ 1 emergent
learning curves at different timescales leads to a smooth scaling law in the cumulative objective (abstract).

Caveats: the law of all starts takes neurons and directions one at a time; that of a record's own starts and steps,
which it may lack, leaves out what two neurons share outside the teacher's directions. Exponents are judged where a
direction has eight neurons, and half a direction of 24 may be left unlearnt there. T_1 has a heavy tail, from starts
without a good neuron, so its means are geometric. A record may lack the error of Muon's times.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Annotated

from amembook.companions.emergence.expected import amplitudes
from amembook.companions.emergence.judge import PARTS, WIDE, judge, lines, summarise
from amembook.companions.emergence.measure import measure_flow, measure_muon, measure_samples, measure_sgd
from amembook.networks.teacher_student import check_decay, check_degree
from amembook.run.base import (
    Chances,
    Config,
    Count,
    Counts,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Several,
    draws,
    each,
    some_of,
)
from amembook.run.studies import headline
from amembook.run.study import of_part
from amemlib.checks import check_count


@dataclass(frozen=True)
class EmergenceConfig(Config):
    """Sizes of the flow, of its first direction (`first_…`), narrow students (`floor_…`), online SGD (`sgd_…`), one
    neuron with one sample a step (`chain_…`), and polar steps (`muon_…`).
    """

    exponents: Annotated[tuple[float, ...], each(check_decay)] = (0.75, 1.0, 1.5)  # β of a_p ∝ p^{−β}
    n_teachers: Several = 24  # P of the flow
    dim: Several = 256
    degree: Annotated[int, check_degree] = 4
    ratios: Counts = (8, 4)  # widths over P
    init: Positive = 0.01  # length of a neuron at the start
    step: Positive = 0.25  # of Euler's method
    patience: Positive = 24.0  # a run ends at patience/a_P
    first_exponent: Annotated[float, check_decay] = 1.0
    first_teachers: Several = 4
    first_width: Count = 64
    degrees: Annotated[tuple[int, ...], each(check_degree)] = (4, 6)
    dims: Dims = (64, 128, 256, 512)  # of the flow up to the first direction
    first_step: Positive = 0.5
    first_draws: Count = 24
    widths: Dims = (3, 6, 12, 24)  # of narrow students
    floor_dim: Several = 64
    floor_patience: Positive = 20.0
    sgd_teachers: Several = 12
    sgd_dim: Several = 24
    sgd_width: Count = 96
    sgd_lr: Positive = 0.1
    batch: Count = 512
    chain_degree: Annotated[int, partial(check_count, least=3)] = 3
    chain_amplitudes: Chances = (0.125, 0.0625, 0.03125)
    chain_dims: Dims = (32, 64, 128)
    chain_overlap: Positive = 4.0  # the squared overlap at the start, times d
    chains: Count = 41  # at a learning rate
    muon_dims: Counts = (32, 64, 128)
    muon_width: Count = 192
    lr: Positive = 0.002  # of a polar step
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self):
        for name, ambient, inside in (
            ("dim", self.dim, self.n_teachers),
            ("floor_dim", self.floor_dim, self.n_teachers),
            ("sgd_dim", self.sgd_dim, self.sgd_teachers),
            ("dims", min(self.dims), self.first_teachers),
            ("muon_dims", min(self.muon_dims), self.n_teachers),
        ):
            if ambient < inside:
                raise ValueError(f"{name} must be at least the number of directions, {inside}, got {ambient}")
        if WIDE not in self.ratios:
            raise ValueError(f"ratios must hold {WIDE}, where the exponents are judged, got {list(self.ratios)}")


def cases(config: EmergenceConfig) -> dict[str, dict]:
    """Exponent and width of every flow by name, with its horizon."""
    flows, P = {}, config.n_teachers
    for ratio, beta in product(config.ratios, config.exponents):
        horizon = float(config.patience / amplitudes(beta, P)[-1])
        flows[f"{beta} {ratio}"] = {"exponent": beta, "width": ratio * P, "horizon": horizon}
    return flows


def grids(config: EmergenceConfig) -> dict[str, Grid]:
    """The flow by exponent and width, by d and degree, of narrow students; SGD; one neuron's samples; Muon."""
    seeds, few = {"seed": draws(config)}, {"exponent": config.first_exponent}
    smallest = lambda count: float(amplitudes(config.first_exponent, count)[-1])
    first = {"degree": config.degrees, "dim": config.dims, "seed": draws(config, config.first_draws)}
    points = {f"{a} {d}": {"amplitude": a, "dim": d} for line in lines(config).values() for a, d in line}
    all_of_them = few | {"until": config.n_teachers, "horizon": config.floor_patience / smallest(config.n_teachers)}
    sgd = of_part(config, "sgd", "dim", "width", n_teachers="teachers", step="lr") | few
    some = of_part(config, "first", "width", "step", n_teachers="teachers") | few
    every = {
        "flow": Grid(measure_flow, {"case": cases(config)} | seeds, until=config.n_teachers),
        "first": Grid(measure_flow, first, **some, horizon=1e5, until=1),
        "floor": Grid(measure_flow, {"width": config.widths} | seeds, dim=config.floor_dim, **all_of_them),
        "sgd": Grid(measure_sgd, seeds, **sgd, horizon=config.patience / smallest(config.sgd_teachers)),
        "samples": Grid(measure_samples, {"point": points} | seeds, **of_part(config, "chain", "degree", "overlap")),
        "muon": Grid(measure_muon, {"dim": config.muon_dims} | seeds, **few, width=config.muon_width),
    }
    return {part: every[part] for part in config.parts}


EXPERIMENT = Experiment(
    name="emergence",
    purpose=headline(__doc__),
    profiles={
        "smoke": EmergenceConfig(
            exponents=(1.5,), n_teachers=4, dim=16, ratios=(8,), degrees=(4,), dims=(8, 16), first_teachers=2,
            first_width=16, first_draws=2, widths=(2, 4), floor_dim=8, floor_patience=8.0, step=0.5, sgd_teachers=2,
            sgd_dim=4, sgd_width=16, batch=256, chain_amplitudes=(0.25, 0.125), chain_dims=(8, 12), chains=11,
            muon_dims=(8,), muon_width=32, lr=0.01, seeds=2,
        ),
        "cpu": EmergenceConfig(),
        "first": EmergenceConfig(parts=("first",), first_step=0.1, first_seed=5675),
        # beside the law of the same starts and steps
        "starts": EmergenceConfig(
            parts=("flow", "first", "floor"), ratios=(8,), step=0.5, seeds=5, first_seed=68_000
        ),
        # narrow students by themselves
        "width": EmergenceConfig(parts=("floor",), seeds=40, first_seed=69_300),
        # batches of 2048 beside the flow from the same starts, by the scatter that the two do not share
        "online": EmergenceConfig(parts=("sgd",), batch=2048, seeds=40, first_seed=75_000),
        # polar steps from a start so small that its length does not count, with the errors of the times
        "muon": EmergenceConfig(parts=("muon",), init=0.001, muon_dims=(64, 128), seeds=12, first_seed=51_200),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=4650,
    added={"parts": PARTS},
)  # fmt: skip
