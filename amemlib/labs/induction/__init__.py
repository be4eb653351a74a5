"""`induction`: whether one attention layer learns an induction head or a positional shortcut, by the max-sum ratio.

A lab on Kawata, Song, Bietti, Nishikawa, Suzuki, Vaiter and Wu, arXiv:2512.18634.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_positive, check_real
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.induction.judge import judge, summarise
from amemlib.labs.induction.measure import (
    expected_transition,
    measure_cost,
    measure_samples,
    measure_training,
    measure_transition,
)

PAPER = "arXiv:2512.18634"
CLAIM = (
    "if training sequences are diverse, measured by a low max-sum ratio of trigger-to-trigger distances, the trained "
    "model implements an induction head and generalizes to unseen contexts; when the ratio is large it resorts to a "
    "positional shortcut and fails out of distribution (abstract)"
)


@dataclass(frozen=True)
class InductionConfig:
    """Sizes of the lab.

    n_tokens: V. first_length: the shortest l. counts, powers: how many lengths, and the powers of l that q_l is
    proportional to; a single length comes once. n_sequences: of a sample. value_scale: of the output logits. scales: of
    the positions, for accuracies. sample_lengths, sample_sizes: the lengths and sequences of a small sample.
    cost_scale, cost_powers: for the cheapest distribution. train_lengths, train_steps: for training.
    """

    n_tokens: int = 40
    first_length: int = 8
    counts: tuple[int, ...] = (1, 2, 4, 8, 16)
    powers: tuple[float, ...] = (1.0, 0.0, -2.0)
    n_sequences: int = 100_000
    value_scale: float = 1.0
    scales: tuple[float, ...] = (0.8, 1.0, 1.3, 1.7, 2.2)
    sample_lengths: int = 16
    sample_sizes: tuple[int, ...] = (16, 64, 256, 1024, 4096)
    cost_scale: float = 1.5
    cost_powers: tuple[float, ...] = (-1.0, 0.0, 1.0, 2.0, 3.0)
    train_lengths: int = 8
    train_steps: tuple[int, ...] = (1, 10, 100, 1000)
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        check_count("n_tokens", self.n_tokens, least=2)
        check_count("first_length", self.first_length, least=3)
        for name in ("n_sequences", "sample_lengths", "seeds"):
            check_count(name, getattr(self, name))
        check_count("train_lengths", self.train_lengths, least=2)
        check_count("first_seed", self.first_seed, least=0)
        for name in ("counts", "sample_sizes", "train_steps"):
            for value in getattr(self, name):
                check_count(name, value)
        for name in ("powers", "cost_powers"):
            for value in getattr(self, name):
                check_real(name, value)
        for name in ("value_scale", "cost_scale"):
            check_positive(name, getattr(self, name))
        for value in self.scales:
            check_positive("scales", value)
        if not self.cost_scale >= 1:
            raise ValueError(f"cost_scale must be at least 1, got {self.cost_scale!r}: below, one length is enough")


def shapes(config: InductionConfig) -> dict[str, dict]:
    """Every training distribution once, by name: the number of lengths and the power of l."""
    found = [(count, power) for count in config.counts for power in (config.powers if count > 1 else config.powers[:1])]
    return {f"{count} {power:g}": {"count": count, "power": power} for count, power in dict.fromkeys(found)}


def grids(config: InductionConfig) -> dict[str, Grid]:
    """Critical scales by training distribution, by sample size, after training; the cheapest distribution."""
    seeds = {"seed": draws(config)}
    return {
        "transition": Grid(measure_transition, {"shape": shapes(config)} | seeds),
        "expected": Grid(expected_transition, {"shape": shapes(config)}),
        "samples": Grid(measure_samples, {"n_sequences": config.sample_sizes} | seeds),
        "cost": Grid(measure_cost, {"power": config.cost_powers} | seeds),
        "training": Grid(measure_training, seeds),
    }


EXPERIMENT = Experiment(
    name="induction",
    purpose="the scale of positions at which a shortcut beats the induction head, by max-sum ratio; SGD and Muon",
    profiles={
        "smoke": InductionConfig(
            n_tokens=10,
            first_length=3,
            counts=(1, 2),
            powers=(1.0, 0.0),
            n_sequences=500,
            scales=(0.8, 2.0),
            sample_lengths=2,
            sample_sizes=(50, 100),
            cost_scale=1.05,
            cost_powers=(1.0, 2.0),
            train_lengths=2,
            train_steps=(1, 10),
            seeds=2,
        ),
        "cpu": InductionConfig(),
        "gpu": InductionConfig(n_sequences=400_000, seeds=10),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
