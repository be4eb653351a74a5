"""`siblings`: whitening by matrices that share inputs against Muon in a recall network and a small language model.

A question of practice, ours: in one step of the memory it is ahead, and on short runs. Muon is that of
arXiv:2502.16982, whitening by the inputs' moment that of arXiv:2604.01472.

Claim: at tuned rates a momentum that is whitened by the gradients of all matrices that read the same inputs, with a
floor of the polar factor, ends below Muon in two networks, and below one that is whitened by its own alone.

Caveats: networks of d = 64 for 200 and 300 steps. Floor 0.6 and damping 10⁻³ are those of the memory, not tuned here.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from amembook.networks.attention import Network, forward, initial_weights, recall_loss
from amembook.networks.language_model import held_out_losses, train_language_model
from amembook.networks.long_runs import ladder
from amembook.networks.tasks import RecallTask, sample_sequences
from amembook.networks.text import documentation
from amembook.networks.training import train_matrices
from amembook.run import runtime
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Results, Several, draws, some_of
from amembook.run.studies import headline
from amembook.run.study import above, fixed
from amemlib.whitening import balanced_sum, whiten

TASKS = ("recall", "text")
UPDATES = ("muon", "own", "siblings")
MOMENTUM, SECOND = 0.95, 0.9
FLOOR, DAMPING = 0.6, 1e-3
"""As on the memory: the polar factor's part, and what is added to the moment, in units of its mean eigenvalue."""
VECTORS_LR = 3e-3
"""AdamW's rate of all vectors of the recall network."""
EVALUATED = 512
STARTS = {"recall": {"muon": 0.005}, "text": {}}
"""Where the ladders of rates start, if not at `START`."""
START = {"recall": 0.01, "text": 0.02}


@dataclass(frozen=True)
class SiblingsConfig(Config):
    """Runs of both updates at the best rate of a ladder, chosen for every seed on one half of what is held out."""

    tasks: Annotated[tuple[str, ...], some_of(*TASKS)] = TASKS
    updates: Annotated[tuple[str, ...], some_of(*UPDATES)] = UPDATES
    text_steps: Count = 200
    recall_steps: Count = 300
    batch: Count = 32  # sequences
    length: Several = 32
    dim: Several = 64
    n_words: Count = 320_000
    vocabulary: Several = 1024
    n_items: Several = 64  # of the recall network
    alpha: float = 1.5
    pairs: Count = 3
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        for name in ("muon", "siblings"):
            if name not in self.updates:
                raise ValueError(f"updates must hold {name}, got {self.updates}")


def families(names: Iterable[str]) -> list[list[str]]:
    """Matrices by what they read: query, key and value of a block the same rows, every other one its own."""
    groups = {}
    for name in names:
        shares = name[:-1] in ("query", "key", "value")
        groups.setdefault(f"attention{name[-1]}" if shares else name, []).append(name)
    return list(groups.values())


def polar_of_float32(M: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """The polar factor by an SVD in float32, directions at its rounding dropped: `polar`, in float64, takes longer than
    the rest of a step."""
    P, s, Qh = torch.linalg.svd(M, full_matrices=False)
    return (P * (s > (M.shape[0] * M.shape[1]) ** 0.25 * torch.finfo(M.dtype).eps * s[0])) @ Qh


def make_update(name: str) -> Callable[[int, dict[str, Tensor]], dict[str, Tensor]]:
    """Of Nesterov's average M, every update at ‖O‖_F = √min(m, n): muon polar(M); siblings M (Σ_r G_rᵀG_r + ϱ)⁻¹ with a
    floor of polar(M), the moment averaged over the steps, r over the matrices of its family; own the same with every
    matrix its own family."""
    averages, moments = {}, {}

    def update(step: int, G: dict[str, Tensor]) -> dict[str, Tensor]:
        added = {}
        for group in families(G) if name == "siblings" else [[one] for one in G]:
            key = group[0]
            if name != "muon":
                fresh = sum(X.mT @ X for X in (G[one].double() for one in group))
                moments[key] = torch.lerp(fresh, moments.get(key, fresh), SECOND)
            for one in group:
                average = averages[one] = torch.lerp(G[one], averages.get(one, torch.zeros_like(G[one])), MOMENTUM)
                M = torch.lerp(G[one], average, MOMENTUM)
                move = polar_of_float32(M)
                if name != "muon" and M.any():
                    move = balanced_sum([whiten(M, right=moments[key], damping=DAMPING), move], [1, FLOOR])
                size = math.sqrt(min(M.shape)) / torch.linalg.norm(move).clamp_min(torch.finfo(move.dtype).tiny)
                added[one] = (move * size).to(M)
        return added

    return update


def measure_run(config: SimpleNamespace, task: str, update: str, seed: int, device: str) -> dict:
    """validation, test: losses at the rate that is best on the first; `rate`, and the `ladder` of validation losses.

    Start and batches are the seed's, whatever the update.
    """
    losses_at, tried = {"text": _text_losses, "recall": _recall_losses}[task], {}

    def validation(rate: float) -> float:
        losses = losses_at(config, make_update(update), rate, seed, runtime.device(device))
        if losses is None:
            return math.inf
        tried[rate] = losses
        return losses["validation"]

    values = ladder(validation, STARTS[task].get(update, START[task]))
    rate = min(values, key=values.get)
    return tried[rate] | {"rate": rate, "ladder": {f"{key:g}": value for key, value in sorted(values.items())}}


def _text_losses(config: SimpleNamespace, update: Callable, rate: float, seed: int, place: torch.device) -> dict | None:
    text = documentation(config.n_words, config.vocabulary)
    sizes = config.vocabulary, config.length, config.dim, config.batch, config.text_steps
    weights = train_language_model(text, *sizes, rate, update, seed, place)
    return weights and held_out_losses(weights, text, config.length)


def _recall_losses(
    config: SimpleNamespace, update: Callable, rate: float, seed: int, place: torch.device
) -> dict | None:
    law = RecallTask(config.n_items, config.length, config.pairs, config.alpha, config.alpha)
    start = initial_weights(Network(law.vocabulary, config.length, config.dim), seed)
    weights = train_matrices(
        {name: W.to(place) for name, W in start.items()},
        dict.fromkeys(("embedding", "position", "unembedding"), VECTORS_LR),
        recall_loss,
        lambda step: sample_sequences(law, config.batch, seed, step).to(place),
        config.recall_steps,
        rate,
        update,
    )
    if weights is None:
        return None
    asked = sample_sequences(law, EVALUATED, seed, 0, "evaluation").to(place)
    with torch.no_grad():
        logits = forward(weights, asked.tokens, asked.queries).logits
        losses = F.cross_entropy(logits.flatten(0, 1), asked.targets.flatten(), reduction="none")
    rows = losses.double().reshape(EVALUATED, -1)
    return {"validation": rows[::2].mean().item(), "test": rows[1::2].mean().item()}


def grids(config: SiblingsConfig) -> dict[str, Grid]:
    """All updates on every task, over the seeds."""
    axes = {"task": config.tasks, "update": config.updates, "seed": draws(config)}
    return {"runs": Grid(measure_run, axes, config=fixed(config, "tasks", "updates"))}


def summarise(config: SiblingsConfig, results: Results) -> tuple[dict, dict]:
    """By task and update: loss, rate (means, geometric), draws; lead[task][update], every seed's Muon less it, nats."""
    read = lambda key: {
        task: {name: results.array("runs", key, task=task, update=name) for name in config.updates}
        for task in config.tasks
    }
    test = read("test")
    over = lambda runs, of: {task: {name: of(values) for name, values in own.items()} for task, own in runs.items()}
    return {
        "loss": over(test, np.mean),
        "rate": over(read("rate"), lambda values: np.exp(np.log(values).mean())),
        "draws": test,
        "lead": {
            task: {name: own["muon"] - values for name, values in own.items() if name != "muon"}
            for task, own in test.items()
        },
    }, {}


def judge(config: SiblingsConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """recall, text: siblings end below Muon. shared: below what a matrix has of its own gradients alone."""
    lead = measured["lead"]
    for task in TASKS:
        yield task, above("nats,", {"Muon less siblings": lead[task]["siblings"]} if task in lead else {})
    shared = {task: own["siblings"] - own["own"] for task, own in lead.items() if "own" in own}
    yield "shared", above("nats, own less siblings,", shared)


TINY = {"text_steps": 2, "recall_steps": 2, "batch": 2, "length": 12, "dim": 8, "n_words": 4000, "vocabulary": 32}
EXPERIMENT = Experiment(
    name="siblings",
    purpose=headline(__doc__),
    profiles={
        "smoke": SiblingsConfig(n_items=8, pairs=2, seeds=1, **TINY),
        "cpu": SiblingsConfig(),
        "confirm": SiblingsConfig(tasks=("recall",), first_seed=6650),
        "confirm-text": SiblingsConfig(tasks=("text",), first_seed=6660),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6650,
)
