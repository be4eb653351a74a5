"""`bigrams`: loss of gradient descent and of Muon on a text's bigrams: first steps beside theory, and last ones.

A question of practice, ours: the update of arXiv:2502.16982 on the real conditional distributions of a text; the report
is github.com/JichuLi/Muon_associative_memory.

Claim: on soft targets the items of a step are the singular modes of the text's joint distribution; whether Muon's or
gradient descent's first step is the better one follows from them, and near a finite minimum descent is ahead.

Caveats: every step has its best length, which no run knows. The minimum is finite only where N > d²: 512 words, d = 16.
Drops and nuclear norms are held to 5 % at d = 64 and 128, their ratio to 10 %; the text is one, of Python's manuals.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.stats import t as student_t
from torch import Tensor

from amembook.practice.bigrams import expected
from amembook.practice.bigrams.text import SoftTargets, copied, targets
from amembook.run import runtime
from amembook.run.base import (
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positives,
    Results,
    Several,
    Sizes,
    draws,
    each,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, NETWORK, SMALL, equivalence, numbers, order
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.problem import Embeddings, Problem
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

MAPS = ("sgd", "polar")
_TRIALS = 60
_CLOSE = 0.01
DROP_BAND = NUCLEAR_BAND = SMALL
"""The bands of the drop of a first step and of a nuclear norm, at d = 64 and 128."""
RATIO_BAND = NETWORK
"""That of Muon's drop over gradient descent's: both bands together."""
NUCLEAR_RIVALS = {"one item a context": "nuclear_contexts", "a Gaussian matrix of its norm": "nuclear_gaussian"}


Targets = Annotated[tuple[str, ...], each(lambda _, target: targets(target, 4))]


@dataclass(frozen=True)
class BigramsConfig(Config):
    """Best steps along the gradient and along its polar factor on the most frequent words of a text.

    A target is "copy" or a share.
    """

    n_words: Several = 512  # N
    dims: Sizes = (64, 128)  # of the first steps
    first: Targets = ("0", "0.25", "0.5", "0.75", "1", "copy")
    run_dim: Several = 128  # of the longer runs
    run: Targets = ("0.25", "1", "copy")
    run_steps: Several = 30
    late_dim: Several = 16  # of the runs to the minimum
    late: Targets = ("1", "copy")
    levels: Positives = (0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)  # how near, relative to it
    late_steps: Several = 300
    seeds: Count = 8
    first_seed: Natural = 0

    def limits(self) -> None:
        if list(self.levels) != sorted(self.levels, reverse=True):
            raise ValueError(f"levels must fall, got {list(self.levels)}")


def embeddings(soft: SoftTargets, dim: int, seed: int, device: str) -> Embeddings:
    """Gaussian embeddings of words as outputs and as contexts, float64."""
    problem = Problem.from_frequencies(soft.frequencies, dim)
    return sample_embeddings(problem, seed, runtime.device(device), torch.float64)


def direction(G: Float[Tensor, "d d"], name: str) -> Float[Tensor, "d d"]:
    """Where a map steps from −∇L = G: along G, brought to norm 1, or along its polar factor."""
    return polar(G) if name == "polar" else G / torch.linalg.norm(G)


def descend(soft: SoftTargets, emb: Embeddings, name: str) -> Iterator[float]:
    """The loss at W = 0 and after every step W += η D, η the one of least loss along D.

    The loss along D is convex; its minimum comes from Newton's method in η, kept in a bracket, from the last step's.
    """
    p, P = soft.frequencies.to(emb.U.device), soft.P.to(emb.U.device)
    logits, eta = torch.zeros_like(P), 1.0
    while True:
        log_sums = torch.logsumexp(logits, 0)
        yield (p @ (log_sums - (P * logits).sum(0))).item()
        G = (emb.U.mT @ ((P - torch.exp(logits - log_sums)) * p)) @ emb.V
        along = emb.U @ direction(G, name) @ emb.V.mT
        wanted = p @ (P * along).sum(0)
        low, high = 0.0, math.inf
        for _ in range(_TRIALS):
            weights = torch.softmax(logits + eta * along, 0) * along
            mean = weights.sum(0)
            slope = (p @ mean - wanted).item()
            curvature = (p @ ((weights * along).sum(0) - mean**2)).item()
            low, high = (eta, high) if slope < 0 else (low, eta)
            last, eta = eta, eta - slope / max(curvature, 1e-300)
            # a step of Newton's leaves the bracket where the partition sums are saturated
            if not low < eta < min(high, 4 * last):
                eta = 4 * last if high == math.inf else (low + high) / 2
            if abs(eta - last) < _CLOSE * last:
                break
        logits = logits + eta * along


def losses(soft: SoftTargets, emb: Embeddings, name: str, steps: int) -> list[float]:
    """The losses after 0, …, `steps` steps."""
    run = descend(soft, emb, name)
    return [next(run) for _ in range(steps + 1)]


def least_loss(soft: SoftTargets, emb: Embeddings) -> float:
    """min_W L by L-BFGS: finite where there are more words than the memory can tell apart, N > d²."""
    p, P = soft.frequencies, soft.P

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        logits = emb.U @ torch.from_numpy(flat).reshape(emb.dim, emb.dim) @ emb.V.mT
        log_sums = torch.logsumexp(logits, 0)
        G = (emb.U.mT @ ((torch.exp(logits - log_sums) - P) * p)) @ emb.V
        return (p @ (log_sums - (P * logits).sum(0))).item(), G.flatten().numpy()

    # scipy's, for torch's own takes a second to import
    limits = {"maxiter": 3000, "maxfun": 6000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-9}
    return float(minimize(loss, np.zeros(emb.dim**2), jac=True, method="L-BFGS-B", options=limits).fun)


def measure_first(config: SimpleNamespace, dim: int, target: str, seed: int, device: str) -> dict:
    """How much the best first step of each map takes off the loss, and the nuclear norm of the gradient at W = 0."""
    soft = targets(target, config.n_words)
    emb = embeddings(soft, dim, seed, device)
    drops = {name: math.log(config.n_words) - losses(soft, emb, name, 1)[1] for name in MAPS}
    G = emb.U.mT @ soft.centred.to(emb.U.device) @ emb.V
    return {"drop": drops, "nuclear": torch.linalg.svdvals(G).sum().item()}


def measure_run(config: SimpleNamespace, target: str, seed: int, device: str) -> dict:
    """Losses of both maps over many best steps, in float64, from the same embeddings."""
    soft = targets(target, config.n_words)
    emb = embeddings(soft, config.run_dim, seed, device)
    return {name: losses(soft, emb, name, config.run_steps) for name in MAPS}


def measure_late(config: SimpleNamespace, target: str, seed: int) -> dict:
    """After how many best steps each map is within each of `levels` of the least loss; `late_steps` if never."""
    soft, levels, most = targets(target, config.n_words), config.levels, config.late_steps
    emb = embeddings(soft, config.late_dim, seed, "cpu")
    least, result = least_loss(soft, emb), {}
    for name in MAPS:
        reached: list[int] = []
        for step, value in enumerate(descend(soft, emb, name)):
            while len(reached) < len(levels) and value / least - 1 <= levels[len(reached)]:
                reached.append(step)
            if len(reached) == len(levels) or step == most:
                break
        result[name] = reached + [most] * (len(levels) - len(reached))
    return {"steps": result, "least": least}


def grids(config: BigramsConfig) -> dict[str, Grid]:
    """First steps by d and target, longer runs and runs to the minimum by target, each over the draws."""
    sizes, seeds = fixed(config, "dims", "first", "run", "late"), {"seed": draws(config)}
    return {
        "first": Grid(measure_first, {"dim": config.dims, "target": config.first} | seeds, config=sizes),
        "run": Grid(measure_run, {"target": config.run} | seeds, config=sizes),
        "late": Grid(measure_late, {"target": config.late} | seeds, config=sizes),
    }


def summarise(config, results: Results) -> tuple[dict, dict]:
    """first[map]: drops (d, target); nuclear (d, target); run[map]: (target, step); steps[map]: (target, level);
    lead: mean and interval of log steps of descent over Muon's to the last level, by target; `…_error` beside."""
    steps = {name: results.array("late", "steps", name).astype(float) for name in MAPS}
    drops = {name: results.array("first", "drop", name) for name in MAPS}
    log_ratio, nuclear = np.log(drops["polar"]) - np.log(drops["sgd"]), results.array("first", "nuclear")
    measured = {}
    for key, values, axis in (
        ("first", drops, 2),
        ("run", {name: results.array("run", name) for name in MAPS}, 1),
        ("steps", steps, 1),
    ):
        measured[key] = {name: draws.mean(axis) for name, draws in values.items()}
        measured[f"{key}_error"] = {name: standard_error(draws, axis) for name, draws in values.items()}
    for key, values in (("nuclear", nuclear), ("log_ratio", log_ratio)):
        measured |= {key: values.mean(2), f"{key}_error": standard_error(values, 2)}
    last = {name: np.log(np.maximum(values[:, :, -1], 1)) for name, values in steps.items()}
    lead, width = (last["sgd"] - last["polar"]).mean(1), standard_error(last["sgd"] - last["polar"])
    width = width * student_t.ppf(0.975, max(config.seeds - 1, 1))
    measured["lead"] = {"log": lead, "interval": np.stack([lead - width, lead + width], 1)}
    measured["least"] = results.array("late", "least").mean(1)
    return measured, predict(config)


def predict(config) -> dict:
    """Drops, nuclear norms and their rivals, all from the table of bigrams and d."""
    held, copy = {name: targets(name, config.n_words) for name in config.first}, copied(config.n_words)
    over = lambda law: [[law(soft, dim) for soft in held.values()] for dim in config.dims]
    by_map = lambda law: {name: over(partial(law, name=name)) for name in MAPS}
    circle = 8 / (3 * math.pi)
    return {
        "first": by_map(expected.expected_drop),
        "no_noise": by_map(partial(expected.expected_drop, noise=0.0)),
        "second_order": by_map(expected.second_order_drop),
        "contexts": by_map(lambda soft, dim, name: expected.expected_drop(copy, dim, name)),
        "nuclear": over(expected.nuclear_norm),
        "nuclear_contexts": over(lambda soft, dim: expected.nuclear_norm(copy, dim)),
        "nuclear_gaussian": over(lambda soft, dim: circle * math.sqrt(dim) * soft.centred.norm().item()),
        "entropy": {name: soft.entropy for name, soft in held.items()},
        "modes": {name: expected.modes(soft)[1][:64].tolist() for name, soft in held.items()},
    }


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """first: drops of soft targets; ratio: Muon's over descent's; spectrum: nuclear norms; all beside predictions.
    late: descent is first at the last level on the text.
    """
    soft = [k for k, name in enumerate(config.first) if name != "copy"]
    take = lambda table: np.array([table[name][:, soft] for name in MAPS])
    rows = [f"d = {dim}, {config.first[k]}" for dim in config.dims for k in soft]
    laws = {key: take(predicted[key]) for key in ("first", "second_order", "contexts", "no_noise")}
    rough = {"to second order": laws["second_order"], "one item a context": laws["contexts"]}
    held_to = {"law": laws["first"], "band": DROP_BAND, "rivals": rough | {"without noise": laws["no_noise"]}}
    drops, error = take(measured["first"]), take(measured["first_error"])
    at = [f"{name}, {row}" for name in MAPS for row in rows]
    yield "first", equivalence(numbers("drop of", drops, error, config.seeds, at=at, **held_to))

    over_descent = lambda values: values[1] / values[0]
    rivals = {"no difference": 1.0} | {name: over_descent(law) for name, law in rough.items()}
    held_to = {"law": over_descent(laws["first"]), "band": RATIO_BAND, "rivals": rivals, "at": rows}
    ratio = np.exp(measured["log_ratio"][:, soft])
    error = ratio * measured["log_ratio_error"][:, soft]
    yield "ratio", equivalence(numbers("Muon over descent,", ratio, error, config.seeds, **held_to))

    rivals = {name: predicted[key][:, soft] for name, key in NUCLEAR_RIVALS.items()}
    held_to = {"law": predicted["nuclear"][:, soft], "band": NUCLEAR_BAND, "rivals": rivals, "at": rows}
    norms, error = (measured[name][:, soft] for name in ("nuclear", "nuclear_error"))
    yield "spectrum", equivalence(numbers("nuclear norm,", norms, error, config.seeds, **held_to))

    late = []
    if "1" in config.late:
        low, high = measured["lead"]["interval"][config.late.index("1")]
        interval = {"low": -high, "high": -low, "limit": 0.0, "scale": DIFFERENCE}
        late = numbers("log of Muon's steps over descent's", -(low + high) / 2, draws=config.seeds, **interval)
    yield "late", order(late)


TINY = {"n_words": 24, "dims": (8,), "first": ("1",), "run_dim": 8, "run": ("1",), "run_steps": 2, "late_dim": 4}
TINY |= {"late": ("1",), "levels": (0.01, 0.001), "late_steps": 20, "seeds": 2}
EXPERIMENT = Experiment(
    name="bigrams",
    purpose=headline(__doc__),
    profiles={
        "smoke": BigramsConfig(**TINY),
        "cpu": BigramsConfig(),
        "confirm": BigramsConfig(first_seed=5720),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
