"""`quadratic`: the edge case k = 2, where directions are learnt together and a matrix Riccati equation says when.

On Ben Arous, Erdogdu, Vural and Wu, arXiv:2508.03688.

Claim: a sharp analysis of the SGD dynamics of a two-layer network with quadratic activation in the feature learning
regime, with scaling laws for the prediction risk in optimization time, sample size and model width, by a precise
characterization of a matrix Riccati differential equation (abstract).

Caveats: times are judged up to direction r/3, which ends the flow. A narrow student's final loss may lie 0.02 from the
best of its rank, for its flow has nearly ended; that is an optimum that no rival can pass, and its power m^{1 − 2α} is
then arithmetic. A record may lack the error of Muon's lengths.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.quadratic import expected
from amembook.companions.quadratic.judge import PARTS, judge, summarise
from amembook.companions.quadratic.measure import measure_floor, measure_flow, measure_muon, measure_sgd
from amembook.networks.teacher_student import check_decay
from amembook.run.base import Config, Count, Dims, Experiment, Grid, Natural, Positive, draws, each, some_of
from amembook.run.studies import headline
from amembook.run.study import of_part
from amemlib.checks import check_count

Rank = Annotated[int, partial(check_count, least=4)]


@dataclass(frozen=True)
class QuadraticConfig(Config):
    """Students of a quadratic teacher: the flow, its first time, narrow ones, online SGD and Muon."""

    alphas: Annotated[tuple[float, ...], each(check_decay)] = (0.75, 1.0, 1.5)  # λ_j ∝ j^{−α}
    rank: Rank = 128  # r, d and m of the flow, which runs until a third of the directions is learnt
    dim: Count = 192
    width: Count = 256
    init: Positive = 0.001  # length of a neuron at the start
    first_rank: Count = 4  # T_1 by d
    first_width: Count = 32
    dims: Dims = (32, 64, 128, 256, 512)
    first_draws: Count = 20
    floor_rank: Rank = 128  # narrow students
    floor_dim: Count = 192
    widths: Dims = (8, 16, 32)
    patience: Positive = 20.0  # how long they run, over what tells λ_m from λ_{m+1}
    sgd_rank: Rank = 32
    sgd_dim: Count = 64
    sgd_width: Count = 64
    sgd_until: Count = 8  # online SGD ends when this direction is learnt
    sgd_lr: Positive = 0.05
    batch: Count = 1024
    muon_rank: Rank = 48
    muon_dim: Count = 64
    muon_widths: Dims = (96, 12)
    lr: Positive = 0.004  # of polar steps
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        for name, ambient, inside in (
            ("dim", self.dim, self.rank),
            ("floor_dim", self.floor_dim, self.floor_rank),
            ("sgd_dim", self.sgd_dim, self.sgd_rank),
            ("muon_dim", self.muon_dim, self.muon_rank),
            ("dims", min(self.dims), self.first_rank),
            ("sgd_rank", self.sgd_rank, self.sgd_until),
        ):
            check_count(name, ambient, least=inside)
        if max(self.widths) >= self.floor_rank:
            raise ValueError(f"widths must be below floor_rank {self.floor_rank}, got {list(self.widths)}")


def cases(config: QuadraticConfig) -> dict[str, dict]:
    """Every α by name, with the horizon of its flow: a tenth beyond the predicted time of direction r/3."""
    mass, flows = expected.start_mass(config.dim, config.width, config.init), {}
    for alpha in config.alphas:
        times = expected.learning_times(expected.coefficients(alpha, config.rank), mass)
        flows[str(alpha)] = {"alpha": alpha, "horizon": float(1.1 * times[config.rank // 3])}
    return flows


def grids(config: QuadraticConfig) -> dict[str, Grid]:
    """The flow by α; its first time by d; narrow students; online SGD; Muon. All but the first and third at α = 1."""
    seeds = {"seed": draws(config)}
    lam = expected.coefficients(1.0, config.sgd_rank)
    last = expected.learning_times(lam, expected.start_mass(config.sgd_dim, config.sgd_width, config.init))
    axes = {
        "flow": {"case": cases(config)} | seeds,
        "first": {"dim": config.dims, "seed": draws(config, config.first_draws)},
        "floor": {"alpha": config.alphas, "width": config.widths} | seeds,
        "sgd": seeds,
        "muon": {"width": config.muon_widths} | seeds,
    }
    first, sgd = of_part(config, "first", "rank", "width"), of_part(config, "sgd", "rank", "dim", "width", "lr")
    every = {
        "flow": Grid(measure_flow, axes["flow"], until=config.rank),
        "first": Grid(measure_flow, axes["first"], alpha=1.0, **first, horizon=1e4, until=1),
        "floor": Grid(measure_floor, axes["floor"], **of_part(config, "floor", "rank", "dim")),
        "sgd": Grid(measure_sgd, axes["sgd"], alpha=1.0, **sgd, horizon=float(last[config.sgd_until - 1])),
        "muon": Grid(measure_muon, axes["muon"], alpha=1.0, **of_part(config, "muon", "rank", "dim")),
    }
    return {part: every[part] for part in config.parts}


EXPERIMENT = Experiment(
    name="quadratic",
    purpose=headline(__doc__),
    profiles={
        "smoke": QuadraticConfig(
            alphas=(1.0, 1.5), rank=16, dim=20, width=32, dims=(8, 16), first_draws=2, floor_rank=8, floor_dim=10,
            widths=(2, 4), sgd_rank=4, sgd_dim=8, sgd_width=16, sgd_until=2, batch=256, muon_rank=6, muon_dim=8,
            muon_widths=(12, 3), lr=0.02, seeds=2,
        ),
        "cpu": QuadraticConfig(),
        # polar steps alone, with the errors of their times
        "muon": QuadraticConfig(parts=("muon",), seeds=8, first_seed=51_220),
        # the first time alone
        "first": QuadraticConfig(parts=("first",), first_draws=200, first_seed=69_100),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=4700,
    added={"parts": PARTS},
)  # fmt: skip
