"""`length-generalization`: a transformer answers long strings if short ones have sampled what it reads out.

A study of Izzo, Nichani and Lee, arXiv:2510.27015.

Claim: LG occurs when the internal behavior of the transformer on longer sequences can be “simulated” by its behavior on
shorter sequences seen during training; the first quantitative bounds on the required training length, for worst-case
and for average error (abstract).

Caveats: measured are medians, whose interval is the range of all draws: five hold a median 94 times of 100. A training
length is just long enough where the error is 0.1, a fifth of what answering 0 costs. Muon's errors are judged where
0.05 is expected or more. The record may lack the range of the worst error, and has none of the plateau's exponent.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.length_generalization.expected import whole_samples
from amembook.companions.length_generalization.judge import judge, summarise
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
    draws,
)
from amembook.run.studies import headline
from amemlib.checks import check_count


@dataclass(frozen=True)
class LengthGeneralizationConfig(Config):
    """Sizes of read-outs and of the transformer; m = N/Δ, the tokens of a class at the longest training length."""

    frequencies: Dims = (4, 8, 16)  # ω of read-outs
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
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self):
        for frequency in (*self.frequencies, self.dense_frequency):
            if len(whole_samples(frequency, self.ratios)) < 2:
                raise ValueError(f"ratios must make two whole m ≥ 2 of ω = {frequency}, got {list(self.ratios)}")


def grids(config: LengthGeneralizationConfig) -> dict[str, Grid]:
    """Read-outs trained at one length, at all, and by Muon; one of each kind as a curve; transformers."""
    seeds = {"seed": draws(config)}
    fixed = {"frequency": config.dense_frequency}
    return {
        "one": Grid(measure_readouts, {"frequency": config.frequencies} | seeds, every=0, optimizer="adam"),
        "all": Grid(measure_readouts, seeds, every=1, optimizer="adam", **fixed),
        "muon": Grid(measure_readouts, seeds, every=0, optimizer="muon", **fixed),
        "curve": Grid(measure_curve, {"every": (0, 1)}, seed=config.first_seed, **fixed),
        "transformer": Grid(measure_transformers, {"period": config.periods} | seeds),
    }


EXPERIMENT = Experiment(
    name="length-generalization",
    purpose=headline(__doc__),
    profiles={
        "smoke": LengthGeneralizationConfig(
            frequencies=(4, 8), ratios=(0.5, 0.75), dense_frequency=4, width=8, steps=12, periods=(2, 4),
            samples=(2, 3), batch_size=8, longer=(1, 4, 8), n_strings=50, shown=2, seeds=2,
        ),
        "cpu": LengthGeneralizationConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)  # fmt: skip
