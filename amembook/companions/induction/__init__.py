"""`induction`: whether one attention layer learns an induction head or a positional shortcut, by the max-sum ratio.

A study of Kawata, Song, Bietti, Nishikawa, Suzuki, Vaiter and Wu, arXiv:2512.18634.

Claim: if training sequences are diverse, measured by a low max-sum ratio of trigger-to-trigger distances, the trained
model implements an induction head and generalizes to unseen contexts; when the ratio is large it resorts to a
positional shortcut and fails out of distribution (abstract).

Caveats: R is held to the band of the critical scale's fourth power, accuracies are compared where g⁴ R is below 0.8 and
above 1.5, and a mean of shares has the scatter of draws that have all or none. What is computed of all sequences takes
the value scale as small.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.induction import measure
from amembook.companions.induction.judge import PARTS, judge, summarise
from amembook.run.base import (
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Several,
    draws,
    each,
    some_of,
)
from amembook.run.studies import headline
from amemlib.checks import check_count, check_real


@dataclass(frozen=True)
class InductionConfig(Config):
    """Sizes of the training distributions, of small samples, of the cheapest distribution, and of training."""

    n_tokens: Several = 40  # V
    first_length: Annotated[int, partial(check_count, least=3)] = 8  # the shortest l
    counts: Counts = (1, 2, 4, 8, 16)  # how many lengths
    powers: Annotated[tuple[float, ...], each(check_real)] = (1.0, 0.0, -2.0)  # q_l ∝ l^power; one length comes once
    n_sequences: Count = 100_000  # of a sample
    value_scale: Positive = 1.0  # of the output logits
    scales: Positives = (0.8, 1.0, 1.3, 1.7, 2.2)  # of the positions, for accuracies
    sample_lengths: Count = 16  # of a small sample
    sample_sizes: Counts = (16, 64, 256, 1024, 4096)
    cost_scale: Positive = 1.5  # for the cheapest distribution
    cost_powers: Annotated[tuple[float, ...], each(check_real)] = (-1.0, 0.0, 1.0, 2.0, 3.0)
    train_lengths: Several = 8
    train_steps: Counts = (1, 10, 100, 1000)
    far_lengths: Counts = (8, 32, 128)  # the shortest, of critical scales of all sequences, with 5 tokens for each
    least_lengths: Counts = (8, 16, 32)  # the shortest, of the least cost
    least_scales: Positives = (1.3, 1.5, 1.7)
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self):
        if not self.cost_scale >= 1:
            raise ValueError(f"cost_scale must be at least 1, got {self.cost_scale!r}: below, one length is enough")


def shapes(config: InductionConfig) -> dict[str, dict]:
    """Every training distribution once, by name: the number of lengths and the power of l."""
    pairs = [(count, power) for count in config.counts for power in (config.powers if count > 1 else config.powers[:1])]
    return {f"{count} {power:g}": {"count": count, "power": power} for count, power in dict.fromkeys(pairs)}


def grids(config: InductionConfig) -> dict[str, Grid]:
    """Of the parts: critical scales by training distribution and the cheapest one; the same by sample size and after
    training; critical scales and the least cost of all sequences."""
    seeds = {"seed": draws(config)}
    far = {str(first): {"first_length": first, "n_tokens": 5 * first} for first in config.far_lengths}
    least = {str(first): {"first_length": first, "n_tokens": 5 * first} for first in config.least_lengths}
    parts = {
        "step": {
            "transition": Grid(measure.measure_transition, {"shape": shapes(config)} | seeds),
            "expected": Grid(measure.expected_transition, {"shape": shapes(config)}),
            "cost": Grid(measure.measure_cost, {"power": config.cost_powers} | seeds),
        },
        "few": {
            "samples": Grid(measure.measure_samples, {"n_sequences": config.sample_sizes} | seeds),
            "training": Grid(measure.measure_training, seeds),
        },
        "exact": {
            "far": Grid(measure.expected_transition, {"first": far, "shape": shapes(config)}),
            "least": Grid(measure.exact_cost, {"first": least, "scale": config.least_scales}),
        },
    }
    return {name: grid for part in config.parts for name, grid in parts[part].items()}


EXPERIMENT = Experiment(
    name="induction",
    purpose=headline(__doc__),
    profiles={
        "smoke": InductionConfig(
            n_tokens=10, first_length=3, counts=(1, 2), powers=(1.0, 0.0), n_sequences=500, scales=(0.8, 2.0),
            sample_lengths=2, sample_sizes=(50, 100), cost_scale=1.05, cost_powers=(1.0, 2.0), train_lengths=2,
            train_steps=(1, 10), far_lengths=(3, 4), least_lengths=(3, 4), least_scales=(1.2,), seeds=2,
        ),
        "cpu": InductionConfig(far_lengths=(32, 128)),  # its first part has the shortest
        "exact": InductionConfig(parts=("few", "exact"), seeds=64, first_seed=65_200),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={
        "parts": ("step", "few"), "far_lengths": (8, 32, 128), "least_lengths": (8, 16, 32),
        "least_scales": (1.3, 1.5, 1.7),
    },
)  # fmt: skip
