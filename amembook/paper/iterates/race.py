"""`race`: Muon and gradient descent step by step, both predicted with nothing fitted (Figure 5).

Caveats: d = 128; counts are held to 3 % in the first eight steps and to 5 % beyond. Level means nine tenths.
"""

from dataclasses import dataclass

import numpy as np

from amembook.laws import descent_iterates, mean_field_iterates
from amembook.paper.iterates.measure import GD_RATE, measure_descent, measure_muon
from amembook.run.base import (
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Results,
    Several,
    SteepAlphas,
    draws,
    standard_error,
)
from amembook.run.claims import SIZES, SMALL, equivalence, family, numbers
from amembook.run.studies import headline
from amemlib.problem import Problem

EARLY = 8
EARLY_BAND, LATE_BAND = SIZES, SMALL
"""Counts of the first eight steps have the band of counts, those beyond that of small ones, as in `trajectory`."""
LEVEL = 0.9
"""Descent is level where it has nine tenths of Muon's count at the same step."""


@dataclass(frozen=True)
class RaceConfig(Config):
    """Muon at η = √d and gradient descent at η_t = 3 √d / ‖G_t‖_op on the population loss, and what predicts them."""

    alphas: SteepAlphas = (1.25, 1.5, 1.75, 2.0)
    dim: Count = 128
    n_items: Several = 4096
    seeds: Count = 8
    steps: Count = 20  # T
    first_seed: Natural = 0


def solve_descent(n_items: int, dim: int, alpha: float, steps: int) -> dict:
    """Gradient descent's counts by `descent_iterates`, and the standard errors of its solution."""
    return _numbers(descent_iterates(Problem.power_law(n_items, dim, alpha), GD_RATE, steps))


def solve_muon(n_items: int, dim: int, alpha: float, steps: int) -> dict:
    """Muon's counts by `mean_field_iterates` at η = √d, and the standard errors of its solution."""
    return _numbers(mean_field_iterates(Problem.power_law(n_items, dim, alpha), 1.0, steps))


def _numbers(law) -> dict:
    return {"count": law.counts, "error": law.errors}


def race_grids(config: RaceConfig) -> dict[str, Grid]:
    """Draws of both optimizers at every power law, and what predicts each."""
    power_laws = {"alpha": config.alphas}
    drawn = power_laws | {"seed": draws(config)}
    return {
        "muon": Grid(measure_muon, drawn, lr_over_root_dim=1.0, momentum=0.0, batch_size=0),
        "descent": Grid(measure_descent, drawn),
        "muon_law": Grid(solve_muon, power_laws),
        "descent_law": Grid(solve_descent, power_laws),
    }


def race_summary(config: RaceConfig, results: Results) -> tuple[dict, dict]:
    """Counts and their standard errors (alphas, T) of both, measured and predicted, and the steps where they meet."""
    measured, predicted = {}, {}
    for name in ("muon", "descent"):
        counts = results.array(name, "count")
        measured |= {name: counts.mean(1), f"{name}_errors": standard_error(counts, 1)}
        law = f"{name}_law"
        predicted |= {name: results.array(law, "count"), f"{name}_errors": results.array(law, "error")}
    for side in (measured, predicted):
        side["level"] = [level(muon, descent) for muon, descent in zip(side["muon"], side["descent"], strict=True)]
    return measured, predicted


def level(muon, descent) -> int | None:
    """The first step, counted from 1, at which descent has `LEVEL` of Muon's count; None if there is none."""
    reached = np.asarray(descent) >= LEVEL * np.asarray(muon)
    return int(reached.argmax()) + 1 if reached.any() else None


def judge_race(config: RaceConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Descent's counts of the first steps and of later ones, and the step at which it draws level.

    The prediction is made for these sizes and has nothing to converge to.
    """
    counts, law, muon = measured["descent"], predicted["descent"], predicted["muon"]
    error = np.hypot(measured["descent_errors"], predicted["descent_errors"])
    verdicts = {name: equivalence([]) for name in ("early", "late", "level")}
    if config.seeds < 2:
        return verdicts
    lagged = np.concatenate([np.repeat(law[:, :1], 3, 1), muon], 1)[:, : law.shape[1]]
    rivals = {
        "one step later": np.concatenate([law[:, :1], law[:, :-1]], 1),
        "Muon": muon,
        "Muon, three steps later": lagged,
        "another power law": np.roll(law, 1, 0),
    }
    powers = [f"α = {alpha:g}" for alpha in config.alphas]
    for name, steps, band in (("early", slice(0, EARLY), EARLY_BAND), ("late", slice(EARLY, None), LATE_BAND)):
        if law[:, steps].size:
            cut = {other: values[:, steps] for other, values in rivals.items()}
            held_to = {"law": law[:, steps], "band": band, "rivals": cut, "at": powers}
            verdicts[name] = equivalence(family("items", counts[:, steps], error[:, steps], config.seeds, **held_to))
    never = config.steps + 3
    steps, law = (np.nan_to_num(side["level"], nan=never) for side in (measured, predicted))
    # a step is as fine as the time is known
    held_to = {"law": law, "band": SMALL, "low": steps - 1, "high": steps + 1, "at": powers}
    made = numbers("level after steps,", steps, draws=config.seeds, rivals={"three steps later": law + 3}, **held_to)
    return verdicts | {"level": equivalence(made)}


EXPERIMENT = Experiment(
    name="race",
    purpose=headline(__doc__),
    profiles={
        "smoke": RaceConfig(alphas=(1.25, 2.0), dim=24, n_items=256, seeds=2, steps=4),
        "cpu": RaceConfig(),
        "gpu": RaceConfig(dim=256, n_items=16_384, first_seed=23_000),
    },
    grids=race_grids,
    summarise=race_summary,
    judge=judge_race,
    unseen_from=3000,
)
