"""Real lists and a table of real vectors: counts beside predictions, and the experiment that records them."""

import math
from functools import partial

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import laws, vocabularies
from amembook.paper.vocabulary import EXPERIMENT as VOCABULARY
from amembook.paper.vocabulary import VocabularyConfig
from amembook.run.records import read_records
from amembook.vocabularies import VARIANTS, table_variants

pytest.importorskip("wordfreq")


def counted_items(name: str, emb: am.Embeddings, q: torch.Tensor) -> int:
    G = am.initial_gradient(emb, q)
    return am.capacity(G if name == "sgd" else am.polar(G, am.gradient_rank(emb, q)), emb)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "fi"])
def test_real_vocabularies_counts_are_predicted_without_an_exponent(language):
    problem = am.Problem(vocabularies.words(language, 2500).frequencies, 128)
    q = problem.frequencies
    counts = {"polar": [], "newton": [], "sgd": []}
    for seed in range(2000, 2004):
        emb = am.sample_embeddings(problem, seed)
        G = am.initial_gradient(emb, q)
        for name, W in (("polar", am.polar(G)), ("newton", am.newton_step(emb, q)), ("sgd", G)):
            counts[name].append(am.capacity(W, emb))
    for name, draws in counts.items():
        expected = am.expected_capacity(problem, name)
        error = np.std(draws, ddof=1) / math.sqrt(len(draws))
        assert abs(np.mean(draws) - expected) < 0.05 * expected + 2 * error, name


@pytest.mark.slow
def test_a_power_law_through_the_list_gives_sgd_far_too_few_items():
    p = vocabularies.words("en", 5000).frequencies
    alpha = -am.fit_exponent(np.arange(1, 5001), p.numpy()).slope
    law, real = am.Problem.power_law(5000, 128, alpha), am.Problem(p, 128)
    assert am.expected_capacity(law, "sgd") < 0.7 * am.expected_capacity(real, "sgd")
    assert am.expected_capacity(law, "polar") == pytest.approx(am.expected_capacity(real, "polar"), rel=0.15)


@pytest.mark.slow
def test_the_half_capacity_batch_of_a_real_list_is_predicted_from_the_words_drawn():
    problem = am.Problem(vocabularies.words("en", 4000).frequencies, 64)
    p, sizes, seeds = problem.frequencies, [8, 16, 32, 64, 128], range(2000, 2004)
    embs = [am.sample_embeddings(problem, seed) for seed in seeds]
    drawn = [[am.sample_minibatch(problem, size, seed) for seed in seeds] for size in sizes]
    for name in ("polar", "sgd"):
        expect = partial(am.expected_capacity, problem, name)
        counted = [np.mean([counted_items(name, *pair) for pair in zip(embs, qs, strict=True)]) for qs in drawn]
        whole = np.mean([counted_items(name, emb, p) for emb in embs])
        half = am.scaling.first_crossing(sizes, counted, whole / 2)
        sharp = [np.mean([expect(frequencies=q) for q in qs]) for qs in drawn]
        # counts of a dozen known to 10 % on four draws, on a branch that rises more slowly than B
        assert half == pytest.approx(am.scaling.first_crossing(sizes, sharp, expect() / 2), rel=0.25), name
        assert half < 2 * whole, "of the order of the capacity itself"


@pytest.mark.slow
def test_sgd_stores_about_what_its_effective_dimension_says():
    problem, counts = am.Problem.power_law(2048, 128, 1.5), []
    sigma = torch.arange(1, 129, dtype=torch.float64) ** -0.75
    sigma /= sigma.mean()
    for seed in range(2000, 2040):
        emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
        emb = am.Embeddings(emb.U * sigma.sqrt(), emb.V * sigma.sqrt())
        counts.append(am.capacity(am.initial_gradient(emb, problem.frequencies), emb))
    narrow = am.Problem.power_law(2048, round(laws.effective_dimension(sigma)), 1.5)
    expected, error = am.expected_capacity(narrow, "sgd"), 2 * np.std(counts) / math.sqrt(len(counts))
    # a reading to leading order, and not sharp: the lengths scatter by (2/d_eff)^(1/2)
    assert abs(np.mean(counts) - expected) < 0.2 * expected + error
    assert np.mean(counts) + error < 0.8 * am.expected_capacity(problem, "sgd")


def test_spelling_table_has_the_right_scale_and_puts_inflections_together():
    words = vocabularies.words("en", 1000).inputs
    table = vocabularies.spelling_table(words, 64)
    assert table.shape == (1000, 64) and (table**2).sum(1).mean().item() == pytest.approx(1)
    direction = torch.nn.functional.normalize(table)
    at = words.index
    assert direction[at("play")] @ direction[at("playing")] > 0.5 > abs(direction[at("play")] @ direction[at("world")])
    torch.testing.assert_close(table, vocabularies.spelling_table(words, 64))


def test_whitening_makes_every_second_moment_one():
    table = vocabularies.spelling_table(vocabularies.words("en", 600).inputs, 32)
    variants = table_variants(table)
    assert tuple(variants) == VARIANTS
    moments = vocabularies.second_moment_eigenvalues(variants["whitened"])
    torch.testing.assert_close(moments, torch.ones(32, dtype=torch.float64))
    assert vocabularies.second_moment_eigenvalues(table).mean().item() == pytest.approx(1)
    with pytest.raises(ValueError, match="full column rank"):
        vocabularies.whitened(torch.ones(10, 4, dtype=torch.float64))
    with pytest.raises(ValueError, match="dim must be at most"):
        vocabularies.spelling_table(("a", "b"), 3)


def test_a_covariance_that_leaves_too_few_dimensions_is_not_judged():
    (record,) = read_records("vocabulary", "confirm")
    narrow = record["predicted"] | {"effective_dimension": [[2.0] * 2] * 6}
    verdicts = VOCABULARY.verdicts(VocabularyConfig(), record["measured"], narrow)
    assert verdicts["covariance_polar"]["numbers"] == []
