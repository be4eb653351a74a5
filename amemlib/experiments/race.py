"""`race`: Muon and gradient descent step by step, both predicted with nothing fitted, and where descent draws level."""

from dataclasses import dataclass

import numpy as np

from amemlib.checks import check_alpha, check_count
from amemlib.equivalents import descent_iterates, mean_field_iterates
from amemlib.experiments.base import Experiment, Grid, Results, draws, standard_error
from amemlib.experiments.iterates import GD_RATE, measure_descent, measure_muon
from amemlib.problem import Problem
from amemlib.verdicts import refuse, verdict

EARLY = 8
EARLY_BAND, LATE_BAND = 0.05, 0.1
"""Counts are held to 5 % for the first eight steps and to 10 % beyond, each with two standard errors."""
LEVEL, LEVEL_BAND = 0.9, 2
"""Descent is level where it has nine tenths of Muon's count at the same step; predicted to two steps."""


@dataclass(frozen=True)
class RaceConfig:
    """Muon at η = √d and gradient descent at η_t = 3 √d / ‖G_t‖_op on the population loss, and what predicts them.

    alphas: power laws. dim, n_items, seeds: d, N, and draws. steps: T. first_seed: where the seeds start.
    """

    alphas: tuple[float, ...] = (1.25, 1.5, 1.75, 2.0)
    dim: int = 128
    n_items: int = 4096
    seeds: int = 8
    steps: int = 20
    first_seed: int = 0

    def __post_init__(self):
        for alpha in self.alphas:
            check_alpha(alpha, above=1.0)
        for name in ("dim", "seeds", "steps"):
            check_count(name, getattr(self, name))
        check_count("n_items", self.n_items, least=2)
        check_count("first_seed", self.first_seed, least=0)


def solve_descent(alpha: float, n_items: int, dim: int, steps: int) -> dict:
    """Gradient descent's counts by `descent_iterates`, and the standard errors of its solution."""
    return _numbers(descent_iterates(Problem.power_law(n_items, dim, alpha), GD_RATE, steps))


def solve_muon(alpha: float, n_items: int, dim: int, steps: int) -> dict:
    """Muon's counts by `mean_field_iterates` at η = √d, and the standard errors of its solution."""
    return _numbers(mean_field_iterates(Problem.power_law(n_items, dim, alpha), 1.0, steps))


def _numbers(found) -> dict:
    return {"count": found.counts.tolist(), "error": found.errors.tolist()}


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
        measured |= {name: counts.mean(1).tolist(), f"{name}_errors": standard_error(counts, 1).tolist()}
        law = {key: results.array(f"{name}_law", key).tolist() for key in ("count", "error")}
        predicted |= {name: law["count"], f"{name}_errors": law["error"]}
    for side in (measured, predicted):
        side["level"] = [level(muon, descent) for muon, descent in zip(side["muon"], side["descent"], strict=True)]
    return measured, predicted


def level(muon, descent) -> int | None:
    """The first step, counted from 1, at which descent has `LEVEL` of Muon's count; None if there is none."""
    reached = np.array(descent) >= LEVEL * np.array(muon)
    return int(reached.argmax()) + 1 if reached.any() else None


def judge_race(config: RaceConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Descent's counts of the first steps and of later ones, and the step at which it draws level.

    The prediction is made for these sizes and has nothing to converge to: one answer to both questions.
    """
    counts, law, muon = (np.array(values) for values in (measured["descent"], predicted["descent"], predicted["muon"]))
    error = np.hypot(np.array(measured["descent_errors"]), np.array(predicted["descent_errors"]))
    verdicts = {name: verdict(None, None) for name in ("early", "late", "level")}
    if config.seeds < 2:
        return verdicts
    lagged = np.concatenate([np.repeat(law[:, :1], 3, 1), muon], 1)[:, : law.shape[1]]
    rivals = {
        "no growth": law[:, :1] + 0 * law,
        "one step later": np.concatenate([law[:, :1], law[:, :-1]], 1),
        "Muon": muon,
        "Muon, three steps later": lagged,
        "another power law": np.roll(law, 1, 0),
    }
    for name, steps, band in (("early", slice(0, EARLY), EARLY_BAND), ("late", slice(EARLY, None), LATE_BAND)):
        if not law[:, steps].size:
            continue

        def meets(values, steps=steps, band=band) -> bool:
            values = values[:, steps]
            return bool((np.abs(counts[:, steps] - values) <= band * values + 2 * error[:, steps]).all())

        verdicts[name] = verdict(meets(law), meets(law), refuse(meets, rivals), config.seeds)

    never = config.steps + LEVEL_BAND + 1
    found, expected = (np.array([step or never for step in side["level"]]) for side in (measured, predicted))
    near = lambda steps: bool((np.abs(found - steps) <= LEVEL_BAND).all())  # noqa: E731
    others = {"at once": 1 + 0 * expected, "never": never + 0 * expected, "three steps later": 4 + 0 * expected}
    return verdicts | {"level": verdict(near(expected), near(expected), refuse(near, others), config.seeds)}


EXPERIMENT = Experiment(
    name="race",
    purpose="Muon and gradient descent step by step, both predicted with nothing fitted (Figure 5)",
    profiles={
        "smoke": RaceConfig(alphas=(1.25, 2.0), dim=24, n_items=256, seeds=2, steps=4),
        "cpu": RaceConfig(),
        "gpu": RaceConfig(dim=256, n_items=16_384),
    },
    grids=race_grids,
    summarise=race_summary,
    judge=judge_race,
    unseen_from=3000,
)
