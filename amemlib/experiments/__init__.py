"""The named experiments: for each a frozen config, its sizes, what a cell measures, what the theory predicts for it.

One file an experiment, `EXPERIMENT` in it; a lab (`labs`) is found the same way. A cell is a function and its keyword
arguments, plain numbers in, a plain dict out: it can run in any process and its result can be stored. A summary puts
measured beside predicted, a judge gives the verdicts. Nothing is imported before it is asked for.
"""

import pkgutil
from importlib import import_module
from pathlib import Path

from amemlib import lazy
from amemlib.experiments.base import Cell, Experiment, Grid, Results, config_of, configure

CORE = (
    "one-step",
    "spectral-maps",
    "critical-batch",
    "signal",
    "interactions",
    "loss",
    "optimality",
    "lemmas",
    "precision",
    "deflation",
    "sharp",
    "many-steps",
    "trajectory",
    "race",
    "recall-rates",
    "recall",
    "recall-capacity",
    "vocabulary",
    "giant",
)
"""The experiments of the core chapters, in the order of the book."""

MEASURES = ("iterates", "recall_runs", "sharp_counts", "vocabulary_counts")
"""Modules of cells that stand apart from the predictions beside which they are put."""

__getattr__, __dir__, _ = lazy.attach(__name__, {}, rooms=(*(name.replace("-", "_") for name in CORE), *MEASURES))


def labs() -> tuple[str, ...]:
    """The experiments of the labs: the folders of `amemlib/labs`."""
    folders = pkgutil.iter_modules([str(Path(__file__).resolve().parents[1] / "labs")])
    return tuple(sorted(module.name.replace("_", "-") for module in folders if module.ispkg))


def names() -> tuple[str, ...]:
    """The names of all experiments, the core's first."""
    return CORE + labs()


def find_experiment(name: str) -> Experiment:
    """The experiment of that name; `ValueError` listing the names if there is none."""
    if name not in names():
        raise ValueError(f"experiment must be one of {', '.join(names())}, got {name!r}")
    room = "experiments" if name in CORE else "labs"
    return import_module(f"amemlib.{room}.{name.replace('-', '_')}").EXPERIMENT


__all__ = [
    "CORE",
    "Cell",
    "Experiment",
    "Grid",
    "Results",
    "config_of",
    "configure",
    "find_experiment",
    "labs",
    "names",
]
