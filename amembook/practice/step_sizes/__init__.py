"""`step-sizes`: the best learning rate of Muon on the memory by shape, width and batch, and whether it transfers.

A question of practice, ours; the scales are those of arXiv:2502.16982 and arXiv:2502.07529.

Claim: the scale √(m/n) is wrong for wide matrices, the best single step is predicted by width and hardly moves with the
batch, and over many steps a rate scaled by 0.2 √max(m, n) on normalized inputs does not transfer over width.

Caveats: embeddings of length one. "Wrong" is off by a factor of more than 1.2, "hardly" a factor of 1.6 for a thousand
times the tokens; the law of a batch's step is held to 3 % from 16 tokens a dimension on. Runs have 60 steps.
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
from scipy.optimize import minimize_scalar
from torch import Tensor

from amembook.networks.long_runs import ladder, loss_after
from amembook.networks.updates import muon_shipped
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
    some_of,
)
from amembook.run.claims import RATIO, SIZES, equivalence, order
from amembook.run.studies import headline
from amembook.run.study import above, claims_by_part, fixed, law
from amemlib.equivalents import SpectralEquivalent
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar

LOG_RATES = np.arange(0.0, 8.1, 0.5)
"""log₂ of the rates at which the loss of one step is computed, embeddings of length one."""
_ROWS = 512
WRONG = 1.2
"""√(m/n) says less than the best rate of a wide matrix over the square's by more than this factor."""
BETTER = 1.2
"""And it is off by more than this many times what √max(1, m/n) is off by."""
FLAT = 1.6
"""From the smallest batch to the largest, a factor of a thousand in tokens, the best step rises by less than this."""
ROOT = 0.25
"""Over the runs the best rate for inputs of length one grows with d by a smaller power than this; √d would be 1/2."""
COST = 0.1
"""Nats that the rate of the narrowest run costs the widest more as d than as √d, and more as √d than not scaled."""
LARGE_BATCH = 16
"""Tokens an item of the memory's side from which on the law of a batch's best step is held to."""

PARTS = ("shapes", "widths", "batches", "runs")


@dataclass(frozen=True)
class StepSizesConfig(Config):
    """One step of the polar map, embeddings of length one, and runs of Muon by width."""

    alpha: SteepAlpha = 1.5
    n_items: Several = 2048
    base: Count = 128  # d of the square that a shape is compared with
    wide_rows: AscendingCounts = (64, 128)  # m of wide matrices
    wide_ratios: AscendingCounts = (2, 4, 8)  # n/m of wide matrices
    dims: AscendingCounts = (64, 128, 256, 512)  # d of squares
    batch_dim: Count = 128
    batch_sizes: AscendingCounts = (64, 256, 1024, 4096, 16384, 65536)
    run_dims: AscendingCounts = (32, 64, 128, 256)
    run_steps: Count = 60
    run_batch: Count = 256
    horizon: Positive = 24.0  # of the rule 1/(1 − β) = T/horizon
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.run_steps < self.horizon:
            raise ValueError(f"run_steps must be at least the horizon {self.horizon:g}, got {self.run_steps}")


def best_step(problem: Problem, q: Float[Tensor, " N"] | None = None) -> tuple[float, float]:
    """log₂ η* and the least loss over all items, in nats, of W = η polar(G), G the gradient at 0 under q.

    q: what a batch has shown, the problem's frequencies by default. Embeddings of length one.
    """
    p = problem.frequencies
    q = p if q is None else q
    law = SpectralEquivalent.solve(q, problem.dim)
    order, seen = np.argsort(law.values), q.numpy(force=True)

    def loss(log_rate: float) -> float:
        of_values = law.expected_losses(2.0**log_rate)
        return float(p.numpy(force=True) @ np.interp(seen, law.values[order], of_values[order]))

    middle = math.log2(problem.dim) / 2
    least = minimize_scalar(loss, bounds=(middle - 3, middle + 4), method="bounded")
    return float(least.x), float(least.fun)


def vertex(x: np.ndarray, y: np.ndarray) -> float:
    """Abscissa of the parabola through the smallest of y and its two neighbours; NaN if it stands at an end."""
    i = int(np.argmin(y))
    if i in (0, len(y) - 1):
        return math.nan
    a, b, _ = np.polyfit(x[i - 1 : i + 2], y[i - 1 : i + 2], 2)
    return float(-b / (2 * a))


def best_log_rate(
    W: Float[Tensor, "m n"], U: Float[Tensor, "N m"], V: Float[Tensor, "N n"], p: Float[Tensor, " N"]
) -> float:
    """log₂ of the rate η of `LOG_RATES` at which ηW has the least loss, by a parabola; NaN at an end of the grid."""
    images, losses = (V.double() @ W.mT).float(), np.zeros(len(LOG_RATES))
    for k in range(0, len(p), _ROWS):
        rows = slice(k, k + _ROWS)
        logits = images[rows] @ U.float().mT
        own = (images[rows] * U[rows].float()).sum(1)
        for n, rate in enumerate(2.0**LOG_RATES):
            losses[n] += float(p[rows] @ ((rate * logits).logsumexp(1) - rate * own).double())
    return vertex(LOG_RATES, losses)


def measure_shape(config: SimpleNamespace, rows: int, columns: int, seed: int, device: str) -> dict:
    """log₂ of the best rate of a polar step of the population on m outputs and n inputs."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda dim: torch.randn(config.n_items, dim, generator=generator, dtype=torch.float64) / dim**0.5
    U, V = (draw(dim).to(runtime.device(device)) for dim in (rows, columns))
    p = Problem.power_law(config.n_items, 1, config.alpha).frequencies.to(U.device)
    return {"best": best_log_rate(polar((p[:, None] * (U - U.mean(0))).mT @ V), U, V, p)}


def measure_step(config: SimpleNamespace, dim: int, batch_size: int, seed: int, device: str) -> dict:
    """best: log₂ of the best rate of a polar step on a batch, 0 for all items; law: what is predicted of its items."""
    problem = Problem.power_law(config.n_items, dim, config.alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    q = sample_minibatch(problem, batch_size, seed) if batch_size else problem.frequencies
    W = polar(initial_gradient(emb, q.to(emb.U.device)), gradient_rank(emb, q))
    best = best_log_rate(W, emb.U, emb.V, problem.frequencies.to(emb.U.device))
    return {"best": best, "law": best_step(problem, q)[0]}


def measure_run(config: SimpleNamespace, seed: int, device: str) -> dict:
    """Runs of Muon of every width on a batch a step, 1/(1 − β) = T/`horizon`, the rate falling in a line to 0.

    best: log₂ of the best rate by width, by a parabola of the logarithm of the loss over a ladder of factors of two.
    carried: nats over the least of the widest's ladder at the rate of the narrowest, not scaled, scaled as √d, as d.
    """
    dims, steps, best = config.run_dims, config.run_steps, []
    update = partial(muon_shipped, beta=1 - config.horizon / steps)
    for dim in dims:
        problem = Problem.power_law(config.n_items, dim, config.alpha)
        emb = sample_embeddings(problem, seed, runtime.device(device))
        run = partial(loss_after, update, emb, problem, steps, config.run_batch, seed=seed)
        tried = ladder(run, 2.0 ** round(math.log2(128 / steps * math.sqrt(dim / 64))))
        rates = sorted(tried)
        best.append(vertex(np.log2(rates), np.log([tried[rate] for rate in rates])))
    ratio = dims[-1] / dims[0]
    carried = [run(2.0 ** best[0] * ratio**power) - min(tried.values()) for power in (0, 0.5, 1)]
    return {"best": best, "carried": carried}


def grids(config: StepSizesConfig) -> dict[str, Grid]:
    """Shapes, m × n in words, the square before wide ones; widths, batches and runs; each over the draws."""
    sizes = fixed(config, "base", "wide_rows", "wide_ratios", "dims", "batch_dim", "batch_sizes", "parts")
    wide = [(rows, rows * ratio) for rows in config.wide_rows for ratio in config.wide_ratios]
    shapes = {f"{m}x{n}": {"rows": m, "columns": n} for m, n in [(config.base, config.base), *wide]}
    axes = {
        "shapes": (measure_shape, {"shape": shapes}),
        "widths": (measure_step, {"dim": config.dims, "batch_size": (0,)}),
        "batches": (measure_step, {"dim": (config.batch_dim,), "batch_size": config.batch_sizes}),
        "runs": (measure_run, {}),
    }
    seeds, own = {"seed": draws(config)}, {part: axes[part] for part in config.parts}
    return {part: Grid(measure, varying | seeds, config=sizes) for part, (measure, varying) in own.items()}


def summarise(config: StepSizesConfig, results: Results) -> tuple[dict, dict]:
    """Of the parts that are measured. shapes, widths, batches: log₂ of the best rate, a list of draws each, by shape in
    words, d, batch. runs: log₂ of the best rate by width, a list a draw; power: that of d, a draw; carried: nats,
    unscaled, as √d and as d.

    predicted: widths, batches: the law's log₂, batches the mean over what the draws have shown.
    """
    places, measured, predicted = {"widths": {"batch_size": 0}, "batches": {"dim": config.batch_dim}}, {}, {}
    if "shapes" in config.parts:
        names = results.grids["shapes"].axes["shape"]
        measured["shapes"] = {name: results.array("shapes", "best", shape=name) for name in names}
    for part in config.parts:
        if part in places:
            measured[part], predicted[part] = (results.array(part, key, **places[part]) for key in ("best", "law"))
    if "runs" in config.parts:
        measured |= {"runs": results.array("runs", "best"), "carried": results.array("runs", "carried")}
        measured["power"] = [np.polyfit(np.log2(config.run_dims), one, 1)[0] for one in measured["runs"]]
    return measured, predicted


def judge(config: StepSizesConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """third: `WRONG` and `BETTER` for every wide shape. widths: the best rate on the law at every d. batches: the same
    from `LARGE_BATCH` tokens a dimension on. flat: `FLAT`. root: `ROOT`. carried: `COST`.
    """
    claims = {"shapes": _shapes, "widths": _widths, "batches": _batches, "runs": _runs}
    return claims_by_part(config, measured, predicted, claims)


def _shapes(config: StepSizesConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    square, *wide = measured["shapes"]
    off, better = {}, {}
    for name in wide:
        m, n = map(int, name.split("x"))
        change = measured["shapes"][name] - measured["shapes"][square]
        # for inputs of length one the scales are √m and √max(m, n), each over that of the square
        third, first = (np.log2(side / config.base) / 2 for side in (m, max(m, n)))
        off[name] = 2.0 ** (change - third)
        better[name] = 2.0 ** (np.abs(change - third) - np.abs(change - first))
    worse = "error of √(m/n) over that of √max(1, m/n),"
    both = [above("best rate over √(m/n)'s,", off, limit=WRONG, scale=RATIO)]
    both.append(above(worse, better, limit=BETTER, scale=RATIO))
    yield "third", order([one for verdict in both for one in verdict["numbers"]])


def _on_law(best: np.ndarray, law_of: np.ndarray, at, **rivals: np.ndarray) -> dict:
    """rivals: log₂ of rates, which one constant is left to."""
    others = {"one rate for all": np.zeros(len(at)), **rivals}
    others = {name: 2.0 ** (other - other.mean() - law_of.mean(1) + law_of.mean()) for name, other in others.items()}
    ratio = dict(zip(at, 2.0 ** (best - law_of), strict=True))
    return law("best rate over the law,", ratio, law=1.0, band=SIZES, rivals=others)


def _widths(config: StepSizesConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    root = {"√d": np.log2(config.dims) / 2}
    yield "widths", _on_law(measured["widths"], predicted["widths"], config.dims, **root)


def _batches(config: StepSizesConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    batches, best = np.array(config.batch_sizes), measured["batches"]
    large = batches >= LARGE_BATCH * config.batch_dim
    judged = large.sum() > 1
    yield "batches", _on_law(best[large], predicted["batches"][large], batches[large]) if judged else equivalence([])
    yield "flat", above("allowed over the rise,", {"all": FLAT / 2.0 ** (best[-1] - best[0])}, limit=1, scale=RATIO)


def _runs(config: StepSizesConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    yield "root", above("below the power", {f"{ROOT:g}": ROOT - measured["power"]})
    none, as_root, as_width = measured["carried"].T
    costs = {"√d over none": as_root - none, "d over √d": as_width - as_root}
    yield "carried", above("cost, nats,", costs, limit=COST)


TINY = {"n_items": 64, "base": 16, "wide_rows": (4, 8), "wide_ratios": (2, 4), "dims": (4, 8), "batch_dim": 8}
TINY |= {"batch_sizes": (8, 16), "run_dims": (4, 8), "run_steps": 3, "run_batch": 8, "horizon": 1.5, "seeds": 1}
EXPERIMENT = Experiment(
    name="step-sizes",
    purpose=headline(__doc__),
    profiles={
        "smoke": StepSizesConfig(**TINY),
        "cpu": StepSizesConfig(),
        "confirm": StepSizesConfig(first_seed=3850),
        # five draws left batches undecided: 35 decide them if the law is off by half its band
        "many": StepSizesConfig(parts=("batches",), seeds=40, first_seed=58_400),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3850,
    added={"parts": PARTS},
)
