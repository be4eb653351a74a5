"""`optimizers`: Adam, sign, Shampoo, SOAP, NorMuon and Dion on the memory: one step predicted, many counted and ranked.

A question of practice, ours; the optimizers are those of arXiv:1412.6980, arXiv:1802.04434, arXiv:1802.09568,
arXiv:2409.11321, arXiv:2510.05491, arXiv:2504.05295 and arXiv:2604.09967.

Claim: the first step of Shampoo, SOAP and NorMuon is Muon's and that of Adam is the sign, which stores what SGD stores;
a low rank stores less than its share; whether many steps rank them as a language model does is counted.

Caveats: counts are judged from d = 256 on, low ranks from a quarter of d. Long runs are of one memory, N = 1024 and
d = 64, for 60 steps, at rates to a factor of two. The ranking is that of eight optimizers on one language model.
"""

import math
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Annotated

import torch
from torch import Tensor

from amembook.networks.long_runs import BATCHES, dense_gradient
from amembook.networks.updates import UPDATES, dion, soap_at_once
from amembook.practice.optimizers import expected
from amembook.practice.optimizers.judge import judge, summarise
from amembook.run import runtime
from amembook.run.base import Alpha, Alphas, Config, Count, Experiment, Grid, Natural, Positives, draws, each
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.checks import check_choice, check_dims
from amemlib.gradients import gradient_rank, initial_gradient, loss
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar, singular_triples

WARM_STEPS = 4
"""Power iterations on one gradient after which Dion counts as warm."""


RATES = {
    "16": {
        "sgd": 64.0, "sign": 0.125, "adam": 0.25, "muon": 0.5, "muon_five_steps": 1.0, "muon_without_momentum": 8.0,
        "muon_squared": 1.0, "normuon": 0.5, "shampoo": 4.0, "one_sided_shampoo": 2.0, "soap": 0.5, "dion": 1.0,
        "full_dion": 1.0,
    },
    "256": {
        "sgd": 64.0, "sign": 0.125, "adam": 0.5, "muon": 1.0, "muon_five_steps": 1.0, "muon_without_momentum": 2.0,
        "muon_squared": 2.0, "normuon": 1.0, "shampoo": 4.0, "one_sided_shampoo": 4.0, "soap": 0.5, "dion": 2.0,
        "full_dion": 1.0,
    },
    "0": {
        "adam": 0.5, "muon": 1.0, "muon_without_momentum": 4.0, "muon_squared": 2.0, "normuon": 1.0, "shampoo": 4.0,
        "one_sided_shampoo": 4.0, "soap": 0.5,
    },
}  # fmt: skip
"""By batch size, 0 for the population, where only the optimizers of the track run: the power of two at which the loss
after 60 steps was least in the mean over the exploratory draws 0, 1 and 2, its neighbours on both sides tried too."""


def _check_fraction(name: str, value: float) -> None:
    if not 0 < value <= 1:
        raise ValueError(f"{name} must lie in (0, 1], got {value!r}")


def _check_batch(name: str, batch: int) -> None:
    if f"{batch}" not in RATES:
        raise ValueError(f"{name} must be among {', '.join(RATES)}, where rates are known, got {batch!r}")


Large = Annotated[tuple[int, ...], partial(check_dims, count=1, least=8)]


@dataclass(frozen=True)
class OptimizersConfig(Config):
    """One step and many of the optimizers of `networks.updates.UPDATES`."""

    optimizers: Annotated[tuple[str, ...], each(partial(check_choice, allowed=tuple(UPDATES)))] = tuple(UPDATES)
    alphas: Alphas = (1.25, 1.5, 2.0)  # of the sign and of low ranks
    dims: Large = (128, 256, 512)  # d of the sign
    n_items: Count = 4096
    sign_seeds: Count = 8  # the sign stores so few items that it needs more draws
    fractions: Annotated[tuple[float, ...], each(_check_fraction)] = (0.125, 0.25, 0.5, 0.75)  # r/d of low ranks
    first_alpha: Alpha = 1.5  # of the first steps
    first_dims: Large = (128, 256)
    rank_dims: Large = (128, 256)
    run_alpha: Alpha = 1.5  # of the long runs
    run_items: Count = 1024
    run_dim: Count = 64
    steps: Count = 60
    batch_sizes: Annotated[tuple[int, ...], each(_check_batch)] = (0, 16, 256)  # 0 for the population
    factors: Positives = (0.5, 1.0, 2.0)  # of the rate in `RATES`; on the population it is the rate itself
    seeds: Count = 5
    first_seed: Natural = 0


def runs(config: OptimizersConfig) -> dict[str, dict]:
    """Every optimizer at every batch size, with its rate there."""
    return {
        f"{batch} {name}": {"optimizer": name, "batch_size": batch, "rate": RATES[f"{batch}"][name]}
        for batch in config.batch_sizes
        for name in config.optimizers
        if name in RATES[f"{batch}"]
    }


def measure_sign(config: SimpleNamespace, alpha: float, dim: int, seed: int, device: str) -> dict:
    """Items of sign(G) and of G; by octave of rank, the mean own logit of sign(G), and the root mean square of the
    logits between the rarer half of the inputs and the outputs of the octave."""
    emb, _, G = _drawn(config, alpha, dim, seed, device)
    W, half = G.sign(), config.n_items // 2
    U, V = emb.U.double(), emb.V.double()
    own = ((V @ W.mT) * U).sum(1)
    rivals = (V[half:] @ W.mT @ U[:half].mT).square().mean(0)
    octaves = expected.octaves_of(config.n_items)
    return {
        "sign": capacity(W, emb),
        "sgd": capacity(G, emb),
        "signal": [own[ranks].mean().item() for ranks in octaves],
        "rivals": [rivals[ranks].mean().sqrt().item() for ranks in octaves],
    }


def measure_first(config: SimpleNamespace, dim: int, seed: int, device: str) -> dict:
    """Items of the first step of every optimizer, and its distance from what it should be.

    distance: the largest entry of the step minus polar(G), or minus sign(G) for `adam`, where |G| is above √ε times its
    largest entry. soap, which only looks in its first step, takes it at once; `soap in float32` does so in that format.
    """
    emb, _, G = _drawn(config, config.first_alpha, dim, seed, device)
    steps = {name: UPDATES[name]({}, G)[1] for name in config.optimizers if name != "soap"}
    if "soap" in config.optimizers:
        steps |= {"soap": soap_at_once(G), "soap in float32": soap_at_once(G.float(), 1e-8).double()}
    clear = G.abs() > 1e-4 * G.abs().max()
    aims = {name: polar(G) for name in steps} | {"adam": torch.where(clear, G.sign(), steps.get("adam", G))}
    return {
        "counts": {name: capacity(W, emb) for name, W in steps.items()},
        "distance": {name: (W - aims[name]).abs().max().item() for name, W in steps.items()},
    }


def measure_rank(config: SimpleNamespace, alpha: float, dim: int, seed: int, device: str) -> dict:
    """Items of the polar factor of the largest r singular values, and of Dion at rank r: its first step, and the step
    after `WARM_STEPS` power iterations on the same gradient. A list each, for r/d in `fractions`; polar: of all."""
    emb, q, G = _drawn(config, alpha, dim, seed, device)
    P, _, Qh = singular_triples(G)
    items = {"polar": capacity(polar(G, gradient_rank(emb, q)), emb), "low_rank": [], "dion": [], "warm": []}
    for fraction in config.fractions:
        rank = max(1, round(fraction * dim))
        state, first = dion({}, G, fraction)
        warm = first
        for _ in range(WARM_STEPS - 1):
            state, warm = dion({"M": torch.zeros_like(G), "Q": state["Q"]}, G, fraction)
        for name, W in (("low_rank", P[:, :rank] @ Qh[:rank]), ("dion", first), ("warm", warm)):
            items[name].append(capacity(W, emb))
    return items


def measure_run(
    config: SimpleNamespace, optimizer: str, rate: float, factor: float, batch_size: int, seed: int, device: str
) -> dict:
    """Cross-entropy over all items, in nats, and recovered items after `steps` steps from W = 0.

    The rate falls in a line from `rate` · `factor` to 0. batch_size: items of a fresh batch every step, 0 for the
    population. A loss beyond 100 nats, or none, counts as 100.
    """
    problem = Problem.power_law(config.run_items, config.run_dim, config.run_alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    update, state = UPDATES[optimizer], {}
    W = torch.zeros(problem.dim, problem.dim, dtype=torch.float64, device=emb.U.device)
    q = problem.frequencies.to(W.device)
    for t in range(config.steps):
        if batch_size:
            q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(W.device)
        state, step = update(state, dense_gradient(W, emb, q))
        W = W + rate * factor * (1 - t / config.steps) * step
        if not torch.isfinite(W).all():
            return {"loss": 100.0, "items": 0}
    return {"loss": min(loss(W, emb, problem.frequencies), 100.0), "items": capacity(W, emb)}


def _drawn(
    config: SimpleNamespace, alpha: float, dim: int, seed: int, device: str
) -> tuple[Embeddings, Tensor, Tensor]:
    """A draw of the embeddings, the frequencies, and the first gradient."""
    problem = Problem.power_law(config.n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    return emb, problem.frequencies, initial_gradient(emb, problem.frequencies)


def grids(config: OptimizersConfig) -> dict[str, Grid]:
    """The sign, the first steps, low ranks, and the long runs, each over the draws."""
    sizes = fixed(config, "alphas", "dims", "sign_seeds", "first_dims", "rank_dims", "batch_sizes", "factors")
    seeds = {"seed": draws(config)}
    noisy, still = ({k: one for k, one in runs(config).items() if bool(one["batch_size"]) == noise} for noise in (1, 0))
    axes = {
        "sign": (measure_sign, {"alpha": config.alphas, "dim": config.dims, "seed": draws(config, config.sign_seeds)}),
        "first": (measure_first, {"dim": config.first_dims} | seeds),
        "rank": (measure_rank, {"alpha": config.alphas, "dim": config.rank_dims} | seeds),
        "runs": (measure_run, {"run": noisy, "factor": config.factors} | seeds),
        "still": (measure_run, {"run": still, "factor": (1.0,)} | seeds),
    }
    return {name: Grid(measure, varying, config=sizes) for name, (measure, varying) in axes.items()}


TINY = {"alphas": (1.5,), "dims": (16,), "n_items": 64, "sign_seeds": 2, "fractions": (0.5,), "first_dims": (16,)}
TINY |= {"rank_dims": (16,), "run_items": 32, "run_dim": 8, "steps": 3, "batch_sizes": (0, 16), "factors": (1.0,)}
EXPERIMENT = Experiment(
    name="optimizers",
    purpose=headline(__doc__),
    profiles={
        "smoke": OptimizersConfig(optimizers=("adam", "muon", "soap"), seeds=2, **TINY),
        "cpu": OptimizersConfig(),
        # low ranks and momentum, undecided by five draws: 47 decide low ranks if the law is off by half its band
        "many": OptimizersConfig(
            optimizers=("muon", "muon_without_momentum"),
            dims=(128,),
            sign_seeds=4,
            first_dims=(128,),
            batch_sizes=(0, 16),
            seeds=64,
            first_seed=58_300,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
