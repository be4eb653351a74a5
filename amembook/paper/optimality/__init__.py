"""`optimality`: h_λ over six decades of λ beside polar; Proposition 6, Assumption 7, Lemmas 8 and 29 measured.

Caveats: counts below a hundred, or at d < 256, are not judged; the gain at the best λ is held to a hundredth of polar's
count. Σ 1/s has no variance: its level is a median.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import torch
from scipy.special import digamma
from scipy.stats import binom, norm

from amembook.paper.optimality.rotations import sample_rotations
from amembook.run import runtime
from amembook.run.base import (
    Alpha,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positives,
    Results,
    Several,
    draws,
    some_of,
    standard_error,
)
from amembook.run.claims import (
    DIFFERENCE,
    FRESH_SEEDS,
    SHARP_DIM,
    SIZES,
    check,
    count_band,
    equivalence,
    exponents,
    family,
    growth,
    numbers,
    order,
)
from amembook.run.studies import headline
from amemlib import theory
from amemlib.checks import check_count, check_dims, check_positive
from amemlib.equivalents import SMALLEST_MEDIAN, expected_capacity
from amemlib.gradients import gradient_rank, initial_gradient, thresholded_gradient
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.scaling import fit_exponent
from amemlib.spectral import (
    newton_schulz_scalar,
    polar,
    signal_slopes,
    singular_values,
    smoothed_sign_scalars,
    spectral_maps,
)

MANY = 100
"""The sharp count of h_λ is held to its band where it predicts this many items: a λ far above t₀ leaves the few leading
ones, as SGD does, and those differ from their mean."""
GAIN_BAND = 0.01
"""The band of a gain over the polar map, a difference of two shares: the predictor's own few per cent cancel."""
BATCHES = 8
"""Σ 1/s is heavy-tailed: its level is the median of all draws, its sampling error that of the medians of 8 batches."""
HAAR_DIM, HAAR_ITEMS, HAAR_DRAWS, HAAR_ROTATIONS = 3, 8, 64, 256
HAAR_LEARNING_RATES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The comparison of risks: a dimension in which an average over 256 rotations is close to one over all."""
NEWTON_SCHULZ_STEPS = (1, 2, 3, 4, 5, 6, 7, 8)
PARTS = ("checks", "spectrum", "smoothing")
SMALLEST_MEAN = math.sqrt(math.pi * math.e / 2) * math.erfc(math.sqrt(0.5))
"""Mean of d s_min / t₀ for the law of `SMALLEST_MEDIAN`: its relative error is 0.78/√draws, the median's 1.2/√draws."""
_SLOPE_PAIRS = 256
_GRID_POINTS = 100_000
_GAUSSIAN_BLOCKS = 64


@dataclass(frozen=True)
class OptimalityConfig(Config):
    """Whether another map of the gradient beats the polar factor (Section 4.3, Appendix C)."""

    alpha: Alpha = 1.5
    # the scan over λ, in units of the bulk scale t₀; the polar map is always there to compare with
    dims: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (128, 256, 512)
    n_items: Several = 8192
    seeds: Several = 12
    lam_over_t0: Positives = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
    # the singular values (Lemma 8)
    spectrum_dims: Annotated[tuple[int, ...], partial(check_dims, least=2)] = (32, 64, 128, 256)
    spectrum_items: Several = 4096
    spectrum_seeds: Annotated[int, partial(check_count, least=2 * BATCHES)] = 160
    spectrum_blocks: Count = 1  # draws of a seed
    ruler_dim: Several = 48  # d of the plain Gaussian matrices that Σ 1/s is compared with
    haar_seeds: Several = 16  # repetitions of the comparison of risks in d = 3 (Proposition 6)
    # what a record measures, and how it judges the levels: by medians of batches and exponents, or from every draw
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS
    levels: Annotated[tuple[str, ...], some_of("batches", "draws")] = ("batches",)
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.spectrum_items <= max(self.spectrum_dims):
            raise ValueError(f"spectrum_items must exceed every dimension, got {self.spectrum_items}")


def inverse_sum_limit(dim: int, alpha: float, gaussian: float) -> float:
    """Median of (1/d) Σ 1/s of G in units of 1/t₀: (2/π)(log d + C + H_{1/2} − H_α), H the harmonic numbers.

    C = `gaussian`: (2/π)(log d + C) is the same median for a d × d matrix with entries N(0, 1/d). The two share the law
    of their smallest singular values in units of t₀, and the rest of the sum is (2/π) ∫ M(μ) dμ/μ above a cut, which is
    −H_α up to terms that do not know α; the plain Gaussian matrix is α = 1/2.
    """
    harmonic = lambda x: float(digamma(x + 1) + np.euler_gamma)
    return 2 / math.pi * (math.log(dim) + gaussian + harmonic(0.5) - harmonic(alpha))


def slope_maps(t0: float) -> dict[str, tuple]:
    """Maps under Assumption 7 with their derivatives and a length on which they are smooth; t₀ is the unit of z.

    bump: z exp(−z²/2), which is in the class though it is neither monotone nor close to a sign.
    """
    check_positive("t0", t0)
    bell = lambda z: torch.exp(-((z / t0) ** 2) / 2)
    return {
        # the sign jumps at 0: only points closer than any two singular values may share a derivative
        "polar": (torch.sign, torch.zeros_like, 1e-9 * t0),
        "smoothed_sign": (*smoothed_sign_scalars(t0)[:2], t0),
        "bump": (lambda z: z / t0 * bell(z), lambda z: (1 - (z / t0) ** 2) * bell(z) / t0, t0),
        "sgd": (lambda z: z, torch.ones_like, t0),
    }


def measure_smoothing(n_items: int, dim: int, alpha: float, lam_over_t0: list[float], seed: int, device: str) -> dict:
    """Recovered items after one population step of the polar map and of h_λ for every λ, all on one draw."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    t0 = theory.bulk_scale(n_items, dim, alpha)
    maps = [torch.ones_like] + [smoothed_sign_scalars(lam * t0)[0] for lam in lam_over_t0]
    counts = [capacity(W, emb) for W in spectral_maps(G, maps, gradient_rank(emb, problem.frequencies))]
    return {"polar": counts[0], "smoothed_sign": counts[1:]}


def measure_spectrum(n_items: int, dim: int, alpha: float, blocks: int, seed: int, device: str) -> dict:
    """(1/d) Σ 1/s and d s_min of the uncentred gradient, and the polar slope (1/d²) Σ_{k≠l} 1/(s_k + s_l), units t₀.

    Lists over `blocks` independent draws.
    """
    p, t0 = Problem.power_law(n_items, dim, alpha).frequencies, theory.bulk_scale(n_items, dim, alpha)
    emb = sample_embeddings(Problem.power_law(blocks * n_items, dim, alpha), seed, runtime.device(device))
    result = {"inverse_sum": [], "smallest": [], "polar_slope": []}
    for U, V in zip(emb.U.split(n_items), emb.V.split(n_items), strict=True):
        s = singular_values(thresholded_gradient(Embeddings(U, V), p, 0)).cpu() / t0
        pairs = 1 / (s[:, None] + s)
        result["inverse_sum"].append(float((1 / s).mean()))
        result["smallest"].append(float(s[-1]) * dim)
        result["polar_slope"].append(float(pairs.sum() - pairs.diagonal().sum()) / dim**2)
    return result


def measure_ruler(dim: int, seed: int) -> dict:
    """(1/d) Σ 1/s of 64 Gaussian d × d matrices with entries N(0, 1/d)."""
    problem = Problem.from_frequencies(np.ones(_GAUSSIAN_BLOCKS * dim), dim)
    V = sample_embeddings(problem, seed, dtype=torch.float64).V
    return {"inverse_sum": (1 / torch.linalg.svdvals(V.view(-1, dim, dim))).mean(1)}


def measure_slope_bound(n_items: int, dim: int, alpha: float, seed: int) -> dict:
    """Largest ratio of slope to bound over 256 pairs that are in no gradient, for the maps of `slope_maps`."""
    p = Problem.power_law(n_items, dim, alpha).frequencies
    emb = sample_embeddings(Problem.power_law(n_items + _SLOPE_PAIRS, dim, alpha), seed, dtype=torch.float64)
    G = thresholded_gradient(emb, torch.cat([p, torch.zeros(_SLOPE_PAIRS, dtype=torch.float64)]), 0)
    ratios = {}
    for name, (f, df, scale) in slope_maps(theory.bulk_scale(n_items, dim, alpha)).items():
        slopes, bounds = signal_slopes(G, emb.U[n_items:], emb.V[n_items:], f, df, scale)
        ratios[name] = float((slopes / bounds).max())
    return ratios


def measure_haar(alpha: float, seed: int) -> dict:
    """Bayes risks of the entrywise sign of G₀, of its average over rotations and of the polar factor, d = 3.

    One mean over 64 draws of the embeddings for each learning rate; the rotations are drawn once for all of them.
    """
    dim, n_items = HAAR_DIM, HAAR_ITEMS
    p = Problem.power_law(n_items, dim, alpha).frequencies
    emb = sample_embeddings(Problem.power_law(HAAR_DRAWS * n_items, dim, alpha), seed, dtype=torch.float64)
    U, V = emb.U.view(-1, n_items, dim), emb.V.view(-1, n_items, dim)
    G = torch.stack([initial_gradient(Embeddings(u, v), p) for u, v in zip(U, V, strict=True)])
    left, right = sample_rotations(dim, 2 * HAAR_ROTATIONS, seed).view(2, HAAR_ROTATIONS, dim, dim)
    turned = left.mT @ (left @ G[:, None] @ right.mT).sign() @ right
    memories = {"sign": G.sign(), "haar": turned.mean(1), "polar": torch.stack([polar(g) for g in G])}
    risks = {}
    for name, W in memories.items():
        logits = V @ W.mT @ U.mT
        own = [(lr * logits).log_softmax(2).diagonal(dim1=1, dim2=2) for lr in HAAR_LEARNING_RATES]
        risks[name] = [float(-(log @ p).mean()) for log in own]
    return risks


def measure_newton_schulz() -> dict:
    """Share of (0, 1] on which f_n(z)/z increases, and the largest f_n, for 1 … 8 steps of cubic and quintic."""
    z = torch.arange(1, _GRID_POINTS + 1, dtype=torch.float64) / _GRID_POINTS
    result = {}
    for name in ("cubic", "muon"):
        ratios = [newton_schulz_scalar(z, n, name) / z for n in NEWTON_SCHULZ_STEPS]
        # a rounding error of f/z is no increase
        result[name] = {
            "increasing": [float((r.diff() > 1e-13 * r[:-1]).double().mean()) for r in ratios],
            "largest": [float((r * z).max()) for r in ratios],
        }
    return result


def optimality_grids(config: OptimalityConfig) -> dict[str, Grid]:
    """The scalar check, the risks, the rulers, the spectra, the slopes, and last the scan over λ."""
    spectrum = {"dim": config.spectrum_dims}
    after = draws(config, config.spectrum_seeds)
    grids = {}
    if "checks" in config.parts:
        grids["newton_schulz"] = Grid(measure_newton_schulz, {})
        grids["haar"] = Grid(measure_haar, {"seed": draws(config, config.haar_seeds)})
    if "spectrum" in config.parts:
        grids["ruler"] = Grid(measure_ruler, {"seed": after}, dim=config.ruler_dim)
        fixed = {"n_items": config.spectrum_items, "blocks": config.spectrum_blocks}
        grids["spectrum"] = Grid(measure_spectrum, spectrum | {"seed": after}, **fixed)
    if "checks" in config.parts:
        fixed = {"n_items": config.spectrum_items, "seed": config.first_seed}
        grids["slopes"] = Grid(measure_slope_bound, spectrum, **fixed)
    if "smoothing" in config.parts:
        grids["smoothing"] = Grid(measure_smoothing, {"dim": config.dims, "seed": draws(config)})
    return grids


def smoothing_name(lam_over_t0: float) -> str:
    """The key of h_λ in a record: "smoothed_sign_0.1" for λ = 0.1 t₀."""
    return f"smoothed_sign_{lam_over_t0:g}"


def optimality_summary(config: OptimalityConfig, results: Results) -> tuple[dict, dict]:
    """Counts and gains over polar by λ, levels and exponents of Lemma 8, risks of Proposition 6, shares of Lemma 29.

    counts, gain, gain_error: lists aligned with `dims`, keyed "polar" and `smoothing_name`; a gain is the mean over
    the draws of count / polar count − 1, its error one standard error. spectrum, spectrum_error: aligned with
    `spectrum_dims`, medians in units of t₀ (a mean for polar_slope). risk: by map, aligned with `HAAR_LEARNING_RATES`.
    slope_ratio: by map, the largest over all `spectrum_dims`. increasing: by iteration, one entry per number of steps.
    """
    summaries = {
        "smoothing": (_smoothing_summary,),
        "spectrum": (_spectrum_summary,),
        "checks": (_risk_summary, _scalar_summary),
    }
    measured, predicted = {}, {}
    for summary in [one for part, own in summaries.items() if part in config.parts for one in own]:
        of_part, law_of_part = summary(config, results)
        measured |= of_part
        predicted |= law_of_part
    return measured, predicted


def _names(config: OptimalityConfig) -> list[str]:
    return ["polar", *map(smoothing_name, config.lam_over_t0)]


def _smoothing_summary(config: OptimalityConfig, results: Results) -> tuple[dict, dict]:
    polar_counts = results.array("smoothing", "polar")[:, :, None]
    counts = np.concatenate([polar_counts, results.array("smoothing", "smoothed_sign")], axis=2)
    gains = counts / polar_counts - 1
    sharp = np.empty((len(config.dims), counts.shape[2]))
    for row, dim in zip(sharp, config.dims, strict=True):
        problem = Problem.power_law(config.n_items, dim, config.alpha)
        t0 = theory.bulk_scale(config.n_items, dim, config.alpha)
        row[:] = [expected_capacity(problem, "smoothed_sign", lam * t0) for lam in (0.0, *config.lam_over_t0)]

    def by_name(table: np.ndarray) -> dict[str, np.ndarray]:
        return {name: table[..., k] for k, name in enumerate(_names(config))}

    measured = {
        "counts": by_name(counts.mean(1)),
        "gain": by_name(gains.mean(1)),
        "gain_error": by_name(standard_error(gains)),
        "seed_counts": by_name(counts),
    }
    return measured, {"counts": by_name(sharp), "gain": by_name(sharp / sharp[:, :1] - 1)}


def _spectrum_summary(config: OptimalityConfig, results: Results) -> tuple[dict, dict]:
    dims, alpha = config.spectrum_dims, config.alpha
    gaussian = np.median(results.array("ruler", "inverse_sum")) * math.pi / 2 - math.log(config.ruler_dim)
    drawn = lambda name: results.array("spectrum", name).reshape(len(dims), -1)
    slopes = drawn("polar_slope")
    measured = {
        "spectrum": {"polar_slope": slopes.mean(1)},
        "spectrum_error": {"polar_slope": standard_error(slopes)},
        "slope": {},
        "interval": {},
        "gaussian_constant": gaussian,
    }
    predicted = {
        "spectrum": {
            "inverse_sum": [inverse_sum_limit(dim, alpha, gaussian) for dim in dims],
            "smallest": [SMALLEST_MEDIAN] * len(dims),
            "polar_slope": [4 / (math.pi * (alpha + 1))] * len(dims),
        },
        "slope": {"inverse_sum": alpha, "smallest": -(alpha + 1)},
        "sharp_slope": {},
    }
    unit = np.array([theory.bulk_scale(config.spectrum_items, dim, alpha) for dim in dims])
    for name, scale in {"inverse_sum": 1 / unit, "smallest": unit / np.array(dims)}.items():
        levels = drawn(name)
        batches = np.stack([np.median(batch, axis=1) for batch in np.array_split(levels, BATCHES, axis=1)], axis=1)
        fit = fit_exponent(dims, batches * scale[:, None])
        measured["spectrum"][name] = np.median(levels, axis=1)
        measured["spectrum_error"][name] = standard_error(batches)
        measured["slope"][name], measured["interval"][name] = fit.slope, [fit.low, fit.high]
        predicted["sharp_slope"][name] = fit_exponent(dims, np.array(predicted["spectrum"][name]) * scale).slope
        if "draws" in config.levels:
            measured.setdefault("seed_levels", {})[name] = [[float(f"{x:.4g}") for x in row] for row in levels]
    return measured, predicted | {"unit": unit}


def _risk_summary(config: OptimalityConfig, results: Results) -> tuple[dict, dict]:
    risks = {name: results.array("haar", name) for name in ("sign", "haar", "polar")}
    saved = risks["sign"] - risks["haar"]
    return {
        "risk": {name: values.mean(0) for name, values in risks.items()},
        "risk_saved": {"haar": saved.mean(0)},
        "risk_saved_error": {"haar": standard_error(saved, 0)},
    }, {}


def _scalar_summary(config: OptimalityConfig, results: Results) -> tuple[dict, dict]:
    names, iterations = slope_maps(1.0), ("cubic", "muon")
    measured = {"slope_ratio": {name: results.array("slopes", name).max() for name in names}}
    for key in ("increasing", "largest"):
        measured[key] = {name: results.array("newton_schulz", name, key) for name in iterations}
    return measured, {
        "slope_ratio": {name: 1.0 for name in names},
        "increasing": {"cubic": [0.0] * len(NEWTON_SCHULZ_STEPS)},
    }


def judge_optimality(config: OptimalityConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """The scan over λ; levels and exponents of Lemma 8; Proposition 6, Assumption 7 and Lemma 29 as checks."""
    verdicts = _smoothing_verdicts(config, measured, predicted) if "smoothing" in config.parts else {}
    if "spectrum" in config.parts:
        of_level = _draws_verdict if "draws" in config.levels else _level_verdict
        verdicts |= {name: of_level(config, measured, predicted, name) for name in ("inverse_sum", "smallest")}
    if "checks" not in config.parts:
        return verdicts
    saved, error = (measured[field]["haar"] for field in ("risk_saved", "risk_saved_error"))
    increasing, largest = (measured[key]["cubic"] for key in ("increasing", "largest"))
    return verdicts | {
        "haar": check((3 * error - saved).max(), 0, config.haar_seeds, "three errors less the risk saved"),
        "slope_bound": check(max(measured["slope_ratio"].values()), 1, name="slope over its bound"),
        "newton_schulz": check(math.nan if increasing.any() else largest.max(), 1 + 1e-12, name="largest value"),
    }


def _smoothing_verdicts(config: OptimalityConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Counts at every λ, the loss at λ ≥ t₀, the gain at the best λ; all three are predictions for these sizes."""
    names, lams = _names(config), np.array([0.0, *config.lam_over_t0])
    counts = np.stack([measured["seed_counts"][name] for name in names], axis=2)
    gain, gain_error, sharp, sharp_gain = (
        np.stack([table[name] for name in names], axis=1)
        for table in (measured["gain"], measured["gain_error"], predicted["counts"], predicted["gain"])
    )
    dims = np.array(config.dims)
    large = (dims[:, None] >= SHARP_DIM) & (sharp >= MANY)
    theorem = lams >= 1
    best = np.arange(len(config.dims)), sharp_gain.argmax(1)
    at = [f"d = {dim}" for dim in dims]
    polar = {"polar's count at every λ": np.broadcast_to(sharp[:, :1], sharp.shape)}
    held_to = {"law": sharp, "band": SIZES, "rivals": polar, "keep": large, "at": at}
    counted = family("items", np.moveaxis(counts, 1, -1), **held_to) if large.any() else []
    difference = {"draws": config.seeds, "scale": DIFFERENCE}
    losing = numbers("loss at λ ≥ t₀", -gain[:, theorem], gain_error[:, theorem], limit=0.0, **difference)
    rivals = {"twice the gain": 2 * sharp_gain[best]}
    held_to = {"law": sharp_gain[best], "band": GAIN_BAND, "rivals": rivals, "at": at} | difference
    return {
        "smoothed_sign": equivalence(counted),
        "theorem_lambda": order(losing),
        "best_lambda": equivalence(numbers("gain at the best λ,", gain[best], gain_error[best], **held_to)),
    }


def _level_verdict(config: OptimalityConfig, measured: dict, predicted: dict, name: str) -> dict:
    """The level in units of t₀, and the exponent of its law over these d, beside its limit."""
    level, error, sharp = (
        table[name] for table in (measured["spectrum"], measured["spectrum_error"], predicted["spectrum"])
    )
    exponent, dims, draws = predicted["slope"][name], config.spectrum_dims, config.spectrum_seeds
    rivals = _level_rivals(exponent)
    made = numbers("level, d =", level, error, draws, law=sharp, band=count_band(dims), at=dims)
    slope, interval = measured["slope"][name], measured["interval"][name]
    sharp_slope = predicted["sharp_slope"][name]
    return equivalence(
        made + exponents("exponent", slope, interval, sharp_slope, exponent, rivals, draws, points=len(dims))
    )


def median_error(levels: np.ndarray) -> np.ndarray:
    """Standard error of the medians of rows (d, draws): half the 95 % interval between two order statistics, over 1.96.

    It asks nothing of the law of the draws, which for Σ 1/s has no variance.
    """
    count = levels.shape[1]
    low = int(binom.ppf(0.025, count, 0.5))
    ordered = np.sort(levels, axis=1)
    return (ordered[:, count - low] - ordered[:, low - 1]) / 2 / norm.ppf(0.975)


def _draws_verdict(config: OptimalityConfig, measured: dict, predicted: dict, name: str) -> dict:
    """The level in units of t₀ and its growth over these d, from every draw: the mean of s_min, the median of Σ 1/s."""
    levels, dims = measured["seed_levels"][name], np.array(config.spectrum_dims, dtype=float)
    if name == "smallest":
        law, level, error = np.full(len(dims), SMALLEST_MEAN), levels.mean(1), standard_error(levels)
    else:
        law, level, error = predicted["spectrum"][name], np.median(levels, axis=1), median_error(levels)
    scale = predicted["unit"] / dims if name == "smallest" else 1 / predicted["unit"]
    made = numbers("level, d =", level, error, levels.shape[1], law=law, band=count_band(dims), at=config.spectrum_dims)
    exponent = predicted["slope"][name]
    ends = (level * scale)[None], (error * scale)[None], levels.shape[1], (law * scale)[None], dims, [exponent]
    rivals = {rival: [value] for rival, value in _level_rivals(exponent).items()}
    return equivalence(made + growth("growth", *ends, rivals))


def _level_rivals(exponent: float) -> dict[str, float]:
    steps = {"α + 1/2": 0.5, "α − 1/2": -0.5, "α + 1/4": 0.25}
    return {rival: exponent + math.copysign(step, exponent * step) for rival, step in steps.items()}


EXPERIMENT = Experiment(
    name="optimality",
    purpose=headline(__doc__),
    profiles={
        "smoke": OptimalityConfig(
            dims=(64, 128), n_items=1024, seeds=2, lam_over_t0=(0.001, 0.1, 1.0, 10.0), spectrum_dims=(16, 32),
            spectrum_items=512, spectrum_seeds=32, haar_seeds=4,
        ),
        "cpu": OptimalityConfig(),
        "confirm": OptimalityConfig(first_seed=4550),
        "lemma-8-many": OptimalityConfig(
            spectrum_seeds=1000, spectrum_blocks=36, parts=("spectrum",), levels=("draws",), first_seed=54_000
        ),
        "gpu": OptimalityConfig(
            dims=(128, 256, 512, 1024, 2048), n_items=65_536, spectrum_dims=(32, 64, 128, 256, 512),
            spectrum_items=16_384, first_seed=26_500,
        ),
    },
    grids=optimality_grids,
    summarise=optimality_summary,
    judge=judge_optimality,
    unseen_from=FRESH_SEEDS,
    added={"parts": PARTS, "levels": ("batches",), "spectrum_blocks": 1},
)  # fmt: skip
