"""`vocabulary`: one step on word frequencies of several languages, with covariances, and on a table of real vectors.

Caveats: counts are held to 3 %, to 5 % below d = 128; below an effective dimension of 20 the fixed point says nothing.
The table is one of spellings, not of a trained model.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from amembook import vocabularies
from amembook.laws import effective_dimension, expected_covariance_capacity
from amembook.paper.vocabulary.counts import (
    MAPS,
    SOURCE_MAPS,
    measure_covariance,
    measure_language,
    measure_language_batches,
    measure_table,
)
from amembook.run.base import (
    Alpha,
    AscendingCounts,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    NonNegatives,
    Results,
    Several,
    draws,
    standard_error,
)
from amembook.run.claims import SIZES, check, count_band, equivalence, family, numbers
from amembook.run.studies import headline
from amemlib.equivalents import expected_capacity
from amemlib.problem import Problem
from amemlib.sampling import power_law_eigenvalues, sample_minibatch
from amemlib.scaling import first_crossing, fit_exponent

FEWEST_DIMENSIONS = 20
"""The effective dimension below which the fixed point claims nothing; chosen after exploratory runs, then kept."""


def _check_languages(name: str, values: tuple) -> None:
    if not values or len(set(values)) != len(values):
        raise ValueError(f"{name} must hold distinct names, got {list(values)}")
    # without the lists themselves the words cannot be checked, and a run ends by saying so
    with suppress(ImportError):
        for value in values:
            vocabularies.check_language(name, value)


@dataclass(frozen=True)
class VocabularyConfig(Config):
    """One step on real frequencies, with embeddings that have covariances, and with a real table."""

    languages: Annotated[tuple[str, ...], _check_languages] = ("en", "de", "es", "fi", "ru", "zh")  # wordfreq's lists
    n_items: Count = 20_000
    dims: Dims = (128, 256)
    seeds: Several = 4
    # one of `languages` in minibatches
    batch_language: str = "en"
    batch_sizes: AscendingCounts = tuple(4**k for k in range(2, 11))
    # a power law with Σ_u and Σ_v of eigenvalues a^{−β}, β each of these
    alpha: Alpha = 1.5
    covariance_items: Count = 8192
    covariance_exponents: NonNegatives = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
    table_items: Count = 4096  # words of `batch_language` in the table of spellings
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.batch_language not in self.languages:
            raise ValueError(
                f"batch_language must be one of languages, {', '.join(self.languages)}, got {self.batch_language!r}"
            )
        for name in ("n_items", "covariance_items", "table_items"):
            if getattr(self, name) <= max(self.dims):
                raise ValueError(f"{name} must exceed every dimension, got {getattr(self, name)}")


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
        measured["seed_counts"][language] = counts
        p = vocabularies.words(language, config.n_items).frequencies
        predicted["counts"][language] = _predictions([Problem(p, dim) for dim in config.dims])
        alpha = -fit_exponent(np.arange(1, config.n_items + 1), p.numpy()).slope
        law = [Problem.power_law(config.n_items, dim, alpha) for dim in config.dims]
        predicted["zipf"][language] = {"alpha": alpha} | _predictions(law)
    measured["deviation"] = {name: _worst_deviation(measured, predicted, name) for name in MAPS}
    measured["batch"], predicted["batch"] = _batch_summary(config, results)
    measured["covariance"] = {name: results.array("covariance", name) for name in MAPS}
    predicted["covariance"], predicted["effective_dimension"] = _covariance_predictions(config)
    measured["table"] = {
        variant: {
            source: {name: results.array("table", variant, source, name) for name in maps}
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
    counts = measured["seed_counts"]
    ratios = [counts[language][name].mean(1) / predicted["counts"][language][name] for language in counts]
    return np.abs(np.array(ratios) - 1).max()


def _batch_summary(config: VocabularyConfig, results: Results) -> tuple[dict, dict]:
    """Mean counts (d, B) and half-capacity batches, counted and predicted; half is half of the population's count."""
    measured, predicted = {"counts": {}, "half": {}}, {"counts": {}, "half": {}}
    p = vocabularies.words(config.batch_language, config.n_items).frequencies
    for name in ("polar", "sgd"):
        counted = results.array("languages", name, language=config.batch_language).mean(1)
        expected = [expected_capacity(Problem(p, dim), name) for dim in config.dims]
        for side, grid, whole in ((measured, "batches", counted), (predicted, "sharp_batches", expected)):
            curves = results.array(grid, name).mean(1)
            side["counts"][name] = curves
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
    return verdicts | {"newton_invariance": check(np.abs(whitened - centred).max(), name="items more or less")}


def _counts_verdict(counts: np.ndarray, law, dims, rivals: dict, at, keep=True) -> dict:
    """The total of each group of counts beside its prediction; counts (groups, points, draws), laws (…, points)."""
    if not np.any(keep):
        return equivalence([])
    held_to = {"law": law, "band": count_band(dims), "rivals": rivals, "at": at, "keep": keep}
    return equivalence(family("items", counts, **held_to))


def _language_verdict(config: VocabularyConfig, measured: dict, predicted: dict, name: str) -> dict:
    """Every language, beside the other maps and the power law that fits each list best."""

    def table(part: dict, key: str) -> np.ndarray:
        return np.array([part[language][key] for language in config.languages])

    rivals = {other: table(predicted["counts"], other) for other in MAPS if other != name}
    rivals["the best power law"] = table(predicted["zipf"], name)
    counts, law = table(measured["seed_counts"], name), table(predicted["counts"], name)
    return _counts_verdict(counts, law, config.dims, rivals, config.languages)


def _batch_verdict(config: VocabularyConfig, measured: dict, predicted: dict, name: str) -> dict:
    half, expected = measured["batch"]["half"][name], predicted["batch"]["half"]
    items = predicted["counts"][config.batch_language]
    # half of the items scatter by half their root, and go as the root of the batch there
    error = half / np.sqrt(items[name] / 2 * config.seeds)
    rivals = {other: expected[other] for other in ("polar", "sgd") if other != name}
    rivals["a sample for each recovered item"] = items[name]
    held_to = {"law": expected[name], "band": SIZES, "rivals": rivals, "at": config.dims}
    return equivalence(numbers("half-capacity batch, d =", half, error, config.seeds, **held_to))


def _covariance_verdict(config: VocabularyConfig, measured: dict, predicted: dict, name: str) -> dict:
    """At effective dimensions from `FEWEST_DIMENSIONS` on, beside the other maps and one covariance for all."""
    wide, expected = predicted["effective_dimension"] >= FEWEST_DIMENSIONS, predicted["covariance"]
    rivals = {other: expected[other] for other in MAPS if other != name}
    if name != "newton":
        rivals["the first covariance for all"] = np.broadcast_to(expected[name][0], wide.shape)
    at = [f"β = {beta:g}" for beta in config.covariance_exponents]
    return _counts_verdict(measured["covariance"][name], expected[name], config.dims, rivals, at, wide)


def _table_verdict(config: VocabularyConfig, measured: dict, predicted: dict, source: str) -> dict:
    """All variants of the table; the whitened one has no covariance left."""
    variants = vocabularies.VARIANTS
    counts = np.array([measured["table"][variant][source]["polar"] for variant in variants])
    law = np.array([predicted["table"][variant] for variant in variants])
    return _counts_verdict(counts, law, config.dims, {"no covariance": predicted["table"]["whitened"]}, variants)


EXPERIMENT = Experiment(
    name="vocabulary",
    purpose=headline(__doc__),
    profiles={
        "smoke": VocabularyConfig(
            languages=("en",), n_items=2000, dims=(32, 64), seeds=2, batch_sizes=(4, 16, 256, 4096, 65_536),
            covariance_items=1024, covariance_exponents=(0.0, 0.5), table_items=512,
        ),
        "cpu": VocabularyConfig(),
        "gpu": VocabularyConfig(
            n_items=100_000, dims=(128, 256, 512, 1024), covariance_items=50_000, first_seed=28_500
        ),
    },
    grids=vocabulary_grids,
    summarise=vocabulary_summary,
    judge=judge_vocabulary,
)  # fmt: skip
