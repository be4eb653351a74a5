"""Draws have the law they claim, nest, and depend on the seed alone. Bands are five standard errors."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

import amemlib as am
from amembook.paper.optimality.rotations import sample_rotations


def draw(n_items, dim, seed, **options):
    return am.sample_embeddings(am.Problem.power_law(n_items, dim, 1.5), seed, **options)


@pytest.mark.parametrize("n_items", [1, 4095, 4096, 4097, 9000])
def test_instances_nest_along_the_items(n_items):
    large, small = draw(10_000, 3, 5), draw(n_items, 3, 5)
    assert torch.equal(large.U[:n_items], small.U)
    assert torch.equal(large.V[:n_items], small.V)


def test_float32_is_the_rounding_of_float64():
    single, double = draw(5000, 4, 2), draw(5000, 4, 2, dtype=torch.float64)
    assert double.U.dtype == torch.float64
    assert torch.equal(single.U, double.U.float())
    assert torch.equal(single.V, double.V.float())


@pytest.mark.parametrize("dim", [4, 100])
def test_entries_are_standard_normal_over_root_d(dim):
    emb = draw(40_000 // dim, dim, 1, dtype=torch.float64)
    for X in (emb.U, emb.V):
        entries = (X * math.sqrt(dim)).flatten().numpy()
        assert abs(entries.mean()) < 5 / math.sqrt(entries.size)
        assert abs(entries.var() - 1) < 5 * math.sqrt(2 / entries.size)
        assert stats.kstest(entries, "norm").pvalue > 1e-5


def test_streams_of_other_seeds_dimensions_and_sides_are_independent():
    base = draw(2000, 8, 0)
    others = {
        "the other side": base.V,
        "another seed": draw(2000, 8, 1).U,
        "another d": draw(1000, 16, 0).U,
        "reduced": am.sample_reduced_embeddings(am.Problem.power_law(2000, 8, 1.5), 0).U[:, :8],
    }
    x = base.U.flatten().numpy()
    for name, other in others.items():
        assert abs(np.corrcoef(x, other.flatten().numpy())[0, 1]) < 5 / math.sqrt(x.size), name


def test_a_stream_is_numpys_of_seed_dimension_and_its_own_number():
    """What a seed draws may never change: records and chapters name their seeds."""
    problem = am.Problem.power_law(5, 3, 1.5)
    streams = [np.random.default_rng([7, 3, number]) for number in range(6)]
    emb, reduced = am.sample_embeddings(problem, 7, dtype=torch.float64), am.sample_reduced_embeddings(problem, 7)
    for X, stream in ((emb.U, streams[0]), (emb.V, streams[1])):
        np.testing.assert_allclose(X, stream.standard_normal((5, 3)) / math.sqrt(3), rtol=1e-15)
    counts = streams[2].multinomial(9, problem.frequencies.numpy())
    np.testing.assert_array_equal(am.sample_minibatch(problem, 9, 7), counts / 9)
    for X, stream in ((reduced.U, streams[3]), (reduced.V, streams[4])):
        L = np.tril(stream.standard_normal((5, 3)), -1)
        L[range(3), range(3)] = np.sqrt(stream.chisquare([3, 2, 1]))
        np.testing.assert_allclose(X, L / math.sqrt(3), rtol=1e-15)
    gaussian = streams[5].standard_normal((4, 3, 3))
    # the QR decomposition with a positive diagonal is unique: no sign is left to the routine
    R = sample_rotations(3, 4, 7).numpy().transpose(0, 2, 1) @ gaussian
    np.testing.assert_allclose(np.tril(R, -1), 0, atol=1e-14)
    assert (np.diagonal(R, axis1=1, axis2=2) > 0).all()


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_rotations_are_orthogonal_and_haar_distributed(dim):
    O = sample_rotations(dim, 4000, 2)  # noqa: E741
    torch.testing.assert_close(O @ O.mT, torch.eye(dim, dtype=torch.float64).expand(4000, -1, -1), rtol=0, atol=1e-13)
    # E O_ij = 0 and E O_ij² = 1/d, entries of several standard errors, and either determinant as often
    assert (O.mean(0).abs() < 5 / math.sqrt(dim * 4000)).all()
    assert ((O**2).mean(0) - 1 / dim).abs().max() < 5 * math.sqrt(2 / 4000) / dim
    assert abs(torch.linalg.det(O).mean()) < 5 / math.sqrt(4000)


def test_eigenvalues_follow_their_power_law_with_mean_one_and_scale_every_direction():
    sigma = am.sampling.power_law_eigenvalues(6, 0.75)
    assert sigma.mean().item() == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(sigma[0] / sigma, [a**0.75 for a in range(1, 7)], rtol=1e-14)
    emb = draw(40, 6, 3)
    sigma[4:] = -1e-12
    scaled = am.sampling.with_eigenvalues(emb, sigma)
    for X, Y in ((emb.U, scaled.U), (emb.V, scaled.V)):
        # what rounding has made negative counts as 0
        assert Y.dtype == torch.float64 and (Y[:, 4:] == 0).all()
        torch.testing.assert_close(Y[:, :4] ** 2, X[:, :4].double() ** 2 * sigma[:4])
    with pytest.raises(ValueError, match="eigenvalues must be ≥ 0"):
        am.sampling.with_eigenvalues(emb, sigma - 1)


@pytest.mark.parametrize("batch_size", [1, 17, 4096, 10**12])
def test_a_minibatch_holds_whole_counts_that_sum_to_the_batch(batch_size):
    q = am.sample_minibatch(am.Problem.power_law(300, 8, 1.5), batch_size, 3)
    counts = q * batch_size
    assert q.dtype == torch.float64 and q.shape == (300,)
    assert q.sum().item() == pytest.approx(1, abs=1e-12)
    torch.testing.assert_close(counts, counts.round(), rtol=1e-15, atol=0)


def test_minibatch_counts_have_the_multinomial_mean_and_variance():
    problem, batch_size, draws = am.Problem.power_law(12, 8, 1.5), 50, 400
    q = torch.stack([am.sample_minibatch(problem, batch_size, seed) for seed in range(draws)])
    p = problem.frequencies
    variance = p * (1 - p) / batch_size
    assert ((q.mean(0) - p).abs() < 5 * (variance / draws).sqrt()).all()
    # the sum over items of normalised squared deviations has mean 12 and, p being skewed, a spread found from the draws
    spread = ((q - p) ** 2 / variance).sum(1)
    assert abs(spread.mean() - 12) < 5 * spread.std() / math.sqrt(draws)


def test_the_same_seed_gives_the_same_draw():
    problem = am.Problem.power_law(50, 8, 1.5)
    assert torch.equal(am.sample_embeddings(problem, 7).U, am.sample_embeddings(problem, 7).U)
    assert torch.equal(am.sample_minibatch(problem, 9, 7), am.sample_minibatch(problem, 9, 7))
    assert not torch.equal(am.sample_minibatch(problem, 9, 7), am.sample_minibatch(problem, 9, 8))


def grams(sample, draws=500):
    X = torch.stack([sample(seed).U.double() for seed in range(draws)])
    return X @ X.mT


@pytest.mark.slow
@pytest.mark.parametrize("n_items, dim", [(5, 3), (4, 4), (4, 9)])
def test_reduced_embeddings_have_the_law_of_the_gram_matrix(n_items, dim):
    problem = am.Problem.power_law(n_items, dim, 1.5)
    reduced = grams(lambda seed: am.sample_reduced_embeddings(problem, seed))
    direct = grams(lambda seed: am.sample_embeddings(problem, seed))
    statistics = {
        "cycle of three": lambda K: K[:, 0, 1] * K[:, 1, 2] * K[:, 2, 0],
        "leading determinant": lambda K: torch.linalg.det(K[:, :3, :3]),
        "largest eigenvalue": lambda K: torch.linalg.eigvalsh(K)[:, -1],
        "coupling of the last two": lambda K: K[:, -1, -2],
    }
    for i in range(n_items):
        assert stats.kstest((reduced[:, i, i] * dim).numpy(), stats.chi2(dim).cdf).pvalue > 1e-5, f"|u_{i}|²"
    for name, statistic in statistics.items():
        assert stats.ks_2samp(statistic(reduced).numpy(), statistic(direct).numpy()).pvalue > 1e-5, name


@pytest.mark.parametrize("n_items, dim, rank", [(20, 7, 7), (20, 20, 20), (20, 10**6, 20)])
def test_reduced_embeddings_have_no_more_dimensions_than_needed(n_items, dim, rank):
    emb = am.sample_reduced_embeddings(am.Problem.power_law(n_items, dim, 1.5), 0)
    for X in (emb.U, emb.V):
        assert X.shape == (n_items, rank) and X.dtype == torch.float64
        assert torch.linalg.matrix_rank(X) == rank


@pytest.mark.slow
@pytest.mark.parametrize("n_items, dim", [(64, 32), (64, 256)])
def test_sgd_recovers_as_many_items_on_reduced_as_on_direct_draws(n_items, dim):
    problem = am.Problem.power_law(n_items, dim, 1.5)
    counts = []
    for sample in (am.sample_reduced_embeddings, am.sample_embeddings):
        draws = [sample(problem, seed) for seed in range(250)]
        counts.append([am.capacity(am.initial_gradient(emb, problem.frequencies), emb) for emb in draws])
    difference = np.mean(counts[0]) - np.mean(counts[1])
    assert abs(difference) < 5 * math.sqrt(np.var(counts, axis=1).sum() / 250)
