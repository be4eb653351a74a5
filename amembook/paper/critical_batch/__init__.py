"""`critical-batch`: capacity of one minibatch step against B, and the batch that half suffices (Theorems 3 and 5)."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from scipy.stats import norm
from scipy.stats import t as student_t

from amembook.run import runtime
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Results,
    Several,
    SteepAlpha,
    draws,
    some_of,
    standard_error,
)
from amembook.run.claims import (
    FRESH_SEEDS,
    SHARP_DIM,
    SIZES,
    check,
    equivalence,
    exponents,
    family,
    luck,
    numbers,
)
from amemlib import theory
from amemlib.equivalents import expected_capacity, expected_distinct_items, expected_prefix
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import longest_prefix, recovered, recovered_by_sgd
from amemlib.sampling import sample_embeddings, sample_minibatch, sample_reduced_embeddings
from amemlib.scaling import first_crossing, fit_exponent
from amemlib.spectral import polar, singular_values

PREFIX_BAND = 0.1
"""The band of a prefix: it ends at the first failure, so the two or three per cent to which the law knows a chance near
1 count once for every item before it."""
SEEN_BAND = 0.1
"""The band of what is seen, plus one: at `FAR_BELOW` the sharp counts themselves are down to 0.91 of it."""
FAR_BELOW = 1 / 4
"""What "far below" means: at most this share of the half-capacity batch."""
FEWEST_OBSERVED = 10
"""Below as many observed items one item more or less, by luck, is already ten per cent."""
LEMMA_BATCHES = (1 / 16, 1 / 4, 1 / 2, 1.0, 4.0, math.inf)
"""Batches at which Lemmas 14 to 17 are measured, in units of d^α; infinity is the population."""
FAILURE = 0.001
"""The probability with which the explicit bounds of Lemma 15 may fail in one draw."""
LEMMA_17_CONSTANT = 9.0
"""What the chapter proves for Lemma 17, with probability 1 − e^{−d/2}."""
LEMMA_28_CONSTANT = 4.0
"""What Lemma 28 is held to: no constant is proved that does not depend on the probability of failure."""
PARTS = ("steps", "lemmas")


@dataclass(frozen=True)
class CriticalBatchConfig(Config):
    """Capacity of one step against the batch size B at several d (Theorems 3 and 5, Figures 1(b) and 3).

    Every grid of batches must begin below and end above the half-capacity batch.
    """

    alpha: SteepAlpha = 1.5
    # Muon, and SGD on the same gradients
    dims: AscendingCounts = (64, 128, 256, 512)
    n_items: Several = 16_384
    seeds: Several = 3
    batch_sizes: AscendingCounts = tuple(2**k for k in range(2, 19))
    # SGD alone, at dimensions where its exponent can be seen
    sgd_dims: AscendingCounts = (1024, 4096, 16384, 65536)
    sgd_items: Several = 1024
    sgd_seeds: Several = 32
    sgd_batch_sizes: AscendingCounts = tuple(round(2 ** (k / 3)) for k in range(9, 40))
    sgd_predicted_seeds: Count = 16  # SGD draws for which the sharp count of the drawn frequencies is computed
    # what a record measures, and what its counts are judged for: their level and the exponent of the half-capacity
    # batch, or their level alone, which is what the figures draw
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    claims: Annotated[tuple[str, ...], some_of("exponents", "counts")] = ("exponents",)
    first_seed: Natural = 0


def measure_minibatch_steps(
    n_items: int, dim: int, alpha: float, batch_sizes: list[int], seed: int, device: str
) -> dict:
    """One draw of the embeddings and a minibatch of every size: what polar and SGD recover, and what was observed.

    For each map lists over B of the count, the longest prefix, how many of the items recovered from the population are
    recovered ("shared"), how many that the batch does not hold ("unseen"), and for polar the sharp count and prefix of
    the drawn frequencies, the prefix with its standard deviation.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    full = _masks(emb, problem.frequencies)
    result = {"distinct": [], "population": {name: _describe(mask, mask) for name, mask in full.items()}}
    for name in full:
        result[name] = {"count": [], "prefix": [], "shared": [], "unseen": []}
    result["polar"] |= {"sharp": [], "sharp_prefix": []}
    for batch_size in batch_sizes:
        q = sample_minibatch(problem, batch_size, seed)
        result["distinct"].append(int((q > 0).sum()))
        result["polar"]["sharp"].append(expected_capacity(problem, "polar", frequencies=q))
        result["polar"]["sharp_prefix"].append(list(expected_prefix(problem, "polar", frequencies=q)))
        unseen = (q == 0).to(emb.V.device)
        for name, mask in _masks(emb, q).items():
            for field, value in (_describe(mask, full[name]) | {"unseen": int((mask & unseen).sum())}).items():
                result[name][field].append(value)
    return result


def measure_sgd_minibatches(n_items: int, dim: int, alpha: float, batch_sizes: list[int], seed: int) -> dict:
    """What one SGD step recovers from minibatches of every size, exact at any d through the two Gram matrices."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_reduced_embeddings(problem, seed)
    grams = emb.U @ emb.U.T, emb.V @ emb.V.T
    full = recovered_by_sgd(*grams, problem.frequencies)
    counts = {"count": [], "prefix": [], "shared": [], "unseen": []}
    result = {"distinct": [], "population": {"sgd": _describe(full, full)}, "sgd": counts}
    for batch_size in batch_sizes:
        q = sample_minibatch(problem, batch_size, seed)
        result["distinct"].append(int((q > 0).sum()))
        mask = recovered_by_sgd(*grams, q)
        for field, value in (_describe(mask, full) | {"unseen": int((mask & (q == 0)).sum())}).items():
            counts[field].append(value)
    return result


def predict_sgd_minibatches(n_items: int, dim: int, alpha: float, batch_sizes: list[int], seed: int) -> dict:
    """Sharp counts of one SGD step for every B, for the frequencies that `measure_sgd_minibatches` draws."""
    problem = Problem.power_law(n_items, dim, alpha)
    batches = [sample_minibatch(problem, batch_size, seed) for batch_size in batch_sizes]
    return {"sharp": [expected_capacity(problem, "sgd", frequencies=q) for q in batches]}


def measure_lemmas(n_items: int, dim: int, alpha: float, seed: int, device: str) -> dict:
    """The quantities of Lemmas 14 to 17 on one draw, for batches of LEMMA_BATCHES × d^α items; lists over the batches.

    median: s_{d/2}(G₀). lemma_14: λ_{d/2}(Σ), Σ = Σ_i q_i² v_i v_iᵀ. lemma_15_max, lemma_15_energy: the largest ratio
    over m of ‖q_{>m}‖_∞ and ‖q_{>m}‖₂² to the lemma's bounds without logarithms; lemma_15_explicit: to the bounds with
    all constants that the chapter proves. lemma_16: the smallest λ for which the event of Eq. (16) holds with
    k = d / (log d)², over (log d)^{2α+1} max{d^{−α}, 1/B}. lemma_17: max_k s_k(G₀)² / λ_k(Σ).
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    result = {name: [] for name in ("median", "lemma_14", "lemma_15_max", "lemma_15_energy", "lemma_15_explicit")}
    result |= {"lemma_16": [], "lemma_17": []}
    for share in LEMMA_BATCHES:
        batch_size = math.inf if share == math.inf else max(1, round(share * dim**alpha))
        q = problem.frequencies if share == math.inf else sample_minibatch(problem, batch_size, seed)
        weighted = (q.to(emb.V.device)[:, None] * emb.V.double())[(q > 0).to(emb.V.device)]
        singular = singular_values(initial_gradient(emb, q)).cpu()
        eigenvalues = singular_values(weighted).square().cpu()
        rank = min(gradient_rank(emb, q), len(eigenvalues))
        half = dim // 2
        result["median"].append(singular[half - 1].item() if half <= rank else 0.0)
        result["lemma_14"].append(eigenvalues[half - 1].item() if half <= rank else 0.0)
        result["lemma_17"].append((singular[:rank].square() / eigenvalues[:rank]).max().item())
        for name, value in _tail_ratios(problem, q.numpy(), batch_size).items():
            result[name].append(value)
    return result


def _tail_ratios(problem: Problem, q: np.ndarray, batch_size: float) -> dict:
    """The ratios of Lemmas 15 and 16 for one draw of the frequencies."""
    p, alpha, dim = problem.frequencies.numpy(), problem.alpha, problem.dim
    tail_mass, energy = (np.cumsum(x[::-1])[::-1][1:] for x in (p, q**2))
    largest = np.maximum.accumulate(q[::-1])[::-1][1:]
    m = np.arange(1, len(q), dtype=float)
    energy_bound = np.max([m ** (1 - 2 * alpha), m ** (1 - alpha) / batch_size, 0 * m + batch_size**-2.0], 0)
    luck = math.log(2 * len(q) / FAILURE)
    item_bound = np.maximum(math.e**2 * p[1:], luck / batch_size)
    mass_bound = np.maximum(math.e**2 * tail_mass, luck / batch_size)
    k = int(dim / math.log(dim) ** 2)
    least_lam = math.log(dim) * max(largest[k - 1], math.sqrt(energy[k - 1] / dim))
    return {
        "lemma_15_max": (largest / np.maximum(m**-alpha, 1 / batch_size)).max(),
        "lemma_15_energy": (energy / energy_bound).max(),
        "lemma_15_explicit": max((largest / item_bound).max(), (energy / (item_bound * mass_bound)).max()),
        "lemma_16": least_lam / (math.log(dim) ** (2 * alpha + 1) * max(dim**-alpha, 1 / batch_size)),
    }


def measure_sgd_bounds(n_items: int, dim: int, alpha: float, seed: int) -> dict:
    """Lemma 28 and the loss bound of Theorem 5 on one population draw, exact at any d through the Gram matrices.

    lemma_28: max_{i,j} |u_jᵀ(G − G₀)v_i| over (q_i + ‖q‖₂/√d) (1/N + 1/√(Nd)) log d. loss: min over η of L(η G₀).
    loss_bound: log 2 times the frequency of the items that are not recovered.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb, p = sample_reduced_embeddings(problem, seed), problem.frequencies
    output_gram, input_gram = emb.U @ emb.U.T, emb.V @ emb.V.T
    shift = output_gram.mean(0).abs().max() * (input_gram @ p).abs()
    scale = (p + p.norm() / math.sqrt(dim)) * (1 / n_items + 1 / math.sqrt(n_items * dim)) * math.log(dim)
    logits = (input_gram * p) @ (output_gram - output_gram.mean(0))
    excess = logits - logits.diagonal()[:, None]
    # the best η is a few units over the rivals' logits p_1/√d, for the items that matter
    etas = 2.0 ** np.arange(0, 9) * math.sqrt(dim) / p[0].item()
    losses = [(p @ torch.logsumexp(eta * excess, 1)).item() for eta in etas]
    mask = recovered_by_sgd(output_gram, input_gram, p)
    return {
        "lemma_28": (shift / scale).max().item(),
        "loss": min(losses),
        "loss_at_edge": int(np.argmin(losses) in (0, len(etas) - 1)),
        "loss_bound": math.log(2) * p[~mask].sum().item(),
    }


def _masks(emb, q: torch.Tensor) -> dict:
    G = initial_gradient(emb, q)
    return {"polar": recovered(polar(G, gradient_rank(emb, q)), emb), "sgd": recovered(G, emb)}


def _describe(mask: torch.Tensor, full: torch.Tensor) -> dict:
    return {"count": int(mask.sum()), "prefix": longest_prefix(mask), "shared": int((mask & full).sum())}


def critical_batch_grids(config: CriticalBatchConfig) -> dict[str, Grid]:
    """One cell a draw, all batch sizes inside it: SGD's draws, Muon's, and the lemmas on the same seeds as Muon's."""
    own = {"n_items": config.sgd_items, "batch_sizes": config.sgd_batch_sizes}
    sgd_dims, muon = {"dim": config.sgd_dims}, {"dim": config.dims, "seed": draws(config)}
    grids = {
        "sgd": Grid(measure_sgd_minibatches, sgd_dims | {"seed": draws(config, config.sgd_seeds)}, **own),
        "sgd_sharp": Grid(
            predict_sgd_minibatches, sgd_dims | {"seed": draws(config, _predicted_draws(config, "sgd"))}, **own
        ),
        "muon": Grid(measure_minibatch_steps, muon),
    }
    if "lemmas" not in config.parts:
        return grids
    return grids | {
        "lemmas": Grid(measure_lemmas, muon),
        "bounds": Grid(measure_sgd_bounds, sgd_dims | {"seed": draws(config)}, n_items=config.sgd_items),
    }


def critical_batch_summary(config: CriticalBatchConfig, results: Results) -> tuple[dict, dict]:
    """Counts against B, the half-capacity batch of each d, and its exponent, beside theorem and sharp prediction.

    The half-capacity batch, fixed before any run: the smallest B at which the mean count is half the population's mean
    count of the same draws (`half_batch`). Since counts overshoot, the same for the share of the population's recovered
    *set* that is recovered is in `set_half_batch`, its exponent in `set_slope`. Lists over d × B are aligned with
    `dims` × `batch_sizes`, those of sgd with `sgd_dims` × `sgd_batch_sizes`; sgd_at_dims is SGD on Muon's draws.
    residual: counts less the sharp counts of their own batches, for the draws that have them. observed_error: the
    standard error of counts over distinct items + 1; `observed_deviation` has the batches far below alone. unseen: mean
    number of recovered items that the batch does not hold. predicted.prefixes: of Muon, from the same batches.
    """
    measured, predicted = {}, {}
    for name in ("polar", "sgd", "sgd_at_dims"):
        for fields, of_map in zip((measured, predicted), _map_summary(config, results, name), strict=True):
            for field, value in of_map.items():
                fields.setdefault(field, {})[name] = value
    return measured | ({"lemmas": _lemmas(config, results)} if "lemmas" in config.parts else {}), predicted


def _sizes(config: CriticalBatchConfig, name: str) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Dimensions, batches and N of a name."""
    if name == "sgd":
        return config.sgd_dims, config.sgd_batch_sizes, config.sgd_items
    return config.dims, config.batch_sizes, config.n_items


def _predicted_draws(config: CriticalBatchConfig, name: str) -> int:
    """How many draws have the sharp counts of their own batches."""
    return min(config.sgd_predicted_seeds, config.sgd_seeds) if name == "sgd" else config.seeds


def _map_summary(config: CriticalBatchConfig, results: Results, name: str) -> tuple[dict, dict]:
    """The fields of one name; SGD on Muon's draws has neither half-capacity batches nor sharp counts."""
    dims, batch_sizes, n_items = _sizes(config, name)
    grid, key = "sgd" if name == "sgd" else "muon", name.removesuffix("_at_dims")
    counts, prefixes, shared = (results.array(grid, key, field) for field in ("count", "prefix", "shared"))
    distinct, population = results.array(grid, "distinct"), results.array(grid, "population", key, "count")
    problems = [Problem.power_law(n_items, dim, config.alpha) for dim in dims]
    measured = {
        "counts": counts.mean(1),
        "counts_error": standard_error(counts),
        "prefixes": prefixes.mean(1),
        "shared": shared.mean(1),
        "distinct": distinct.mean(1),
        "unseen": results.array(grid, key, "unseen").mean(1),
        "population": population.mean(1),
        "population_error": standard_error(population),
        "overshoot": counts.mean(1).max(1) / population.mean(1),
    }
    predicted = {
        "distinct": [[expected_distinct_items(problem, size) for size in batch_sizes] for problem in problems],
        "slope": theory.critical_batch_exponent("sgd" if key == "sgd" else "muon", config.alpha),
    }
    if name == "sgd_at_dims":
        return measured, predicted
    sharp = results.array("sgd_sharp", "sharp") if name == "sgd" else results.array("muon", "polar", "sharp")
    residual = counts[:, : sharp.shape[1]] - sharp
    for prefix, values in (("", counts), ("set_", shared)):
        half, slope, interval = _half_batch_exponent(dims, batch_sizes, values, population)
        measured |= {f"{prefix}half_batch": half, f"{prefix}slope": slope, f"{prefix}interval": interval}
    far_below = _far_below(batch_sizes, measured["half_batch"], distinct.mean(1))
    deviation = counts.mean(1) / (distinct.mean(1) + 1) - 1
    measured |= {
        "residual": residual.mean(1),
        "residual_error": standard_error(residual),
        "observed_deviation": [row[few] for row, few in zip(deviation, far_below, strict=True)],
        "observed_error": standard_error(counts / (distinct + 1)),
    }
    if "counts" in config.claims:
        # residuals need both of a draw
        measured |= {"seed_total": counts[:, : sharp.shape[1]].sum(2), "seed_total_sharp": sharp.sum(2)}
    predicted["counts"] = sharp.mean(1)
    predicted["population"] = [expected_capacity(problem, name) for problem in problems]
    predicted["half_batch"] = [
        first_crossing(batch_sizes, c, whole / 2)
        for c, whole in zip(sharp.mean(1), predicted["population"], strict=True)
    ]
    predicted["sharp_slope"] = fit_exponent(dims, predicted["half_batch"]).slope
    if name == "polar":
        chain = results.array("muon", "polar", "sharp_prefix")
        # what is expected of the draws together: their means, and the spread of the mean around it
        predicted["prefixes"] = chain[..., 0].mean(1)
        predicted["prefix_error"] = np.sqrt((chain[..., 1] ** 2).mean(1)) / math.sqrt(chain.shape[1])
    return measured, predicted


def _far_below(batch_sizes, half_batch: np.ndarray, distinct: np.ndarray) -> np.ndarray:
    """(d, B): where B is far below the half-capacity batch and shows enough items to speak of a share of them."""
    return (np.array(batch_sizes) <= FAR_BELOW * half_batch[:, None]) & (distinct >= FEWEST_OBSERVED)


def _lemmas(config: CriticalBatchConfig, results: Results) -> dict:
    """Largest measured constant of each lemma over draws and batches, at every d."""
    worst = {
        name: results.array("lemmas", name).max((1, 2))
        for name in ("lemma_14", "lemma_15_max", "lemma_15_energy", "lemma_15_explicit", "lemma_16", "lemma_17")
    }
    median = fit_exponent(config.dims, results.array("lemmas", "median")[:, :, -1])
    loss, loss_bound = results.array("bounds", "loss"), results.array("bounds", "loss_bound")
    return worst | {
        "median_slope": median.slope,
        "median_interval": [median.low, median.high],
        "lemma_14_slope": fit_exponent(config.dims, worst["lemma_14"]).slope,
        "lemma_14": worst["lemma_14"] * np.array(config.dims, float) ** (2 * config.alpha),
        "lemma_28": results.array("bounds", "lemma_28").max(1),
        "loss": loss.mean(1),
        "loss_bound": loss_bound.mean(1),
        "loss_margin": (loss - loss_bound).min(1),
        "loss_at_edge": results.array("bounds", "loss_at_edge").sum(),
    }


def _half_batch_exponent(dims, batch_sizes, counts: np.ndarray, full: np.ndarray) -> tuple[np.ndarray, float, list]:
    """Half-capacity batches (d,), their exponent, and its 95 % interval by the jackknife over draws.

    counts: (d, draws, B), full: (d, draws). Not the mean of each draw's own half-capacity batch: at a count of ten the
    crossing of a single draw is mostly noise, and biased.
    """

    def half_batches(kept: np.ndarray) -> np.ndarray:
        pairs = zip(counts[:, kept].mean(1), full[:, kept].mean(1), strict=True)
        return np.array([first_crossing(batch_sizes, c, f / 2) for c, f in pairs])

    n_draws = full.shape[1]
    everyone = np.arange(n_draws)
    half = half_batches(everyone)
    left_out = np.array([np.log(half_batches(everyone[everyone != k])) for k in everyone])
    variance = (n_draws - 1) * left_out.var(0)
    log_d = np.log(dims)
    weights = (log_d - log_d.mean()) / np.sum((log_d - log_d.mean()) ** 2)
    slope = fit_exponent(dims, half).slope
    # draws of different d are independent, so their variances add
    width = math.sqrt(weights**2 @ variance) * student_t.ppf(0.975, len(dims) * (n_draws - 1))
    return half, slope, [slope - width, slope + width]


def judge_critical_batch(config: CriticalBatchConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Counts against those of their batches, exponents against their limits; few samples; the bounds of the lemmas."""
    of_map = _counts_verdict if "counts" in config.claims else _half_batch_verdict
    verdicts = {
        "polar": of_map(config, measured, predicted, "polar"),
        "sgd": of_map(config, measured, predicted, "sgd"),
        "observed": _observed_verdict(config, measured),
        "prefix": _prefix_verdict(config, measured, predicted),
        "luck": _luck_verdict(config, measured),
    }
    return verdicts | (_lemma_verdicts(config, measured["lemmas"]) if "lemmas" in config.parts else {})


def _counts_verdict(config: CriticalBatchConfig, measured: dict, predicted: dict, name: str) -> dict:
    """The counts of all batches together, by d from `SHARP_DIM` on, less the sharp counts of the same draws.

    The half-capacity batch is not judged: its exponent would need four hundred draws at every d.
    """
    dims = np.array(_sizes(config, name)[0])
    judged = dims >= SHARP_DIM
    if not judged.any():
        return equivalence([])
    totals, sharp = (measured[field][name][judged] for field in ("seed_total", "seed_total_sharp"))
    n_draws, n_batches = totals.shape[1], len(_sizes(config, name)[1])
    counts, error, law, seen, whole = (
        table[name][judged]
        for table in (
            *(measured[key] for key in ("counts", "residual_error")),
            predicted["counts"],
            measured["distinct"],
            predicted["population"],
        )
    )
    rivals = {"every item seen": seen.sum(1), "the population's, whatever the batch": whole * n_batches}
    given = {"law": sharp.mean(1), "band": SIZES, "rivals": rivals, "at": [f"d = {dim}" for dim in dims[judged]]}
    made = numbers("items", totals.mean(1), standard_error(totals - sharp), n_draws, **given)
    entries = {"law": law, "band": SIZES, "guard": True}
    return equivalence(
        made + numbers("items, entry", counts, np.fmax(error, np.sqrt(law / n_draws) / 2), n_draws, **entries)
    )


def _half_batch_verdict(config: CriticalBatchConfig, measured: dict, predicted: dict, name: str) -> dict:
    """The counts of all batches, by d from `SHARP_DIM` on, and the exponent of the half-capacity batch.

    Errors are those draw by draw, where the scatter of the drawn frequencies drops out, if all draws are predicted.
    """
    dims = np.array(_sizes(config, name)[0])
    judged = dims >= SHARP_DIM
    if not judged.any():
        return equivalence([])
    n_draws = _predicted_draws(config, name)
    same = n_draws == (config.sgd_seeds if name == "sgd" else config.seeds)
    counts, spread, expected = (
        table[name][judged]
        for table in (measured["counts"], measured["residual_error" if same else "counts_error"], predicted["counts"])
    )
    given = {"law": expected, "band": SIZES, "at": [f"d = {dim}" for dim in dims[judged]]}
    made = family("items", counts, spread, n_draws, **given)
    made += exponents(
        "exponent of the half-capacity batch",
        measured["slope"][name],
        measured["interval"][name],
        predicted["sharp_slope"][name],
        predicted["slope"][name],
        _rival_exponents(name, config.alpha),
        n_draws,
        points=len(dims),
    )
    return equivalence(made)


def _rival_exponents(name: str, alpha: float) -> dict[str, float]:
    """Other laws of the half-capacity batch; SGD's own does not depend on α."""
    if name == "sgd":
        rivals = {"Muon": theory.critical_batch_exponent("muon", alpha)}
    else:
        rivals = {
            "SGD": theory.critical_batch_exponent("sgd", alpha),
            "α + 1/4": theory.critical_batch_exponent("muon", alpha + 0.25),
            "α − 1/4": theory.critical_batch_exponent("muon", alpha) - 0.25,
        }
    capacity = theory.recovery_exponent("sgd" if name == "sgd" else "muon", alpha)
    return rivals | {"a sample for each recovered item": capacity}


def _prefix_verdict(config: CriticalBatchConfig, measured: dict, predicted: dict) -> dict:
    """Muon's longest prefix from a batch, at every d and B at once, against that of the same batches.

    A prediction for these sizes, which is all that Theorem 3's "all items up to" says of a batch.
    """
    judged = np.array(config.dims) >= SHARP_DIM
    if "polar" not in predicted.get("prefixes", {}) or not judged.any():
        return equivalence([])
    prefixes, counts, seen = (measured[field]["polar"][judged] for field in ("prefixes", "counts", "distinct"))
    sharp, error = (predicted[field]["polar"][judged] for field in ("prefixes", "prefix_error"))
    rivals = {"as long as the count": counts, "as long as what is seen": seen, "the population's": sharp[:, -1:]}
    at = [f"d = {dim}" for dim in np.array(config.dims)[judged]]
    given = {"law": sharp, "band": PREFIX_BAND, "rivals": rivals, "at": at}
    return equivalence(family("prefix", prefixes, error, config.seeds, counted=False, **given))


def _luck_verdict(config: CriticalBatchConfig, measured: dict) -> dict:
    """Recovered items that the batch does not hold: one in the mean, whatever d and B, and no more than luck has it."""
    if "unseen" not in measured:
        return equivalence([])
    sizes = {"polar": config.seeds, "sgd": config.sgd_seeds}
    most = max(luck(measured["unseen"][name], n_draws) for name, n_draws in sizes.items())
    return check(most, 1, config.seeds, "unseen items over what luck has")


def _observed_verdict(config: CriticalBatchConfig, measured: dict) -> dict:
    """A batch far below the half-capacity batch is stored as far as it is seen, and one item more by luck.

    A prediction for these sizes: it says nothing of a limit beyond them.
    """
    names = ("polar", "sgd")
    far = [
        _far_below(_sizes(config, name)[1], measured["half_batch"][name], measured["distinct"][name]) for name in names
    ]
    made = []
    for name, few in zip(names, far, strict=True):
        if not few.any():
            continue
        counts, distinct, error = (measured[key][name][None] for key in ("counts", "distinct", "observed_error"))
        rivals = {
            "two thirds of what is seen": 2 / 3 * distinct + 1,
            "every sample another item": np.array(_sizes(config, name)[1]),
        }
        n_draws = min(config.seeds, config.sgd_seeds)
        given = {"law": distinct + 1, "band": SEEN_BAND, "rivals": rivals, "at": [name], "keep": few[None]}
        made += family("items seen", counts, error * distinct, n_draws, **given)
    return equivalence(made)


def _lemma_verdicts(config: CriticalBatchConfig, lemmas: dict) -> dict[str, dict]:
    """The exponent of the bulk (Lemma 14), and bounds on every draw and batch."""
    rivals = {"α + 1/2": -config.alpha - 0.5, "α − 1/2": 0.5 - config.alpha, "α + 1/4": -config.alpha - 0.25}
    draws = config.seeds * len(config.dims)
    sgd_draws = config.seeds * len(config.sgd_dims)
    median = exponents(
        "exponent of s_(d/2)",
        lemmas["median_slope"],
        lemmas["median_interval"],
        None,
        -config.alpha,
        rivals,
        config.seeds,
        points=len(config.dims),
    )
    largest = {
        "lemma_15": lemmas["lemma_15_explicit"].max(),
        "lemma_16": lemmas["lemma_16"].max(),
        "lemma_17": lemmas["lemma_17"].max() / LEMMA_17_CONSTANT,
    }
    over = "over its bound"
    return {
        "lemma_14": equivalence(median),
        "lemma_14_bound": check(lemmas["lemma_14_slope"], -2 * config.alpha, draws, "exponent of λ_(d/2)(Σ)"),
        **{name: check(value, 1, draws, over) for name, value in largest.items()},
        "lemma_28": check(lemmas["lemma_28"].max() / LEMMA_28_CONSTANT, 1, sgd_draws, over),
        "sgd_loss": check(-lemmas["loss_margin"].min(), 0, sgd_draws, "bound less loss"),
    }


EXPERIMENT = Experiment(
    name="critical-batch",
    purpose="capacity of one minibatch step against B for Muon and SGD, and its half-capacity batch (Figures 1(b), 3)",
    profiles={
        "smoke": CriticalBatchConfig(
            dims=(32, 64, 128),
            n_items=2048,
            seeds=2,
            batch_sizes=tuple(2**k for k in range(2, 15)),
            sgd_dims=(1024, 4096),
            sgd_items=256,
            sgd_seeds=8,
            sgd_batch_sizes=tuple(2**k for k in range(2, 12)),
            sgd_predicted_seeds=2,
        ),
        "cpu": CriticalBatchConfig(),
        "confirm": CriticalBatchConfig(seeds=8, first_seed=4100),
        "figures": CriticalBatchConfig(
            dims=(256, 512),
            seeds=8,
            sgd_seeds=160,
            sgd_predicted_seeds=160,
            parts=("steps",),
            claims=("counts",),
            first_seed=48_000,
        ),
        "gpu": CriticalBatchConfig(
            dims=(128, 181, 256, 362, 512, 724, 1024, 1448, 2048),
            n_items=131_072,
            seeds=4,
            first_seed=23_500,
            batch_sizes=tuple(2**k for k in range(2, 23)),
            sgd_dims=tuple(2**k for k in range(12, 21, 2)),
            sgd_items=2048,
            sgd_seeds=32,
            sgd_batch_sizes=tuple(round(2 ** (k / 2)) for k in range(6, 29)),
            sgd_predicted_seeds=4,
        ),
    },
    grids=critical_batch_grids,
    summarise=critical_batch_summary,
    judge=judge_critical_batch,
    unseen_from=FRESH_SEEDS,
    added={"parts": PARTS, "claims": ("exponents",)},
)
