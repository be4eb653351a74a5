"""`vocabulary`: word frequencies of several languages, embeddings with covariances, and a table of real vectors."""

import math
from dataclasses import dataclass

import numpy as np

from amemlib import vocabularies
from amemlib.checks import check_alpha, check_count, check_dims, check_non_negative
from amemlib.equivalents import effective_dimension, expected_capacity, expected_covariance_capacity
from amemlib.experiments.base import COUNT_BAND, Cell, Experiment, Summary
from amemlib.experiments.vocabulary_counts import (
    MAPS,
    SOURCES,
    measure_covariance,
    measure_language,
    measure_language_batches,
    measure_table,
)
from amemlib.problem import Problem
from amemlib.sampling import power_law_eigenvalues, sample_minibatch
from amemlib.scaling import first_crossing, fit_exponent
from amemlib.verdicts import NOT_REPRODUCED, REPRODUCED

HALF_BATCH_BAND = 0.15
"""How far a half-capacity batch may lie from its prediction; a count is known to 5 % and the curve has a slope near 1/2
there, so that the batch is known to 10 %, and the grid of batches is interpolated."""
FEWEST_DIMENSIONS = 20
"""The effective dimension below which the fixed point claims nothing; chosen after exploratory runs, then kept."""


@dataclass(frozen=True)
class VocabularyConfig:
    """One step on real frequencies, with embeddings that have covariances, and with a real table.

    languages, n_items, dims, seeds: the wordfreq lists, their length N, the dimensions, how many draws.
    batch_language, batch_sizes: one list in minibatches, at every one of `dims`.
    alpha, covariance_items, covariance_exponents: a power law with Σ_u and Σ_v of eigenvalues a^{−β}, β each of these.
    table_items: how many words of `batch_language` the table of spellings has, at every one of `dims`.
    first_seed: where the seeds start; the numbers of the ledger come from 1000 on.
    """

    languages: tuple[str, ...] = ("en", "de", "es", "fi", "ru", "zh")
    n_items: int = 20_000
    dims: tuple[int, ...] = (128, 256)
    seeds: int = 4
    batch_language: str = "en"
    batch_sizes: tuple[int, ...] = tuple(4**k for k in range(2, 11))
    alpha: float = 1.5
    covariance_items: int = 8192
    covariance_exponents: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
    table_items: int = 4096
    first_seed: int = 0

    def __post_init__(self):
        if not self.languages or len(set(self.languages)) != len(self.languages):
            raise ValueError(f"languages must hold distinct names, got {list(self.languages)}")
        check_dims("dims", self.dims)
        for name in ("n_items", "covariance_items", "table_items"):
            check_count(name, getattr(self, name), least=max(self.dims) + 1)
        check_count("seeds", self.seeds, least=2)
        check_count("first_seed", self.first_seed, least=0)
        check_alpha(self.alpha)
        for beta in self.covariance_exponents:
            check_non_negative("covariance_exponents", beta)
        if len(self.batch_sizes) < 2 or list(self.batch_sizes) != sorted(set(self.batch_sizes)):
            raise ValueError(f"batch_sizes must increase, got {list(self.batch_sizes)}")
        for size in self.batch_sizes:
            check_count("batch_sizes", size)


def predict_language_batches(language: str, n_items: int, dim: int, batch_sizes: list[int], seed: int) -> dict:
    """Expected counts of one minibatch step of polar and SGD for every B, for the frequencies that this seed draws."""
    problem = Problem(vocabularies.words(language, n_items).frequencies, dim)
    drawn = [sample_minibatch(problem, batch_size, seed) for batch_size in batch_sizes]
    return {name: [expected_capacity(problem, name, frequencies=q) for q in drawn] for name in ("polar", "sgd")}


def vocabulary_cells(config: VocabularyConfig, device: str) -> list[Cell]:
    """Every draw: the languages, the minibatches of one of them, the covariances, the table."""
    draws = [
        {"dim": dim, "seed": config.first_seed + seed, "device": device}
        for dim in config.dims
        for seed in range(config.seeds)
    ]
    batches = {"language": config.batch_language, "n_items": config.n_items, "batch_sizes": list(config.batch_sizes)}
    covariance = {"alpha": config.alpha, "n_items": config.covariance_items}
    table = {"language": config.batch_language, "n_items": config.table_items}
    return [
        *[
            Cell(measure_language, {"language": language, "n_items": config.n_items} | draw)
            for language in config.languages
            for draw in draws
        ],
        *[Cell(measure_language_batches, batches | draw) for draw in draws],
        *[Cell(predict_language_batches, batches | {"dim": draw["dim"], "seed": draw["seed"]}) for draw in draws],
        *[
            Cell(measure_covariance, covariance | {"exponent": beta} | draw)
            for beta in config.covariance_exponents
            for draw in draws
        ],
        *[Cell(measure_table, table | draw) for draw in draws],
    ]


def vocabulary_summary(config: VocabularyConfig, results: list[dict]) -> Summary:
    """Counts beside predictions with nothing fitted, and beside those of the power law that fits a list best.

    measured.seed_counts: language ↦ map ↦ (d, draws). `zipf`: the exponent of the least-squares line through log p
    against log rank (every rank from 1 to N with equal weight) and the counts that a power law of it would give.
    batch: counts and predictions (d, B), and the half-capacity batch as in `critical-batch`. covariance: map ↦ (β, d).
    table: variant ↦ source ↦ map ↦ (d,).
    """
    shape = (len(config.dims), config.seeds)
    n_draws = math.prod(shape)
    parts, start = [], 0
    for groups in (len(config.languages), 1, 1, len(config.covariance_exponents), 1):
        parts.append([results[start + k * n_draws :][:n_draws] for k in range(groups)])
        start += groups * n_draws
    languages, (batches,), (sharp_batches,), covariances, (tables,) = parts
    measured, predicted, verdicts = {}, {}, {}

    counts = {
        language: {name: np.array([r[name] for r in draws]).reshape(shape) for name in MAPS}
        for language, draws in zip(config.languages, languages, strict=True)
    }
    measured["seed_counts"] = {
        language: {name: c.tolist() for name, c in maps.items()} for language, maps in counts.items()
    }
    predicted["counts"], predicted["zipf"] = {}, {}
    for language in config.languages:
        p = vocabularies.words(language, config.n_items).frequencies
        predicted["counts"][language] = _predictions([Problem(p, dim) for dim in config.dims])
        alpha = -fit_exponent(np.arange(1, config.n_items + 1), p.numpy()).slope
        law = [Problem.power_law(config.n_items, dim, alpha) for dim in config.dims]
        predicted["zipf"][language] = {"alpha": alpha} | _predictions(law)
    for name in MAPS:
        off = [_deviation(counts[k][name], predicted["counts"][k][name]) for k in config.languages]
        measured.setdefault("deviation", {})[name] = np.abs([d for d, _ in off]).max()
        verdicts[name] = _within(off)

    measured["batch"], predicted["batch"] = _batch_summary(
        config, batches, sharp_batches, counts[config.batch_language]
    )
    half = {name: np.array(measured["batch"]["half"][name]) for name in ("polar", "sgd")}
    for name, batch in half.items():
        close = np.abs(batch / predicted["batch"]["half"][name] - 1) <= HALF_BATCH_BAND
        verdicts[f"batch_{name}"] = REPRODUCED if close.all() else NOT_REPRODUCED

    shaped = {name: np.array([[r[name] for r in c] for c in covariances]).reshape(-1, *shape) for name in MAPS}
    measured["covariance"] = {name: c.tolist() for name, c in shaped.items()}
    predicted["covariance"], predicted["effective_dimension"] = _covariance_predictions(config)
    wide = np.array(predicted["effective_dimension"]) >= FEWEST_DIMENSIONS
    for name in MAPS:
        expected = np.array(predicted["covariance"][name])
        pairs = [_deviation(c, p) for c, p in zip(shaped[name], expected, strict=True)]
        deviation, error = (np.array(values)[wide] for values in zip(*pairs, strict=True))
        verdicts[f"covariance_{name}"] = _within([(deviation, error)])

    read = lambda variant, source, name: np.array([r[variant][source][name] for r in tables]).reshape(shape)  # noqa: E731
    measured["table"] = {
        variant: {s: {name: read(variant, s, name).tolist() for name in tables[0][variant][s]} for s in SOURCES}
        for variant in vocabularies.VARIANTS
    }
    predicted["table"], predicted["table_dimension"] = _table_predictions(config)
    for source in ("gaussian", "table"):
        pairs = [_deviation(read(v, source, "polar"), predicted["table"][v]) for v in vocabularies.VARIANTS]
        verdicts[f"{source}_polar"] = _within(pairs)
    same = (read("whitened", "table", "newton") == read("centred", "table", "newton")).all()
    verdicts["newton_invariance"] = REPRODUCED if same else NOT_REPRODUCED
    return Summary(measured, predicted, verdicts)


def _predictions(problems: list[Problem]) -> dict:
    return {name: [expected_capacity(problem, name) for problem in problems] for name in MAPS}


def _deviation(counts: np.ndarray, expected) -> tuple[np.ndarray, np.ndarray]:
    """Relative deviation of the mean count at each d, and its standard error."""
    expected = np.array(expected)
    return counts.mean(1) / expected - 1, counts.std(1, ddof=1) / math.sqrt(counts.shape[1]) / expected


def _within(deviations: list) -> str:
    """Whether every mean count lies within COUNT_BAND of its prediction, beyond two standard errors."""
    close = [(np.abs(deviation) <= COUNT_BAND + 2 * error).all() for deviation, error in deviations]
    return REPRODUCED if close and all(close) else NOT_REPRODUCED


def _batch_summary(
    config: VocabularyConfig, draws: list[dict], sharp: list[dict], population: dict
) -> tuple[dict, dict]:
    """Mean counts (d, B) and half-capacity batches, counted and predicted; half is half of the population's count."""
    shape = (*population["polar"].shape, -1)
    measured, predicted = {"counts": {}, "half": {}}, {"counts": {}, "half": {}}
    p = vocabularies.words(config.batch_language, config.n_items).frequencies
    for name in ("polar", "sgd"):
        full = [expected_capacity(Problem(p, dim), name) for dim in config.dims]
        for side, rows, whole in (
            (measured, draws, population[name].mean(1)),
            (predicted, sharp, full),
        ):
            curves = np.array([row[name] for row in rows]).reshape(shape).mean(1)
            side["counts"][name] = curves.tolist()
            side["half"][name] = [
                first_crossing(config.batch_sizes, curve, n / 2) for curve, n in zip(curves, whole, strict=True)
            ]
    return measured, predicted


def _covariance_predictions(config: VocabularyConfig) -> tuple[dict, list]:
    """Map ↦ (β, d) expected counts, and the effective dimensions (β, d).

    polar: the fixed point with covariances. SGD: the isotropic count at the effective dimension. Newton: that at d,
    since Newton's step does not see a covariance.
    """
    predicted, dimensions = {name: [] for name in MAPS}, []
    for beta in config.covariance_exponents:
        rows = {name: [] for name in MAPS}
        dimensions.append([])
        for dim in config.dims:
            problem = Problem.power_law(config.covariance_items, dim, config.alpha)
            sigma = power_law_eigenvalues(dim, beta)
            dimensions[-1].append(effective_dimension(sigma))
            rows["polar"].append(expected_covariance_capacity(problem, sigma, sigma))
            narrow = Problem(problem.frequencies, max(1, round(dimensions[-1][-1])))
            rows["sgd"].append(expected_capacity(narrow, "sgd"))
            rows["newton"].append(expected_capacity(problem, "newton"))
        for name in MAPS:
            predicted[name].append(rows[name])
    return predicted, dimensions


def _table_predictions(config: VocabularyConfig) -> tuple[dict, dict]:
    """Variant ↦ (d,) counts of polar by the fixed point with the table's second moments, and effective dimensions."""
    words = vocabularies.words(config.batch_language, config.table_items)
    counts, dimensions = {v: [] for v in vocabularies.VARIANTS}, {v: [] for v in vocabularies.VARIANTS}
    for dim in config.dims:
        problem = Problem(words.frequencies, dim)
        for variant, rows in vocabularies.table_variants(vocabularies.spelling_table(words.inputs, dim)).items():
            sigma = vocabularies.second_moment_eigenvalues(rows)
            dimensions[variant].append(effective_dimension(sigma))
            counts[variant].append(expected_covariance_capacity(problem, sigma, sigma))
    return counts, dimensions


VOCABULARY = Experiment(
    name="vocabulary",
    purpose="one step on word frequencies of several languages, with covariances, and on a table of real vectors",
    profiles={
        "smoke": VocabularyConfig(
            languages=("en",),
            n_items=2000,
            dims=(32, 64),
            seeds=2,
            batch_sizes=(4, 16, 256, 4096, 65_536),
            covariance_items=1024,
            covariance_exponents=(0.0, 0.5),
            table_items=512,
        ),
        "cpu": VocabularyConfig(),
        "gpu": VocabularyConfig(n_items=100_000, dims=(128, 256, 512, 1024), covariance_items=50_000),
    },
    cells=vocabulary_cells,
    summarise=vocabulary_summary,
)
