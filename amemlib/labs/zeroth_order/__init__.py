"""`zeroth-order`: training by forward passes alone, how much slower it is, and what it costs Muon.

A lab on Malladi, Gao, Nichani, Damian, Lee, Chen and Arora, arXiv:2305.17333.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.zeroth_order.judge import judge, summarise
from amemlib.labs.zeroth_order.measure import measure_counts, measure_gain, measure_quadratic, measure_rank

PAPER = "arXiv:2305.17333"
CLAIM = (
    "zeroth-order methods, which need two forward passes and no backpropagation, are theorized to be catastrophically "
    "slow for large models (abstract); if the Hessian has a low local effective rank the slowdown goes by that rank "
    "and not by the number of parameters (as others tell its theory)"
)


@dataclass(frozen=True)
class ZerothConfig:
    """Sizes of the lab.

    parameters, copies: quadratics with `base_copies` of each eigenvalue, and with base_parameters of them; decay: their
    power law; level: of the loss that ends a run. rank_items, rank_dims: curvatures of the memory at W = 0.
    gain_items, gain_dims, levels, directions, width: single steps on it, where the loss is at these shares of its
    start, along so many directions z, ε in units of z. n_items, dims, sgd_dims: items stored through K estimates;
    repeats, sgd_repeats: noises a draw; sgd_seeds: draws of SGD's. alphas: power laws of Muon's; alpha: of all else.
    lowest, highest: exponents of two of K in units of d^(2α + 1), Muon, and of d, SGD, sgd_lowest and sgd_highest.
    """

    base_parameters: int = 4096
    base_copies: int = 4
    parameters: tuple[int, ...] = (256, 1024, 4096, 16384)
    copies: tuple[int, ...] = (1, 4, 16, 64)
    decay: float = 2.0
    level: float = 0.1
    alpha: float = 1.5
    rank_items: int = 1024
    rank_dims: tuple[int, ...] = (8, 16, 32, 64, 128)
    gain_items: int = 128
    gain_dims: tuple[int, ...] = (8, 16, 32, 64)
    levels: tuple[float, ...] = (1.0, 0.8, 0.6)
    directions: int = 400
    width: float = 1e-4
    n_items: int = 4096
    dims: tuple[int, ...] = (64, 128, 256)
    sgd_dims: tuple[int, ...] = (64, 128, 256)
    alphas: tuple[float, ...] = (1.25, 1.5, 2.0)
    lowest: int = -8
    highest: int = 2
    sgd_lowest: int = -2
    sgd_highest: int = 8
    repeats: int = 2
    sgd_repeats: int = 3
    seeds: int = 6
    sgd_seeds: int = 24
    first_seed: int = 0

    def __post_init__(self):
        for name in ("base_parameters", "base_copies", "directions", "repeats", "sgd_repeats", "seeds", "sgd_seeds"):
            check_count(name, getattr(self, name))
        for name in ("rank_items", "gain_items", "n_items"):
            check_count(name, getattr(self, name), least=2)
        for name in ("parameters", "copies", "rank_dims", "gain_dims", "dims", "sgd_dims"):
            check_dims(name, getattr(self, name), count=2)
        if self.parameters[0] < self.base_copies or self.base_parameters < self.copies[-1]:
            raise ValueError("parameters must be at least the copies of an eigenvalue")
        for name in ("decay", "width"):
            check_positive(name, getattr(self, name))
        for alpha in (self.alpha, *self.alphas):
            check_alpha(alpha)
        if self.alpha not in self.alphas:
            raise ValueError(f"alphas must hold alpha = {self.alpha!r}, got {list(self.alphas)}")
        for name in ("level", *("levels",) * len(self.levels)):
            for value in (self.level,) if name == "level" else self.levels:
                if not 0 < value <= 1:
                    raise ValueError(f"{name} must be in (0, 1], got {value!r}")
        for low, high in ((self.lowest, self.highest), (self.sgd_lowest, self.sgd_highest)):
            if not low < high:
                raise ValueError(f"lowest must be below highest, got {low!r} and {high!r}")
        check_count("first_seed", self.first_seed, least=0)


def grids(config: ZerothConfig) -> dict[str, Grid]:
    """Quadratics by parameters and copies; curvatures and gains by d; items by map, α, d and K; all K at one d."""
    seeds = {"seed": draws(config)}
    law = {
        f"{alpha:g}/{dim}": {
            "alpha": alpha,
            "dim": dim,
            "estimates": _doubled(dim ** (2 * alpha + 1), config.lowest, config.highest),
        }
        for alpha in config.alphas
        for dim in config.dims
    }
    sgd = {
        dim: {"dim": dim, "estimates": _doubled(dim, config.sgd_lowest, config.sgd_highest)} for dim in config.sgd_dims
    }
    sizes = [(count, config.base_copies) for count in config.parameters]
    sizes += [(config.base_parameters, count) for count in config.copies]
    # one size is in both rows
    quadratic = {f"{count}/{copies}": {"n_parameters": count, "copies": copies} for count, copies in sizes}
    whole = {"map_name": ("sgd", "polar")}
    return {
        "quadratic": Grid(measure_quadratic, {"case": quadratic}),
        "rank": Grid(measure_rank, {"dim": config.rank_dims} | seeds),
        "gain": Grid(measure_gain, {"dim": config.gain_dims} | seeds),
        "polar": Grid(measure_counts, {"case": law} | seeds, map_name="polar"),
        "sgd": Grid(
            measure_counts,
            {"case": sgd, "seed": draws(config, config.sgd_seeds)},
            map_name="sgd",
            repeats=config.sgd_repeats,
        ),
        "whole": Grid(measure_counts, whole | seeds, dim=config.dims[-1], estimates=_powers_of_four(config)),
    }


def _doubled(unit: float, lowest: int, highest: int) -> list[float]:
    return [float(round(unit * 2.0**k)) for k in range(lowest, highest + 1)]


def _powers_of_four(config: ZerothConfig) -> list[float]:
    """Powers of four from 1 to 4 d^(2α + 1), at the largest d."""
    last = 4 * config.dims[-1] ** (2 * config.alpha + 1)
    found = [1.0]
    while found[-1] < last:
        found.append(4 * found[-1])
    return found


EXPERIMENT = Experiment(
    name="zeroth-order",
    purpose="how much slower forward passes alone are than a gradient, by curvature; how many of them Muon needs",
    profiles={
        "smoke": ZerothConfig(
            base_parameters=64,
            base_copies=2,
            parameters=(16, 64),
            copies=(1, 4),
            rank_items=64,
            rank_dims=(4, 8),
            gain_items=16,
            gain_dims=(4, 8),
            levels=(1.0,),
            directions=20,
            n_items=64,
            dims=(6, 8),
            sgd_dims=(8, 12),
            alphas=(1.5,),
            lowest=-6,
            highest=0,
            sgd_lowest=0,
            sgd_highest=1,
            repeats=1,
            sgd_repeats=1,
            seeds=2,
            sgd_seeds=2,
        ),
        "cpu": ZerothConfig(),
        "gpu": ZerothConfig(n_items=16384, dims=(64, 128, 256, 512), sgd_dims=(64, 128, 256, 512), seeds=16),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5350,
)
