"""`whitened-runs`: whether the first step's ranking of whitened updates outlasts it: loss and items at tuned rates.

Many steps with the softmax's own gradients on the model of arXiv:2603.26554, by updates that whiten and by those that
do not, those of arXiv:2604.01472, arXiv:1503.05671 and arXiv:2409.11321.

Claim: ours: the first step's ranking of whitened updates holds for a few steps and is gone after thirty, when SGD with
steps of one length ends as low as Muon.

Caveats: d = 64 up to 100 steps and 128 up to 30, every step of a run at one Frobenius norm; rates on a √2 ladder, best
in the mean of two draws that are not counted. Of eight updates a rank correlation is seen above chance from 0.64 on.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import torch
from scipy.stats import spearmanr

from amembook.networks import whitened
from amembook.networks.long_runs import BATCHES, MOST, batch_errors, best_half_octave, family
from amembook.run import runtime
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Positive,
    Results,
    Several,
    Sizes,
    SteepAlpha,
)
from amembook.run.claims import RATIO, SMALL, equivalence
from amembook.run.studies import headline
from amembook.run.study import above, fixed, law
from amemlib.gradients import loss
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_minibatch

METHODS = ("plain_sgd", *whitened.UPDATES)
"""plain_sgd is sgd, its steps as long as the averaged gradient; those of all others have one Frobenius norm."""
SIBLINGS = 3
_START, _PLAIN_START = 8.0, 32.0
AGREES = 0.64
"""The rank correlation of eight from which on it is seen above chance at 5 %, one-sided."""
EARLY, LATE, FROM = 10, 30, 10
"""Steps up to which the first step's order is claimed to hold, and from which on to be gone at the first d; losses are
compared from `FROM` steps on."""
LENGTH = 1.5
"""Plain SGD's loss is more than this many times that of SGD with steps of one length."""


@dataclass(frozen=True)
class WhitenedRunsConfig(Config):
    """Fresh batches; all steps of one run at one Frobenius norm, falling in a line to 0; momentum by the horizon."""

    alpha: SteepAlpha = 1.5
    dims: Sizes = (64, 128)
    n_items: Counts = (2048, 4096)  # at each of `dims`
    steps: AscendingCounts = (1, 3, 10, 30)
    more_steps: Count = 100  # at the first of `dims` alone
    batch_size: Count = 4096
    horizon: Positive = 24.0  # of the rule β = max(0, 1 − horizon/T), for all
    tuning_seeds: Count = 2  # draws after the counted ones, on which the rates are chosen
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if len(self.n_items) != len(self.dims):
            raise ValueError(f"n_items must hold {len(self.dims)} numbers, as dims does, got {list(self.n_items)}")
        if self.steps[0] != 1:
            raise ValueError(f"steps must begin with 1, the first step, got {list(self.steps)}")
        if self.more_steps <= self.steps[-1]:
            raise ValueError(f"more_steps must be more than those of steps, got {self.more_steps}")


def run(
    update: Callable,
    embs: list[Embeddings],
    problem: Problem,
    n_steps: int,
    batch_size: int,
    rate: float,
    seed: int,
    plain: bool = False,
) -> tuple[float, int]:
    """Loss in nats, at most 100, and items of the first of some matrices that read the same inputs, from W = 0.

    W ← W + η √d S/‖S‖_F with S = update's step, η from `rate` in a line to 0; `plain`: W ← W + η S. Every matrix sees
    the items of the same fresh batch and takes the same update.
    """
    dim, device = problem.dim, embs[0].U.device
    Ws = [torch.zeros(dim, dim, dtype=torch.float64, device=device) for _ in embs]
    states = [{} for _ in embs]
    for t in range(n_steps):
        q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(device)
        shown = [batch_errors(W, emb, q) for W, emb in zip(Ws, embs, strict=True)]
        gradients = [(weights[:, None] * errors).mT @ inputs for weights, errors, inputs in shown]
        shared = sum(G.mT @ G for G in gradients)
        for k, (G, seen) in enumerate(zip(gradients, shown, strict=True)):
            states[k], step = update(states[k], whitened.Pass(G, *seen, shared))
            length = 1.0 if plain else math.sqrt(dim) / torch.linalg.matrix_norm(step)
            Ws[k] = Ws[k] + rate * (1 - t / n_steps) * length * step
        if not torch.isfinite(Ws[0]).all():
            return MOST, 0
    return min(loss(Ws[0], embs[0], problem.frequencies), MOST), capacity(Ws[0], embs[0])


def measure_method(
    config: SimpleNamespace, dim: int, n_items: int, n_steps: int, method: str, seeds: int, first_seed: int, device: str
) -> dict:
    """By what the rate is best for, "loss" or "items": rate, loss and items of every draw; tried: [rate, loss, items].

    The rate is the best of a ladder of factors √2, on the mean over `tuning_seeds` draws that come after the counted
    ones, both its neighbours tried and worse. β = max(0, 1 − horizon/T).
    """
    problem, plain = Problem.power_law(n_items, dim, config.alpha), method == "plain_sgd"
    update = partial(whitened.UPDATES["sgd" if plain else method], beta=max(0.0, 1 - config.horizon / n_steps))
    matrices = SIBLINGS if method == "siblings_polar" else 1
    rate_of = lambda k: (_PLAIN_START if plain else _START) * 2 ** (k / 2)
    of_seed = cache(lambda seed: family(n_items, dim, SIBLINGS, seed, runtime.device(device))[:matrices])

    @cache
    def at(k: int, seed: int) -> tuple[float, int]:
        return run(update, of_seed(seed), problem, n_steps, config.batch_size, rate_of(k), seed, plain)

    first_of_tuning, tried = first_seed + seeds, {}

    def tuned(k: int, what: int) -> float:
        if k not in tried:
            draws = [at(k, first_of_tuning + j) for j in range(config.tuning_seeds)]
            tried[k] = [sum(values) / config.tuning_seeds for values in zip(*draws, strict=True)]
        return tried[k][what]

    best = {"loss": best_half_octave(lambda k: tuned(k, 0)), "items": best_half_octave(lambda k: -tuned(k, 1))}
    result = {"tried": [[rate_of(k), *tried[k]] for k in sorted(tried)]}
    for name, k in best.items():
        losses, items = zip(*(at(k, first_seed + j) for j in range(seeds)), strict=True)
        result[name] = {"rate": rate_of(k), "loss": list(losses), "items": list(items)}
    return result


def grids(config: WhitenedRunsConfig) -> dict[str, Grid]:
    """A cell for each setting, "d T", and method: the rates are chosen in it."""
    sizes = list(zip(config.dims, config.n_items, strict=True))
    settings = [(dim, n_items, steps) for dim, n_items in sizes for steps in config.steps]
    settings.append((*sizes[0], config.more_steps))
    places = {f"{dim} {steps}": {"dim": dim, "n_items": n, "n_steps": steps} for dim, n, steps in sorted(settings)}
    own = fixed(config, "dims", "n_items", "steps", "more_steps")
    return {"runs": Grid(measure_method, {"place": places, "method": METHODS}, config=own)}


def summarise(config: WhitenedRunsConfig, results: Results) -> tuple[dict, dict]:
    """By "d T", then by method: loss of every draw at the rate best for loss, items of every draw at the rate best for
    items, items_of_loss at the rate best for loss, rate_loss, rate_items, tried (rows of rate, loss, items). By "d T":
    correlation, of the items of every draw with the mean ones after one step, and correlation_loss likewise.

    predicted: the ratio of SGD's loss to Muon's.
    """
    wanted = {
        "loss": ("loss", "loss"),
        "items": ("items", "items"),
        "items_of_loss": ("loss", "items"),
        "rate_loss": ("loss", "rate"),
        "rate_items": ("items", "rate"),
    }
    cells = dict(zip(results.grids["runs"].axes["place"], results.draws["runs"], strict=True))
    by_method = lambda place, read: {name: read(cell) for name, cell in zip(METHODS, cells[place], strict=True)}
    measured = {
        key: {place: by_method(place, lambda cell, one=one, of=of: cell[one][of]) for place in cells}
        for key, (one, of) in wanted.items()
    }
    measured["tried"] = {place: by_method(place, lambda cell: cell["tried"]) for place in cells}
    for key, of in (("correlation", "items"), ("correlation_loss", "loss")):
        measured[key] = {}
        for place in cells:
            first = measured[of][f"{place.split()[0]} 1"]
            reference = [np.mean(first[name]) for name in METHODS]
            table = np.array([measured[of][place][name] for name in METHODS])
            measured[key][place] = [spearmanr(column, reference).statistic for column in table.T]
    return measured, {"sgd_over_muon": 1.0}


def judge(config: WhitenedRunsConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """early: after 3 to `EARLY` steps the order of items agrees with the first step's beyond chance. late: at the first
    d it does not from `LATE` steps on. loss: W* with its floor ends below Muon from `FROM` steps on. falls: its lead in
    items falls, from one step to ten and on to the most. sgd: with steps of one length SGD ends as low as Muon, from
    `FROM` steps on. length: without, `LENGTH` times as high.
    """
    loss, items, agrees = measured["loss"], measured["items"], measured["correlation"]
    steps, dim = lambda place: int(place.split()[1]), lambda place: place.split()[0]
    long, dims = [place for place in loss if steps(place) >= FROM], [f"{d}" for d in config.dims]
    over = lambda name, other, at: {place: loss[place][name] / loss[place][other] for place in at}

    early = {place: rho for place, rho in agrees.items() if 1 < steps(place) <= EARLY}
    yield "early", above("rank correlation", early, limit=AGREES)
    late = {p: AGREES - rho for p, rho in agrees.items() if dim(p) == dims[0] and steps(p) >= LATE}
    yield "late", above("0.64 less the rank correlation", late)
    ratio = over("muon", "matched_polar", long)
    yield "loss", above("Muon's loss over that of W* and floor", ratio, limit=1, scale=RATIO)

    lead = {place: np.log(of["matched_polar"] / of["muon"]) for place, of in items.items()}
    falls = {}
    for d in dims:
        last = max((place for place in lead if dim(place) == d), key=steps)
        for one, other in ((f"{d} 1", f"{d} {FROM}"), (f"{d} {FROM}", last)):
            if one in lead and other in lead and one != other:
                falls[f"{one} to {steps(other)}"] = lead[one] - lead[other]
    yield "falls", above("fall of the log of the lead in items", falls)

    first = over("sgd", "muon", [f"{d} 1" for d in dims])
    held_to = {"law": predicted["sgd_over_muon"], "band": SMALL}
    held_to["rivals"] = {"the first step": [first[f"{dim(place)} 1"].mean() for place in long]}
    yield "sgd", law("SGD over Muon", over("sgd", "muon", long), **held_to) if long else equivalence([])
    yield "length", above("plain over one length", over("plain_sgd", "sgd", long), limit=LENGTH, scale=RATIO)


TINY = {"dims": (4,), "n_items": (48,), "steps": (1, 2), "more_steps": 3, "batch_size": 512, "horizon": 2.0}
EXPERIMENT = Experiment(
    name="whitened-runs",
    purpose=headline(__doc__),
    profiles={
        "smoke": WhitenedRunsConfig(tuning_seeds=1, seeds=1, **TINY),
        "cpu": WhitenedRunsConfig(),
        "confirm": WhitenedRunsConfig(first_seed=6800),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6800,
)
