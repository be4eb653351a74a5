"""`many-steps`: true iterates of Muon and gradient descent (Conjecture, Figures 4 and 5), and what lies beyond."""

import math
from dataclasses import dataclass

import numpy as np

from amemlib import theory
from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.equivalents import expected_distinct_items
from amemlib.equivalents.thresholded import ManyStepEquivalent, thresholded_weights
from amemlib.experiments.base import SLOPE_BAND, Cell, Experiment, Summary
from amemlib.experiments.iterates import (
    measure_descent,
    measure_iterates,
    measure_literal_descent,
    measure_muon,
    predict_iterates,
)
from amemlib.problem import Problem
from amemlib.scaling import fit_exponent
from amemlib.verdicts import FINITE_SIZE, NOT_REPRODUCED, REPRODUCED

LOW, HIGH = 0.05, 0.30
"""The Conjecture is held to fitted exponents in [κ_T − LOW, κ_T + HIGH], stated before the first run: constants
compound from step to step, and at these d the first step alone is 0.15 too steep."""
DROP = 0.15
"""How far a fitted exponent may fall from one T to the next: at a fixed rate counts oscillate in T."""
MEAN_FIELD_BAND, MEAN_FIELD_DIM = 0.15, 128
"""The closed recursion is held to 15 % of the mean counts from d = 128 on."""
OBSERVED_BAND, OBSERVED_STEPS = 0.25, 4
"""Minibatch Muon is held to the number of observed items, to 25 %, in its first four steps at the two smallest B."""
SHORTEST, SMALLEST_BATCH_SIZES = 2, 2


@dataclass(frozen=True)
class ManyStepsConfig:
    """The true iterates W_1, …, W_T (Conjecture, Figures 4 and 5).

    alpha, dims, n_items, seeds, steps: the power law, the dimensions and N of the fits, draws, and T.
    lr_over_root_dim: η / √d, the same at every step. threshold_constant: θ of the thresholded iterates beside them.
    extra_seeds: draws of all that follows, 0 to leave it out.
    trend_dims, trend_items: larger dimensions, to see where the exponents go.
    small_items: N of the rest. scan_dim, rates: learning rates. race_dim, race_steps: Muon against gradient descent.
    batch_sizes, batch_steps: minibatches, at race_dim, without and with the largest of momenta.
    momentum_dims, momenta, momentum_seeds: momentum on the population loss, with draws of its own number.
    horizon_dims, horizon_steps, horizon_lr: on to saturation, with η / √d = horizon_lr.
    far_dims, far_items: where the closed recursion is solved and nothing is simulated.
    first_seed: where the seeds start; the numbers of the ledger come from 1000 on.
    """

    alpha: float = 1.5
    dims: tuple[int, ...] = (48, 64, 96, 128, 192)
    n_items: int = 8192
    seeds: int = 2
    steps: int = 5
    lr_over_root_dim: float = 1.0
    threshold_constant: float = 0.5
    extra_seeds: int = 1
    trend_dims: tuple[int, ...] = (96, 192, 384)
    trend_items: int = 16_384
    small_items: int = 4096
    scan_dim: int = 128
    rates: tuple[float, ...] = (0.125, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0)
    race_dim: int = 128
    race_steps: int = 20
    batch_sizes: tuple[int, ...] = (16, 256, 1024, 4096, 16_384)
    batch_steps: int = 16
    momentum_dims: tuple[int, ...] = (48, 96, 192)
    momenta: tuple[float, ...] = (0.0, 0.5, 0.9)
    momentum_seeds: int = 4
    horizon_dims: tuple[int, ...] = (32, 48, 64, 96, 128)
    horizon_steps: int = 25
    horizon_lr: float = 0.7
    far_dims: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096)
    far_items: int = 2**20
    first_seed: int = 0

    def __post_init__(self):
        check_alpha(self.alpha, above=1.0)
        for name in ("dims", "trend_dims", "momentum_dims", "horizon_dims", "far_dims"):
            check_dims(name, getattr(self, name))
        for name in ("n_items", "trend_items", "small_items", "far_items"):
            check_count(name, getattr(self, name), least=2)
        for name in ("seeds", "scan_dim", "race_dim", "batch_steps", "momentum_seeds"):
            check_count(name, getattr(self, name))
        for name in ("steps", "race_steps", "horizon_steps"):
            check_count(name, getattr(self, name), least=SHORTEST)
        for name in ("extra_seeds", "first_seed"):
            check_count(name, getattr(self, name), least=0)
        for name in ("lr_over_root_dim", "threshold_constant", "horizon_lr"):
            check_positive(name, getattr(self, name))
        for rate in self.rates:
            check_positive("rates", rate)
        for size in self.batch_sizes:
            check_count("batch_sizes", size)
        last = theory.recovery_thresholds("muon", self.alpha, max(self.dims), self.steps, self.threshold_constant)[-1]
        if last >= self.n_items:
            raise ValueError(f"n_items must exceed the last threshold of the largest d, {last}, got {self.n_items}")
        if not all(0 <= beta < 1 for beta in self.momenta) or 0 not in self.momenta:
            raise ValueError(f"momenta must lie in [0, 1) and include 0, got {list(self.momenta)}")


def many_steps_groups(config: ManyStepsConfig, device: str) -> dict[str, list[Cell]]:
    """The cells by what they are for; the extra ones only where `extra_seeds` asks for them."""
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    extra = range(config.first_seed, config.first_seed + config.extra_seeds)
    fit = {"alpha": config.alpha, "n_items": config.n_items, "device": device}
    main = fit | {"steps": config.steps, "lr_over_root_dim": config.lr_over_root_dim}
    first_steps = fit | {"steps": math.floor(2 * config.alpha)}
    groups = {
        "iterates": [
            Cell(measure_iterates, main | {"threshold": config.threshold_constant, "dim": dim, "seed": seed})
            for dim in config.dims
            for seed in seeds
        ],
        "descent": [
            Cell(measure_descent, first_steps | {"dim": dim, "seed": seed}) for dim in config.dims for seed in seeds
        ],
    }
    if not config.extra_seeds:
        return groups
    plain = {"momentum": 0.0, "batch_size": 0, "lr_over_root_dim": config.lr_over_root_dim}
    small = {"alpha": config.alpha, "n_items": config.small_items, "device": device}
    race = small | {"dim": config.race_dim, "steps": config.race_steps}
    batches = small | {"dim": config.race_dim, "steps": config.batch_steps}
    muon = lambda **arguments: Cell(measure_muon, small | plain | arguments)  # noqa: E731
    return groups | {
        "trend": [
            muon(n_items=config.trend_items, dim=dim, steps=config.steps, seed=seed)
            for dim in config.trend_dims
            for seed in extra
        ],
        "scan": [
            muon(dim=config.scan_dim, steps=config.steps, lr_over_root_dim=rate, seed=seed)
            for rate in config.rates
            for seed in extra
        ],
        "race_muon": [muon(**race | {"seed": seed}) for seed in extra],
        "race_descent": [Cell(measure_descent, race | {"seed": seed}) for seed in extra],
        "race_literal": [
            Cell(measure_literal_descent, race | {"steps": config.race_steps // 2, "constant": 1.0, "seed": seed})
            for seed in extra
        ],
        "batches": [
            muon(**batches | {"batch_size": size, "momentum": beta, "seed": seed})
            for size in config.batch_sizes
            for beta in (0.0, max(config.momenta))
            for seed in extra
        ],
        "momentum": [
            muon(dim=dim, steps=config.steps, momentum=beta, seed=seed)
            for beta in config.momenta
            for dim in config.momentum_dims
            for seed in range(config.first_seed, config.first_seed + config.momentum_seeds)
        ],
        "horizon": [
            muon(dim=dim, steps=config.horizon_steps, lr_over_root_dim=config.horizon_lr, seed=seed)
            for dim in config.horizon_dims
            for seed in extra
        ],
        "far": [
            Cell(
                predict_iterates,
                {
                    "alpha": config.alpha,
                    "n_items": config.far_items,
                    "dim": dim,
                    "steps": config.steps,
                    "lr_over_root_dim": config.lr_over_root_dim,
                },
            )
            for dim in config.far_dims
        ],
    }


def many_steps_cells(config: ManyStepsConfig, device: str) -> list[Cell]:
    """Every cell, group after group."""
    return [cell for group in many_steps_groups(config, device).values() for cell in group]


def many_steps_summary(config: ManyStepsConfig, results: list[dict]) -> Summary:
    """Exponents for every T beside Theorem 9, and the extra parts. Keys "muon_T" are counts after T steps, by `dims`.

    measured.thresholded and predicted.thresholded: the same for the thresholded iterates and their sharp counts.
    predicted.counts: the closed recursion, predicted.ahead: one step ahead from the true residuals (at T = 1 the sharp
    count of one step). The other keys are the extra parts, lists ordered as the config's.
    """
    groups, rest = {}, list(results)
    for name, cells in many_steps_groups(config, "cpu").items():
        groups[name], rest = rest[: len(cells)], rest[len(cells) :]
    stack = lambda key: np.array([r[key] for r in groups["iterates"]]).reshape(  # noqa: E731
        len(config.dims), config.seeds, config.steps, -1
    )
    names = [f"muon_{step}" for step in range(1, config.steps + 1)]
    by_name = lambda array: dict(zip(names, np.moveaxis(array, -1, 0), strict=True))  # noqa: E731
    counts, thresholded = (by_name(stack(key)[..., 0]) for key in ("count", "thresholded"))
    descent = np.array([r["count"] for r in groups["descent"]]).reshape(len(config.dims), config.seeds, -1)
    problems = [Problem.power_law(config.n_items, dim, config.alpha) for dim in config.dims]
    field = [
        predict_iterates(config.alpha, config.n_items, dim, config.steps, config.lr_over_root_dim)
        for dim in config.dims
    ]
    sharp = by_name(np.array([thresholded_counts(p, config.threshold_constant, config.steps) for p in problems]))
    fits = {name: fit_exponent(config.dims, counts[name], ceiling=float(config.n_items)) for name in names}
    planted = {name: fit_exponent(config.dims, thresholded[name]) for name in names}
    exponents = {name: theory.recovery_exponent("muon", config.alpha, step) for step, name in enumerate(names, start=1)}
    bounds = [theory.counting_limit(dim, config.n_items) for dim in config.dims]
    large_margin = [dim**2 / (2 * math.log(config.n_items)) for dim in config.dims]
    measured = {
        "slope": {name: fit.slope for name, fit in fits.items()},
        "interval": {name: [fit.low, fit.high] for name, fit in fits.items()},
        "doubts": {name: list(fit.doubts) for name, fit in fits.items()},
        "local_slopes": {name: list(fit.local_slopes) for name, fit in fits.items()},
        "counts": {name: x.mean(1).tolist() for name, x in counts.items()},
        "seed_counts": {name: x.tolist() for name, x in counts.items()},
        "thresholded": {name: x.mean(1).tolist() for name, x in thresholded.items()},
        "thresholded_slope": {name: fit.slope for name, fit in planted.items()},
        "thresholded_interval": {name: [fit.low, fit.high] for name, fit in planted.items()},
        "head": {name: x.mean(1).tolist() for name, x in by_name(stack("head")[..., 0]).items()},
        "learnt": {name: x.mean(1).tolist() for name, x in by_name(stack("learnt")[..., 0]).items()},
        "loss": {name: x.mean(1).tolist() for name, x in by_name(stack("loss")[..., 0]).items()},
        "interaction_sd": {name: x.mean(1).tolist() for name, x in by_name(stack("interaction_sd")[..., 0]).items()},
        "profile": stack("profile").mean(1).tolist(),
        "overlaps": stack("overlaps").mean(1).tolist(),
        "descent": descent[..., -1].mean(1).tolist(),
    }

    def interaction_sd(key):
        by_dim = [[np.sqrt(o[:t, :t].sum()) for t in range(1, config.steps + 1)] for o in stack(key).mean(1)]
        return by_name(config.lr_over_root_dim * np.array(by_dim))

    predicted = {
        "slope": exponents,
        "counts": by_name(np.array([row["counts"] for row in field])),
        "losses": by_name(np.array([row["losses"] for row in field])),
        "learnt": by_name(np.array([row["learnt"] for row in field])),
        "interaction_sd": by_name(np.array([row["interaction_sd"] for row in field])),
        "ahead": by_name(stack("ahead")[..., 0].mean(1)),
        "thresholded": sharp,
        "thresholded_slope": {name: fit_exponent(config.dims, sharp[name]).slope for name in names},
        "overlaps_free": stack("overlaps_free").mean(1).tolist(),
        "overlaps_pulled": stack("overlaps_pulled").mean(1).tolist(),
        "sd_free": interaction_sd("overlaps_free"),
        "sd_pulled": interaction_sd("overlaps_pulled"),
        "limit": bounds,
        "large_margin": large_margin,
    }
    predicted["sharp_slope"] = {name: fit_exponent(config.dims, predicted["counts"][name]).slope for name in names}
    predicted = {
        key: {name: np.asarray(x).tolist() for name, x in value.items()} if isinstance(value, dict) else value
        for key, value in predicted.items()
    }
    most = np.max([x.max(1) for x in counts.values()], axis=0)
    verdicts = {
        "exponents": exponent_verdict(measured["slope"], exponents, names),
        "first_step": REPRODUCED if (counts["muon_1"] > descent[..., -1]).all() else NOT_REPRODUCED,
        "limit": REPRODUCED if (most <= np.minimum(bounds, large_margin)).all() else NOT_REPRODUCED,
        "mean_field": _mean_field_verdict(config, measured["counts"], predicted["counts"]),
    }
    if config.extra_seeds:
        extra_measured, extra_predicted, extra_verdicts = _extra_summary(config, groups, names)
        measured, predicted = measured | extra_measured, predicted | extra_predicted
        verdicts |= extra_verdicts
    return Summary(measured, predicted, verdicts)


def thresholded_counts(problem: Problem, constant: float, steps: int) -> list[float]:
    """Sharp counts of the thresholded iterates, polar map and one rate, after 1, …, `steps` steps."""
    removed = (0, *theory.recovery_thresholds("muon", problem.alpha, problem.dim, steps - 1, constant))
    weights = thresholded_weights(problem.frequencies, removed)
    equivalent = ManyStepEquivalent.solve(weights, problem.dim, [0.0] * steps)
    return (equivalent.recovery_probabilities() @ equivalent.counts).tolist()


def _extra_summary(config: ManyStepsConfig, groups: dict, names: list[str]) -> tuple[dict, dict, dict]:
    """Trend, learning rates, race, batches, momentum, horizon and the far recursion: measured, predicted, verdicts."""

    def read(group, *shape, key="count"):
        return np.array([r[key] for r in groups[group]], dtype=float).reshape(*shape, config.extra_seeds, -1)

    trend = read("trend", len(config.trend_dims))
    trend_fits = [fit_exponent(config.trend_dims, trend[..., t]) for t in range(config.steps)]
    local = {name: list(fit.local_slopes) for name, fit in zip(names, trend_fits, strict=True)}
    momentum = np.array([r["count"] for r in groups["momentum"]], dtype=float)
    momentum = momentum.reshape(len(config.momenta), len(config.momentum_dims), config.momentum_seeds, -1)
    momentum_fits = [[fit_exponent(config.momentum_dims, x[..., t]) for t in range(config.steps)] for x in momentum]
    horizon = read("horizon", len(config.horizon_dims)).mean(1)
    margin = np.array(config.horizon_dims) ** 2 / (2 * math.log(config.small_items))
    # saturation: the mean of the last five steps, which oscillate a little
    final = horizon[:, -5:].mean(1)
    race = Problem.power_law(config.small_items, config.race_dim, config.alpha)
    batches = read("batches", len(config.batch_sizes), 2).mean(2)
    seen = np.array(
        [
            [expected_distinct_items(race, size * t) for t in range(1, config.batch_steps + 1)]
            for size in config.batch_sizes
        ]
    )
    near = np.array(
        [
            predict_iterates(config.alpha, config.trend_items, dim, config.steps, config.lr_over_root_dim)["counts"]
            for dim in config.trend_dims
        ]
    )
    near_fits = [fit_exponent(config.trend_dims, near[:, t]) for t in range(config.steps)]
    far = np.array([r["counts"] for r in groups["far"]])
    far_fits = [fit_exponent(config.far_dims, far[:, t]) for t in range(config.steps)]
    descent, muon, literal = (read(f"race_{name}").mean(0) for name in ("descent", "muon", "literal"))
    measured = {
        "trend_counts": dict(zip(names, trend.mean(1).T.tolist(), strict=True)),
        "trend_local_slopes": local,
        "scan_counts": read("scan", len(config.rates)).mean(1).tolist(),
        "scan_head": read("scan", len(config.rates), key="head").mean(1).tolist(),
        "race": {"muon": muon.tolist(), "descent": descent.tolist(), "literal": literal.tolist()},
        "literal_loss": read("race_literal", key="loss").mean(0).tolist(),
        "batches": batches[:, 0].tolist(),
        "batches_momentum": batches[:, 1].tolist(),
        "momentum_counts": momentum.mean(2).tolist(),
        "momentum_slope": [[fit.slope for fit in row] for row in momentum_fits],
        "momentum_interval": [[[fit.low, fit.high] for fit in row] for row in momentum_fits],
        "horizon": horizon.tolist(),
        "horizon_share": (final / margin).tolist(),
        "horizon_slope": fit_exponent(config.horizon_dims, final).slope,
        "horizon_steps": {
            name: [int((row >= share * level).argmax()) + 1 for row, level in zip(horizon, final, strict=True)]
            for name, share in (("half", 0.5), ("ninety", 0.9))
        },
    }
    gap = -math.log(1 - 1 / (2 * config.alpha))
    predicted = {
        "observed": seen.tolist(),
        "observed_power": [theory.observed_items(config.alpha, config.small_items, b) for b in config.batch_sizes],
        "trend_counts": dict(zip(names, near.T.tolist(), strict=True)),
        "trend_local_slopes": {name: list(fit.local_slopes) for name, fit in zip(names, near_fits, strict=True)},
        "far_counts": dict(zip(names, far.T.tolist(), strict=True)),
        "far_local_slopes": {name: list(fit.local_slopes) for name, fit in zip(names, far_fits, strict=True)},
        "horizon_steps": {"half": [math.log(math.log(dim) / math.log(2)) / gap for dim in config.horizon_dims]},
    }
    excess = np.array([np.abs(np.array(local[name]) - theory.recovery_exponent("muon", config.alpha, t + 1))
                       for t, name in enumerate(names)])  # fmt: skip
    ratio = (batches[:, 0] / seen)[:SMALLEST_BATCH_SIZES]
    tracks = (np.abs(ratio[:, : min(OBSERVED_STEPS, config.batch_steps)] - 1) <= OBSERVED_BAND).all()
    lag = math.floor(2 * config.alpha)
    unstable = np.nanmax(measured["literal_loss"]) > math.log(config.small_items)
    ahead = (muon[:lag] >= descent[:lag]).all()
    bounds = np.minimum(margin, [theory.counting_limit(dim, config.small_items) for dim in config.horizon_dims])
    verdicts = {
        "horizon": REPRODUCED if (horizon.max(1) <= bounds).all() else NOT_REPRODUCED,
        "trend": REPRODUCED
        if (excess[:, -1] <= excess[:, 0]).all()
        else FINITE_SIZE
        if excess[:, -1].mean() <= excess[:, 0].mean()
        else NOT_REPRODUCED,
        "race": REPRODUCED if ahead and unstable else NOT_REPRODUCED,
        "batches": NOT_REPRODUCED
        if not tracks
        else REPRODUCED
        if (np.abs(ratio - 1) <= OBSERVED_BAND).all()
        else FINITE_SIZE,
    }
    return measured, predicted, verdicts


def exponent_verdict(slopes: dict, exponents: dict, names: list[str]) -> str:
    """Finite-size: inside the bars. Reproduced: within `SLOPE_BAND` of κ_T as well, for every T."""
    excess = np.array([slopes[name] - exponents[name] for name in names])
    falls = -np.diff([slopes[name] for name in names])
    if (excess < -LOW).any() or (excess > HIGH).any() or (falls > DROP).any():
        return NOT_REPRODUCED
    return REPRODUCED if (np.abs(excess) <= SLOPE_BAND).all() else FINITE_SIZE


def _mean_field_verdict(config: ManyStepsConfig, counts: dict, predicted: dict) -> str:
    judged = np.array(config.dims) >= MEAN_FIELD_DIM
    if not judged.any():
        return FINITE_SIZE
    error = np.array([np.array(counts[name]) / predicted[name] - 1 for name in counts])[:, judged]
    return REPRODUCED if (np.abs(error) <= MEAN_FIELD_BAND).all() else NOT_REPRODUCED


MANY_STEPS = Experiment(
    name="many-steps",
    purpose="the true iterates of Muon and gradient descent over many steps (Conjecture, Figures 4 and 5)",
    profiles={
        "smoke": ManyStepsConfig(
            dims=(24, 48),
            n_items=1024,
            seeds=2,
            steps=3,
            extra_seeds=1,
            trend_dims=(24, 48, 64),
            trend_items=1024,
            small_items=512,
            scan_dim=24,
            rates=(0.25, 1.0, 4.0),
            race_dim=24,
            race_steps=6,
            batch_sizes=(8, 64),
            batch_steps=4,
            momentum_dims=(24, 48),
            momenta=(0.0, 0.9),
            momentum_seeds=2,
            horizon_dims=(16, 24),
            horizon_steps=8,
            far_dims=(64, 128),
            far_items=4096,
        ),
        "cpu": ManyStepsConfig(),
        "gpu": ManyStepsConfig(
            dims=(128, 181, 256, 362, 512, 724, 1024),
            n_items=131_072,
            lr_over_root_dim=1.5,
            trend_dims=(512, 1024, 2048),
            trend_items=262_144,
            extra_seeds=1,
            small_items=65_536,
            scan_dim=512,
            race_dim=512,
            race_steps=30,
            batch_sizes=(64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576),
            batch_steps=32,
            momentum_dims=(128, 256, 512),
            horizon_dims=(64, 128, 256, 512),
        ),
    },
    cells=many_steps_cells,
    summarise=many_steps_summary,
)
