"""`critical-batch`: capacity of one minibatch step against B, and the batch that half suffices (Theorems 3 and 5)."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import norm
from scipy.stats import t as student_t

from amemlib import runtime, theory
from amemlib.checks import check_alpha, check_count
from amemlib.equivalents import expected_capacity, expected_distinct_items
from amemlib.experiments.base import COUNT_BAND, SHARP_DIM, Cell, Experiment, Summary
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import longest_prefix, recovered, recovered_by_sgd
from amemlib.sampling import sample_embeddings, sample_minibatch, sample_reduced_embeddings
from amemlib.scaling import first_crossing, fit_exponent
from amemlib.spectral import polar
from amemlib.verdicts import FINITE_SIZE, NOT_REPRODUCED, REPRODUCED

HALF_BATCH_BAND = 0.1
"""How far the exponent of the half-capacity batch may lie from its limit: the two optimizers' differ by α."""
OBSERVED_BAND = 0.15
"""How far a count may lie from the observed items + 1 while B is far below the half-capacity batch."""
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
SIZE_BAND = 0.2
"""How far the exponent of a squared singular value may exceed its limit: a power of log d does at visible d."""


@dataclass(frozen=True)
class CriticalBatchConfig:
    """Capacity of one step against the batch size B at several d (Theorems 3 and 5, Figures 1(b) and 3).

    alpha, dims, n_items, seeds, batch_sizes: the power law, the dimensions, N, draws and batches of Muon; SGD is
        measured on the same gradients.
    sgd_dims, sgd_items, sgd_seeds, sgd_batch_sizes: the same for SGD alone, where its exponent can be seen.
    sgd_predicted_seeds: for how many of the SGD draws the sharp count of the drawn frequencies is computed.
    first_seed: where the seeds start; the numbers of the ledger come from 1000 on.
    Every grid of batches is increasing and must begin below and end above the half-capacity batch.
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (64, 128, 256, 512)
    n_items: int = 16_384
    seeds: int = 3
    batch_sizes: tuple[int, ...] = tuple(2**k for k in range(2, 19))
    sgd_dims: tuple[int, ...] = (1024, 4096, 16384, 65536)
    sgd_items: int = 1024
    sgd_seeds: int = 32
    sgd_batch_sizes: tuple[int, ...] = tuple(round(2 ** (k / 3)) for k in range(9, 40))
    sgd_predicted_seeds: int = 16
    first_seed: int = 0

    def __post_init__(self):
        check_alpha(self.alpha, above=1.0)
        for name in ("dims", "sgd_dims", "batch_sizes", "sgd_batch_sizes"):
            values = getattr(self, name)
            for value in values:
                check_count(name, value)
            if len(values) < 2 or any(a >= b for a, b in zip(values[:-1], values[1:], strict=True)):
                raise ValueError(f"{name} must hold at least two increasing values, got {list(values)}")
        for name in ("n_items", "sgd_items", "seeds", "sgd_seeds"):
            check_count(name, getattr(self, name), least=2)
        check_count("sgd_predicted_seeds", self.sgd_predicted_seeds)
        check_count("first_seed", self.first_seed, least=0)


def measure_minibatch_steps(
    alpha: float, n_items: int, dim: int, batch_sizes: list[int], seed: int, device: str
) -> dict:
    """One draw of the embeddings and a minibatch of every size: what polar and SGD recover, and what was observed.

    For each map lists over B of the count, the longest prefix, how many of the items recovered from the population
    are recovered ("shared"), and for polar the sharp count of the drawn frequencies.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    full = _masks(emb, problem.frequencies)
    result = {"distinct": [], "population": {name: _describe(mask, mask) for name, mask in full.items()}}
    for name in full:
        result[name] = {"count": [], "prefix": [], "shared": []}
    result["polar"]["sharp"] = []
    for batch_size in batch_sizes:
        q = sample_minibatch(problem, batch_size, seed)
        result["distinct"].append(int((q > 0).sum()))
        result["polar"]["sharp"].append(expected_capacity(problem, "polar", frequencies=q))
        for name, mask in _masks(emb, q).items():
            for field, value in _describe(mask, full[name]).items():
                result[name][field].append(value)
    return result


def measure_sgd_minibatches(
    alpha: float, n_items: int, dim: int, batch_sizes: list[int], seed: int, predicted: int
) -> dict:
    """What one SGD step recovers from minibatches of every size, exact at any d through the two Gram matrices.

    predicted: 1 to add the sharp counts of the drawn frequencies, 0 to leave them out.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_reduced_embeddings(problem, seed)
    grams = emb.U @ emb.U.T, emb.V @ emb.V.T
    full = recovered_by_sgd(*grams, problem.frequencies)
    result = {"distinct": [], "population": {"sgd": _describe(full, full)}, "sgd": {}}
    result["sgd"] = {"count": [], "prefix": [], "shared": [], "sharp": []}
    for batch_size in batch_sizes:
        q = sample_minibatch(problem, batch_size, seed)
        result["distinct"].append(int((q > 0).sum()))
        for field, value in _describe(recovered_by_sgd(*grams, q), full).items():
            result["sgd"][field].append(value)
        if predicted:
            result["sgd"]["sharp"].append(expected_capacity(problem, "sgd", frequencies=q))
    return result


def measure_lemmas(alpha: float, n_items: int, dim: int, seed: int, device: str) -> dict:
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
        singular = torch.linalg.svdvals(initial_gradient(emb, q)).cpu()
        eigenvalues = torch.linalg.svdvals(weighted).square().cpu()
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
    tail_sum = lambda x: np.cumsum(x[::-1])[::-1][1:]  # noqa: E731
    largest = np.maximum.accumulate(q[::-1])[::-1][1:]
    energy = tail_sum(q**2)
    m = np.arange(1, len(q), dtype=float)
    energy_bound = np.max([m ** (1 - 2 * alpha), m ** (1 - alpha) / batch_size, 0 * m + batch_size**-2.0], 0)
    luck = math.log(2 * len(q) / FAILURE)
    item_bound = np.maximum(math.e**2 * p[1:], luck / batch_size)
    mass_bound = np.maximum(math.e**2 * tail_sum(p), luck / batch_size)
    k = int(dim / math.log(dim) ** 2)
    least_lam = math.log(dim) * max(largest[k - 1], math.sqrt(energy[k - 1] / dim))
    return {
        "lemma_15_max": float((largest / np.maximum(m**-alpha, 1 / batch_size)).max()),
        "lemma_15_energy": float((energy / energy_bound).max()),
        "lemma_15_explicit": float(max((largest / item_bound).max(), (energy / (item_bound * mass_bound)).max())),
        "lemma_16": float(least_lam / (math.log(dim) ** (2 * alpha + 1) * max(dim**-alpha, 1 / batch_size))),
    }


def measure_sgd_bounds(alpha: float, n_items: int, dim: int, seed: int) -> dict:
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


def critical_batch_cells(config: CriticalBatchConfig, device: str) -> list[Cell]:
    """One cell a draw, all batch sizes inside it: SGD's draws, Muon's, and the lemmas on the same seeds as Muon's."""
    sgd_common = {
        "alpha": config.alpha,
        "n_items": config.sgd_items,
        "batch_sizes": list(config.sgd_batch_sizes),
    }
    common = {
        "alpha": config.alpha,
        "n_items": config.n_items,
        "batch_sizes": list(config.batch_sizes),
        "device": device,
    }
    sgd_seeds = range(config.first_seed, config.first_seed + config.sgd_seeds)
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    predicted = lambda seed: int(seed < config.first_seed + config.sgd_predicted_seeds)  # noqa: E731
    lemmas = {"alpha": config.alpha, "n_items": config.n_items, "device": device}
    bounds = {"alpha": config.alpha, "n_items": config.sgd_items}
    return (
        [
            Cell(measure_sgd_minibatches, sgd_common | {"dim": dim, "seed": seed, "predicted": predicted(seed)})
            for dim in config.sgd_dims
            for seed in sgd_seeds
        ]
        + [Cell(measure_minibatch_steps, common | {"dim": dim, "seed": seed}) for dim in config.dims for seed in seeds]
        + [Cell(measure_lemmas, lemmas | {"dim": dim, "seed": seed}) for dim in config.dims for seed in seeds]
        + [Cell(measure_sgd_bounds, bounds | {"dim": dim, "seed": seed}) for dim in config.sgd_dims for seed in seeds]
    )


def critical_batch_summary(config: CriticalBatchConfig, results: list[dict]) -> Summary:
    """Counts against B, the half-capacity batch of each d, and its exponent, beside theorem and sharp prediction.

    The half-capacity batch, fixed before any run: the smallest B at which the mean count is half the population's mean
    count of the same draws (`half_batch`). Since counts overshoot, the same for the share of the population's recovered
    *set* that is recovered is in `set_half_batch`, its exponent in `set_slope`. Lists over d × B are aligned with
    `dims` × `batch_sizes`, those of sgd with `sgd_dims` × `sgd_batch_sizes`; sgd_at_dims is SGD on Muon's draws.
    """
    own, shared, lemmas, bounds = _by_dim(config, results)
    grids = {
        "polar": (config.dims, config.batch_sizes, config.n_items, shared, "polar"),
        "sgd": (config.sgd_dims, config.sgd_batch_sizes, config.sgd_items, own, "sgd"),
        "sgd_at_dims": (config.dims, config.batch_sizes, config.n_items, shared, "sgd"),
    }
    fields = ("counts", "counts_error", "prefixes", "shared", "distinct", "population", "population_error")
    measured = {field: {} for field in fields}
    measured |= {field: {} for field in ("half_batch", "slope", "interval", "observed_deviation")}
    measured |= {field: {} for field in ("set_half_batch", "set_slope", "set_interval", "overshoot")}
    predicted = {field: {} for field in ("counts", "population", "distinct", "half_batch", "slope", "sharp_slope")}
    verdicts, excess = {}, {}
    for name, (dims, batch_sizes, n_items, draws, key) in grids.items():
        read = lambda field, draws=draws, key=key: np.array([[r[key][field] for r in d] for d in draws], float)  # noqa: E731
        full = np.array([[r["population"][key]["count"] for r in d] for d in draws], float)
        distinct = np.array([[r["distinct"] for r in d] for d in draws], float)
        counts, set_counts = read("count"), read("shared")
        measured["counts"][name] = counts.mean(1).tolist()
        measured["counts_error"][name] = _standard_error(counts).tolist()
        measured["prefixes"][name] = read("prefix").mean(1).tolist()
        measured["shared"][name] = set_counts.mean(1).tolist()
        measured["distinct"][name] = distinct.mean(1).tolist()
        measured["population"][name] = full.mean(1).tolist()
        measured["population_error"][name] = _standard_error(full).tolist()
        measured["overshoot"][name] = (counts.mean(1).max(1) / full.mean(1)).tolist()
        problems = [Problem.power_law(n_items, dim, config.alpha) for dim in dims]
        predicted["distinct"][name] = [[expected_distinct_items(p, B) for B in batch_sizes] for p in problems]
        predicted["slope"][name] = theory.critical_batch_exponent("muon" if name == "polar" else "sgd", config.alpha)
        if name == "sgd_at_dims":
            continue
        for prefix, numbers in (("", counts), ("set_", set_counts)):
            half, slope, interval = _half_batch_exponent(dims, batch_sizes, numbers, full)
            measured[prefix + "half_batch"][name] = half
            measured[prefix + "slope"][name] = slope
            measured[prefix + "interval"][name] = interval
        predicted["population"][name] = [expected_capacity(p, name) for p in problems]
        sharp = np.array([[r[key]["sharp"] for r in d if r[key]["sharp"]] for d in draws], float)
        predicted["counts"][name] = sharp.mean(1).tolist()
        predicted["half_batch"][name] = [
            first_crossing(batch_sizes, c, f / 2)
            for c, f in zip(sharp.mean(1), predicted["population"][name], strict=True)
        ]
        predicted["sharp_slope"][name] = fit_exponent(dims, predicted["half_batch"][name]).slope
        far_below = np.array(batch_sizes) <= FAR_BELOW * np.array(measured["half_batch"][name])[:, None]
        far_below &= distinct.mean(1) >= FEWEST_OBSERVED
        deviation = counts.mean(1) / (distinct.mean(1) + 1) - 1
        measured["observed_deviation"][name] = [
            row[few].tolist() for row, few in zip(deviation, far_below, strict=True)
        ]
        deviation_error = _standard_error(counts / (distinct + 1))
        excess[name] = (np.abs(deviation) - 2 * deviation_error)[far_below]
        verdicts[name] = _half_batch_verdict(dims, counts, sharp, measured["slope"][name], predicted["slope"][name])
    far_off = any((values > OBSERVED_BAND).any() for values in excess.values())
    verdicts["observed"] = NOT_REPRODUCED if far_off else REPRODUCED
    measured["lemmas"], lemma_verdicts = _lemma_summary(config, lemmas, bounds)
    return Summary(measured, predicted, verdicts | lemma_verdicts)


def _by_dim(config: CriticalBatchConfig, results: list[dict]) -> list[list[list[dict]]]:
    """The results of the four kinds of cells, each as a list over d of lists over draws."""
    groups, start = [], 0
    for dims, seeds in (
        (config.sgd_dims, config.sgd_seeds),
        (config.dims, config.seeds),
        (config.dims, config.seeds),
        (config.sgd_dims, config.seeds),
    ):
        groups.append([results[start + k * seeds :][:seeds] for k in range(len(dims))])
        start += len(dims) * seeds
    return groups


def _lemma_summary(config: CriticalBatchConfig, lemmas, bounds) -> tuple[dict, dict]:
    """Largest measured constant of each lemma over draws and batches, and whether the lemma holds with it."""
    worst = lambda name: np.array([[max(r[name]) for r in draws] for draws in lemmas]).max(1)  # noqa: E731
    median = np.array([[r["median"][-1] for r in draws] for draws in lemmas])
    median_fit = fit_exponent(config.dims, median)
    lemma_14 = worst("lemma_14")
    loss = np.array([[r["loss"] for r in draws] for draws in bounds])
    loss_bound = np.array([[r["loss_bound"] for r in draws] for draws in bounds])
    lemma_28 = np.array([[r["lemma_28"] for r in draws] for draws in bounds]).max(1)
    measured = {
        "median_slope": median_fit.slope,
        "median_interval": [median_fit.low, median_fit.high],
        "lemma_14_slope": fit_exponent(config.dims, lemma_14).slope,
        "lemma_14": (lemma_14 * np.array(config.dims, float) ** (2 * config.alpha)).tolist(),
        "loss": loss.mean(1).tolist(),
        "loss_bound": loss_bound.mean(1).tolist(),
        "loss_at_edge": int(sum(r["loss_at_edge"] for draws in bounds for r in draws)),
        "lemma_28": lemma_28.tolist(),
    }
    for name in ("lemma_15_max", "lemma_15_energy", "lemma_15_explicit", "lemma_16", "lemma_17"):
        measured[name] = worst(name).tolist()
    holds = {
        "lemma_14": measured["lemma_14_slope"] <= -2 * config.alpha + SIZE_BAND
        and abs(median_fit.slope + config.alpha) <= SIZE_BAND / 2,
        "lemma_15": max(measured["lemma_15_explicit"]) <= 1,
        "lemma_16": max(measured["lemma_16"]) <= 1,
        "lemma_17": max(measured["lemma_17"]) <= LEMMA_17_CONSTANT,
        "lemma_28": max(measured["lemma_28"]) <= LEMMA_28_CONSTANT,
        "sgd_loss": bool((loss >= loss_bound).all()),
    }
    return measured, {name: REPRODUCED if held else NOT_REPRODUCED for name, held in holds.items()}


def _standard_error(draws: np.ndarray) -> np.ndarray:
    return draws.std(1, ddof=1) / math.sqrt(draws.shape[1])


def _half_batch_exponent(dims, batch_sizes, counts: np.ndarray, full: np.ndarray) -> tuple[list, float, list]:
    """Half-capacity batches (d,), their exponent, and its 95 % interval by the jackknife over draws.

    counts: (d, draws, B), full: (d, draws). Not the mean of each draw's own half-capacity batch: at a count of ten the
    crossing of a single draw is mostly noise, and biased.
    """

    def half_batches(kept: np.ndarray) -> np.ndarray:
        pairs = zip(counts[:, kept].mean(1), full[:, kept].mean(1), strict=True)
        return np.array([first_crossing(batch_sizes, c, f / 2) for c, f in pairs])

    n_draws = full.shape[1]
    draws = np.arange(n_draws)
    half = half_batches(draws)
    left_out = np.array([np.log(half_batches(draws[draws != k])) for k in draws])
    variance = (n_draws - 1) * left_out.var(0)
    log_d = np.log(dims)
    weights = (log_d - log_d.mean()) / np.sum((log_d - log_d.mean()) ** 2)
    slope = fit_exponent(dims, half).slope
    # draws of different d are independent, so their variances add
    width = math.sqrt(weights**2 @ variance) * student_t.ppf(0.975, len(dims) * (n_draws - 1))
    return half.tolist(), slope, [slope - width, slope + width]


def _half_batch_verdict(dims, counts: np.ndarray, sharp: np.ndarray, slope: float, exponent: float) -> str:
    """Reproduced: counts meet the sharp prediction from SHARP_DIM on, the exponent its limit. Finite-size: the counts.

    Compared draw by draw, so that the scatter of the drawn frequencies drops out, and at every d and B at once: beyond
    COUNT_BAND a point may lie as many standard errors off as the farthest of so many points does once in twenty times.
    """
    judged = np.array(dims) >= SHARP_DIM
    n_draws = sharp.shape[1]
    residual, expected = counts[:, :n_draws] - sharp, sharp.mean(1)
    # three draws can agree by chance; a count of nearly independent events scatters by about half its root
    error = np.maximum(_standard_error(residual) if n_draws > 1 else 0, np.sqrt(expected / n_draws) / 2)
    # a hundred points at two standard errors each would fail in every second record
    farthest = norm.ppf(1 - 0.025 / max(1, expected[judged].size))
    if (np.abs(residual.mean(1)) > COUNT_BAND * expected + farthest * error)[judged].any():
        return NOT_REPRODUCED
    return REPRODUCED if judged.any() and abs(slope - exponent) <= HALF_BATCH_BAND else FINITE_SIZE


CRITICAL_BATCH = Experiment(
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
        "gpu": CriticalBatchConfig(
            dims=(128, 181, 256, 362, 512, 724, 1024),
            n_items=131_072,
            seeds=4,
            batch_sizes=tuple(round(2 ** (k / 2)) for k in range(4, 45)),
            sgd_dims=tuple(2**k for k in range(10, 17)),
            sgd_items=4096,
            sgd_seeds=64,
            sgd_predicted_seeds=64,
        ),
    },
    cells=critical_batch_cells,
    summarise=critical_batch_summary,
)
