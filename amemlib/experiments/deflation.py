"""`deflation`: the thresholded iterates of Eq. (7), step by step, and their proofs' lemmas (Theorems 9 and 10)."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib import runtime, theory
from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.equivalents import (
    ManyStepEquivalent,
    evenly_spread_sgd_capacity,
    half_recovered_schedule,
    sgd_weights,
    thresholded_weights,
    weighted_sgd_capacity,
)
from amemlib.experiments.base import SHARP_DIM, SLOPE_BAND, Cell, Experiment, Summary
from amemlib.optim import thresholded_trajectory
from amemlib.problem import Problem
from amemlib.recovery import recovered
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.scaling import fit_exponent
from amemlib.spectral import identity, polar, smoothed_sign
from amemlib.verdicts import FINITE_SIZE, NOT_REPRODUCED, REPRODUCED

STEP_COUNT_BAND = 0.10
"""How far a mean count may lie from its sharp prediction after any number of steps, beyond two standard errors."""
FAILURE = 0.001
"""The probability with which a lemma's explicit bound may fail on one draw."""
SUPERCONCENTRATION = 2.0
"""C in Lemma 34; any C > 3/(2√2) will do for n large enough, 1.5 only from n = 10⁷ on."""
RULES = ("smoothed_sign", "polar", "sgd")
"""smoothed_sign: Theorem 9 with θ. polar: λ = 0, thresholds at what the sharp prediction says is recovered. sgd."""

_PAIRS = 200
_MULTIPLES = (1, 4, 16)
_BATCH_MULTIPLES = (1, 4, 64)
_MOST_STEPS = 64


@dataclass(frozen=True)
class DeflationConfig:
    """Capacity along the thresholded iterates (Theorems 2, 9 and 10), and Lemmas 30 to 36.

    alpha, dims, n_items, seeds, steps: the power law, the dimensions, N, how many draws, T for Muon.
    sgd_steps: T for SGD. constant, sgd_constant: θ in Muon's and in SGD's thresholds, both fixed before the first run.
    batch_dim, batch_sizes: d and B of the minibatch runs, Muon with Theorem 9's λ_t and SGD, a fresh batch every step.
    first_seed: where the seeds start; the numbers of the ledger come from 1000 on.
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (128, 256, 512)
    n_items: int = 32_768
    seeds: int = 2
    steps: int = 5
    sgd_steps: int = 6
    constant: float = 0.5
    sgd_constant: float = 1.0
    batch_dim: int = 256
    batch_sizes: tuple[int, ...] = (256, 4096, 65_536)
    first_seed: int = 0

    def __post_init__(self):
        # the batch limit B^{1/α} and the lemmas on batches need it
        check_alpha(self.alpha, above=1.0)
        check_dims("dims", self.dims)
        for name in ("n_items", "seeds", "steps", "sgd_steps", "batch_dim"):
            check_count(name, getattr(self, name))
        for batch_size in self.batch_sizes:
            check_count("batch_sizes", batch_size)
        for name in ("constant", "sgd_constant"):
            check_positive(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)
        if max(self.steps, self.sgd_steps) > _MOST_STEPS:
            raise ValueError(f"steps must be at most {_MOST_STEPS}, got {max(self.steps, self.sgd_steps)}")
        largest = max(*self.dims, self.batch_dim)
        for method, steps, constant in (
            ("muon", self.steps, self.constant),
            ("sgd", self.sgd_steps, self.sgd_constant),
        ):
            removed = (0, *theory.recovery_thresholds(method, self.alpha, largest, steps, constant))[-2]
            if removed >= self.n_items:
                raise ValueError(f"n_items must exceed {method}'s last threshold, {removed}, got {self.n_items}")


@functools.cache
def schedule(
    rule: str, alpha: float, n_items: int, dim: int, steps: int, constant: float, batch_size: float = math.inf
) -> theory.Schedule:
    """The schedule of one of `RULES`; "polar" has no θ and no B."""
    if rule == "polar":
        return half_recovered_schedule(Problem.power_law(n_items, dim, alpha).frequencies, dim, steps)
    scheduled = theory.sgd_schedule if rule == "sgd" else theory.muon_schedule
    return scheduled(alpha, n_items, dim, steps, constant, batch_size)


def step_maps(rule: str, plan: theory.Schedule) -> list:
    """The spectral map of every step of a rule."""
    if rule == "sgd":
        return [identity] * len(plan.lams)
    return [functools.partial(smoothed_sign, lam=lam) if lam else polar for lam in plan.lams]


def expected_counts(rule: str, plan: theory.Schedule, w: Float[Tensor, "T N"], dim: int) -> dict:
    """Sharp counts after 1, …, T steps with gradients of weights w, and for SGD those of evenly spread noise.

    counts: (T,). within: (T,) how many of the first d_t, for Muon. even: (T,) for SGD.
    """
    if rule == "sgd":
        memories = sgd_weights(w, plan.learning_rates)
        return {
            "counts": [weighted_sgd_capacity(x, dim) for x in memories],
            "even": [evenly_spread_sgd_capacity(x, dim) for x in memories],
        }
    equivalent = ManyStepEquivalent.solve(w, dim, plan.lams)
    probabilities = equivalent.recovery_probabilities()
    within = [row[equivalent.classes[:last]].sum() for row, last in zip(probabilities, plan.thresholds, strict=True)]
    return {"counts": (probabilities @ equivalent.counts).tolist(), "within": [float(x) for x in within]}


def measure_deflation(
    rule: str, alpha: float, n_items: int, dim: int, steps: int, constant: float, seed: int, device: str
) -> dict:
    """Counts along the thresholded iterates of one draw, population gradients.

    counts: (T,). within: (T,) recovered items among the first d_t. stayed: (T − 1,) share of the items recovered after
    t steps that still are after t + 1.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    plan = schedule(rule, alpha, n_items, dim, steps, constant)
    frequencies = [problem.frequencies] * steps
    iterates = thresholded_trajectory(emb, frequencies, plan.removed, step_maps(rule, plan), plan.learning_rates)
    masks = [recovered(W, emb) for W in iterates]
    return {
        "counts": [int(mask.sum()) for mask in masks],
        "within": [int(mask[:last].sum()) for mask, last in zip(masks, plan.thresholds, strict=True)],
        "stayed": [
            float((old & new).sum() / old.sum().clamp(min=1)) for old, new in zip(masks, masks[1:], strict=False)
        ],
    }


def measure_batches(
    rule: str,
    alpha: float,
    n_items: int,
    dim: int,
    steps: int,
    constant: float,
    batch_size: int,
    seed: int,
    device: str,
) -> dict:
    """The same with a fresh batch of B every step and thresholds limited by B^{1/α}, and what its draws predict.

    counts, sharp: (T,) recovered, and expected for the drawn batches. distinct: (T,) items seen so far.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    plan = schedule(rule, alpha, n_items, dim, steps, constant, batch_size)
    batches = torch.stack([sample_minibatch(problem, batch_size, _MOST_STEPS * seed + t) for t in range(steps)])
    iterates = thresholded_trajectory(emb, batches, plan.removed, step_maps(rule, plan), plan.learning_rates)
    counts = [int(recovered(W, emb).sum()) for W in iterates]
    sharp = expected_counts(rule, plan, thresholded_weights(batches, plan.removed), dim)["counts"]
    seen = (batches.cumsum(0) > 0).sum(1)
    return {"counts": counts, "sharp": sharp, "distinct": [int(x) for x in seen]}


def tail_bounds(problem: Problem, batch_size: float, first: int) -> tuple[float, float]:
    """What max_{k>M} q_k and Σ_{k>M} q_k exceed with probability `FAILURE` at most, M = `first` (Lemma 36).

    max{e² p_{M+1}, ℓ/B} and max{e² Σ_{k>M} p_k, ℓ/B} with ℓ = log(2N / `FAILURE`); for the population p itself.
    """
    p = problem.frequencies[first:]
    if batch_size == math.inf:
        return float(p[0]), float(p.sum())
    luck = math.log(2 * problem.n_items / FAILURE) / batch_size
    return max(math.e**2 * float(p[0]), luck), max(math.e**2 * float(p.sum()), luck)


def measure_step_lemmas(alpha: float, n_items: int, dim: int, seed: int) -> dict:
    """Lemmas 30 to 33, 35 and 36 on one draw: left side over an explicit right side that holds but for `FAILURE`.

    lemma_35_scale: ‖Σ_{k>m} q_k² v_k v_kᵀ‖ in units of ζ^{−2} m^{1−2α}/d, the population and B = 64 ζ m^α, for
    m = d, 4d, 16d. lemma_36_scale: Σ_{k>m} q_k² in units of ζ^{−2} m^{1−2α}, the same and B = ζ m^α, at m = d.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb, p = sample_embeddings(problem, seed, dtype=torch.float64), problem.frequencies
    zeta, t = theory.power_law_sum(alpha, n_items), -math.log(FAILURE)
    generator = torch.Generator().manual_seed(seed)
    gaussian = torch.randn(_PAIRS, dim, dtype=torch.float64, generator=generator)
    shapes = {"power law": p, "flat": torch.full((4 * dim,), 1.0, dtype=torch.float64), "tail": p[dim:]}
    shapes["one spike"] = torch.cat([torch.ones(1), torch.full((2 * dim,), dim**-0.5)]).double()
    ratios = {name: [] for name in ("lemma_30", "lemma_31", "lemma_32", "lemma_33", "lemma_35", "lemma_36")}
    pair_t = t + math.log(2 * _PAIRS)
    for x in shapes.values():
        V, norm, largest = emb.V[: len(x)], float(x.norm()), float(x.max())
        H = (x[:, None] ** 2 * V).T @ V
        operator = float(torch.linalg.matrix_norm(H, 2))
        bound = norm + math.sqrt(dim) * largest + math.sqrt(2 * t) * largest
        ratios["lemma_30"].append(math.sqrt(dim * operator) / bound)
        ratios["lemma_33"].append(operator / theory.weighted_norm_bound(norm, largest, dim, t))
        frobenius, moments = float(torch.linalg.matrix_norm(H)), (float((x**2).sum()), float((x**4).sum()))
        ratios["lemma_33"].append(frobenius / theory.weighted_frobenius_bound(*moments, largest, dim, t))
        directions = gaussian / gaussian.norm(dim=1, keepdim=True)
        sums = ((emb.U[: len(x)] @ directions.T) * (V @ directions.flip(0).T) * x[:, None]).sum(0)
        bound = (math.sqrt(2 * pair_t) * norm + pair_t * largest) / dim
        ratios["lemma_31"].append(float(sums.abs().max()) / bound)
        deviation = ((gaussian @ H) * gaussian).sum(1) - H.trace()
        bound = 2 * frobenius * math.sqrt(pair_t) + 2 * operator * pair_t
        ratios["lemma_32"].append(float(deviation.abs().max()) / bound)
    scales = {"lemma_35_scale": {}, "lemma_36_scale": {}}
    for multiple in _MULTIPLES:
        first = multiple * dim
        unit = first ** (1 - 2 * alpha) / zeta**2
        batches = {"population": math.inf} | {f"{k}": round(k * zeta * first**alpha) for k in _BATCH_MULTIPLES}
        for name, batch_size in batches.items():
            q = p if batch_size == math.inf else sample_minibatch(problem, batch_size, seed)
            item, mass = tail_bounds(problem, batch_size, first)
            tail = q[first:]
            energy, seen = float(tail @ tail), tail > 0
            V = emb.V[first:][seen]
            operator = float(torch.linalg.matrix_norm((tail[seen][:, None] ** 2 * V).T @ V, 2))
            ratios["lemma_36"].append(energy / (item * mass))
            ratios["lemma_35"].append(operator / theory.weighted_norm_bound(math.sqrt(item * mass), item, dim, t))
            scales["lemma_35_scale"].setdefault(name, []).append(operator * dim / unit)
            scales["lemma_36_scale"].setdefault(name, []).append(energy / unit)
    return {name: max(values) for name, values in ratios.items()} | scales


def deflation_cells(config: DeflationConfig, device: str) -> list[Cell]:
    """The population runs of every rule, the minibatch runs, and the lemmas, in this order."""
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    common = {"alpha": config.alpha, "n_items": config.n_items}
    rules = {rule: common | _rule_arguments(config, rule) | {"device": device} for rule in RULES}
    return (
        [
            Cell(measure_deflation, rules[rule] | {"dim": dim, "seed": seed})
            for rule in RULES
            for dim in config.dims
            for seed in seeds
        ]
        + [
            Cell(measure_batches, rules[rule] | {"dim": config.batch_dim, "batch_size": batch_size, "seed": seed})
            for rule in ("smoothed_sign", "sgd")
            for batch_size in config.batch_sizes
            for seed in seeds
        ]
        + [Cell(measure_step_lemmas, common | {"dim": dim, "seed": seed}) for dim in config.dims for seed in seeds]
    )


def _rule_arguments(config: DeflationConfig, rule: str) -> dict:
    is_sgd = rule == "sgd"
    constant = {"smoothed_sign": config.constant, "sgd": config.sgd_constant, "polar": 1.0}[rule]
    return {"rule": rule, "steps": config.sgd_steps if is_sgd else config.steps, "constant": constant}


def deflation_summary(config: DeflationConfig, results: list[dict]) -> Summary:
    """Counts and exponents after every step, beside κ_t and the sharp prediction.

    Lists of `counts` are d × T, of `slope` and `interval` T, all by rule; `batch_counts` and its kin are B × T.
    """
    results = iter(results)
    take = lambda rows: [[next(results) for _ in range(config.seeds)] for _ in range(rows)]  # noqa: E731
    runs = {rule: take(len(config.dims)) for rule in RULES}
    batches = {rule: take(len(config.batch_sizes)) for rule in ("smoothed_sign", "sgd")}
    lemmas = take(len(config.dims))
    fields = ("slope", "interval", "counts", "seed_counts", "within", "stayed")
    measured = {field: {} for field in fields}
    predicted = {field: {} for field in ("slope", "sharp_slope", "counts", "within", "even", "thresholds")}
    verdicts = {}
    for rule, draws in runs.items():
        read = lambda field, draws=draws: np.array([[r[field] for r in row] for row in draws], float)  # noqa: E731
        counts, plan = read("counts"), _rule_arguments(config, rule)
        measured["counts"][rule] = counts.mean(1).tolist()
        measured["seed_counts"][rule] = counts.tolist()
        measured["within"][rule] = read("within").mean(1).tolist()
        measured["stayed"][rule] = read("stayed").mean(1).tolist()
        sharp = {"counts": [], "within": [], "even": []}
        predicted["thresholds"][rule] = []
        for dim in config.dims:
            p = Problem.power_law(config.n_items, dim, config.alpha).frequencies
            one = schedule(plan["rule"], config.alpha, config.n_items, dim, plan["steps"], plan["constant"])
            for field, values in expected_counts(rule, one, thresholded_weights(p, one.removed), dim).items():
                sharp[field].append(values)
            predicted["thresholds"][rule].append(list(one.thresholds))
        for field, values in sharp.items():
            if values:
                predicted[field][rule] = values
        fits = [fit_exponent(config.dims, counts[:, :, t], config.n_items) for t in range(plan["steps"])]
        measured["slope"][rule] = [fit.slope for fit in fits]
        measured["interval"][rule] = [[fit.low, fit.high] for fit in fits]
        expected = np.array(sharp["counts"])
        predicted["sharp_slope"][rule] = [fit_exponent(config.dims, column).slope for column in expected.T]
        method = "sgd" if rule == "sgd" else "muon"
        predicted["slope"][rule] = [theory.recovery_exponent(method, config.alpha, t + 1) for t in range(plan["steps"])]
        off = np.abs(np.array(measured["slope"][rule]) - predicted["slope"][rule])
        verdicts[rule] = _verdict(config.dims, counts, expected, off)
    for field in ("batch_counts", "batch_sharp", "batch_distinct"):
        key = field.removeprefix("batch_")
        mean = lambda row, key=key: np.mean([r[key] for r in row], 0).tolist()  # noqa: E731
        measured[field] = {rule: [mean(row) for row in rows] for rule, rows in batches.items()}
    verdicts["batches"] = _batch_verdict(batches)
    measured["lemmas"], lemma_verdicts = _lemma_summary(config, lemmas)
    predicted["batch_thresholds"] = {
        rule: [
            list(
                schedule(
                    alpha=config.alpha,
                    n_items=config.n_items,
                    dim=config.batch_dim,
                    batch_size=batch_size,
                    **_rule_arguments(config, rule),
                ).thresholds
            )
            for batch_size in config.batch_sizes
        ]
        for rule in batches
    }
    return Summary(measured, predicted, verdicts | lemma_verdicts)


def _verdict(dims, counts: np.ndarray, sharp: np.ndarray, off: np.ndarray) -> str:
    """Reproduced: every count meets its sharp prediction, every slope κ_t. Finite-size: the counts, not every slope."""
    judged = np.array(dims) >= SHARP_DIM
    seeds = counts.shape[1]
    error = counts.std(1, ddof=1) / math.sqrt(seeds) if seeds > 1 else 0 * sharp
    # two draws can agree by chance; a count of nearly independent events scatters by about half its root
    error = np.maximum(error, np.sqrt(sharp / seeds) / 2)
    if (np.abs(counts.mean(1) - sharp) > STEP_COUNT_BAND * sharp + 2 * error)[judged].any():
        return NOT_REPRODUCED
    return REPRODUCED if judged.any() and (off <= SLOPE_BAND).all() else FINITE_SIZE


def _batch_verdict(batches: dict) -> str:
    """Whether minibatch counts meet what their draws predict, and exceed the items seen by no more than luck allows."""
    draws = [r for rows in batches.values() for row in rows for r in row]
    counts, sharp, seen = (np.array([r[key][-1] for r in draws], float) for key in ("counts", "sharp", "distinct"))
    # Pr[luck ≥ 6] ≤ 1/6!
    held = (np.abs(counts - sharp) <= STEP_COUNT_BAND * sharp + 3 * np.sqrt(sharp)).all() and (counts < seen + 6).all()
    return REPRODUCED if held else NOT_REPRODUCED


def _lemma_summary(config: DeflationConfig, lemmas: list[list[dict]]) -> tuple[dict, dict]:
    """The largest ratio of each lemma over all draws, and the scales of Lemmas 35 and 36, d × M/d."""
    names = ("lemma_30", "lemma_31", "lemma_32", "lemma_33", "lemma_35", "lemma_36")
    measured = {name: max(r[name] for row in lemmas for r in row) for name in names}
    verdicts = {name: REPRODUCED if measured[name] <= 1 else NOT_REPRODUCED for name in names}
    for name in ("lemma_35_scale", "lemma_36_scale"):
        measured[name] = {
            key: [np.mean([r[name][key] for r in row], 0).tolist() for row in lemmas] for key in lemmas[0][0][name]
        }
    sizes = [10.0**k for k in range(3, 9)]
    failures = [theory.superconcentration_failure(n, SUPERCONCENTRATION) for n in sizes]
    measured["lemma_34"] = max(n * failure for n, failure in zip(sizes, failures, strict=True))
    measured["lemma_34_failure"] = failures
    verdicts["lemma_34"] = REPRODUCED if measured["lemma_34"] <= 1 else NOT_REPRODUCED
    return measured, verdicts


DEFLATION = Experiment(
    name="deflation",
    purpose="capacity along the thresholded iterates, Muon and SGD, step by step (Theorems 2, 9 and 10, Lemmas 30-36)",
    profiles={
        "smoke": DeflationConfig(
            dims=(32, 64), n_items=8192, steps=3, sgd_steps=4, batch_dim=64, batch_sizes=(256, 4096)
        ),
        "cpu": DeflationConfig(),
        "gpu": DeflationConfig(
            dims=(128, 181, 256, 362, 512, 724, 1024, 1448, 2048),
            n_items=262_144,
            seeds=4,
            sgd_steps=5,
            batch_dim=512,
            batch_sizes=(256, 4096, 65_536, 1_048_576),
        ),
    },
    cells=deflation_cells,
    summarise=deflation_summary,
)
