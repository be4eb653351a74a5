"""The study that the tests of runs use: squares of the first numbers, so that a cell costs nothing."""

from dataclasses import dataclass

from amembook.run.base import Config as Fields
from amembook.run.base import Count, Experiment, Grid, Natural
from amembook.run.claims import check


@dataclass(frozen=True)
class Config(Fields):
    n: Count = 6
    first_seed: Natural = 1000


def square(x: int) -> dict:
    return {"square": x * x}


def measured(config, results) -> tuple[dict, dict]:
    return {"squares": results.array("square", "square")}, {}


def squares(function=square, summarise=measured) -> Experiment:
    """Whatever stands in for `square`: something that fails, that is slow, or whose code is another."""
    return Experiment(
        "toy",
        "squares of the first numbers",
        {"smoke": Config()},
        grids=lambda config: {"square": Grid(function, {"x": range(config.n)})},
        summarise=summarise,
        judge=lambda config, measured, predicted: {"positive": check(-min(measured["squares"]))},
    )
