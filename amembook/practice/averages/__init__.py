"""`averages`: Nesterov's average or a plain one, and a momentum that rises and falls, on the memory.

A question of practice, ours; Muon with Nesterov's average is that of arXiv:2502.16982.

Claim: Nesterov's average changes the loss by less than a hundredth; it helps where β is too large for run and batch,
and hurts where β is too small. A momentum that rises from 0.85 to 0.95 and falls to 0.9 is ahead of 0.95 at large
batches and behind a 24th of the run at any.

Caveats: one memory, N = 1024 and d = 64, 240 steps, the exact polar factor; of every run the least of a parabola in log
rate through the best of a ladder of factors of two and its neighbours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor

from amembook.networks.long_runs import ladder, loss_after
from amembook.networks.training import raised
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
    Shares,
    SteepAlpha,
    draws,
)
from amembook.run.claims import RATIO
from amembook.run.studies import headline
from amembook.run.study import above, fixed
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

LITTLE = 0.01
"""Of the loss: what Nesterov's average changes is less."""
KINDS = ("plain", "nesterov")
SIDES = {"above": 1, "below": -1}


@dataclass(frozen=True)
class AveragesConfig(Config):
    """Muon on one memory at a tuned rate that falls in a line to 0."""

    alpha: SteepAlpha = 1.5
    n_items: Several = 1024
    dim: Several = 64
    steps: Several = 240
    batch_sizes: AscendingCounts = (16, 256)
    betas: Shares = (0.8, 0.9, 0.95)  # too small, the rule's, too large
    horizon: Positive = 24.0  # of the rule 1/(1 − β) = T/horizon
    seeds: Count = 6
    first_seed: Natural = 0

    def limits(self) -> None:
        if len(self.betas) != 3 or abs(self.betas[1] - (1 - self.horizon / self.steps)) > 1e-9:
            raise ValueError(f"betas must be three about 1 − {self.horizon:g}/{self.steps}, got {self.betas}")


def measure(config: SimpleNamespace, batch: int, kind: str, beta: float | None, seed: int, device: str) -> dict:
    """loss: nats over all items at the best rate; beta: None for `raised`."""
    problem = Problem.power_law(config.n_items, config.dim, config.alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))

    def update(state: dict, G: Tensor) -> tuple[dict, Tensor]:
        step = state.get("step", 0)
        now = raised(step, config.steps) if beta is None else beta
        M = torch.lerp(G, state.get("M", torch.zeros_like(G)), now)
        return {"M": M, "step": step + 1}, polar(torch.lerp(G, M, now) if kind == "nesterov" else M)

    run = lambda rate: loss_after(update, emb, problem, config.steps, batch, rate, seed)
    values = [value for _, value in sorted(ladder(run, 60 / config.steps).items())]
    k = int(np.argmin(values))
    a, b, c = values[k - 1 : k + 2]
    return {"loss": b - (a - c) ** 2 / (8 * (a - 2 * b + c)) if a > b < c else b}


def grids(config: AveragesConfig) -> dict[str, Grid]:
    """Every run, "batch kind β" and "batch raised", over the draws."""
    runs = {}
    for batch in config.batch_sizes:
        for kind in KINDS:
            runs |= {f"{batch} {kind} {beta:g}": {"batch": batch, "kind": kind, "beta": beta} for beta in config.betas}
        runs[f"{batch} raised"] = {"batch": batch, "kind": "nesterov", "beta": None}
    sizes = fixed(config, "batch_sizes", "betas", "horizon")
    return {"runs": Grid(measure, {"run": runs, "seed": draws(config)}, config=sizes)}


def summarise(config: AveragesConfig, results: Results) -> tuple[dict, dict]:
    """loss, by "batch kind β" and "batch raised" the loss of every draw."""
    return {"loss": {run: results.array("runs", "loss", run=run) for run in results.grids["runs"].axes["run"]}}, {}


def judge(config: AveragesConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """little: plain over Nesterov's is 1 to `LITTLE`. sign: Nesterov's average is ahead where β is too large, at the
    largest batch, and behind where β is too small, at both. late: the momentum that rises and falls ends below the
    largest β at the largest batch. rule: it ends above the rule's β at both.
    """
    loss, (small, rule, large), wide = measured["loss"], config.betas, config.batch_sizes[-1]
    over = lambda batch, beta: loss[f"{batch} plain {beta:g}"] / loss[f"{batch} nesterov {beta:g}"]
    pairs = [(batch, beta) for batch in config.batch_sizes for beta in config.betas]
    rooms = {
        f"batch {batch}, β = {beta:g}, {side}": LITTLE + k * (over(batch, beta) - 1)
        for batch, beta in pairs
        for side, k in SIDES.items()
    }
    yield "little", above("room,", rooms)
    signs = {f"batch {batch}, β = {small:g}": 1 - over(batch, small) for batch in config.batch_sizes}
    yield "sign", above("of the loss,", {f"batch {wide}, β = {large:g}": over(wide, large) - 1} | signs)

    risen = lambda batch: loss[f"{batch} raised"]
    late = {f"batch {wide}, β = {large:g} over it": loss[f"{wide} nesterov {large:g}"] / risen(wide)}
    yield "late", above("loss,", late, limit=1, scale=RATIO)
    at_rule = {f"batch {n}, it over the rule's": risen(n) / loss[f"{n} nesterov {rule:g}"] for n in config.batch_sizes}
    yield "rule", above("loss,", at_rule, limit=1, scale=RATIO)


TINY = {"n_items": 32, "dim": 8, "steps": 8, "batch_sizes": (4, 16), "betas": (0.25, 0.5, 0.75), "horizon": 4.0}
EXPERIMENT = Experiment(
    name="averages",
    purpose=headline(__doc__),
    profiles={
        "smoke": AveragesConfig(seeds=1, **TINY),
        "cpu": AveragesConfig(),
        "confirm": AveragesConfig(first_seed=56_000),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=56_000,
)
