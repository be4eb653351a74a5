"""`length-generalization`: a transformer answers long strings if short ones have sampled what it reads out.

A lab on Izzo, Nichani and Lee, arXiv:2510.27015.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.length_generalization.expected import whole_samples
from amemlib.labs.length_generalization.judge import judge, summarise
from amemlib.labs.length_generalization.measure import measure_curve, measure_readouts, measure_transformers

PAPER = "arXiv:2510.27015"
CLAIM = (
    "LG occurs when the internal behavior of the transformer on longer sequences can be “simulated” by its behavior on "
    "shorter sequences seen during training; the first quantitative bounds on the required training length, for "
    "worst-case and for average error (abstract)"
)


@dataclass(frozen=True)
class LengthGeneralizationConfig:
    """Sizes of the lab.

    frequencies, ratios: ω, and the m/ω of its read-outs, m = N/Δ being the tokens of a class at the longest training
    length; pairs whose m is no whole number from 2 on are left out. dense_frequency: ω of those trained on all lengths,
    and by Muon. width, steps, lr, muon_lr: of the read-outs and their training.
    periods, samples, wave: Δ, m and ω of the transformer; batch_size: strings a step; longer: test lengths over N;
    n_strings: fresh ones a length. shown: the m of the picture.
    """

    frequencies: tuple[int, ...] = (4, 8, 16)
    ratios: tuple[float, ...] = (0.375, 0.5, 0.625, 0.75, 1.0, 1.25)
    dense_frequency: int = 8
    width: int = 48
    steps: int = 3000
    lr: float = 0.003
    muon_lr: float = 0.02
    periods: tuple[int, ...] = (4, 8, 16)
    samples: tuple[int, ...] = (2, 3, 4, 6)
    wave: int = 4
    batch_size: int = 64
    longer: tuple[int, ...] = (1, 2, 4, 16, 64)
    n_strings: int = 4000
    shown: int = 4
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for name in ("frequencies", "periods", "samples", "longer"):
            check_dims(name, getattr(self, name), count=2)
        for name in ("width", "batch_size", "n_strings", "dense_frequency", "wave", "shown"):
            check_count(name, getattr(self, name))
        check_count("steps", self.steps, least=10)
        for name in ("lr", "muon_lr"):
            check_positive(name, getattr(self, name))
        for ratio in self.ratios:
            check_positive("ratios", ratio)
        for frequency in (*self.frequencies, self.dense_frequency):
            if len(whole_samples(frequency, self.ratios)) < 2:
                raise ValueError(f"ratios must make two whole m ≥ 2 of ω = {frequency}, got {list(self.ratios)}")
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


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
    purpose="error on long strings after training on short ones: a law of sampling, for read-outs and a transformer",
    profiles={
        "smoke": LengthGeneralizationConfig(
            frequencies=(4, 8),
            ratios=(0.5, 0.75),
            dense_frequency=4,
            width=8,
            steps=12,
            periods=(2, 4),
            samples=(2, 3),
            batch_size=8,
            longer=(1, 4, 8),
            n_strings=50,
            shown=2,
            seeds=2,
        ),
        "cpu": LengthGeneralizationConfig(),
        "gpu": LengthGeneralizationConfig(frequencies=(4, 8, 16, 24), steps=6000, width=96, n_strings=32_000, seeds=10),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
