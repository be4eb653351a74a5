"""`one-shot`: a public task of 10¹³ flops: losses of Adam, SGD in steps of one length and Muon, predicted and run once.

A question of practice, ours. Inputs x of a Zipf law, targets p(y | x) of random entropies, softmax(W x) with inputs of
any dimension: who has the least loss after 10¹³ flops, runs for tuning among them? The task is task.md of
github.com/NicolasZucchet/Tutorial-scaling-laws, the updates are those of arXiv:1412.6980 and arXiv:2502.16982.

Claim: the excess loss of the best memory at a budget of flops falls as its power −(γ − 1)/(γ + 1), for Adam, SGD with
steps of one length and Muon, so that small runs predict a large one.

Caveats: the law's constant is the least of a screening at 10¹¹ flops (`amembook/tables`). Five draws at 10¹² flops
carry the claim; the one run at 9·10¹² can break it and not make it. The band is 5 %, the power −1/11.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from amembook.practice.one_shot import expected
from amembook.practice.one_shot.expected import BUDGET, recipe, spent
from amembook.practice.one_shot.measure import OPTIMIZERS, measure_run
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Positive, Results, Several, draws
from amembook.run.claims import RATIO, SMALL, check
from amembook.run.studies import headline
from amembook.run.study import above, fixed, law

KEYS = ("excess", "loss", "error", "head", "floor", "steps")


@dataclass(frozen=True)
class OneShotConfig(Config):
    """Runs of `rung` flops over the draws, and one run of `shot` flops on the first of them."""

    rung: Positive = 1e12
    shot: Positive = 9e12
    head: Several = 8192  # inputs whose loss is summed one by one
    rare: Several = 16384  # draws of the others
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        most = BUDGET - max(map(spent, OPTIMIZERS))
        if self.shot > most:
            raise ValueError(f"shot must be at most {most:.3g}, what the screening leaves, got {self.shot:g}")
        if self.rung >= self.shot:
            raise ValueError(f"rung must be less than shot, got {self.rung:g}")


def entries(flops: float) -> dict[str, dict]:
    """By optimizer its arguments at a budget."""
    return {name: {"optimizer": name, "flops": flops} | recipe(name, flops) for name in OPTIMIZERS}


def grids(config: OneShotConfig) -> dict[str, Grid]:
    """Both budgets; the shot has one draw."""
    sizes = fixed(config, "rung", "shot")
    return {
        "shot": Grid(measure_run, {"entry": entries(config.shot), "seed": draws(config, 1)}, config=sizes),
        "rung": Grid(measure_run, {"entry": entries(config.rung), "seed": draws(config)}, config=sizes),
    }


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
        rivals = {"data alone": predicted["data_alone"][name], "fitted exponent": predicted["fitted"]["rung"][name]}
        yield name, law(f"{name}: excess", excess[name], law=at_rung[name], band=SMALL, rivals=rivals)
    for name in OPTIMIZERS:
        (shot,) = measured["shot"]["excess"][name]
        off = abs(math.log(shot / predicted["shot"][name]))
        yield f"shot_{name}", check(off, math.log1p(SMALL), draws=1, name=f"{name}: log of excess over law")
    yield "muon_behind", above("Muon over Adam", excess["muon"] / excess["adam"], limit=1, scale=RATIO)
    rivals = {"Muon": at_rung["muon"] / at_rung["adam"]}
    yield "sgd_level", law("SGD over Adam", excess["sgd"] / excess["adam"], law=1.0, band=SMALL, rivals=rivals)


EXPERIMENT = Experiment(
    name="one-shot",
    purpose=headline(__doc__),
    profiles={
        "smoke": OneShotConfig(rung=1e8, shot=2e8, head=64, rare=64, seeds=2),
        "cpu": OneShotConfig(rung=1e11, shot=1e12),
        "confirm": OneShotConfig(first_seed=3250),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3250,
)
