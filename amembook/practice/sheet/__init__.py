"""`sheet`: rules of the cheat sheet in a small language model: Muon's rate, ten products, bfloat16, an early reach.

A question of practice, ours; that Muon can keep AdamW's rate is said in arXiv:2502.16982, that ten products do what
fifteen do in arXiv:2606.00371.

Claim: at AdamW's best rate Muon with `match_rms_adamw` is ahead, and a higher rate is better still, the more so the
wider the matrices; `cubic5` loses nothing; Nesterov's average helps where β is too large for the run; what rounding to
bfloat16 swallows of a step follows from the rate and the width alone; reaches at step 20 order the matrices as those at
step 400 do. Clipping Muon's gradients at 1, which few steps reach, changes nothing; a momentum that rises to 0.95 and
falls is ahead of 0.95 and behind the rule's; Polar Express in bfloat16 has no outliers that float32 has not.

Caveats: a language model of two layers, d = 24 to 96, 512 words, inputs that stay fixed, the readout by AdamW at a rate
of its own, 200 steps of 512 words; Newton–Schulz in float32. Rates in octaves, a parabola between them. Bands: half an
octave for a rate, 0.01 nats for a loss, half of what a slope of 30 has lost (`knee`), 0.1 for a share, 5 % for an
outlier, the largest number of a seed's runs in bfloat16 over the largest in float32.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from scipy.stats import spearmanr

from amembook.practice.sheet.measure import ARMS, BETAS, CLIPS, measure, share_kept
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Naturals,
    NonNegative,
    Results,
    Several,
    Sizes,
    draws,
    some_of,
)
from amembook.run.claims import DIFFERENCE, RATIO, SMALL
from amembook.run.studies import headline
from amembook.run.study import above, fixed, law

SLOPE_30 = 0.021
"""Nats that a slope of 30 has lost after 200 steps in the record of `knee`: 9 % of 0.235."""
CHANCE = 0.5
"""A rank correlation of twelve matrices from which on it is seen above chance at 5 %, one-sided."""

SIDES = {"above": 1, "below": -1}


@dataclass(frozen=True)
class SheetConfig(Config):
    """Runs of every arm at the rates first · 2^(k − lower), k in `octaves`, up to its last."""

    arms: Annotated[tuple[str, ...], some_of(*ARMS)] = ("adamw", "muon", "original")
    octaves: Naturals = (0, 1, 2, 3, 4, 5)
    lower: Natural = 0
    decay: NonNegative = 0.0
    dims: Sizes = (24, 48, 96)
    steps: Several = 200
    looks: AscendingCounts = (20, 200)  # steps after which the momenta's reaches are looked at; the first is early
    batch: Count = 16  # sequences
    length: Several = 32
    n_words: Count = 320_000
    vocabulary: Several = 512
    seeds: Count = 4
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.looks[-1] != self.steps:
            raise ValueError(f"looks must end with the run, at {self.steps}, got {self.looks}")
        if len(self.octaves) < 3 or len({b - a for a, b in pairwise(self.octaves)}) > 1:
            raise ValueError(f"octaves must hold three or more with one distance, got {self.octaves}")


def rates(config: SheetConfig, arm: str) -> list[float]:
    """The ladder of an arm."""
    ladder = [ARMS[arm].first * 2.0 ** (k - config.lower) for k in config.octaves]
    return [rate for rate in ladder if rate < 1.01 * ARMS[arm].last]


def grids(config: SheetConfig) -> dict[str, Grid]:
    """Every run, "d arm rate", over the draws."""
    runs = {
        f"{dim} {arm} {rate:g}": {"dim": dim, "arm": arm, "rate": rate}
        for dim in config.dims
        for arm in config.arms
        for rate in rates(config, arm)
    }
    rest = fixed(config, "arms", "octaves", "lower", "dims")
    return {"runs": Grid(measure, {"run": runs, "seed": draws(config)}, config=rest)}


def lowest(y: np.ndarray) -> float:
    """The position on a ladder, from 0 on, of the least of the parabola through the least value and its neighbours; the
    end where that is the least."""
    k = int(np.argmin(y))
    if k in (0, len(y) - 1):
        return float(k)
    a, b, c = y[k - 1 : k + 2]
    return float(k + (a - c) / (2 * (a - 2 * b + c)))


def value_at(y: np.ndarray, x: float) -> float:
    """The parabola through the three values that are nearest to a position on the ladder."""
    k = min(max(round(x), 1), len(y) - 2)
    a, b, c = y[k - 1 : k + 2]
    return float(b + (x - k) * (c - a) / 2 + (x - k) ** 2 * (a - 2 * b + c) / 2)


def summarise(config: SheetConfig, results: Results) -> tuple[dict, dict]:
    """By "d arm": test (rate, draw); of every draw rate, the best by validation, and best, the test loss there, both by
    parabolas in log rate; kept (rate, draw); early (look, draw), rank correlations of the reaches with those at the
    last look, at the best rate that was tried. clipped (rate, draw) and outliers (rate, draw, number), of the arms that
    have them, as in `measure`. start: by d, Muon's test loss at AdamW's best rate. origin: of the text.

    predicted: kept, by d, at every rate of bfloat16's ladder, the mean over the entries of all matrices.
    """
    measured = {key: {} for key in ("test", "rate", "best", "kept", "start", "early", "clipped", "outliers")}
    step = config.octaves[1] - config.octaves[0]
    for dim in config.dims:
        for arm in config.arms:
            place, seeds = f"{dim} {arm}", range(config.seeds)
            read = lambda key, place=place, arm=arm: np.array(
                [results.array("runs", key, run=f"{place} {rate:g}") for rate in rates(config, arm)], float
            )
            validation, test = read("validation"), read("test")
            x = [lowest(validation[:, s]) for s in seeds]
            measured["test"][place] = test
            measured["rate"][place] = rates(config, arm)[0] * 2.0 ** (step * np.array(x))
            measured["best"][place] = [value_at(test[:, s], x[s]) for s in seeds]
            measured["kept"][place] = read("kept")
            if math.isfinite(ARMS[arm].clip):
                measured["clipped"][place] = read("clipped")
            if arm == "express":
                measured["outliers"][place] = read("outliers")
            if ARMS[arm].options:
                reach = read("reach")[validation.argmin(0), seeds]
                measured["early"][place] = [
                    [spearmanr(one[look], one[-1]).statistic for one in reach] for look in range(len(config.looks) - 1)
                ]
        if {"adamw", "muon"} <= set(config.arms):
            x = np.log2(measured["rate"][f"{dim} adamw"] / rates(config, "muon")[0]) / step
            measured["start"][f"{dim}"] = [value_at(measured["test"][f"{dim} muon"][:, s], x[s]) for s in seeds]
    measured["origin"] = results.draws["runs"].flat[0]["origin"]
    # in units of d²: query, key, value, output and expand have 16 entries in rows of d, contract 8 in rows of 4 d
    share = lambda dim, rate: (16 * share_kept(rate, dim) + 8 * share_kept(rate, 4 * dim)) / 24
    kept = {f"{dim}": [share(dim, rate) for rate in rates(config, "bfloat16")] for dim in config.dims}
    return {name: values for name, values in measured.items() if values}, {"kept": kept}


def judge(config: SheetConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """What the arms that were run decide; the reaches in runs of 400 steps and more."""
    best, rate, arms = measured["best"], measured["rate"], set(config.arms)
    of = lambda values: {f"d = {dim}": values(dim) for dim in config.dims}
    rooms = lambda gaps: {f"{at}, {side}": 0.01 + k * gap for at, gap in gaps.items() for side, k in SIDES.items()}
    if {"adamw", "muon"} <= arms:
        start = measured["start"]
        yield "ahead", above("nats,", of(lambda dim: best[f"{dim} adamw"] - start[f"{dim}"]))
        yield "cost", above("nats,", of(lambda dim: start[f"{dim}"] - best[f"{dim} muon"]), limit=0.005)
        ratios = of(lambda dim: rate[f"{dim} muon"] / rate[f"{dim} adamw"])
        yield "factor", above("rate over AdamW's,", ratios, limit=math.sqrt(2), scale=RATIO)
        if len(config.dims) > 1:
            narrow, *_, wide = (np.log2(values) for values in ratios.values())
            yield "wider", above("octaves,", {"widest less narrowest": wide - narrow})
    if {"original", "muon"} <= arms:
        ratios = of(lambda dim: rate[f"{dim} original"] / rate[f"{dim} muon"])
        root = np.sqrt(np.array(config.dims))
        held_to = {"law": 0.2 * root, "band": math.sqrt(2) - 1, "rivals": {"the root without 0.2": root}}
        yield "units", law("rate over that of match_rms_adamw,", ratios, **held_to)
        yield "scales", above("room,", rooms(of(lambda dim: best[f"{dim} original"] - best[f"{dim} muon"])))
    if {"cubic5", "muon"} <= arms:
        gaps = of(lambda dim: best[f"{dim} cubic5"] - best[f"{dim} muon"])
        yield "cubic", law("nats,", gaps, law=0.0, band=0.01, scale=DIFFERENCE, rivals={"a slope of 30": SLOPE_30})
    if {"muon", "plain 0.95"} <= arms:
        dim = config.dims[0]
        short, rule = BETAS
        gap = {
            beta: best[f"{dim} plain {beta}"] - best[f"{dim} muon {beta}".removesuffix(" 0.95")]
            for beta in (*BETAS, 0.95)
        }
        yield "momentum", above("nats,", {"0.95 less the rule's": best[f"{dim} muon"] - best[f"{dim} muon {rule}"]})
        yield "nesterov", above("room,", rooms({f"β = {beta}": gap[beta] for beta in BETAS}))
        yield "sign", above("nats,", {"β = 0.95": gap[0.95], f"0.95 less {short}": gap[0.95] - gap[short]})
    if {"muon", "clip 1"} <= arms:
        less = {clip: of(lambda dim, clip=clip: best[f"{dim} muon"] - best[f"{dim} clip {clip:g}"]) for clip in CLIPS}
        yield "clip", above("room,", rooms(less[1.0]))
        yield "always", above("nats,", {f"not less {CLIPS[-1]:g}, {at}": gap for at, gap in less[CLIPS[-1]].items()})
    if {"muon", f"muon {BETAS[1]}", "raised"} <= arms:
        rule = BETAS[1]
        yield "raised", above("nats, 0.95 less it,", of(lambda dim: best[f"{dim} muon"] - best[f"{dim} raised"]))
        yield "below", above("nats, it less the rule's,", of(lambda d: best[f"{d} raised"] - best[f"{d} muon {rule}"]))
    if "express" in arms:
        most = measured["outliers"][f"{config.dims[0]} express"].max(0)
        names = ("largest singular value", "largest entry")
        yield "outliers", above("room,", {n: 1 + SMALL - most[:, k] / most[:, k + 2] for k, n in enumerate(names)})
    if {"float32", "master", "bfloat16"} <= arms:
        yield from _rounded(config, measured, predicted)
    if config.steps >= 400:
        *early, late = [f"step {look}" for look in config.looks[:-1]]
        of_look = dict(zip((*early, late), measured["early"][f"{config.dims[0]} muon"], strict=True))
        yield "early", above("rank correlation,", {at: of_look[at] for at in early}, limit=CHANCE)
        yield "later", above("rank correlation,", {late: of_look[late]}, limit=CHANCE)


def _rounded(config: SheetConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """kept: the shares. rounding: what the loss loses at rates where less than half of a step is kept. master: nothing
    is lost with weights in float32 beside those that are read."""
    kept, shares, cost, copy = {}, [], {}, {}
    for dim in config.dims:
        loss = {arm: measured["test"][f"{dim} {arm}"] for arm in ("float32", "master", "bfloat16")}
        for k, rate in enumerate(rates(config, "bfloat16")):
            at, share = f"d = {dim}, rate {rate:g}", predicted["kept"][f"{dim}"][k]
            kept[at] = measured["kept"][f"{dim} bfloat16"][k]
            shares.append(share)
            copy[at] = loss["master"][k] - loss["float32"][k]
            if share < 0.5:
                cost[at] = loss["bfloat16"][k] - loss["float32"][k]
    ends = {"all of it": 1.0, "none": 0.0}
    yield "kept", law("share,", kept, law=shares, band=0.1, scale=DIFFERENCE, rivals=ends)
    yield "rounding", above("nats,", cost, limit=0.02)
    yield (
        "master",
        above("room,", {f"{at}, {side}": 0.01 + k * gap for at, gap in copy.items() for side, k in SIDES.items()}),
    )


SMOKE = ("adamw", "muon", "original", "cubic5", "float32", "master", "bfloat16", "clip 1", "clip 0.1", "express")
TINY = {"octaves": (0, 1, 2), "dims": (8,), "steps": 2, "looks": (1, 2), "batch": 2, "length": 8, "n_words": 4000}
EXPERIMENT = Experiment(
    name="sheet",
    purpose=headline(__doc__),
    profiles={
        "smoke": SheetConfig(arms=SMOKE, vocabulary=32, seeds=1, **TINY),
        "cpu": SheetConfig(),
        "confirm": SheetConfig(first_seed=52_000),
        # AdamW's best rate at d = 96 lay below Muon's ladder in `confirm`
        "confirm-wide": SheetConfig(lower=2, dims=(96,), seeds=5, first_seed=52_050),
        "confirm-decay": SheetConfig(
            arms=("adamw", "muon"), octaves=(1, 2, 3, 4), decay=0.1, dims=(48,), first_seed=52_010
        ),
        "confirm-maps": SheetConfig(
            arms=("muon", "cubic5", "muon 0.8", "muon 0.88", "plain 0.8", "plain 0.88", "plain 0.95"),
            octaves=(2, 3, 4),
            dims=(48,),
            seeds=5,
            first_seed=52_020,
        ),
        "confirm-bfloat16": SheetConfig(
            arms=("float32", "master", "bfloat16"), octaves=(0, 2, 4), dims=(48,), seeds=5, first_seed=52_030
        ),
        "confirm-early": SheetConfig(
            arms=("muon",), octaves=(2, 3, 4), dims=(48,), steps=400, looks=(20, 100, 400), seeds=5, first_seed=52_040
        ),
        "confirm-clip": SheetConfig(
            arms=("muon", "clip 1", "clip 0.1", "muon 0.88", "raised"),
            octaves=(2, 3, 4),
            dims=(48,),
            seeds=5,
            first_seed=56_010,
        ),
        "confirm-outliers": SheetConfig(
            arms=("express",), octaves=(2, 3, 4), dims=(48,), steps=100, looks=(20, 100), seeds=5, first_seed=56_020
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=52_000,
    added={"lower": 0},
)
