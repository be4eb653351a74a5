"""`zeroth-order`: training by forward passes alone, how much slower it is, and what it costs Muon.

On Malladi, Gao, Nichani, Damian, Lee, Chen and Arora, arXiv:2305.17333.

Claim: zeroth-order methods, which need two forward passes and no backpropagation, are theorized to be catastrophically
slow for large models (abstract); if the Hessian has a low local effective rank the slowdown goes by that rank and not
by the number of parameters (as others tell its theory).

Caveats: on quadratics nothing is random. A mean count is judged where four or more are expected; an exponent has the
interval of 200 resamples, in which draws of different d are independent.
"""

from dataclasses import dataclass
from itertools import product
from typing import Annotated

from amembook.companions.zeroth_order.judge import PARTS, judge, summarise
from amembook.companions.zeroth_order.measure import measure_counts, measure_gain, measure_quadratic, measure_rank
from amembook.run.base import (
    Alpha,
    Alphas,
    Config,
    Count,
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


def _check_level(name: str, value: float) -> None:
    if not 0 < value <= 1:
        raise ValueError(f"{name} must be in (0, 1], got {value!r}")


Level = Annotated[float, _check_level]


@dataclass(frozen=True)
class ZerothConfig(Config):
    """Steps along random directions: on quadratics, and on the memory."""

    base_parameters: Count = 4096  # of the quadratics whose copies vary
    base_copies: Count = 4  # of each eigenvalue, where the parameters vary
    parameters: Dims = (256, 1024, 4096, 16384)
    copies: Dims = (1, 4, 16, 64)
    decay: Positive = 2.0  # the eigenvalues' power law
    level: Level = 0.1  # of the loss, that ends a run
    alpha: Alpha = 1.5  # of all but Muon's power laws
    rank_items: Several = 1024  # curvatures of the memory at W = 0
    rank_dims: Dims = (8, 16, 32, 64, 128)
    gain_items: Several = 128  # single steps on it
    gain_dims: Dims = (8, 16, 32, 64)
    levels: Annotated[tuple[float, ...], each(_check_level)] = (1.0, 0.8, 0.6)  # where the loss is then, over its start
    directions: Count = 400  # z
    width: Positive = 1e-4  # ε in units of z
    n_items: Several = 4096  # stored through K estimates
    dims: Dims = (64, 128, 256)
    sgd_dims: Dims = (64, 128, 256)
    alphas: Alphas = (1.25, 1.5, 2.0)  # Muon's
    lowest: int = -8  # exponents of two of K in units of d^(2α + 1), Muon
    highest: int = 2
    sgd_lowest: int = -2  # and of d, SGD
    sgd_highest: int = 8
    repeats: Count = 2  # noises a draw
    sgd_repeats: Count = 3
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    seeds: Count = 6
    sgd_seeds: Count = 24
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.parameters[0] < self.base_copies or self.base_parameters < self.copies[-1]:
            raise ValueError("parameters must be at least the copies of an eigenvalue")
        if self.alpha not in self.alphas:
            raise ValueError(f"alphas must hold alpha = {self.alpha!r}, got {list(self.alphas)}")
        for low, high in ((self.lowest, self.highest), (self.sgd_lowest, self.sgd_highest)):
            if not low < high:
                raise ValueError(f"lowest must be below highest, got {low!r} and {high!r}")


def grids(config: ZerothConfig) -> dict[str, Grid]:
    """Quadratics by parameters and copies; curvatures and gains by d; items by map, α, d and K; all K at one d."""
    seeds = {"seed": draws(config)}
    law, sgd = {}, {}
    for alpha, dim in product(config.alphas, config.dims):
        estimates = _doubled(dim ** (2 * alpha + 1), config.lowest, config.highest)
        law[f"{alpha:g}/{dim}"] = {"alpha": alpha, "dim": dim, "estimates": estimates}
    for dim in config.sgd_dims:
        sgd[dim] = {"dim": dim, "estimates": _doubled(dim, config.sgd_lowest, config.sgd_highest)}
    sizes = [(count, config.base_copies) for count in config.parameters]
    sizes += [(config.base_parameters, count) for count in config.copies]
    # one size is in both rows
    quadratic = {f"{count}/{copies}": {"n_parameters": count, "copies": copies} for count, copies in sizes}
    many = {"case": sgd, "seed": draws(config, config.sgd_seeds)}
    whole = {"map_name": ("sgd", "polar")} | seeds
    every = {
        "quadratic": {"quadratic": Grid(measure_quadratic, {"case": quadratic})},
        "rank": {"rank": Grid(measure_rank, {"dim": config.rank_dims} | seeds)},
        "gain": {"gain": Grid(measure_gain, {"dim": config.gain_dims} | seeds)},
        "passes": {
            "polar": Grid(measure_counts, {"case": law} | seeds, map_name="polar"),
            "sgd": Grid(measure_counts, many, map_name="sgd", repeats=config.sgd_repeats),
        },
        "whole": {"whole": Grid(measure_counts, whole, dim=config.dims[-1], estimates=_powers_of_four(config))},
    }
    return {name: grid for part in config.parts for name, grid in every[part].items()}


def _doubled(unit: float, lowest: int, highest: int) -> list[float]:
    return [float(round(unit * 2.0**k)) for k in range(lowest, highest + 1)]


def _powers_of_four(config: ZerothConfig) -> list[float]:
    """Powers of four from 1 to 4 d^(2α + 1), at the largest d."""
    last = 4 * config.dims[-1] ** (2 * config.alpha + 1)
    powers = [1.0]
    while powers[-1] < last:
        powers.append(4 * powers[-1])
    return powers


EXPERIMENT = Experiment(
    name="zeroth-order",
    purpose=headline(__doc__),
    profiles={
        "smoke": ZerothConfig(
            base_parameters=64, base_copies=2, parameters=(16, 64), copies=(1, 4), rank_items=64, rank_dims=(4, 8),
            gain_items=16, gain_dims=(4, 8), levels=(1.0,), directions=20, n_items=64, dims=(6, 8), sgd_dims=(8, 12),
            alphas=(1.5,), lowest=-6, highest=0, sgd_lowest=0, sgd_highest=1, repeats=1, sgd_repeats=1, seeds=2,
            sgd_seeds=2,
        ),
        "cpu": ZerothConfig(),
        # the curvature of the memory, of which six draws left the smaller dimensions undecided
        "rank": ZerothConfig(parts=("rank",), seeds=48, first_seed=70_760),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5350,
    added={"parts": PARTS},
)  # fmt: skip
