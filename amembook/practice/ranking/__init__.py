"""`ranking`: optimizers on the memory with one rule for the momentum of all, ranked beside a language model's track.

A question of practice, ours; the updates are those of arXiv:2502.16982, arXiv:2409.11321, arXiv:1802.09568 and
arXiv:2510.05491, the track is that of a speed run.

Claim: with 1/(1 − β) = T/24 for every optimizer and a rate tuned for each, neither the order of a language model's
track comes out on the memory, nor does Muon come first.

Caveats: one memory, N = 1024 and d = 64, for 60 and 240 steps; rates on a ladder of factors of two, the best of every
draw. Of eight optimizers a rank correlation is seen above chance from 0.64 on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
from scipy.stats import spearmanr

from amembook.networks import updates
from amembook.networks.long_runs import best_of_ladder, loss_after
from amembook.run import runtime
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positive,
    Results,
    Several,
    SteepAlpha,
    draws,
    standard_error,
)
from amembook.run.claims import RATIO
from amembook.run.studies import headline
from amembook.run.study import above, fixed
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings

OPTIMIZERS = {
    "muon": updates.muon_shipped,
    "normuon": updates.normuon,
    "muon_squared": updates.muon_squared,
    "soap": updates.soap,
    "one_sided_shampoo": updates.one_sided_shampoo,
    "shampoo": updates.shampoo,
    "adam": updates.adam,
    "muon_without_momentum": updates.muon_without_momentum,
}
"""Updates by name: those of the track, Muon with the average that torch ships."""
_STARTS = {"soap": 0.5, "adam": 0.5, "shampoo": 4.0, "one_sided_shampoo": 4.0, "muon_without_momentum": 2.0}
TRACK = {
    "muon": 3250,
    "normuon": 3250,
    "muon_squared": 3325,
    "soap": 3125,
    "one_sided_shampoo": 3375,
    "shampoo": 4100,
    "adam": 5625,
    "muon_without_momentum": 8225,
}
"""Steps to a validation loss of 3.28 in KellerJordan/modded-nanogpt at f411b3d, as in the study `optimizers`."""
AGREES = 0.64
"""The rank correlation of eight from which on it is seen above chance at 5 %, one-sided."""


@dataclass(frozen=True)
class RankingConfig(Config):
    """Runs of every optimizer, the rate tuned for every draw, falling in a line to 0."""

    alpha: SteepAlpha = 1.5
    n_items: Several = 1024
    dim: Several = 64
    steps: AscendingCounts = (60, 240)
    batch_sizes: AscendingCounts = (16, 256)
    horizon: Positive = 24.0  # of the rule 1/(1 − β) = T/horizon, for all
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.steps[0] < self.horizon:
            raise ValueError(f"steps must be at least the horizon {self.horizon:g}, got {self.steps}")


def measure_run(config: SimpleNamespace, n_steps: int, batch_size: int, optimizer: str, seed: int, device: str) -> dict:
    """loss: nats over all items after `n_steps`, at the best rate of a ladder of factors of two; rate: that rate.

    β₁ = 1 − horizon/T for every optimizer that has it; β₂ is `updates.SECOND`.
    """
    problem = Problem.power_law(config.n_items, config.dim, config.alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    update = OPTIMIZERS[optimizer]
    if optimizer != "muon_without_momentum":
        update = partial(update, beta=1 - config.horizon / n_steps)
    run = lambda rate: loss_after(update, emb, problem, n_steps, batch_size, rate, seed)
    value, rate = best_of_ladder(run, 60 / n_steps * _STARTS.get(optimizer, 1.0))
    return {"loss": value, "rate": rate}


def grids(config: RankingConfig) -> dict[str, Grid]:
    """Every run, "T batch optimizer", over the draws."""
    runs = {
        f"{steps} {batch} {name}": {"n_steps": steps, "batch_size": batch, "optimizer": name}
        for steps in config.steps
        for batch in config.batch_sizes
        for name in OPTIMIZERS
    }
    sizes = fixed(config, "steps", "batch_sizes")
    return {"runs": Grid(measure_run, {"run": runs, "seed": draws(config)}, config=sizes)}


def summarise(config: RankingConfig, results: Results) -> tuple[dict, dict]:
    """By "T batch": loss[optimizer], its error, rate[optimizer] (geometric mean), draws[optimizer], the loss of each;
    correlation, with the track's steps for every draw. predicted: the track."""
    measured = {key: {} for key in ("loss", "loss_error", "rate", "draws", "correlation")}
    for place in [f"{steps} {batch}" for steps in config.steps for batch in config.batch_sizes]:
        read = lambda key, place=place: {name: results.array("runs", key, run=f"{place} {name}") for name in TRACK}
        loss, rate = read("loss"), read("rate")
        measured["loss"][place] = {name: values.mean() for name, values in loss.items()}
        measured["loss_error"][place] = {name: standard_error(values, 0) for name, values in loss.items()}
        measured["rate"][place] = {name: np.exp(np.log(values).mean()) for name, values in rate.items()}
        measured["draws"][place] = loss
        measured["correlation"][place] = [
            spearmanr(column, list(TRACK.values())).statistic for column in zip(*loss.values(), strict=True)
        ]
    return measured, {"track": TRACK}


def judge(config: RankingConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """ranking: the mean rank correlation with the track is above `AGREES` at every horizon and batch. shampoo: Muon
    ends above Shampoo everywhere. momentum: without momentum every loss is above the worst of those with it. steps:
    Shampoo's lead over Muon shrinks from the shortest horizon to the longest.
    """
    loss, none = measured["draws"], "muon_without_momentum"
    yield "ranking", above("rank correlation", measured["correlation"], limit=AGREES)

    leads = {place: np.log(runs["muon"] / runs["shampoo"]) for place, runs in loss.items()}
    yield "shampoo", above("log of Muon's loss over Shampoo's", leads)

    worst = {place: np.max([runs[name] for name in TRACK if name != none], 0) for place, runs in loss.items()}
    over_worst = {place: runs[none] / worst[place] for place, runs in loss.items()}
    yield "momentum", above("none over the worst with it", over_worst, limit=1.0, scale=RATIO)

    first, *_, last = config.steps
    shrinks = {f"batch {batch}": leads[f"{first} {batch}"] - leads[f"{last} {batch}"] for batch in config.batch_sizes}
    yield "steps", above("lead, shortest less longest", shrinks)


EXPERIMENT = Experiment(
    name="ranking",
    purpose=headline(__doc__),
    profiles={
        "smoke": RankingConfig(n_items=32, dim=8, steps=(2, 3), batch_sizes=(2, 4), horizon=1.5, seeds=1),
        "cpu": RankingConfig(),
        "confirm": RankingConfig(first_seed=6750),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6750,
)
