"""`optimizers`: Adam, sign, Shampoo, SOAP, NorMuon and Dion on the memory, one step and many, beside their ranking.

A question of practice.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.optimizers.judge import judge, summarise
from amemlib.labs.optimizers.measure import measure_first, measure_rank, measure_run, measure_sign
from amemlib.labs.optimizers.updates import UPDATES

PAPER = (
    "ours; the optimizers are those of arXiv:1412.6980, arXiv:1802.04434, arXiv:1802.09568, arXiv:2409.11321, "
    "arXiv:2510.05491, arXiv:2504.05295 and arXiv:2604.09967"
)
CLAIM = (
    "the first step of Shampoo, SOAP and NorMuon is Muon's and that of Adam is the sign, which stores what SGD stores; "
    "a low rank stores less than its share; whether many steps rank them as a language model does is counted"
)
RATES = {
    "16": {
        "sgd": 64.0,
        "sign": 0.125,
        "adam": 0.25,
        "muon": 0.5,
        "muon_five_steps": 1.0,
        "muon_without_momentum": 8.0,
        "muon_squared": 1.0,
        "normuon": 0.5,
        "shampoo": 4.0,
        "one_sided_shampoo": 2.0,
        "soap": 0.5,
        "dion": 1.0,
        "full_dion": 1.0,
    },
    "256": {
        "sgd": 64.0,
        "sign": 0.125,
        "adam": 0.5,
        "muon": 1.0,
        "muon_five_steps": 1.0,
        "muon_without_momentum": 2.0,
        "muon_squared": 2.0,
        "normuon": 1.0,
        "shampoo": 4.0,
        "one_sided_shampoo": 4.0,
        "soap": 0.5,
        "dion": 2.0,
        "full_dion": 1.0,
    },
    "0": {
        "adam": 0.5,
        "muon": 1.0,
        "muon_without_momentum": 4.0,
        "muon_squared": 2.0,
        "normuon": 1.0,
        "shampoo": 4.0,
        "one_sided_shampoo": 4.0,
        "soap": 0.5,
    },
}
"""By batch size, 0 for the population, where only the optimizers of the track run: the power of two at which the loss
after 60 steps was least in the mean over the exploratory draws 0, 1 and 2, its neighbours on both sides tried too."""


@dataclass(frozen=True)
class OptimizersConfig:
    """One step and many of the optimizers of `updates.UPDATES`.

    optimizers: names. alphas, dims, n_items: the power laws, d and N of the sign. sign_seeds: draws of
    the sign, which stores so few items that it needs more. fractions, rank_dims: r/d and d of low ranks. first_alpha,
    first_dims: of the first steps.
    run_alpha, run_items, run_dim, steps, batch_sizes (0 for the population), factors: of the long runs, at
    the rate of `RATES` times every factor, on the population at the rate itself.
    """

    optimizers: tuple[str, ...] = tuple(UPDATES)
    alphas: tuple[float, ...] = (1.25, 1.5, 2.0)
    dims: tuple[int, ...] = (128, 256, 512)
    n_items: int = 4096
    sign_seeds: int = 8
    fractions: tuple[float, ...] = (0.125, 0.25, 0.5, 0.75)
    first_alpha: float = 1.5
    first_dims: tuple[int, ...] = (128, 256)
    rank_dims: tuple[int, ...] = (128, 256)
    run_alpha: float = 1.5
    run_items: int = 1024
    run_dim: int = 64
    steps: int = 60
    batch_sizes: tuple[int, ...] = (0, 16, 256)
    factors: tuple[float, ...] = (0.5, 1.0, 2.0)
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        if not self.optimizers or not set(self.optimizers) <= set(UPDATES):
            raise ValueError(f"optimizers must be among {', '.join(UPDATES)}, got {list(self.optimizers)}")
        for alpha in (*self.alphas, self.first_alpha, self.run_alpha):
            check_alpha(alpha)
        for name in ("dims", "first_dims", "rank_dims"):
            check_dims(name, getattr(self, name), count=1, least=8)
        for name in ("n_items", "run_items", "run_dim", "steps", "sign_seeds", "seeds"):
            check_count(name, getattr(self, name))
        for fraction in self.fractions:
            if not 0 < fraction <= 1:
                raise ValueError(f"fractions must lie in (0, 1], got {list(self.fractions)}")
        for factor in self.factors:
            check_positive("factors", factor)
        known = ", ".join(RATES)
        if not self.batch_sizes or not {f"{batch}" for batch in self.batch_sizes} <= set(RATES):
            raise ValueError(f"batch_sizes must be among {known}, where rates are known, got {list(self.batch_sizes)}")
        check_count("first_seed", self.first_seed, least=0)


def runs(config: OptimizersConfig) -> dict[str, dict]:
    """Every optimizer at every batch size, with its rate there."""
    return {
        f"{batch} {name}": {"optimizer": name, "batch_size": batch, "rate": RATES[f"{batch}"][name]}
        for batch in config.batch_sizes
        for name in config.optimizers
        if name in RATES[f"{batch}"]
    }


def grids(config: OptimizersConfig) -> dict[str, Grid]:
    """The sign, the first steps, low ranks, and the long runs, each over the draws."""
    seeds = {"seed": draws(config)}
    sizes = {"alpha": config.alphas, "dim": config.dims}
    noisy, still = ({k: one for k, one in runs(config).items() if bool(one["batch_size"]) == noise} for noise in (1, 0))
    return {
        "sign": Grid(measure_sign, sizes | {"seed": draws(config, config.sign_seeds)}),
        "first": Grid(measure_first, {"dim": config.first_dims} | seeds, alpha=config.first_alpha),
        "rank": Grid(measure_rank, {"alpha": config.alphas, "dim": config.rank_dims} | seeds),
        "runs": Grid(measure_run, {"run": noisy, "factor": config.factors} | seeds),
        "still": Grid(measure_run, {"run": still} | seeds, factor=1.0),
    }


EXPERIMENT = Experiment(
    name="optimizers",
    purpose="Adam, sign, Shampoo, SOAP, NorMuon and Dion on the memory: one step predicted, many counted and ranked",
    profiles={
        "smoke": OptimizersConfig(
            optimizers=("adam", "muon", "soap"),
            alphas=(1.5,),
            dims=(16,),
            n_items=64,
            sign_seeds=2,
            fractions=(0.5,),
            first_dims=(16,),
            rank_dims=(16,),
            run_items=32,
            run_dim=8,
            steps=3,
            batch_sizes=(0, 16),
            factors=(1.0,),
            seeds=2,
        ),
        "cpu": OptimizersConfig(),
        "gpu": OptimizersConfig(
            dims=(256, 512, 1024), n_items=16_384, first_dims=(256, 512), rank_dims=(256, 512), seeds=10
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
