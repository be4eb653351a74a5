"""The named experiments: for each a frozen config, its sizes, what a cell measures, what the theory predicts for it.

One file an experiment. A cell is a function and its keyword arguments, plain numbers in, a plain dict out: it can run
in any process and its result can be stored. A summary puts measured beside predicted and gives the verdict.
"""

from amemlib.experiments.base import Cell, Experiment, Summary, configure
from amemlib.experiments.critical_batch import CRITICAL_BATCH, CriticalBatchConfig
from amemlib.experiments.interactions import INTERACTIONS, InteractionsConfig
from amemlib.experiments.lemmas import LEMMAS, LemmasConfig
from amemlib.experiments.loss import LOSS, LossConfig
from amemlib.experiments.one_step import ONE_STEP, OneStepConfig
from amemlib.experiments.optimality import OPTIMALITY, OptimalityConfig
from amemlib.experiments.signal import SIGNAL, SignalConfig
from amemlib.experiments.spectral_maps import SPECTRAL_MAPS, SpectralMapsConfig

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (ONE_STEP, SPECTRAL_MAPS, CRITICAL_BATCH, SIGNAL, INTERACTIONS, LOSS, OPTIMALITY, LEMMAS)
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
    "EXPERIMENTS",
    "Cell",
    "Experiment",
    "INTERACTIONS",
    "InteractionsConfig",
    "LEMMAS",
    "LOSS",
    "LemmasConfig",
    "LossConfig",
    "ONE_STEP",
    "OPTIMALITY",
    "OneStepConfig",
    "OptimalityConfig",
    "SIGNAL",
    "SPECTRAL_MAPS",
    "SignalConfig",
    "SpectralMapsConfig",
    "Summary",
    "configure",
    "find_experiment",
]
