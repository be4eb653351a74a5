"""`vocabulary`: word frequencies of several languages, embeddings with covariances, and a table of real vectors."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from amemlib import vocabularies
from amemlib.checks import check_alpha, check_count, check_dims, check_non_negative
from amemlib.equivalents import effective_dimension, expected_capacity, expected_covariance_capacity
from amemlib.experiments.base import COUNT_BAND, Experiment, Grid, Results, draws, standard_error
from amemlib.experiments.vocabulary_counts import (
    MAPS,
    SOURCE_MAPS,
    measure_covariance,
    measure_language,
    measure_language_batches,
    measure_table,
)
from amemlib.problem import Problem
from amemlib.sampling import power_law_eigenvalues, sample_minibatch
from amemlib.scaling import first_crossing, fit_exponent
from amemlib.verdicts import consistency, refuse, verdict

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
    first_seed: where the seeds start.
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
        # without the lists themselves the words cannot be checked, and a run ends by saying so
        with suppress(ImportError):
            for language in self.languages:
                vocabularies.check_language("languages", language)
        if self.batch_language not in self.languages:
            raise ValueError(
                f"batch_language must be one of languages, {', '.join(self.languages)}, got {self.batch_language!r}"
            )
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


def vocabulary_grids(config: VocabularyConfig) -> dict[str, Grid]:
    """Every draw: the languages, the minibatches of one of them, the covariances, the table."""
    drawn = {"dim": config.dims, "seed": draws(config)}
    language = config.batch_language
    exponents, n_items = {"exponent": config.covariance_exponents}, config.covariance_items
    return {
        "languages": Grid(measure_language, {"language": config.languages} | drawn),
        "batches": Grid(measure_language_batches, drawn, language=language),
        "sharp_batches": Grid(predict_language_batches, drawn, language=language),
        "covariance": Grid(measure_covariance, exponents | drawn, n_items=n_items),
        "table": Grid(measure_table, drawn, language=language, n_items=config.table_items),
    }


def vocabulary_summary(config: VocabularyConfig, results: Results) -> tuple[dict, dict]:
    """Counts beside predictions with nothing fitted, and beside those of the power law that fits a list best.

    measured.seed_counts: language ↦ map ↦ (d, draws). `zipf`: the exponent of the least-squares line through log p
    against log rank (every rank from 1 to N with equal weight) and the counts that a power law of it would give.
    batch: counts and predictions (d, B), and the half-capacity batch as in `critical-batch`. covariance: map ↦ (β, d).
    table: variant ↦ source ↦ map ↦ (d,).
    """
    measured, predicted = {"seed_counts": {}}, {"counts": {}, "zipf": {}}
    for language in config.languages:
        counts = {name: results.array("languages", name, language=language) for name in MAPS}
        measured["seed_counts"][language] = {name: c.tolist() for name, c in counts.items()}
        p = vocabularies.words(language, config.n_items).frequencies
        predicted["counts"][language] = _predictions([Problem(p, dim) for dim in config.dims])
        alpha = -fit_exponent(np.arange(1, config.n_items + 1), p.numpy()).slope
        law = [Problem.power_law(config.n_items, dim, alpha) for dim in config.dims]
        predicted["zipf"][language] = {"alpha": alpha} | _predictions(law)
    measured["deviation"] = {name: _worst_deviation(measured, predicted, name) for name in MAPS}
    measured["batch"], predicted["batch"] = _batch_summary(config, results)
    measured["covariance"] = {name: results.array("covariance", name).tolist() for name in MAPS}
    predicted["covariance"], predicted["effective_dimension"] = _covariance_predictions(config)
    measured["table"] = {
        variant: {
            source: {name: results.array("table", variant, source, name).tolist() for name in maps}
            for source, maps in SOURCE_MAPS.items()
        }
        for variant in vocabularies.VARIANTS
    }
    predicted["table"], predicted["table_dimension"] = _table_predictions(config)
    return measured, predicted


def _predictions(problems: list[Problem]) -> dict:
    return {name: [expected_capacity(problem, name) for problem in problems] for name in MAPS}


def _worst_deviation(measured: dict, predicted: dict, name: str) -> float:
    """The largest relative deviation of a mean count over languages and dimensions."""
    pairs = [
        (counts[name], predicted["counts"][language][name]) for language, counts in measured["seed_counts"].items()
    ]
    return float(np.max([np.abs(np.mean(counts, 1) / np.array(expected) - 1) for counts, expected in pairs]))


def _batch_summary(config: VocabularyConfig, results: Results) -> tuple[dict, dict]:
    """Mean counts (d, B) and half-capacity batches, counted and predicted; half is half of the population's count."""
    measured, predicted = {"counts": {}, "half": {}}, {"counts": {}, "half": {}}
    p = vocabularies.words(config.batch_language, config.n_items).frequencies
    for name in ("polar", "sgd"):
        counted = results.array("languages", name, language=config.batch_language).mean(1)
        expected = [expected_capacity(Problem(p, dim), name) for dim in config.dims]
        for side, grid, whole in ((measured, "batches", counted), (predicted, "sharp_batches", expected)):
            curves = results.array(grid, name).mean(1)
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


def judge_vocabulary(config: VocabularyConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Mean counts and half-capacity batches against predictions for these sizes; Newton does not see a covariance."""
    verdicts = {name: _language_verdict(config, measured, predicted, name) for name in MAPS}
    verdicts |= {f"batch_{name}": _batch_verdict(config, measured, predicted, name) for name in ("polar", "sgd")}
    verdicts |= {f"covariance_{name}": _covariance_verdict(config, measured, predicted, name) for name in MAPS}
    verdicts |= {
        f"{source}_polar": _table_verdict(config, measured, predicted, source) for source in ("gaussian", "table")
    }
    whitened, centred = (measured["table"][variant]["table"]["newton"] for variant in ("whitened", "centred"))
    return verdicts | {"newton_invariance": consistency(whitened == centred)}


def _counts_verdict(counts, expected, rivals: dict, n_items: int) -> dict:
    """Whether every mean count lies within COUNT_BAND of its prediction, beyond two standard errors.

    counts: (points, draws). expected: (points,), and so is every rival law; an empty and a full memory join them.
    """
    counts = np.array(counts)
    if not counts.size:
        return verdict(None, None)
    mean, error = counts.mean(1), standard_error(counts)
    near = lambda law: (np.abs(mean - law) <= COUNT_BAND * np.array(law) + 2 * error).all()  # noqa: E731
    rivals = rivals | {"an empty memory": 0.0, "a full memory": n_items}
    return verdict(near(expected), near(expected), refuse(near, rivals), counts.shape[1])


def _language_verdict(config: VocabularyConfig, measured: dict, predicted: dict, name: str) -> dict:
    """All languages and dimensions together, beside the other maps and the power law that fits each list best."""
    flat = lambda part, key: np.concatenate([part[language][key] for language in config.languages])  # noqa: E731
    rivals = {other: flat(predicted["counts"], other) for other in MAPS if other != name}
    rivals["the best power law"] = flat(predicted["zipf"], name)
    counts, expected = flat(measured["seed_counts"], name), flat(predicted["counts"], name)
    return _counts_verdict(counts, expected, rivals, config.n_items)


def _batch_verdict(config: VocabularyConfig, measured: dict, predicted: dict, name: str) -> dict:
    half = np.array(measured["batch"]["half"][name])
    near = lambda law: (np.abs(half / np.array(law) - 1) <= HALF_BATCH_BAND).all()  # noqa: E731
    expected = predicted["batch"]["half"]
    rivals = {other: expected[other] for other in ("polar", "sgd") if other != name}
    rivals["a sample for each recovered item"] = predicted["counts"][config.batch_language][name]
    return verdict(near(expected[name]), near(expected[name]), refuse(near, rivals), config.seeds)


def _covariance_verdict(config: VocabularyConfig, measured: dict, predicted: dict, name: str) -> dict:
    """At effective dimensions from `FEWEST_DIMENSIONS` on, beside the other maps and one covariance for all."""
    wide = np.array(predicted["effective_dimension"]) >= FEWEST_DIMENSIONS
    expected = {other: np.array(predicted["covariance"][other]) for other in MAPS}
    rivals = {other: expected[other][wide] for other in MAPS if other != name}
    if name != "newton":
        rivals["the first covariance for all"] = np.broadcast_to(expected[name][0], wide.shape)[wide]
    counts = np.array(measured["covariance"][name])[wide]
    return _counts_verdict(counts, expected[name][wide], rivals, config.covariance_items)


def _table_verdict(config: VocabularyConfig, measured: dict, predicted: dict, source: str) -> dict:
    """All variants of the table together; the whitened one has no covariance left."""
    variants = vocabularies.VARIANTS
    counts = np.concatenate([measured["table"][variant][source]["polar"] for variant in variants])
    expected = np.concatenate([predicted["table"][variant] for variant in variants])
    rivals = {"no covariance": np.tile(predicted["table"]["whitened"], len(variants))}
    return _counts_verdict(counts, expected, rivals, config.table_items)


EXPERIMENT = Experiment(
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
    grids=vocabulary_grids,
    summarise=vocabulary_summary,
    judge=judge_vocabulary,
)
