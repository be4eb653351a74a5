"""`optimizers`: Adam, sign, Shampoo, SOAP, NorMuon and Dion on the memory: one step predicted, many counted and ranked.

A question of practice, ours; the optimizers are those of arXiv:1412.6980, arXiv:1802.04434, arXiv:1802.09568,
arXiv:2409.11321, arXiv:2510.05491, arXiv:2504.05295 and arXiv:2604.09967.

Claim: the first step of Shampoo, SOAP and NorMuon is Muon's and that of Adam is the sign, which stores what SGD stores;
a low rank stores less than its share; whether many steps rank them as a language model does is counted.

Caveats: counts are judged from d = 256 on, low ranks from a quarter of d. Long runs are of one memory, N = 1024 and
d = 64, for 60 steps, at rates to a factor of two. The ranking is that of eight optimizers on one language model.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.networks.updates import UPDATES
from amembook.practice.optimizers.judge import judge, summarise
from amembook.practice.optimizers.measure import measure_first, measure_rank, measure_run, measure_sign
from amembook.run.base import Alpha, Alphas, Config, Count, Experiment, Grid, Natural, Positives, draws, each
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.checks import check_choice, check_dims

RATES = {
    "16": {
        "sgd": 64.0, "sign": 0.125, "adam": 0.25, "muon": 0.5, "muon_five_steps": 1.0, "muon_without_momentum": 8.0,
        "muon_squared": 1.0, "normuon": 0.5, "shampoo": 4.0, "one_sided_shampoo": 2.0, "soap": 0.5, "dion": 1.0,
        "full_dion": 1.0,
    },
    "256": {
        "sgd": 64.0, "sign": 0.125, "adam": 0.5, "muon": 1.0, "muon_five_steps": 1.0, "muon_without_momentum": 2.0,
        "muon_squared": 2.0, "normuon": 1.0, "shampoo": 4.0, "one_sided_shampoo": 4.0, "soap": 0.5, "dion": 2.0,
        "full_dion": 1.0,
    },
    "0": {
        "adam": 0.5, "muon": 1.0, "muon_without_momentum": 4.0, "muon_squared": 2.0, "normuon": 1.0, "shampoo": 4.0,
        "one_sided_shampoo": 4.0, "soap": 0.5,
    },
}  # fmt: skip
"""By batch size, 0 for the population, where only the optimizers of the track run: the power of two at which the loss
after 60 steps was least in the mean over the exploratory draws 0, 1 and 2, its neighbours on both sides tried too."""


def _check_fraction(name: str, value: float) -> None:
    if not 0 < value <= 1:
        raise ValueError(f"{name} must lie in (0, 1], got {value!r}")


def _check_batch(name: str, batch: int) -> None:
    if f"{batch}" not in RATES:
        raise ValueError(f"{name} must be among {', '.join(RATES)}, where rates are known, got {batch!r}")


Large = Annotated[tuple[int, ...], partial(check_dims, count=1, least=8)]


@dataclass(frozen=True)
class OptimizersConfig(Config):
    """One step and many of the optimizers of `networks.updates.UPDATES`."""

    optimizers: Annotated[tuple[str, ...], each(partial(check_choice, allowed=tuple(UPDATES)))] = tuple(UPDATES)
    alphas: Alphas = (1.25, 1.5, 2.0)  # of the sign and of low ranks
    dims: Large = (128, 256, 512)  # d of the sign
    n_items: Count = 4096
    sign_seeds: Count = 8  # the sign stores so few items that it needs more draws
    fractions: Annotated[tuple[float, ...], each(_check_fraction)] = (0.125, 0.25, 0.5, 0.75)  # r/d of low ranks
    first_alpha: Alpha = 1.5  # of the first steps
    first_dims: Large = (128, 256)
    rank_dims: Large = (128, 256)
    run_alpha: Alpha = 1.5  # of the long runs
    run_items: Count = 1024
    run_dim: Count = 64
    steps: Count = 60
    batch_sizes: Annotated[tuple[int, ...], each(_check_batch)] = (0, 16, 256)  # 0 for the population
    factors: Positives = (0.5, 1.0, 2.0)  # of the rate in `RATES`; on the population it is the rate itself
    seeds: Count = 5
    first_seed: Natural = 0


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
    sizes = fixed(config, "alphas", "dims", "sign_seeds", "first_dims", "rank_dims", "batch_sizes", "factors")
    seeds = {"seed": draws(config)}
    noisy, still = ({k: one for k, one in runs(config).items() if bool(one["batch_size"]) == noise} for noise in (1, 0))
    axes = {
        "sign": (measure_sign, {"alpha": config.alphas, "dim": config.dims, "seed": draws(config, config.sign_seeds)}),
        "first": (measure_first, {"dim": config.first_dims} | seeds),
        "rank": (measure_rank, {"alpha": config.alphas, "dim": config.rank_dims} | seeds),
        "runs": (measure_run, {"run": noisy, "factor": config.factors} | seeds),
        "still": (measure_run, {"run": still, "factor": (1.0,)} | seeds),
    }
    return {name: Grid(measure, varying, config=sizes) for name, (measure, varying) in axes.items()}


TINY = {"alphas": (1.5,), "dims": (16,), "n_items": 64, "sign_seeds": 2, "fractions": (0.5,), "first_dims": (16,)}
TINY |= {"rank_dims": (16,), "run_items": 32, "run_dim": 8, "steps": 3, "batch_sizes": (0, 16), "factors": (1.0,)}
EXPERIMENT = Experiment(
    name="optimizers",
    purpose=headline(__doc__),
    profiles={
        "smoke": OptimizersConfig(optimizers=("adam", "muon", "soap"), seeds=2, **TINY),
        "cpu": OptimizersConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
