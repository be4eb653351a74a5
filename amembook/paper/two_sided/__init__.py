"""`two-sided`: whitening on power laws, flat frequencies and words that no record had; weights of both sides."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch

from amembook import vocabularies
from amembook.paper.two_sided.measure import LOSSES, STEPS, case_frequencies, measure_items, measure_losses
from amembook.run.base import (
    Config,
    Experiment,
    Grid,
    Natural,
    Positives,
    Results,
    Several,
    SteepAlphas,
    draws,
    each,
    standard_error,
)
from amembook.run.claims import SIZES, SMALL, count_error, equivalence, numbers, order
from amemlib.equivalents import (
    KFAC,
    MATCHED,
    MATCHED_AND_NEWTON,
    balanced_whitener,
    expected_capacity,
    expected_whitened_capacity,
)
from amemlib.problem import Problem

PAPER = "arXiv:2603.26554"
CLAIM = (
    "ours, on the paper's model: the law of whitening holds on power laws, flat frequencies and word lists that no "
    "record had; W* + 0.6 Newton has less loss than Muon there, and Shampoo's right power with a floor more items"
)
ONE_SIDED, BOTH_SIDES = ("matched", "mixed"), ("kfac", "balanced")
LAWS = (*ONE_SIDED, *BOTH_SIDES)


@dataclass(frozen=True)
class TwoSidedConfig(Config):
    """One population step on every list of frequencies; losses on the power laws."""

    alphas: SteepAlphas = (1.35, 1.75, 2.5)
    languages: Annotated[tuple[str, ...], each(vocabularies.check_language)] = ("en", "fi")
    dim: Several = 160
    n_items: Several = 6000
    flat_items: Several = 1500
    seeds: Several = 12
    loss_dim: Several = 128
    loss_items: Several = 3000
    loss_seeds: Several = 4
    rates: Positives = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)  # η/√d at the Frobenius norm √d
    first_seed: Natural = 0

    @property
    def cases(self) -> tuple[str, ...]:
        """The lists by name."""
        return (*(f"power {alpha:g}" for alpha in self.alphas), "flat", *(f"words {one}" for one in self.languages))


def two_sided_grids(config: TwoSidedConfig) -> dict[str, Grid]:
    """Every draw on every list, then the losses."""
    return {
        "items": Grid(measure_items, {"case": config.cases, "seed": draws(config)}),
        "losses": Grid(measure_losses, {"seed": draws(config, config.loss_seeds)}),
    }


def two_sided_summary(config: TwoSidedConfig, results: Results) -> tuple[dict, dict]:
    """counts, error: step ↦ [case], beside laws. loss, items: step ↦ [alpha], loss at the best rate; leads over Muon.

    loss_lead and its error: Muon's loss over that of the step, draw by draw, [alpha]; item_lead: items over Muon's.
    """
    counts = {name: results.array("items", name).astype(float) for name in STEPS}
    problems = {}
    for case in config.cases:
        p = case_frequencies(case, config.n_items, config.flat_items)
        problems[case] = Problem.from_frequencies(p, config.dim)
    law = {name: np.array([_law(name, problem) for problem in problems.values()]) for name in ("polar", *LAWS)}
    measured = {
        "counts": {name: of.mean(1) for name, of in counts.items()},
        "error": {name: count_error(of, law[name]) for name, of in counts.items()},
        "loss": {},
        "loss_lead": {},
        "loss_lead_error": {},
        "item_lead": {},
        "item_lead_error": {},
    }
    losses = {name: results.array("losses", "losses", name).min(-1) for name in LOSSES}
    items = {name: results.array("losses", "items", name).astype(float) for name in LOSSES}
    for name in LOSSES:
        measured["loss"][name] = losses[name].mean(0)
        for key, lead in (("loss_lead", losses["polar"] / losses[name]), ("item_lead", items[name] / items["polar"])):
            measured[key][name], measured[f"{key}_error"][name] = lead.mean(0), standard_error(lead, 0)
    return measured, {"counts": law}


def _law(name: str, problem: Problem) -> float:
    if name == "polar":
        return expected_capacity(problem, "polar")
    if name in ONE_SIDED:
        return expected_whitened_capacity(problem, right={"matched": MATCHED, "mixed": MATCHED_AND_NEWTON}[name])
    side = KFAC if name == "kfac" else (balanced_whitener(problem.frequencies, problem.dim),)
    return expected_whitened_capacity(problem, side, side)


def judge_two_sided(config: TwoSidedConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Laws on power laws, a flat list and words, 3 % with one side and 5 % with two; less loss, and more items."""
    laws, verdicts = predicted["counts"], {}
    groups = {"power": "power", "flat": "flat", "words": "words"}
    for group, start in groups.items():
        kept = np.array([case.startswith(start) for case in config.cases])
        judged = []
        for name in LAWS:
            law, muon = np.asarray(laws[name])[kept], np.asarray(laws["polar"])[kept]
            given = {"law": law, "band": SIZES if name in ONE_SIDED else SMALL, "rivals": {"Muon": muon}}
            at = np.array(config.cases)[kept]
            error = np.asarray(measured["error"][name])[kept]
            judged += numbers(name, np.asarray(measured["counts"][name])[kept], error, config.seeds, at=at, **given)
        verdicts[group] = equivalence(judged)
    at = [f"α = {alpha:g}" for alpha in config.alphas]

    def leads(key, names):
        found = []
        for name in names:
            lead, error = (measured[part][name] for part in (key, f"{key}_error"))
            found += numbers(f"{key} {name}", lead, error, config.loss_seeds, limit=1, at=at)
        return found

    verdicts["less_loss"] = order(leads("loss_lead", ("mixed",)))
    verdicts["half_power"] = order(
        leads("loss_lead", ("half", "half_floor")) + leads("item_lead", ("half", "half_floor"))
    )
    return verdicts


EXPERIMENT = Experiment(
    name="two-sided",
    purpose="whitening on power laws, flat frequencies and words that no record had; weights of two sides; powers",
    profiles={
        "smoke": TwoSidedConfig(
            alphas=(1.5,),
            languages=("en",),
            dim=12,
            n_items=48,
            flat_items=32,
            seeds=2,
            loss_dim=8,
            loss_items=32,
            loss_seeds=2,
            rates=(2.0,),
        ),
        "cpu": TwoSidedConfig(),
        "confirm": TwoSidedConfig(first_seed=3950),
    },
    grids=two_sided_grids,
    summarise=two_sided_summary,
    judge=judge_two_sided,
    unseen_from=3950,
)
