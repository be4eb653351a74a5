"""Losses by optimizer at both budgets, beside the law."""

import math

import numpy as np

from amembook.practice.one_shot.expected import DATA_ALONE, fitted, law
from amembook.practice.one_shot.measure import OPTIMIZERS
from amembook.run.base import Results, standard_error
from amembook.run.claims import RATIO, SMALL, check, equivalence, numbers, order

KEYS = ("excess", "loss", "error", "head", "floor", "steps")


def summarise(config, results: Results) -> tuple[dict, dict]:
    """measured: rung and shot, by key of `measure_run`, then by optimizer, all draws; arguments of both by optimizer.
    predicted: rung and shot, by optimizer the excess; data_alone and fitted likewise; exponents of `fitted`.
    """
    budgets = {"rung": config.rung, "shot": config.shot}
    read = lambda grid, name, key: results.array(grid, key, entry=name).tolist()
    measured = {grid: {key: {name: read(grid, name, key) for name in OPTIMIZERS} for key in KEYS} for grid in budgets}
    measured["entries"] = {
        grid: {name: results.grids[grid].axes["entry"][name] for name in OPTIMIZERS} for grid in budgets
    }
    exponents = {name: fitted(name) for name in OPTIMIZERS}
    predicted = {grid: {name: float(law(name, flops)) for name in OPTIMIZERS} for grid, flops in budgets.items()} | {
        "data_alone": {name: float(law(name, config.rung, DATA_ALONE)) for name in OPTIMIZERS},
        "fitted": {
            grid: {name: float(law(name, flops, exponents[name])) for name in OPTIMIZERS}
            for grid, flops in budgets.items()
        },
        "exponents": exponents,
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """By optimizer: at the rung its excess is the law's; shot_…: the one large run lies within `SMALL` of it, a check
    that it can break and not make. muon_behind: at the rung Muon's excess is above Adam's. sgd_level: SGD's is Adam's.
    """
    excess = {name: np.asarray(measured["rung"]["excess"][name], dtype=float) for name in OPTIMIZERS}
    one = lambda values: float(standard_error(values[None])[0])
    verdicts = {}
    for name, values in excess.items():
        given = {"law": predicted["rung"][name], "band": SMALL}
        given["rivals"] = {
            "data alone": predicted["data_alone"][name],
            "fitted exponent": predicted["fitted"]["rung"][name],
        }
        verdicts[name] = equivalence(numbers(f"{name}: excess", values.mean(), one(values), config.seeds, **given))
    for name in OPTIMIZERS:
        (found,) = np.asarray(measured["shot"]["excess"][name], dtype=float)
        off = abs(math.log(found / predicted["shot"][name]))
        verdicts[f"shot_{name}"] = check(off, math.log1p(SMALL), draws=1, name=f"{name}: log of excess over law")
    behind, level = excess["muon"] / excess["adam"], excess["sgd"] / excess["adam"]
    verdicts["muon_behind"] = order(
        numbers("Muon over Adam", behind.mean(), one(behind), config.seeds, limit=1, scale=RATIO)
    )
    rival = predicted["rung"]["muon"] / predicted["rung"]["adam"]
    given = {"law": 1.0, "band": SMALL, "rivals": {"Muon": rival}}
    verdicts["sgd_level"] = equivalence(numbers("SGD over Adam", level.mean(), one(level), config.seeds, **given))
    return verdicts
