"""Losses by optimizer at both budgets, beside the law."""

import math
from collections.abc import Iterator

from amembook.practice.one_shot import expected
from amembook.practice.one_shot.measure import OPTIMIZERS
from amembook.run.base import Results
from amembook.run.claims import RATIO, SMALL, check
from amembook.run.study import above, law

KEYS = ("excess", "loss", "error", "head", "floor", "steps")


def summarise(config, results: Results) -> tuple[dict, dict]:
    """measured: rung and shot, by key of `measure_run`, then by optimizer, all draws; arguments of both by optimizer.
    predicted: rung and shot, by optimizer the excess; data_alone and fitted likewise; exponents of `fitted`.
    """
    budgets = {"rung": config.rung, "shot": config.shot}
    by_name = lambda value: {name: value(name) for name in OPTIMIZERS}
    measured = {
        grid: {key: by_name(lambda name, key=key, grid=grid: results.array(grid, key, entry=name)) for key in KEYS}
        for grid in budgets
    }
    measured["entries"] = {grid: by_name(results.grids[grid].axes["entry"].get) for grid in budgets}
    exponents = by_name(expected.fitted)
    laws = lambda flops, **exponent: by_name(lambda name: float(expected.law(name, flops, **exponent)))
    predicted = {grid: laws(flops) for grid, flops in budgets.items()}
    predicted["data_alone"] = laws(config.rung, exponent=expected.DATA_ALONE)
    predicted["fitted"] = {
        grid: by_name(lambda name, flops=flops: float(expected.law(name, flops, exponents[name])))
        for grid, flops in budgets.items()
    }
    return measured, predicted | {"exponents": exponents}


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """By optimizer: at the rung its excess is the law's; shot_…: the one large run lies within `SMALL` of it, a check
    that it can break and not make. muon_behind: at the rung Muon's excess is above Adam's. sgd_level: SGD's is Adam's.
    """
    excess, at_rung = measured["rung"]["excess"], predicted["rung"]
    for name in OPTIMIZERS:
        rivals = {
            "data alone": predicted["data_alone"][name],
            "fitted exponent": predicted["fitted"]["rung"][name],
        }
        yield name, law(f"{name}: excess", excess[name], law=at_rung[name], band=SMALL, rivals=rivals)
    for name in OPTIMIZERS:
        (shot,) = measured["shot"]["excess"][name]
        off = abs(math.log(shot / predicted["shot"][name]))
        yield f"shot_{name}", check(off, math.log1p(SMALL), draws=1, name=f"{name}: log of excess over law")
    yield "muon_behind", above("Muon over Adam", excess["muon"] / excess["adam"], limit=1, scale=RATIO)
    rivals = {"Muon": at_rung["muon"] / at_rung["adam"]}
    yield "sgd_level", law("SGD over Adam", excess["sgd"] / excess["adam"], law=1.0, band=SMALL, rivals=rivals)
