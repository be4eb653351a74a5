"""`length-generalization`: a transformer answers long strings if short ones have sampled what it reads out.

A study of Izzo, Nichani and Lee, arXiv:2510.27015.

Claim: LG occurs when the internal behavior of the transformer on longer sequences can be “simulated” by its behavior on
shorter sequences seen during training; the first quantitative bounds on the required training length, for worst-case
and for average error (abstract).

Caveats: measured are medians. Their interval lies between two draws, counted from both ends, that hold a median 95
times of 100: of five draws the first and the last, 94 times. A training length is just long enough where the error is
0.1, a fifth of what answering 0 costs. Muon's errors are judged where 0.05 is expected or more, by pairs of runs that
share wave and start where a record has them. The first record lacks the range of the worst error, and no record has one
of the plateau's exponent.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.length_generalization.expected import whole_samples
from amembook.companions.length_generalization.judge import PARTS, judge, summarise
from amembook.companions.length_generalization.measure import measure_curve, measure_readouts, measure_transformers
from amembook.run.base import (
    Config,
    Count,
    Counts,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Sizes,
    draws,
    some_of,
)
from amembook.run.studies import headline
from amemlib.checks import check_count


@dataclass(frozen=True)
class LengthGeneralizationConfig(Config):
    """Sizes of read-outs and of the transformer; m = N/Δ, the tokens of a class at the longest training length."""

    frequencies: Sizes = (4, 8, 16)  # ω of read-outs
    ratios: Positives = (0.375, 0.5, 0.625, 0.75, 1.0, 1.25)  # m/ω; pairs without a whole m from 2 on are left out
    dense_frequency: Count = 8  # ω of those trained on all lengths, and by Muon
    width: Count = 48
    steps: Annotated[int, partial(check_count, least=10)] = 3000
    lr: Positive = 0.003
    muon_lr: Positive = 0.02
    periods: Dims = (4, 8, 16)  # Δ of the transformer
    samples: Counts = (2, 3, 4, 6)  # m of the transformer
    wave: Count = 4  # ω of the transformer
    batch_size: Count = 64  # strings a step
    longer: Dims = (1, 2, 4, 16, 64)  # test lengths over N
    n_strings: Count = 4000  # fresh ones a length
    shown: Count = 4  # the m of the picture
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    alone_seeds: Natural = 0  # draws from the longest alone, by Adam and by Muon; 0 for as many as `seeds`
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self):
        for frequency in (*self.frequencies, self.dense_frequency):
            if len(whole_samples(frequency, self.ratios)) < 2:
                raise ValueError(f"ratios must make two whole m ≥ 2 of ω = {frequency}, got {list(self.ratios)}")
        if self.alone_seeds > self.seeds:
            raise ValueError(f"alone_seeds must be at most seeds = {self.seeds}, got {self.alone_seeds}")


def grids(config: LengthGeneralizationConfig) -> dict[str, Grid]:
    """Read-outs trained at one length, at all, and by Muon; one of each kind as a curve; transformers."""
    seeds, alone = {"seed": draws(config)}, {"seed": draws(config)[: config.alone_seeds or config.seeds]}
    fixed = {"frequency": config.dense_frequency}
    every = {
        "one": Grid(measure_readouts, {"frequency": config.frequencies} | alone, every=0, optimizer="adam"),
        "all": Grid(measure_readouts, seeds, every=1, optimizer="adam", **fixed),
        "muon": Grid(measure_readouts, alone, every=0, optimizer="muon", **fixed),
        "curve": Grid(measure_curve, {"every": (0, 1)}, seed=config.first_seed, **fixed),
        "transformer": Grid(measure_transformers, {"period": config.periods} | seeds),
    }
    return {name: grid for name, grid in every.items() if name != "transformer" or "transformers" in config.parts}


EXPERIMENT = Experiment(
    name="length-generalization",
    purpose=headline(__doc__),
    profiles={
        "smoke": LengthGeneralizationConfig(
            frequencies=(4, 8), ratios=(0.5, 0.75), dense_frequency=4, width=8, steps=12, periods=(2, 4),
            samples=(2, 3), batch_size=8, longer=(1, 4, 8), n_strings=50, shown=2, seeds=2,
        ),
        "cpu": LengthGeneralizationConfig(),
        # what five draws left too wide: read-outs of one frequency, from one length and from all, and by Muon
        "dense": LengthGeneralizationConfig(
            parts=("read-outs",), frequencies=(8,), alone_seeds=20, seeds=90, first_seed=76_000
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={"parts": PARTS, "alone_seeds": 0},
)  # fmt: skip
