"""`lr-transfer`: whether the best learning rate of a small model costs a large one less than its width does.

A study of Ghosh, Wu and Bietti, arXiv:2512.22768, in a sketched regression of ours.

Claim: transfer is fast when the suboptimality it induces vanishes asymptotically faster than the finite-scale
performance gap; whether it is depends critically on problem structure.

Caveats: medians over the sketches of a draw. Of narrow sketches only which of the two falls faster is judged, after the
fewest and the most steps. Of wide ones, where features are few enough, local exponents of the cost are held to a law by
the largest eigenvalue alone, those of the gap to one by two moments, both to 0.05, a tenth of what they cross. The law
of the gap is younger than the record of 16 seeds, where it was seen to hold.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from amembook.companions.lr_transfer import expected
from amembook.companions.lr_transfer.measure import measure_sketch, measure_wide
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Results,
    Several,
    draws,
    slope,
    some_of,
)
from amembook.run.claims import DIFFERENCE
from amembook.run.studies import headline
from amembook.run.study import above, by_part, claims_by_part, law, of_part

PARTS = "sketch", "wide"
CROSSED = 0.05
"""The band of a local exponent: a tenth of the way from one half to one."""


@dataclass(frozen=True)
class TransferConfig(Config):
    """Sizes of the sketched regression; of sketches wider than features are many (`wide_…`)."""

    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    n_features: Several = 2048
    decay: float = 1.5  # feature j has the variance j^(−decay)
    widths: Dims = (32, 64, 128, 256)
    steps: AscendingCounts = (1, 64)  # of gradient descent
    sketches: Count = 200  # a seed
    wide_features: Several = 256
    wide_widths: Dims = (1024, 4096, 16_384, 65_536, 262_144, 1_048_576)
    wide_steps: AscendingCounts = (16, 64)
    wide_sketches: Count = 150  # a seed
    seeds: Count = 20
    first_seed: Natural = 0

    def limits(self):
        if not 1 < self.decay < 10:
            raise ValueError(f"decay must be in (1, 10), for a finite second moment, got {self.decay!r}")
        if min(self.wide_widths) < self.wide_features:
            raise ValueError(f"wide_widths must be at least wide_features, got {list(self.wide_widths)}")


def grids(config: TransferConfig) -> dict[str, Grid]:
    """Sketches by width and draw, narrow ones and wide ones."""
    own, wide = {"width": config.widths, "seed": draws(config)}, {"width": config.wide_widths, "seed": draws(config)}
    every = {
        "sketch": Grid(measure_sketch, own),
        "wide": Grid(measure_wide, wide, **of_part(config, "wide", "steps", "sketches", n_features="features")),
    }
    return {part: every[part] for part in config.parts}


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By number of steps. sketch: medians by width over all sketches, their exponents, the share of rates that diverge;
    `lead`: by how much the cost of transfer falls faster than the gap, draw by draw; predicted: that lead, after one
    step in the limit of wide sketches. wide: medians by width, and by draw the local exponents of `cost` and of `gap`,
    (widths − 1, draws); predicted: those of the cost by the largest eigenvalue alone, and the limits of √n times the
    gap and of n times the cost."""
    return by_part(config, results, {"sketch": _sketches, "wide": _wide})


def _sketches(config, results: Results) -> tuple[dict, dict]:
    measured = {str(steps): _sketch(config, results, str(steps)) for steps in config.steps}
    return {"sketch": measured}, {"sketch": {str(config.steps[0]): 0.5}}


def _sketch(config, results: Results, steps: str) -> dict:
    draws = {name: results.array("sketch", steps, name) for name in ("shift", "gap", "transfer")}
    medians = {name: np.median(values, axis=(1, 2)) for name, values in draws.items()}
    by_seed = zip(*(np.median(draws[name], axis=2).T for name in ("gap", "transfer")), strict=True)
    return {
        **medians,
        **{f"{name}_exponent": -slope(config.widths, values) for name, values in medians.items()},
        "diverges": results.array("sketch", steps, "diverges").mean((1, 2)),
        "lead": [slope(config.widths, gap) - slope(config.widths, cost) for gap, cost in by_seed],
    }


def _wide(config, results: Results) -> tuple[dict, dict]:
    measured, predicted, sizes = {}, {}, (config.wide_features, config.decay)
    for steps in config.wide_steps:
        gap, cost = (results.array("wide", str(steps), name) for name in ("gap", "transfer"))
        local = lambda values: expected.local_exponents(config.wide_widths, values)
        measured[str(steps)] = {
            "gap": np.median(gap, axis=(1, 2)),
            "cost": np.median(cost, axis=(1, 2)),
            "gap_exponents": local(np.median(gap, axis=2)),
            "cost_exponents": local(np.median(cost, axis=2)),
        }
        # a rival whose crossover is at n ∝ T meets the law at the most steps
        most = max(config.wide_steps)
        others = np.array(config.wide_widths) * steps / most
        costs = expected.edge_costs(config.wide_widths, *sizes, steps)
        rival = costs if steps == most else expected.edge_costs(others, *sizes, steps)
        limits = expected.limits(*sizes, steps)
        gaps = lambda count, own_rate=True, sizes=sizes: expected.gaps(config.wide_widths, *sizes, count, own_rate)
        predicted[str(steps)] = {
            "cost": costs,
            "cost_exponents": local(costs),
            "as_T": local(rival),
            "limits": limits,
            "gap": gaps(steps),
            "gap_exponents": local(gaps(steps)),
            "gap_at_one_rate": local(gaps(steps, own_rate=False)),
            "gap_after_most": local(gaps(most)),
        }
    return {"wide": measured}, {"wide": predicted}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Of the parts that were measured. fast: after the fewest steps the cost of transfer falls faster with the width
    than the gap. slow: after the most, in narrow sketches, it falls more slowly. crossover: local exponents of the cost
    in wide sketches are those of the largest eigenvalue's law. gap: those of the gap are those of its mean shift and
    its noise, where a record has that law. turn: after the most steps the cost falls more slowly than the gap up to
    n = T², and after any number of them faster from there on."""
    return claims_by_part(config, measured, predicted, {"sketch": _judge_sketch, "wide": _judge_wide})


def _judge_sketch(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    leads = [measured["sketch"][str(steps)]["lead"] for steps in (config.steps[0], config.steps[-1])]
    yield "fast", above("exponent of the cost less the gap's", leads[0])
    yield "slow", above("exponent of the gap less the cost's", -leads[1])


def _judge_wide(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    local, laws, as_t, leads = {}, [], [], {}
    for steps in config.wide_steps:
        own, ahead = measured["wide"][str(steps)], predicted["wide"][str(steps)]
        for k, width in enumerate(config.wide_widths[:-1]):
            at = f"T = {steps}, n = {width} to {config.wide_widths[k + 1]}"
            local[at] = own["cost_exponents"][k]
            laws.append(ahead["cost_exponents"][k])
            as_t.append(ahead["as_T"][k])
            lead = own["cost_exponents"][k] - own["gap_exponents"][k]
            if width >= steps**2:
                leads[at] = lead
            elif steps == max(config.wide_steps) and config.wide_widths[k + 1] <= steps**2:
                leads[f"less, {at}"] = -lead
    laws, as_t = np.array(laws), np.array(as_t)
    rivals = {"½ at any width": 0.5 + 0 * laws, "1 at any width": 1 + 0 * laws, "a crossover at n ∝ T": as_t}
    held_to = {"law": laws, "band": CROSSED, "scale": DIFFERENCE, "rivals": rivals}
    yield "crossover", law("local exponent of the cost,", local, **held_to)
    if "gap_exponents" in predicted["wide"][str(config.wide_steps[0])]:
        yield "gap", _judge_gap(config, measured["wide"], predicted["wide"])
    yield "turn", above("exponent of the cost less the gap's,", leads)


def _judge_gap(config, measured: dict, predicted: dict) -> dict:
    """Local exponents of the gap, held to their law as those of the cost are."""
    pairs = list(zip(config.wide_widths, config.wide_widths[1:], strict=False))
    own = {
        f"T = {steps}, n = {few} to {many}": measured[str(steps)]["gap_exponents"][k]
        for steps in config.wide_steps
        for k, (few, many) in enumerate(pairs)
    }
    of = lambda key: np.concatenate([predicted[str(steps)][key] for steps in config.wide_steps])
    laws = of("gap_exponents")
    rivals = {"½ at any width": 0.5 + 0 * laws, "1 at any width": 1 + 0 * laws}
    rivals |= {
        "no saving by the sketch's own rate": of("gap_at_one_rate"),
        "one bend for every T": of("gap_after_most"),
    }
    held_to = {"law": laws, "band": CROSSED, "scale": DIFFERENCE, "rivals": rivals}
    return law("local exponent of the gap,", own, **held_to)


EXPERIMENT = Experiment(
    name="lr-transfer",
    purpose=headline(__doc__),
    profiles={
        "smoke": TransferConfig(
            n_features=32, widths=(4, 8), steps=(1, 4), sketches=2, wide_features=8, wide_widths=(16, 64),
            wide_steps=(2, 4), wide_sketches=2, seeds=2,
        ),
        "cpu": TransferConfig(),
        "confirm": TransferConfig(parts=("sketch",), sketches=40, first_seed=6400),
        # medians over 200 sketches a draw, for those over 40 fall among rates that diverge in four draws of twenty
        "medians": TransferConfig(parts=("sketch",), seeds=12, first_seed=70_808),
        "wide": TransferConfig(parts=("wide",), seeds=16, first_seed=65_520),
        # more than twice the draws, for two intervals of the cost passed the band by 0.005
        "many": TransferConfig(parts=("wide",), seeds=36, first_seed=66_000),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6400,
    added={
        "parts": PARTS[:1], "wide_features": 256, "wide_widths": (1024, 4096), "wide_steps": (16, 64),
        "wide_sketches": 150,
    },
)  # fmt: skip
