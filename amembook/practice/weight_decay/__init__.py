"""`weight-decay`: what weight decay does to Muon on the memory: a bound on ‖W‖_op, and what it costs or gains.

A question of practice about arXiv:2506.15054 and arXiv:2502.16982.
"""

from dataclasses import dataclass

from amembook.practice.weight_decay.judge import judge, summarise
from amembook.practice.weight_decay.measure import measure_bounded, measure_run
from amembook.run.base import (
    Alphas,
    AscendingCounts,
    AscendingPositives,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positive,
    Several,
    Sizes,
    SteepAlpha,
    draws,
)

PAPER = "ours; that decayed Muon bounds the spectral norm is in arXiv:2506.15054"
CLAIM = (
    "strong weight decay leaves the items of one Muon step; the bound at which there are twice as many does not grow "
    "with the dimension; on batches decay lowers the loss by less than a tenth"
)


@dataclass(frozen=True)
class WeightDecayConfig(Config):
    """The least loss under ‖W‖_op ≤ R on the population, N = `items_per_dim` d; then runs on batches."""

    alpha: SteepAlpha = 1.5
    dims: Sizes = (32, 48, 64, 96)
    other_alphas: Alphas = (1.25, 2.0)  # at the third of `dims`
    items_per_dim: Count = 16
    radii: AscendingPositives = (2.0, 8.0, 11.3, 16.0, 22.6)  # R = 1/λ
    bounded_steps: Several = 80
    seeds: Count = 8
    # runs on batches, the rate tuned for every draw and λ
    run_dim: Several = 64
    run_items: Several = 1024
    run_steps: Several = 240
    horizon: Positive = 24.0  # of the rule β = 1 − horizon/T
    run_radii: AscendingPositives = (64.0, 128.0)
    batch_sizes: AscendingCounts = (16, 256)
    run_seeds: Count = 4
    first_seed: Natural = 0

    def limits(self) -> None:
        if len(self.dims) < 3:
            raise ValueError(f"dims must hold three numbers or more, got {list(self.dims)}")
        if self.run_steps < self.horizon:
            raise ValueError(f"run_steps must be at least the horizon {self.horizon:g}, got {self.run_steps}")


def places(config: WeightDecayConfig) -> dict[str, dict]:
    """Every α and d by "α d"."""
    pairs = [(config.alpha, dim) for dim in config.dims]
    pairs += [(alpha, config.dims[2]) for alpha in config.other_alphas]
    return {f"{alpha:g} {dim}": {"alpha": alpha, "dim": dim} for alpha, dim in pairs}


def grids(config: WeightDecayConfig) -> dict[str, Grid]:
    """The bounded minima, and runs by batch and by 1/λ, 0 for no decay."""
    return {
        "bounded": Grid(measure_bounded, {"place": places(config), "seed": draws(config)}),
        "runs": Grid(
            measure_run,
            {
                "batch_size": config.batch_sizes,
                "radius": (0.0, *config.run_radii),
                "seed": draws(config, config.run_seeds),
            },
        ),
    }


EXPERIMENT = Experiment(
    name="weight-decay",
    purpose="weight decay of Muon on the memory: the bound on the weights, the items under it, and runs on batches",
    profiles={
        "smoke": WeightDecayConfig(
            dims=(6, 8, 10),
            items_per_dim=4,
            radii=(2.0, 8.0),
            bounded_steps=5,
            seeds=2,
            run_dim=6,
            run_items=24,
            run_steps=4,
            horizon=2.0,
            run_radii=(16.0, 32.0),
            batch_sizes=(4, 8),
            run_seeds=2,
        ),
        "cpu": WeightDecayConfig(),
        "confirm": WeightDecayConfig(first_seed=6850),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6850,
)
