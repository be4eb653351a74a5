"""The experiment that the tests of sweeps run: squares of the first numbers, so that a cell costs nothing."""

from dataclasses import dataclass

from amemlib.experiments import Experiment, Grid
from amemlib.verdicts import consistency


@dataclass(frozen=True)
class Config:
    n: int = 6
    first_seed: int = 1000


def square(x: int) -> dict:
    return {"square": x * x}


def squares(function=square) -> Experiment:
    """Whatever stands in for `square`: something that fails, that is slow, or whose code is another."""
    return Experiment(
        "toy",
        "squares of the first numbers",
        {"smoke": Config()},
        grids=lambda config: {"square": Grid(function, {"x": range(config.n)})},
        summarise=lambda config, results: ({"squares": results.array("square", "square").tolist()}, {}),
        judge=lambda config, measured, predicted: {"positive": consistency(min(measured["squares"]) >= 0)},
    )
