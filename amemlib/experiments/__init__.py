"""The named experiments: for each a frozen config, its sizes, what a cell measures, what the theory predicts for it.

One file an experiment. A cell is a function and its keyword arguments, plain numbers in, a plain dict out: it can run
in any process and its result can be stored. A summary puts measured beside predicted and gives the verdict.
"""

from amemlib.experiments.base import Cell, Experiment, Summary, configure
from amemlib.experiments.critical_batch import CRITICAL_BATCH, CriticalBatchConfig
from amemlib.experiments.deflation import DEFLATION, DeflationConfig
from amemlib.experiments.giant import GIANT, GiantConfig
from amemlib.experiments.interactions import INTERACTIONS, InteractionsConfig
from amemlib.experiments.lemmas import LEMMAS, LemmasConfig
from amemlib.experiments.loss import LOSS, LossConfig
from amemlib.experiments.many_steps import MANY_STEPS, ManyStepsConfig
from amemlib.experiments.one_step import ONE_STEP, OneStepConfig
from amemlib.experiments.optimality import OPTIMALITY, OptimalityConfig
from amemlib.experiments.precision import PRECISION, PrecisionConfig
from amemlib.experiments.recall import RECALL, RECALL_RATES, RatesConfig, RecallConfig
from amemlib.experiments.sharp import SHARP, SharpConfig
from amemlib.experiments.signal import SIGNAL, SignalConfig
from amemlib.experiments.spectral_maps import SPECTRAL_MAPS, SpectralMapsConfig
from amemlib.experiments.vocabulary import VOCABULARY, VocabularyConfig

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        ONE_STEP,
        SPECTRAL_MAPS,
        CRITICAL_BATCH,
        SIGNAL,
        INTERACTIONS,
        LOSS,
        OPTIMALITY,
        LEMMAS,
        PRECISION,
        DEFLATION,
        SHARP,
        MANY_STEPS,
        RECALL_RATES,
        RECALL,
        VOCABULARY,
        GIANT,
    )
}
"""Every experiment by name."""


def find_experiment(name: str) -> Experiment:
    """The experiment of that name; `ValueError` listing the names if there is none."""
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    return EXPERIMENTS[name]


__all__ = [
    "CRITICAL_BATCH",
    "CriticalBatchConfig",
    "DEFLATION",
    "DeflationConfig",
    "EXPERIMENTS",
    "Cell",
    "Experiment",
    "GIANT",
    "GiantConfig",
    "INTERACTIONS",
    "InteractionsConfig",
    "LEMMAS",
    "LOSS",
    "LemmasConfig",
    "LossConfig",
    "MANY_STEPS",
    "ManyStepsConfig",
    "ONE_STEP",
    "OPTIMALITY",
    "OneStepConfig",
    "OptimalityConfig",
    "PRECISION",
    "PrecisionConfig",
    "RECALL",
    "RECALL_RATES",
    "RatesConfig",
    "RecallConfig",
    "SHARP",
    "SIGNAL",
    "SPECTRAL_MAPS",
    "SharpConfig",
    "SignalConfig",
    "SpectralMapsConfig",
    "Summary",
    "VOCABULARY",
    "VocabularyConfig",
    "configure",
    "find_experiment",
]
