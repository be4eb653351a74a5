"""`weight-decay`: weight decay of Muon on the memory: the bound on the weights, the items under it, runs on batches.

A question of practice, ours; that decayed Muon bounds the spectral norm is in arXiv:2506.15054, the update in
arXiv:2502.16982.

Claim: strong weight decay leaves the items of one Muon step; the bound at which there are twice as many does not grow
with the dimension; on batches decay lowers the loss by less than a tenth.

Caveats: d = 32 to 96, over which a slope scatters by 0.15 in two draws of three; a power d^¼ is not refused. Bounded
minima have a certificate, a gap of at most 0.02 nats, for radii up to 16.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.networks.long_runs import BATCHES, MOST, best_of_ladder, dense_gradient
from amembook.networks.updates import Update, muon_shipped, muon_without_momentum
from amembook.run import runtime
from amembook.run.base import (
    Alphas,
    AscendingCounts,
    AscendingPositives,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positive,
    Results,
    Several,
    Sizes,
    SteepAlpha,
    draws,
    slope,
)
from amembook.run.claims import DIFFERENCE, RATIO, SMALL, check
from amembook.run.studies import headline
from amembook.run.study import above, fixed, law
from amemlib.gradients import loss
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar

_SHARE = 0.32
"""λη of the first of the steps that look for the bounded minimum."""
GAP = 0.02
"""Nats: the certificate of every bounded minimum with a radius of at most `CERTIFIED`."""
CERTIFIED = 16.0
GAINS = 1.1
"""Without decay the loss is less than this many times that of the best λ > 0."""
EXPONENT_BAND = 0.15
"""What two draws in three of a slope over a factor of three in d scatter by, at d = 32 to 96."""


@dataclass(frozen=True)
class WeightDecayConfig(Config):
    """The least loss under ‖W‖_op ≤ R on the population, N = `items_per_dim` d; then runs on batches."""

    alpha: SteepAlpha = 1.5
    dims: Sizes = (32, 48, 64, 96)
    other_alphas: Alphas = (1.25, 2.0)  # at the third of `dims`
    items_per_dim: Count = 16
    radii: AscendingPositives = (2.0, 8.0, 11.3, 16.0, 22.6)  # R = 1/λ
    bounded_steps: Several = 80
    seeds: Count = 8
    # runs on batches, the rate tuned for every draw and λ
    run_dim: Several = 64
    run_items: Several = 1024
    run_steps: Several = 240
    horizon: Positive = 24.0  # of the rule β = 1 − horizon/T
    run_radii: AscendingPositives = (64.0, 128.0)
    batch_sizes: AscendingCounts = (16, 256)
    run_seeds: Count = 4
    first_seed: Natural = 0

    def limits(self) -> None:
        if len(self.dims) < 3:
            raise ValueError(f"dims must hold three numbers or more, got {list(self.dims)}")
        if self.run_steps < self.horizon:
            raise ValueError(f"run_steps must be at least the horizon {self.horizon:g}, got {self.run_steps}")


def decayed_run(
    update: Update,
    emb: Embeddings,
    problem: Problem,
    n_steps: int,
    batch_size: int,
    rate: float,
    decay: float,
    seed: int,
) -> Float[Tensor, "d d"]:
    """W ← (1 − ηλ) W + η S from W = 0, S = update's step, η from `rate` in a line to 0 and λ = `decay`.

    batch_size: items of a fresh batch, 0 for all.
    """
    W = torch.zeros(problem.dim, problem.dim, dtype=torch.float64, device=emb.U.device)
    state, q = {}, problem.frequencies.to(W.device)
    for t in range(n_steps):
        if batch_size:
            q = sample_minibatch(problem, batch_size, BATCHES * (seed + 1) + t).to(W.device)
        state, step = update(state, dense_gradient(W, emb, q))
        eta = rate * (1 - t / n_steps)
        W = (1 - eta * decay) * W + eta * step
    return W


def frank_wolfe_gap(W: Float[Tensor, "d d"], G: Float[Tensor, "d d"], radius: float) -> float:
    """R ‖G‖_* − ⟨G, W⟩ for G = −∇L(W) and ‖W‖_op ≤ R: no less than L(W) less the least loss under that bound."""
    return float(radius * torch.linalg.matrix_norm(G, ord="nuc") - (G * W).sum())


def measure_bounded(config: SimpleNamespace, alpha: float, dim: int, seed: int, device: str) -> dict:
    """By R: items, loss, gap and ‖W‖_op/R of Muon with decay 1/R on the population, without momentum; one, one_loss:
    items of the first step and loss of R times it."""
    problem = Problem.power_law(config.items_per_dim * dim, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    p = problem.frequencies.to(emb.U.device)
    first = polar(dense_gradient(torch.zeros(dim, dim, dtype=torch.float64, device=p.device), emb, p))
    rows = []
    for R in config.radii:
        W = decayed_run(muon_without_momentum, emb, problem, config.bounded_steps, 0, _SHARE * R, 1 / R, seed)
        row = {"items": capacity(W, emb), "loss": loss(W, emb, problem.frequencies)}
        row["gap"] = frank_wolfe_gap(W, dense_gradient(W, emb, p), R)
        row["norm"] = float(torch.linalg.matrix_norm(W, ord=2)) / R
        rows.append(row | {"one_loss": loss(R * first, emb, problem.frequencies)})
    return {"one": capacity(first, emb)} | {key: [row[key] for row in rows] for key in rows[0]}


def measure_run(config: SimpleNamespace, batch_size: int, radius: float, seed: int, device: str) -> dict:
    """loss: of Muon as torch ships it, exact polar factor, decay 1/`radius` (none for 0), at the best rate of a ladder
    of factors of two with ηλ ≤ 1; items, rate, norm (‖W‖_op λ) of that run. β = 1 − horizon/T."""
    problem = Problem.power_law(config.run_items, config.run_dim, config.alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    decay, ends = 1 / radius if radius else 0.0, {}
    update = lambda state, G: muon_shipped(state, G, 1 - config.horizon / config.run_steps)

    def value(rate: float) -> float:
        if rate * decay > 1:
            return MOST
        ends[rate] = decayed_run(update, emb, problem, config.run_steps, batch_size, rate, decay, seed)
        return min(loss(ends[rate], emb, problem.frequencies), MOST)

    least, rate = best_of_ladder(value, 60 / config.run_steps)
    norm = float(torch.linalg.matrix_norm(ends[rate], ord=2)) * decay
    return {"loss": least, "rate": rate, "items": capacity(ends[rate], emb), "norm": norm}


def grids(config: WeightDecayConfig) -> dict[str, Grid]:
    """The bounded minima, and runs by batch and by 1/λ, 0 for no decay."""
    sizes = fixed(config, "dims", "other_alphas", "run_radii", "batch_sizes", "run_seeds")
    pairs = [(config.alpha, dim) for dim in config.dims]
    pairs += [(alpha, config.dims[2]) for alpha in config.other_alphas]
    places = {f"{alpha:g} {dim}": {"alpha": alpha, "dim": dim} for alpha, dim in pairs}
    decays = {"batch_size": config.batch_sizes, "radius": (0.0, *config.run_radii)}
    return {
        "bounded": Grid(measure_bounded, {"place": places, "seed": draws(config)}, config=sizes),
        "runs": Grid(measure_run, decays | {"seed": draws(config, config.run_seeds)}, config=sizes),
    }


def summarise(config: WeightDecayConfig, results: Results) -> tuple[dict, dict]:
    """By "α d": one, [draw]; items, [R][draw]; loss, one_loss and gap, [R], gap the largest; double: [draw], the R at
    which the items are twice those of one step, on a line through log R between the radii. exponent: of that in d, by
    draw. norm: the largest ‖W‖_op λ of all. By batch, then by 1/λ in words: runs, [draw], and run_items, run_rate.

    predicted: the exponent of the doubling radius.
    """
    read = lambda key, axes=(1, 0): {
        place: results.array("bounded", key, place=place).transpose(axes)
        for place in results.grids["bounded"].axes["place"]
    }
    mean = lambda key: {place: values.mean(1) for place, values in read(key).items()}
    one, items, radii = read("one", (0,)), read("items"), np.array(config.radii)
    double = {
        place: [_doubling(radii, column / first) for column, first in zip(values.T, one[place], strict=True)]
        for place, values in items.items()
    }
    doubled = np.array([double[f"{config.alpha:g} {dim}"] for dim in config.dims])
    measured = {"one": one, "items": items, "loss": mean("loss"), "one_loss": mean("one_loss")}
    measured["gap"] = {place: values.max(1) for place, values in read("gap").items()}
    measured |= {"double": double, "exponent": [slope(config.dims, column) for column in doubled.T]}
    measured["norm"] = max(results.array(grid, "norm").max() for grid in ("bounded", "runs"))
    for name, key in (("runs", "loss"), ("run_items", "items"), ("run_rate", "rate")):
        measured[name] = {
            f"{batch}": {
                f"{radius:g}": results.array("runs", key, batch_size=batch, radius=radius)
                for radius in results.grids["runs"].axes["radius"]
            }
            for batch in config.batch_sizes
        }
    return measured, {"exponent": 0.0}


def _doubling(radii: np.ndarray, ratio: np.ndarray) -> float:
    """Where a ratio first passes 2, on a line through log R; NaN where it does not, or has from the first radius on."""
    above_two = np.flatnonzero(ratio >= 2)
    if not len(above_two) or above_two[0] == 0:
        return np.nan
    k = int(above_two[0])
    share = (2 - ratio[k - 1]) / (ratio[k] - ratio[k - 1])
    return float(radii[k - 1] * (radii[k] / radii[k - 1]) ** share)


def judge(config: WeightDecayConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """bound: ‖W‖_op ≤ 1/λ in every run. certificate: `GAP`. strong: at the smallest radius the items are those of one
    step. double: the doubling radius has no power of d in it. gain: `GAINS`, by batch.
    """
    least, *_, most = config.radii
    yield "bound", check(measured["norm"], 1, draws=config.seeds, name="norm times decay")

    certified = [k for k, R in enumerate(config.radii) if R <= CERTIFIED]
    gap = max((float(gaps[k]) for gaps in measured["gap"].values() for k in certified), default=np.nan)
    yield "certificate", check(gap, GAP, draws=config.seeds, name="largest gap")

    ratios = {place: items / measured["one"][place] for place, items in measured["items"].items()}
    rivals = {f"R = {most:g}": [ratio[-1].mean() for ratio in ratios.values()]}
    first = {place: ratio[0] for place, ratio in ratios.items()}
    yield "strong", law(f"items over one step's, R = {least:g}", first, law=1.0, band=SMALL, rivals=rivals)

    exponent = {"law": predicted["exponent"], "band": EXPONENT_BAND, "rivals": {"√d": 0.5, "d^¼": 0.25}}
    yield "double", law("exponent of the doubling radius", measured["exponent"], scale=DIFFERENCE, **exponent)

    gains = {}
    for batch, losses in measured["runs"].items():
        best = min((radius for radius in losses if float(radius) > 0), key=lambda radius: losses[radius].mean())
        gains[f"batch {batch}"] = GAINS * losses[best] / losses["0"]
    yield "gain", above("1.1 times the best decayed loss over none", gains, limit=1, scale=RATIO)


TINY = {"dims": (6, 8, 10), "items_per_dim": 4, "radii": (2.0, 8.0), "bounded_steps": 5, "seeds": 2, "run_dim": 6}
TINY |= {"run_items": 24, "run_steps": 4, "horizon": 2.0, "run_radii": (16.0, 32.0), "batch_sizes": (4, 8)}
EXPERIMENT = Experiment(
    name="weight-decay",
    purpose=headline(__doc__),
    profiles={
        "smoke": WeightDecayConfig(run_seeds=2, **TINY),
        "cpu": WeightDecayConfig(),
        "confirm": WeightDecayConfig(first_seed=6850),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6850,
)
