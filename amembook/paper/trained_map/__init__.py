"""`trained-map`: one gradient: a map of it and its inputs that is trained to beat the matched filter.

Claim: ours, on the model of arXiv:2603.26554: a map of one gradient and its inputs that is trained on many draws to
recover more items than W* = G (Σ p² v vᵀ)⁻¹ does not exceed it by more than three per cent.

Caveats: d = 32, N = 1024, where the law of W* is 10 % below the limit for any function: one family of maps is trained,
from two starts, and another may do better.

The trained map is a function of one gradient and its inputs with free parameters,

    W = H + c W₂,   H = Σ_h c_h L_h(G Gᵀ) G (Σ_k a_hk v_k v_kᵀ + t_h)⁻¹,
    W₂ = H (Σ_k b_k v_k v_kᵀ) (Σ_k a_k v_k v_kᵀ + t)⁻¹

each term at the same Frobenius norm before its coefficient. a, b are free functions of the rank, and b also of the
length of what H reads; L_h is a constant and resolvents, which hold (G Gᵀ)^{-1/2}. So the polar map and W* are members.
A turn of the inputs or of the outputs turns W.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor

from amembook.run.base import Config, Count, Experiment, Grid, Natural, Positive, Results, Several, SteepAlphas
from amembook.run.claims import count_error, numbers, order, standard_error
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.gradients import initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar
from amemlib.whitening import matched_filter

STARTS = ("polar", "matched")
"""The map that training starts from; the other heads start near it with a small coefficient."""
HEADS, KNOTS = 3, 8
SHIFTS = torch.logspace(-10, 3, 14, dtype=torch.float64)
"""Shifts of the resolvents, in units of the largest q²: together they hold x^{-1/2} to a few per cent, at both ends."""
JUDGED = 192
"""Items that the training looks at, the commonest: at d = 32 the limit is about forty."""
SMALLEST, OFF, NOISE = -25.0, -18.0, 0.01
TEMPERATURES = (1.0, 0.2)
"""First and last temperature of the smooth count, in standard deviations of a rival's logit."""
MARGIN = 1.03
"""What a trained map may have over W*."""
BEFORE = 20
"""Seeds from the first one on that are counted on; training draws its own from the next."""


@dataclass(frozen=True)
class TrainedMapConfig(Config):
    """One trained map for every α and every start; all maps of an α are counted on the same held-out draws."""

    alphas: SteepAlphas = (1.5,)
    n_items: Several = 1024
    dim: Several = 32
    steps: Count = 500  # of Adam
    batch: Count = 8  # fresh draws at each step
    learning_rate: Positive = 0.05  # the first one; it falls as a cosine to 0
    seeds: Count = 16  # held-out draws
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.seeds > BEFORE:
            raise ValueError(f"seeds must be at most {BEFORE}, where those of training begin, got {self.seeds}")


def start_at(start: str, seed: int, noise: float = NOISE) -> dict[str, Tensor]:
    """Parameters near the polar map or W*: that map with coefficient 1, noise on all that is free."""
    own = torch.full((HEADS,), 0.05, dtype=torch.float64)
    own[0] = 1.0
    left = torch.zeros(HEADS, len(SHIFTS) + 1, dtype=torch.float64)
    right = torch.zeros(HEADS, KNOTS, dtype=torch.float64)
    damping = torch.full((HEADS,), SMALLEST, dtype=torch.float64)
    if start == "polar":
        left[:, 1:] = math.log(10) / math.pi
        right, damping = right + OFF, damping * 0
    else:
        left[:, 0] = 1.0
    parameters = {
        "heads": own,
        "left": left,
        "right": right,
        "damping": damping,
        "again": torch.tensor(0.05, dtype=torch.float64),
        "again_weights": torch.zeros(2, KNOTS, dtype=torch.float64),
        "again_damping": torch.tensor(-10.0, dtype=torch.float64),
        "length": torch.tensor(0.0, dtype=torch.float64),
    }
    generator = torch.Generator().manual_seed(seed)
    draw = lambda x: torch.randn(x.shape, generator=generator, dtype=torch.float64)
    return {name: (x + noise * draw(x)).requires_grad_() for name, x in parameters.items()}


def trained_map(parameters: dict[str, Tensor], G: Tensor, V: Tensor, q: Tensor) -> Tensor:
    """W (…, d, d) of gradients G (…, d, d) and inputs V (…, N, d), with weights q (N,) that fall with the rank."""
    G, q = G / q.max(), q / q.max()
    eye = torch.eye(G.shape[-1], dtype=G.dtype, device=G.device)
    of_rank = lambda knots: _interpolate(knots, len(q)).exp() * q**2
    moment = lambda weights: V.mT @ (weights[..., None] * V)
    # right-hand division by a symmetric matrix
    divided = lambda X, moment, t: torch.linalg.solve(moment + t.exp() * eye, X.mT).mT
    resolvents = torch.linalg.solve((G @ G.mT)[..., None, :, :] + SHIFTS[:, None, None] * eye, G[..., None, :, :])
    resolvents = resolvents * SHIFTS.sqrt()[:, None, None]
    # the geometric mean of the singular values: a constant then weighs as much as the resolvents
    scale = (torch.linalg.slogdet(G).logabsdet / G.shape[-1]).exp()[..., None, None]
    total = 0.0
    for h in range(HEADS):
        c = parameters["left"][h]
        filtered = c[0] * G / scale + (c[1:, None, None] * resolvents).sum(-3)
        head = divided(filtered, moment(of_rank(parameters["right"][h])), parameters["damping"][h])
        total = total + parameters["heads"][h] * _unit(head)
    total = _unit(total)
    numerator, denominator = map(of_rank, parameters["again_weights"])
    lengths = q * (V @ total.mT).norm(dim=-1)
    lengths = lengths / lengths.mean(-1, keepdim=True)
    numerator = numerator * (parameters["length"] * torch.tanh(lengths - 1)).exp()
    again = divided(total @ moment(numerator), moment(denominator), parameters["again_damping"])
    return total + parameters["again"] * _unit(again)


def smooth_count(W: Tensor, U: Tensor, V: Tensor, temperature: float, judged: int = JUDGED) -> Tensor:
    """Items of the first `judged` with σ((own − largest rival) / temperature of a rival's scatter), mean of draws."""
    inputs = V[..., :judged, :] @ W.mT
    inputs = inputs / inputs.norm(dim=-1, keepdim=True) * math.sqrt(U.shape[-1])
    logits = inputs @ U.mT
    own = logits.diagonal(dim1=-2, dim2=-1)
    hidden = torch.eye(*logits.shape[-2:], dtype=torch.bool, device=W.device)
    rival = logits.masked_fill(hidden, -math.inf).amax(-1)
    return torch.sigmoid((own - rival) / temperature).sum(-1).mean()


def train(
    start: str, q: Tensor, dim: int, steps: int, batch: int, learning_rate: float, seed: int
) -> tuple[dict[str, Tensor], list[float]]:
    """Parameters after Adam on fresh draws, and the smooth count, cold, in the first and last steps."""
    parameters = start_at(start, seed)
    optimizer = torch.optim.Adam(parameters.values(), lr=learning_rate)
    generator = torch.Generator().manual_seed(seed)
    judged, seen = min(JUDGED, len(q)), []
    for step in range(steps):
        done = step / steps
        optimizer.param_groups[0]["lr"] = learning_rate * (1 + math.cos(math.pi * done)) / 2
        U, V = torch.randn(2, batch, len(q), dim, generator=generator, dtype=torch.float64) / math.sqrt(dim)
        G = (q[:, None] * (U - U.mean(-2, keepdim=True))).mT @ V
        W = trained_map(parameters, G, V, q)
        first, last = TEMPERATURES
        objective = smooth_count(W, U, V, first * (last / first) ** done, judged)
        optimizer.zero_grad()
        (-objective).backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), 10.0)
        optimizer.step()
        with torch.no_grad():
            seen.append(float(smooth_count(W, U, V, last, judged)))
    few = max(1, steps // 20)
    return parameters, [sum(seen[:few]) / few, sum(seen[-few:]) / few]


def measure_training(
    config: SimpleNamespace, alpha: float, start: str, seeds: int, first_seed: int, training_seed: int
) -> dict:
    """Recovered items of the trained map, of W* and of the polar map on the same held-out draws."""
    problem = Problem.power_law(config.n_items, config.dim, alpha)
    q, seed = problem.frequencies, first_seed + training_seed
    parameters, objective = train(start, q, config.dim, config.steps, config.batch, config.learning_rate, seed)
    result = {"trained": [], "matched": [], "polar": [], "objective": objective}
    for seed in range(first_seed, first_seed + seeds):
        emb = sample_embeddings(problem, seed, dtype=torch.float64)
        G = initial_gradient(emb, q)
        with torch.no_grad():
            result["trained"].append(capacity(trained_map(parameters, G, emb.V, q), emb))
        result["matched"].append(capacity(matched_filter(emb, q), emb))
        result["polar"].append(capacity(polar(G), emb))
    return result


def _interpolate(knots: Tensor, n: int) -> Tensor:
    """Values at the ranks 1, …, n of the function that is linear in log rank between its knots."""
    place = torch.log(torch.arange(1, n + 1, dtype=knots.dtype)) / math.log(n) * (len(knots) - 1)
    left = place.long().clamp(max=len(knots) - 2)
    return torch.lerp(knots[left], knots[left + 1], place - left)


def _unit(W: Tensor) -> Tensor:
    return W / torch.linalg.matrix_norm(W)[..., None, None]


def grids(config: TrainedMapConfig) -> dict[str, Grid]:
    """A training for every α and start."""
    axes = {"alpha": config.alphas, "start": STARTS}
    return {"train": Grid(measure_training, axes, config=fixed(config, "alphas"), training_seed=BEFORE)}


def summarise(config: TrainedMapConfig, results: Results) -> tuple[dict, dict]:
    """Items on held-out draws by map, and ratios of those of the same draws.

    counts, error: polar, matched, from_polar, from_matched ↦ [alpha]. over_matched, over_polar and their errors: start
    ↦ [alpha], total items over total items; the error is that of trained − ratio × other, draw by draw. objective:
    start ↦ [alpha], the smooth count in the first and in the last twentieth of the steps.
    """
    items = {name: results.array("train", name)[:, 0].astype(float) for name in STARTS}
    trained = {start: results.array("train", "trained", start=start).astype(float) for start in STARTS}
    items |= {f"from_{start}": counts for start, counts in trained.items()}
    measured = {
        "counts": {name: of.mean(1) for name, of in items.items()},
        "error": {name: count_error(of, of.mean(1)) for name, of in items.items()},
        "objective": {start: results.array("train", "objective", start=start) for start in STARTS},
    }
    for other in STARTS:
        base = items[other].mean(1)
        measured[f"over_{other}"] = {start: of.mean(1) / base for start, of in trained.items()}
        measured[f"over_{other}_error"] = {
            start: standard_error(of - (of.mean(1) / base)[:, None] * items[other]) / base
            for start, of in trained.items()
        }
    return measured, {}


def judge(config: TrainedMapConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """W* with three per cent more is ahead of every trained map; and training helps: it leads the polar map it left."""
    at = [f"α = {alpha:g}" for alpha in config.alphas]
    none_beats = []
    for start in STARTS:
        ratio, error = measured["over_matched"][start], measured["over_matched_error"][start]
        # as W* over the trained map, which every interval must have above 1 / 1.03
        none_beats += numbers(
            f"W* over trained from {start}", 1 / ratio, error / ratio**2, config.seeds, limit=1 / MARGIN, at=at
        )
    ratio, error = measured["over_polar"]["polar"], measured["over_polar_error"]["polar"]
    learns = numbers("trained from Muon over Muon", ratio, error, config.seeds, limit=np.ones_like(ratio), at=at)
    return {"none_beats": order(none_beats), "learns": order(learns)}


EXPERIMENT = Experiment(
    name="trained-map",
    purpose=headline(__doc__),
    profiles={
        "smoke": TrainedMapConfig(n_items=128, dim=12, steps=4, batch=2, seeds=4),
        "cpu": TrainedMapConfig(),
        "confirm": TrainedMapConfig(first_seed=6320),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6320,
)
