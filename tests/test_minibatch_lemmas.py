"""Lemmas 14 to 17, what a batch shows, what nobody can recover from it, and the experiment `critical-batch`."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import read_records
from amembook.paper.critical_batch import EXPERIMENT as CRITICAL_BATCH
from amembook.paper.critical_batch import CriticalBatchConfig, measure_lemmas
from amembook.run.cache import plain
from amemlib.equivalents import expected_distinct_items
from amemlib.scaling import first_crossing

SEEDS = range(3000, 3004)


def power_law(n_items, dim, alpha=1.5):
    return am.Problem.power_law(n_items, dim, alpha)


def test_expected_distinct_items_are_those_of_draws():
    problem = power_law(500, 8)
    for batch_size in (1, 7, 100, 10_000):
        counts = [int((am.sample_minibatch(problem, batch_size, seed) > 0).sum()) for seed in range(3000, 3200)]
        expected = expected_distinct_items(problem, batch_size)
        assert abs(np.mean(counts) - expected) < 4 * np.std(counts) / math.sqrt(200) + 1e-9
    assert expected_distinct_items(problem, 1) == pytest.approx(1)


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_the_number_of_observed_items_has_its_power_law(alpha):
    problem, batch_size = power_law(10**6, 8, alpha), 3000
    exact = expected_distinct_items(problem, batch_size)
    # the law is the leading order for 1 ≪ B ≪ N^α
    assert am.theory.observed_items(10**6, alpha, batch_size) == pytest.approx(exact, rel=0.03)
    with pytest.raises(ValueError, match="alpha"):
        am.theory.observed_items(10, 1.0, 10)


def test_a_share_of_one_over_alpha_of_the_observed_items_is_seen_once():
    for alpha in (1.5, 2.0):
        problem = power_law(200_000, 8, alpha)
        sightings = (am.sample_minibatch(problem, 20_000, 3000) * 20_000).round()
        assert ((sightings == 1).sum() / (sightings > 0).sum()).item() == pytest.approx(1 / alpha, abs=0.05)


@pytest.mark.parametrize("batch_size", [3, 20])
def test_items_that_were_not_seen_are_recovered_by_luck_alone(batch_size):
    problem, lucky = power_law(100, 12), {"polar": [], "sgd": []}
    for seed in range(3000, 3100):
        emb, q = am.sample_embeddings(problem, seed), am.sample_minibatch(problem, batch_size, seed)
        G = am.initial_gradient(emb, q)
        for name, W in (("polar", am.polar(G, am.gradient_rank(emb, q))), ("sgd", G)):
            lucky[name].append(int((am.recovered(W, emb) & (q == 0)).sum()))
    for counts in map(np.array, lucky.values()):
        assert counts.any()
        for r in (1, 2, 3):
            factorial_moment = np.prod([counts - k for k in range(r)], 0)
            assert factorial_moment.mean() <= 1 + 2 * factorial_moment.std() / 10
            assert (counts >= r).mean() <= 1 / math.factorial(r) + 0.1


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_lemma_14_the_bulk_of_every_batch(alpha):
    worst = []
    for dim in (32, 64, 128):
        draws = [measure_lemmas(2048, dim, alpha, seed, "cpu") for seed in SEEDS[:2]]
        values = np.array([draw["lemma_14"] for draw in draws]) * dim ** (2 * alpha)
        worst.append(values.max())
        assert (values[:, 0] == 0).all(), "d^α/16 samples do not fill half of the dimensions"
        assert (values[:, 3:] > 0).all()
    # bounded: 16 is twice what is seen; and no power of d
    assert max(worst) < 30 and am.fit_exponent((32, 64, 128), worst).slope < 0.3


def test_lemma_14_weighted_sum_of_projections():
    problem, generator = power_law(2000, 50), np.random.default_rng(0)
    V = am.sample_embeddings(problem, 3000, dtype=torch.float64).V
    for w in (generator.random(2000), generator.random(2000) ** 20, np.r_[1.0, np.zeros(1999)]):
        w = torch.from_numpy(w)
        norm = torch.linalg.matrix_norm(V.T @ (w[:, None] * V), 2)
        assert norm <= 4 * w.sum() / 50 + 24 * w.max()


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_lemma_15_tail_frequencies(alpha):
    for seed in SEEDS:
        draw = measure_lemmas(4096, 32, alpha, seed, "cpu")
        # with all the constants of the proof, which may fail in one draw of a thousand
        assert max(draw["lemma_15_explicit"]) <= 1
        # and without logarithms: 8 is about ln(N), what one of 4096 Poisson counts of mean 1 may reach
        assert max(draw["lemma_15_max"]) < 8 and max(draw["lemma_15_energy"]) < 8


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_lemma_16_a_smoothing_that_dominates_the_tail(alpha):
    for dim in (32, 128):
        draw = measure_lemmas(2048, dim, alpha, 3000, "cpu")
        assert 0 < max(draw["lemma_16"]) <= 1


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_lemma_17_singular_values_of_the_gradient(alpha):
    for dim in (16, 64):
        for seed in SEEDS[:2]:
            ratios = measure_lemmas(1024, dim, alpha, seed, "cpu")["lemma_17"]
            assert 0.5 < min(ratios) and max(ratios) <= 9


def test_the_median_singular_value_is_of_the_order_of_the_bulk():
    for alpha in (1.25, 2.0):
        medians = [
            np.mean([measure_lemmas(2048, d, alpha, s, "cpu")["median"][-1] for s in SEEDS[:2]]) for d in (32, 128)
        ]
        # a rival order, such as d^{−α ± 1/2}, is far outside
        assert am.fit_exponent((32, 128), medians).slope == pytest.approx(-alpha, abs=0.15)


def test_first_crossing_finds_planted_crossings():
    x = np.geomspace(1, 1000, 10)
    assert first_crossing(x, 3 * x**0.5, 30) == pytest.approx(100)
    humped = [1.0, 2.0, 8.0, 4.0, 16.0]
    assert 2 < first_crossing([1, 2, 3, 4, 5], humped, 5.0) < 3
    for level in (0.5, 1.0, 20.0):
        with pytest.raises(ValueError, match="span"):
            first_crossing([1, 2, 3, 4, 5], humped, level)
    with pytest.raises(ValueError, match="increasing"):
        first_crossing([2, 1], [1, 2], 1.5)


TINY = CriticalBatchConfig(
    dims=(16, 32),
    n_items=512,
    seeds=2,
    batch_sizes=(2, 8, 32, 128),
    sgd_dims=(512, 2048),
    sgd_items=128,
    sgd_seeds=4,
    sgd_batch_sizes=(2, 4, 8, 16, 32, 64, 128, 512),
    sgd_predicted_seeds=1,
    first_seed=3000,
)


@pytest.mark.slow
def test_critical_batch_record_has_the_shape_it_promises():
    cells = CRITICAL_BATCH.cells(TINY, "cpu")
    measured, predicted = CRITICAL_BATCH.read(TINY, [plain(cell.function(**cell.arguments)) for cell in cells])
    for part in (measured, predicted):
        assert np.shape(part["counts"]["polar"]) == (2, 4) and np.shape(part["counts"]["sgd"]) == (2, 8)
    assert set(measured["slope"]) == {"polar", "sgd"}
    low, high = measured["interval"]["polar"]
    assert low < measured["slope"]["polar"] < high
    assert predicted["slope"] == pytest.approx({"polar": 2.0, "sgd": 0.5, "sgd_at_dims": 0.5})
    counts, distinct = (measured[field]["polar"] for field in ("counts", "distinct"))
    # two draws: at most the observed items, and luck
    assert (counts <= distinct + 3).all()
    # one of the four draws of SGD has sharp counts
    assert np.shape(measured["residual"]["sgd"]) == (2, 8) and np.isnan(measured["residual_error"]["sgd"]).all()


def test_what_the_chapter_says_of_the_record():
    [record] = read_records("critical-batch", "confirm-alpha-1.5")
    dims, measured = np.array(record["config"]["dims"]), record["measured"]
    counts, sharp = (np.array(record[part]["counts"]["polar"])[dims >= 128] for part in ("measured", "predicted"))
    assert np.abs(counts / sharp - 1)[sharp > 10].max() < 0.015
    assert am.fit_exponent(dims, measured["population"]["polar"]).slope == pytest.approx(1.41, abs=0.005)
    assert record["words"]["polar"] == "undecided" and measured["interval"]["polar"][0] > 2
