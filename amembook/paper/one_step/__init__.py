"""`one-step`: capacity of one population step against d: polar, h_λ and SGD (Theorems 3 and 5, Figures 1(a) and 2).

Caveats: counts are judged from d = 256 on, to 3 %, and exponents to 0.02; a prefix, which ends at the first failure, to
10 %. SGD recovers ten to twenty items at these d, so its exponent has dimensions of its own, up to 65,536.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from amembook.run import runtime
from amembook.run.base import (
    Alpha,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    NonNegative,
    Results,
    Several,
    draws,
    some_of,
    standard_error,
)
from amembook.run.claims import (
    FRESH_SEEDS,
    SHARP_DIM,
    SIZES,
    capacity_verdicts,
    count_error,
    equivalence,
    exponents,
    family,
    growth,
    rival_exponents,
)
from amembook.run.studies import headline
from amemlib import theory
from amemlib.equivalents import expected_capacity, expected_prefix
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import longest_prefix, recovered, recovered_by_sgd
from amemlib.sampling import sample_embeddings, sample_reduced_embeddings
from amemlib.scaling import fit_exponent
from amemlib.spectral import polar, smoothed_sign

PREFIX_BAND = 0.1
"""The band of the level of the prefixes: a prefix ends at the first failure, so the two or three per cent to which the
law knows a chance near 1 count once for every item before it."""
PREFIX_SLACK = math.log1p(PREFIX_BAND) / math.log(8)
"""That of their exponent: as much at one end of a factor of eight in d."""
PARTS = ("sgd_step", "one_step")
MUON = ("polar", "smoothed_sign")


@dataclass(frozen=True)
class OneStepConfig(Config):
    """Capacity of one population step against d (Theorems 3 and 5, Figures 1(a) and 2)."""

    alpha: Alpha = 1.5
    dims: Dims = (128, 256, 512, 1024)
    n_items: Several = 50_000
    seeds: Count = 3
    lam_over_t0: NonNegative = 1.0  # λ of h_λ in units of the bulk scale t₀
    # SGD alone, at dimensions where its exponent can be seen
    sgd_dims: Dims = (1024, 4096, 16384, 65536)
    sgd_items: Several = 2048
    sgd_seeds: Count = 32
    # what a record measures, and how it judges growth: by exponents over all d, or by counts at the ends of those d at
    # which counts are judged
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    growth: Annotated[tuple[str, ...], some_of("exponents", "ends")] = ("exponents",)
    first_seed: Natural = 0


def measure_one_step(n_items: int, dim: int, alpha: float, lam_over_t0: float, seed: int, device: str) -> dict:
    """Recovered items and longest recovered prefix after one population step of polar, h_λ and SGD, on one draw."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    rank = gradient_rank(emb, problem.frequencies)
    lam = lam_over_t0 * theory.bulk_scale(n_items, dim, alpha)
    memories = {"polar": polar(G, rank), "smoothed_sign": smoothed_sign(G, lam, rank), "sgd": G}
    masks = {name: recovered(W, emb) for name, W in memories.items()}
    return {name: {"count": int(mask.sum()), "prefix": longest_prefix(mask)} for name, mask in masks.items()}


def measure_sgd_step(n_items: int, dim: int, alpha: float, seed: int) -> dict:
    """Recovered items after one population SGD step, exact at any d through the two Gram matrices.

    The mean of two independent draws: SGD recovers so few items that one count scatters by 15 to 20 %.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    draws = [sample_reduced_embeddings(problem, 2 * seed + half) for half in (0, 1)]
    grams = [(emb.U @ emb.U.T, emb.V @ emb.V.T) for emb in draws]
    return {"sgd": {"count": sum(int(recovered_by_sgd(*pair, problem.frequencies).sum()) for pair in grams) / 2}}


def one_step_grids(config: OneStepConfig) -> dict[str, Grid]:
    """Every draw, what a GPU does before what its host does alone."""
    sgd = {"dim": config.sgd_dims, "seed": draws(config, config.sgd_seeds)}
    grids = {
        "one_step": Grid(measure_one_step, {"dim": config.dims, "seed": draws(config)}),
        "sgd_step": Grid(measure_sgd_step, sgd, n_items=config.sgd_items),
    }
    return {part: grid for part, grid in grids.items() if part in config.parts}


def one_step_summary(config: OneStepConfig, results: Results) -> tuple[dict, dict]:
    """Slopes and mean counts beside the exponents of Theorems 3 and 5 and the sharp counts.

    Lists of `counts` and `seed_counts` are aligned with `dims` for polar and smoothed_sign and with `sgd_dims` for sgd;
    `sgd_at_dims` is SGD on the draws of `dims`.
    """
    seed_counts, seed_prefixes, names = {}, {}, (*MUON, "sgd")
    if "one_step" in config.parts:
        seed_counts = {name: results.array("one_step", name, "count") for name in MUON}
        seed_prefixes = {name: results.array("one_step", name, "prefix") for name in MUON}
    if "sgd_step" in config.parts:
        seed_counts["sgd"] = results.array("sgd_step", "sgd", "count")
    if "one_step" in config.parts:
        seed_counts["sgd_at_dims"] = results.array("one_step", "sgd", "count")
    prefixes = {name: fit_exponent(config.dims, np.maximum(rows, 1)) for name, rows in seed_prefixes.items()}
    fits, sharp, exponents, chain = {}, {}, {}, {}
    for name, counts in seed_counts.items():
        dims, n_items = (config.sgd_dims, config.sgd_items) if name == "sgd" else (config.dims, config.n_items)
        lam_over_t0 = config.lam_over_t0 if name == "smoothed_sign" else 0.0
        lams = [lam_over_t0 * theory.bulk_scale(n_items, dim, config.alpha) for dim in dims]
        problems = [Problem.power_law(n_items, dim, config.alpha) for dim in dims]
        pairs = list(zip(problems, lams, strict=True))
        sharp[name] = [expected_capacity(problem, name.removesuffix("_at_dims"), lam) for problem, lam in pairs]
        if name in seed_prefixes:
            chain[name] = [expected_prefix(problem, name, lam) for problem, lam in pairs]
        fits[name] = fit_exponent(dims, counts, ceiling=float(n_items)), fit_exponent(dims, sharp[name])
        exponents[name] = theory.recovery_exponent("sgd" if "sgd" in name else "muon", config.alpha)
    measured = {
        "slope": {name: fit.slope for name, (fit, _) in fits.items()},
        "interval": {name: [fit.low, fit.high] for name, (fit, _) in fits.items()},
        "counts": {name: counts.mean(1) for name, counts in seed_counts.items()},
        "seed_counts": seed_counts,
        "prefixes": {name: results.array("one_step", name, "prefix").mean(1) for name in names if seed_prefixes},
        "seed_prefixes": seed_prefixes,
        "prefix_slope": {name: fit.slope for name, fit in prefixes.items()},
        "prefix_interval": {name: [fit.low, fit.high] for name, fit in prefixes.items()},
        "doubts": {name: fit.doubts for name, (fit, _) in fits.items()},
    }
    predicted = {
        "slope": exponents,
        "sharp_slope": {name: fit.slope for name, (_, fit) in fits.items()},
        "counts": sharp,
        "prefixes": {name: [mean for mean, _ in row] for name, row in chain.items()},
        "prefix_spread": {name: [spread for _, spread in row] for name, row in chain.items()},
    }
    return measured, predicted


def judge_one_step(config: OneStepConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Counts against their sharp predictions, exponents against their limits, SGD at its own dimensions; prefixes."""
    methods = dict.fromkeys(MUON, "muon") if "one_step" in config.parts else {}
    methods |= {"sgd": "sgd"} if "sgd_step" in config.parts else {}
    if "ends" in config.growth:
        verdicts = {
            name: _counts_verdict(config, measured, predicted, name, method) for name, method in methods.items()
        }
    else:
        verdicts = capacity_verdicts(config, measured, predicted, methods, sgd=config.sgd_dims)
    if "one_step" not in config.parts:
        return verdicts
    return verdicts | {f"prefix_{name}": _prefix_verdict(config, measured, predicted, name) for name in MUON}


def _counts_verdict(config: OneStepConfig, measured: dict, predicted: dict, name: str, method: str) -> dict:
    """The level of the counts from `SHARP_DIM` on, and their growth from the smallest of these d to the largest."""
    dims = np.array(config.sgd_dims if name == "sgd" else config.dims)
    judged = dims >= SHARP_DIM
    if judged.sum() < 2:
        return equivalence([])
    counts, sharp = measured["seed_counts"][name][None, judged], predicted["counts"][name][None, judged]
    made = family("items", counts, law=sharp, band=SIZES, at=[f"d = {dims[judged][0]}…{dims[-1]}"])
    return equivalence(made + _growth(config, counts, sharp, dims[judged], method))


def _growth(config: OneStepConfig, counts, sharp, dims, method: str, **bands) -> list[dict]:
    rivals = {rival: [value] for rival, value in rival_exponents(method, config.alpha).items()}
    levels = counts.mean(-1), count_error(counts, sharp, -1), counts.shape[-1], sharp, dims
    return growth("growth", *levels, [theory.recovery_exponent(method, config.alpha)], rivals, **bands)


def _prefix_verdict(config: OneStepConfig, measured: dict, predicted: dict, name: str) -> dict:
    """Theorem 3's "all items up to": the longest prefix and its exponent, in place of the count and its.

    The rivals of the exponent, and two laws of the length: the count, as if what is recovered came first, and that
    failures begin at the d-th item. A record without the prefix of every draw decides nothing.
    """
    dims = np.array(config.dims)
    judged = dims >= SHARP_DIM
    if "seed_prefixes" not in measured or not judged.any():
        return equivalence([])
    prefixes, sharp = measured["seed_prefixes"][name], predicted["prefixes"][name]
    lengths = {"as long as the count": predicted["counts"][name][None, judged], "one item a dimension": dims[judged]}
    held_to = {"law": sharp[None, judged], "band": PREFIX_BAND, "at": [f"d = {dims[judged][0]}…{dims[-1]}"]}
    made = family("prefix", prefixes[None, judged], rivals=lengths, **held_to)
    if "ends" in config.growth:
        bands = {"band": PREFIX_BAND, "exponent_band": PREFIX_SLACK}
        args = prefixes[None, judged], sharp[None, judged], dims[judged]
        return equivalence(made + _growth(config, *args, "muon", **bands))
    made += exponents(
        "exponent",
        measured["prefix_slope"][name],
        measured["prefix_interval"][name],
        fit_exponent(dims, sharp).slope,
        predicted["slope"][name],
        rival_exponents("muon", config.alpha),
        config.seeds,
        PREFIX_SLACK,
        points=len(dims),
    )
    return equivalence(made)


EXPERIMENT = Experiment(
    name="one-step",
    purpose=headline(__doc__),
    profiles={
        "smoke": OneStepConfig(
            dims=(32, 64, 128), n_items=2048, seeds=2, sgd_dims=(256, 1024, 4096), sgd_items=512, sgd_seeds=8
        ),
        "cpu": OneStepConfig(),
        "confirm": OneStepConfig(seeds=8, first_seed=4050),
        "prefix-many": OneStepConfig(
            dims=(256, 1024), seeds=80, parts=("one_step",), growth=("ends",), first_seed=53_300
        ),
        "gpu": OneStepConfig(
            dims=(256, 512, 1024, 2048, 4096, 8192), n_items=131_072, seeds=8,
            sgd_dims=(4096, 16_384, 65_536, 262_144, 1_048_576), sgd_items=1024, first_seed=20_000,
        ),
        "rehearsal": OneStepConfig(
            dims=(64, 128, 256), n_items=4096, seeds=100, sgd_dims=(1024, 4096, 16_384), sgd_items=512, sgd_seeds=64,
            first_seed=30_600,
        ),
    },
    grids=one_step_grids,
    summarise=one_step_summary,
    judge=judge_one_step,
    unseen_from=FRESH_SEEDS,
    added={"parts": PARTS, "growth": ("exponents",)},
)  # fmt: skip
